"""Leading eigenpairs, by magnitude, of a large symmetric A (n × n): sketched Lanczos, a basis from few passes over A.

    K₁ = A S F₀                    S (n × w): ±1 in one random column of each row, so that this pass costs next to nothing
    A K_s = K C_s + K_{s+1} F_s⁻¹  C_s = G⁻¹ Kᵀ A K_s, and F_s makes the remainder orthonormal
    G y θ = H y                    G = KᵀK,   H = KᵀA K = G [C; F⁻¹],   K = [K₁ … K_b]

One pass over the rows gives the coordinates of an image, a second one writes the next block over the image. Rounding makes
K a little less than orthonormal, up to ten times less with each block; G, measured with each block, has it: the small problem
is solved with G instead of orthogonalising again, and C_s = G⁻¹ Kᵀ A K_s.
The last block is not sent through A: H lacks K_bᵀA K_b alone, which is taken for zero, since a pass for so little would
cost more than it gives (docs/design.md has the figures).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slimg.engine.base import Array, Engine, RowMatrix, Scaling, Sparse
from slimg.engine.blas import matmul, one_thread, self_gram
from slimg.linalg import krylov
from slimg.linalg.krylov import LanczosLayout, RankRule, orthonormal, project, split, subtract_projection

DEPENDENT = 1e-2
"""Eigenvalues of G, whose diagonal is one, up to which a direction is dropped."""


@dataclass(frozen=True)
class Pairs:
    """Eigenvalues (r) by falling magnitude, and eigenvectors Q = K · coordinates (m × r) that are not formed yet."""

    engine: Engine
    values: Array
    basis: list[RowMatrix]
    coordinates: Array

    def rows(self, scale: Array) -> RowMatrix:
        """Q · diag(scale), n × r, in one pass over the basis."""
        return krylov.combine_basis(self.engine, self.basis, self.coordinates * scale)


def sketched_eigenpairs(engine: Engine, matrix: Sparse, rule: RankRule, random_state: int = 0) -> Pairs:
    """The leading eigenpairs of a large matrix, as good as a basis of fixed size has them.

    Parameters
    ----------
    engine : Engine
        Where the row matrices live.
    matrix : Sparse
        A, symmetric, n × n.
    rule : RankRule
        How many pairs to return.
    random_state : int, default 0
        Seed of the sketch.

    Returns
    -------
    Pairs
        Eigenvalues, and eigenvectors as coordinates in the basis; hᵀq > 0 for each vector q.
    """
    width, basis, *_ = LanczosLayout.sketched(rule.cap)
    count = basis // width
    with one_thread():
        space = _Space(engine, matrix, min(width, len(matrix.indptr) - 1), random_state)
        while space.count < count and space.extend():
            pass
        return space.pairs(rule)


class _Space:
    """The blocks of K, G, and the coordinates [C; F⁻¹] of A K in K, one column block for each block sent through A."""

    def __init__(self, engine: Engine, matrix: Sparse, width: int, random_state: int):
        self._engine, self._matrix = engine, matrix
        start = engine.sketch(matrix, width, random_state)
        self._basis = [self._normal(start, engine.sum_rows(self_gram, start), 0.0)[0]]
        self._gram, self._images = np.zeros((0, 0)), np.zeros((0, 0))

    @property
    def count(self) -> int:
        return len(self._basis)

    def extend(self) -> bool:
        """Send the last block through A and append what is new; False when nothing is."""
        engine, last = self._engine, self._basis[-1]
        image = engine.products(self._matrix, last, [Scaling()])[0]
        against, square = self._measure(image, last.shape[1])
        inside = np.linalg.solve(self._gram, against)
        floor = krylov.ROUNDING * float(np.sqrt(np.trace(square)))
        rest = square - inside.T @ against
        block, back = self._normal(image, (rest + rest.T) / 2, floor, split(inside, self._basis))
        self._images = _beside_each_other(self._images, np.vstack([inside, back]))
        if not block.shape[1]:
            return False
        self._basis.append(block)
        return True

    def pairs(self, rule: RankRule) -> Pairs:
        engine = self._engine
        known = len(self._gram) == sum(block.shape[1] for block in self._basis)
        signs, _ = self._measure(engine.random(self._basis[0].shape[0], 1, 0), 0 if known else self._basis[-1].shape[1])
        white = _whitening(self._gram)
        small = matmul(white.T, matmul(self._operator(), white))
        _, values, vectors = krylov.small_eigenpairs(small, rule)
        coordinates = matmul(white, vectors)
        sign = np.where(signs[:, 0] @ coordinates < 0, -1.0, 1.0)
        return Pairs(engine, values, self._basis, coordinates * sign)

    def _measure(self, row_matrix: RowMatrix, new: int) -> tuple[Array, Array]:
        """Kᵀ T and TᵀT of a row matrix T, in one pass that also adds the last ``new`` columns of K to G."""
        both = self._engine.sum_rows(_beside, row_matrix, *self._basis)
        width = row_matrix.shape[1]
        if new:
            self._gram = krylov.bordered(self._gram, both[:-width, :new])
        return both[:-width, -width:], both[-width:, -width:]

    def _operator(self) -> Array:
        """H, without what the last block has in its own image, unless that is known."""
        known = self._images.shape[1]
        full = np.zeros_like(self._gram)
        full[:, :known] = self._gram[:, : len(self._images)] @ self._images
        full[:known, known:] = full[known:, :known].T
        return (full + full.T) / 2

    def _normal(self, image: RowMatrix, square: Array, floor: float, parts: list[Array] | None = None) -> tuple[RowMatrix, Array]:
        """The remainder image − K · parts made orthonormal, and its coordinates in that block.

        ``square`` is the remainder's Gram matrix; the image is overwritten when the remainder is well conditioned.
        """
        engine, basis = self._engine, self._basis if parts else []
        values, vectors = np.linalg.eigh(square)
        clear = values[0] > max(krylov.INDEPENDENT * values[-1], (10 * floor) ** 2)
        factor = np.ascontiguousarray(vectors / np.sqrt(values), np.float32) if clear else None

        def remainder(rows: Array, *blocks: Array) -> Array:
            rest = subtract_projection(rows, blocks, parts) if parts else rows
            return rest if factor is None else matmul(rest, factor)

        if clear:
            return engine.map_rows(remainder, image, *basis, overwrite_input=True), np.sqrt(values)[:, None] * vectors.T
        rest = engine.map_rows(remainder, image, *basis)
        block = self._outside(orthonormal(engine, rest, engine.gram(rest), 10 * floor), basis)
        return block, engine.gram(block, rest) if block.shape[1] else np.zeros((0, rest.shape[1]))

    def _outside(self, block: RowMatrix, basis: list[RowMatrix]) -> RowMatrix:
        """An orthonormal block without what it has in K; directions mostly inside were rounding and are dropped."""
        if not basis or not block.shape[1]:
            return block
        engine = self._engine
        parts = split(engine.sum_rows(project, block, *basis), basis)
        rest = engine.map_rows(lambda rows, *blocks: subtract_projection(rows, blocks, parts), block, *basis)
        return orthonormal(engine, rest, engine.gram(rest), 0.1)


def _whitening(gram: Array) -> Array:
    """W with WᵀGW = I, without directions that G hardly has."""
    if np.abs(gram - np.eye(len(gram))).sum(axis=0).max() < 0.5:
        return np.ascontiguousarray(np.linalg.inv(np.linalg.cholesky(gram)).T)
    weights, vectors = np.linalg.eigh(gram)
    keep = weights > DEPENDENT
    return vectors[:, keep] / np.sqrt(weights[keep])


def _beside(image: Array, *blocks: Array) -> Array:
    """[K, image]ᵀ [K_last, image] for one block of rows."""
    right = np.hstack([blocks[-1], image])
    return project(right, *blocks, image)


def _beside_each_other(left: Array, right: Array) -> Array:
    """Columns side by side, the shorter ones on the left filled with zeros."""
    return np.hstack([np.pad(left, ((0, len(right) - len(left)), (0, 0))), right])
