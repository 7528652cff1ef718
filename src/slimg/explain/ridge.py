"""How well rows tell classes: ridge regression onto the classes, judged by leaving each row out, exactly.

    G = (K + α I)⁻¹,   K = Σ_g w_g P_g P_gᵀ + 1 1ᵀ  (m × m),   Y one-hot less its mean (m × c)
    prediction for row i without row i  =  Y_i − (G Y)_i / G_ii

One inverse per α serves every permutation of the labels and all m held-out rows, which is why a diagnosis uses it and not
the solver of `learn`: the four components alone, together and without each take a second. Three inverses by Cholesky take
0.6 of the time of one decomposition into eigenvectors (m = 1,500), and do not hold the interpreter lock. The α with the best
accuracy counts, for permuted labels too, so that the choice favours neither.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slimg.engine.base import Array
from slimg.engine.blas import char, integer, matmul, mirror_upper, one_thread, pointer, routine

ALPHAS = (0.02, 0.2, 2.0)
PERMUTATIONS = 99


@dataclass(frozen=True, eq=False)
class Held:
    """Held-out predictions: estimated shares of the classes (m × c) and the accuracy."""

    shares: Array
    codes: Array

    @property
    def right(self) -> Array:
        return self.shares.argmax(axis=1) == self.codes

    @property
    def accuracy(self) -> float:
        return float(self.right.mean())


@dataclass(frozen=True)
class Gain:
    """How much more accurate one thing is than another on the same rows, and the standard error of that."""

    value: float
    error: float

    @property
    def matters(self) -> bool:
        return self.value > max(2 * self.error, 0.005)


def gain(more: Array, less: Array) -> Gain:
    """From how often each row is right (m) with either."""
    difference = np.asarray(more, np.float64) - less
    return Gain(float(difference.mean()), float(difference.std() / np.sqrt(len(difference))))


class Ridge:
    """Leave-one-out with one kernel (m × m)."""

    def __init__(self, kernel: Array):
        shifted = [kernel + (1.0 + alpha * np.eye(len(kernel))) for alpha in ALPHAS]
        with one_thread():
            self._inverses = [inverted(each) for each in shifted]

    def held_out(self, codes: Array, c: int) -> Held:
        """Predictions for the rows, each without its own label."""
        return max(self.each(codes, c), key=lambda held: held.accuracy)

    def each(self, codes: Array, c: int) -> list[Held]:
        """The same for every α."""
        return [Held(scores, codes) for scores in self._predictions(np.eye(c)[codes])]

    def by_chance(self, codes: Array, c: int, rng: np.random.Generator, permutations: int = PERMUTATIONS) -> Array:
        """Accuracies with permuted labels."""
        orders = [rng.permutation(len(codes)) for _ in range(permutations)]
        targets = np.hstack([np.eye(c)[codes[order]] for order in orders])
        best = np.zeros(permutations)
        for scores in self._predictions(targets):
            said = scores.reshape(len(codes), permutations, c).argmax(axis=2)
            best = np.maximum(best, [(said[:, k] == codes[order]).mean() for k, order in enumerate(orders)])
        return best

    def _predictions(self, targets: Array) -> list[Array]:
        """Held-out values of each column, for each α; a constant is left to the kernel's 1 1ᵀ."""
        centred = targets - targets.mean(axis=0)
        with one_thread():
            return [targets - matmul(each, centred) / each.diagonal()[:, None] for each in self._inverses]


def inverted(matrix: Array) -> Array:
    """The inverse of a positive definite matrix (float64, row-major), which is overwritten: LLᵀ, then its inverse."""
    n, failed = len(matrix), np.zeros(1, np.int32)
    for step in ("dpotrf", "dpotri"):
        routine("lapack", step)(char("L"), integer(n), pointer(matrix), integer(n), pointer(failed))
        if failed[0]:
            raise np.linalg.LinAlgError(f"{step} ended with {failed[0]}: the matrix is not positive definite")
    mirror_upper(matrix)
    return matrix
