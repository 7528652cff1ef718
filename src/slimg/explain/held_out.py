"""Held-out predictions (`HeldOut`), what they score, and how that is written.

The measures are those of `learn.objective` with a weight for each row, so that rows can be drawn again:

    accuracy, balanced_accuracy, f1_macro        of the class with the largest probability
    average_precision, roc_auc                   of the rarer of two classes; more: mean over each against the rest
    log_loss                                     with its sign changed, so that more is better for all

Intervals (95%) and standard errors come from rows drawn again within each class, so that a rare class is in every draw; the
interval of an accuracy is Wilson's.

Ridge regression (`Ridge`) holds out each row exactly.

    G = (K + α I)⁻¹,   K = Σ_g w_g P_g P_gᵀ + 1 1ᵀ  (m × m),   Y one-hot less its mean (m × c)
    prediction for row i without row i  =  Y_i − (G Y)_i / G_ii

One inverse per α serves every permutation of the labels and all m held-out rows, which is why a diagnosis uses it and not
the solver of `learn`: the four components alone, together and without each take a second. Three inverses by Cholesky take
0.6 of the time of one decomposition into eigenvectors (m = 1,500), and do not hold the interpreter lock. The α with the best
score counts, for permuted labels and for fewer labels too, so that the choice favours neither.

The learning curve divides the m labelled rows into 2, 4 and 8 parts, class by class. Each row is predicted from its own
part, without its own label: with about m/2, m/4 and m/8 labels. So every point of the curve is measured on all m rows, and
the rise between two points is a difference on the same rows; its error is the standard deviation over rows drawn again, the
same ones for both points. Labels never make a classifier worse on average, so the curve is made monotone (pool adjacent
violators, points weighted by 1/error²). The error leaves out that all rows share their training rows, so chance exceeds twice
of it more often than it should: in 10 % of draws in which the optimum was reached long before (120 draws of 200 or 400
labels). A curve that still rises did so before, too. Requiring that of the doubling before as well leaves 1 % of 200 fresh
draws with 400 labels and 6 % with 200; of draws in which labels help, four in five still say so, as many as without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from scipy.optimize import isotonic_regression

from slimg.engine.base import Array, Engine
from slimg.engine.blas import char, integer, matmul, mirror_upper, one_thread, pointer, routine

WORDS = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "f1_macro": "macro F1",
    "average_precision": "average precision",
    "roc_auc": "ROC AUC",
    "log_loss": "log loss",
}
"""Each measure in words."""
SHARES = ("accuracy", "balanced_accuracy")
"""Measures that are written in per cent."""
DRAWS = 200
"""Times that rows are drawn again."""
ENTRIES = 2_000_000
"""Weights that are held at once."""
Z = 1.959963984540054
ALPHAS = (0.02, 0.2, 2.0)
PERMUTATIONS = 99
PARTS = (8, 4, 2)
N_REPEATS = 6
"""Random divisions into parts for each number of labels."""
LABELS_PER_CLASS = 5
"""A part must have so many rows for each class, on average."""
LABELS_OF_CLASS = 3
"""A part must have so many rows of every class where a score other than the accuracy counts."""
WORTH = 0.01
"""Accuracy that a doubling of the labels must give to be worth more of them."""


@dataclass(frozen=True)
class Gain:
    """The difference of two scores on the same rows, and its standard error."""

    value: float
    error: float

    @property
    def interval(self) -> tuple[float, float]:
        """About 95%: two standard errors on either side."""
        return self.value - 2 * self.error, self.value + 2 * self.error

    @property
    def matters(self) -> bool:
        """Whether it exceeds twice its error, and half a point."""
        return self.interval[0] > 0 and self.value > 0.005


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Predictions of rows by models that were fitted without them: probabilities or estimates (m × c), and true codes (m).

    ``scoring`` is what they are judged by; rows count ``weights`` (m) times, once by default. The same ``seed`` draws the same
    rows again.
    """

    chances: Array
    codes: Array
    scoring: str = "accuracy"
    weights: Array | None = None
    seed: int = 0

    @property
    def right(self) -> Array:
        """Whether each prediction is right (m)."""
        return self.chances.argmax(axis=1) == self.codes

    @property
    def score(self) -> float:
        return float(measure(self.scoring, self.codes, self.chances, self.weights))

    @property
    def shares(self) -> Array:
        """Shares of the classes (c)."""
        counts = np.bincount(self.codes, self.weights, self.chances.shape[1])
        return counts / counts.sum()

    @property
    def baseline(self) -> float:
        """The score of predicting the shares of the classes for every row."""
        return float(measure(self.scoring, self.codes, np.broadcast_to(self.shares, self.chances.shape), self.weights))

    @cached_property
    def drawn(self) -> Array:
        """Scores of rows drawn again."""
        drawn = draws(self.codes, np.random.default_rng(self.seed), weights=self.weights)
        return np.concatenate([measure(self.scoring, self.codes, self.chances, each) for each in drawn])

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% interval of the score."""
        if self.scoring == "accuracy":
            return wilson(int(self.right.sum()), len(self.codes))
        return interval(self.drawn)

    def gain(self, other: HeldOut) -> Gain:
        """How far it is ahead of other predictions of the same rows."""
        return Gain(self.score - other.score, float(np.nanstd(self.drawn - other.drawn)))


def measure(scoring: str, codes: Array, chances: Array, weights: Array | None = None) -> Array:
    """Measure probabilities, for one or several weightings of the rows.

    Parameters
    ----------
    scoring : str
        A name of `learn.objective.METRICS`.
    codes : ndarray of shape (m,)
        Classes.
    chances : ndarray of shape (m, c)
        Probabilities, or estimates of them.
    weights : ndarray of shape (m,) or (draws, m), optional
        How often each row counts; once by default.

    Returns
    -------
    ndarray of shape () or (draws,)
        More is better; NaN if ranks are asked for and all rows are of one class.

    Examples
    --------
    >>> chances = np.array([[0.9, 0.1], [0.6, 0.4], [0.7, 0.3]])
    >>> [float(measure(name, np.array([0, 1, 0]), chances)) for name in ("accuracy", "balanced_accuracy", "roc_auc")]
    [0.6666666666666666, 0.5, 1.0]
    """
    given = np.ones(len(codes)) if weights is None else np.asarray(weights, np.float64)
    rows = np.atleast_2d(given)
    if scoring in ("average_precision", "roc_auc"):
        found = _of_ranks(scoring, codes, chances, rows)
    elif scoring == "log_loss":
        own = np.log(np.maximum(chances[np.arange(len(codes)), codes], np.finfo(np.float64).tiny))
        found = rows @ own / rows.sum(axis=1)
    else:
        found = _of_predictions(scoring, codes, chances, rows)
    return found if given.ndim == 2 else found[0]


def draws(codes: Array, rng: np.random.Generator, number: int = DRAWS, weights: Array | None = None) -> Iterator[Array]:
    """Weights (some draws × m) of rows drawn again within each class, ``number`` in all, in parts that fit into memory."""
    part = max(1, ENTRIES // len(codes))
    for begin in range(0, number, part):
        drawn = np.empty((min(part, number - begin), len(codes)))
        for code in np.unique(codes):
            mine = np.flatnonzero(codes == code)
            picks = rng.integers(len(mine), size=(len(drawn), len(mine))) + len(mine) * np.arange(len(drawn))[:, None]
            drawn[:, mine] = np.bincount(picks.ravel(), minlength=drawn.shape[0] * len(mine)).reshape(len(drawn), -1)
        yield drawn if weights is None else drawn * weights


def interval(values: Array) -> tuple[float, float]:
    """The 95% interval of drawn values."""
    low, high = np.nanquantile(values, (0.025, 0.975)) if np.isfinite(values).any() else (np.nan, np.nan)
    return float(low), float(high)


def wilson(correct: int, total: int) -> tuple[float, float]:
    """Wilson's 95% interval of a share; (0, 1) if nothing was counted.

    centre (k + z²/2)/(n + z²), half-width z √(k(n − k)/n + z²/4)/(n + z²)

    Returns
    -------
    tuple of float
        The lower and the upper end.
    """
    if total == 0:
        return 0.0, 1.0
    centre = (correct + Z * Z / 2) / (total + Z * Z)
    half = Z * np.sqrt(correct * (total - correct) / total + Z * Z / 4) / (total + Z * Z)
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))


def format_score(scoring: str, value: float, digits: int = 0) -> str:
    """A value as text: ``83%``, ``0.83``; with ``digits`` 1 ``83.2%``, ``0.832``."""
    if scoring in SHARES:
        return f"{value:.{digits}%}"
    return f"{-value if scoring == 'log_loss' else value:.{digits + 2}f}"


def format_gain(scoring: str, value: float) -> str:
    """A difference of two values as text: ``3.1 points``, ``0.031``."""
    return f"{100 * value:.1f} points" if scoring in SHARES else f"{value:.3f}"


def format_difference(scoring: str, value: float, ends: Sequence[float]) -> str:
    """A difference with its interval as text: ``+3.1 points, 95% interval +0.2 to +6.0``."""
    unit, digits = (100, 1) if scoring in SHARES else (1, 3)
    shown = [f"{unit * each:+.{digits}f}".replace("-", "−") for each in (value, *ends)]
    return f"{shown[0]}{' points' if unit > 1 else ''}, 95% interval {shown[1]} to {shown[2]}"


def format_chance(scoring: str, value: float, digits: int = 0) -> str:
    """The score of the baseline as text: ``42% by predicting the largest class``."""
    how = "by predicting the largest class" if scoring == "accuracy" else "by chance"
    return f"{format_score(scoring, value, digits)} {how}"


def format_range(scoring: str, ends: Sequence[float | None]) -> str:
    """An interval of scores as text, the smaller number first: ``80.1% to 85.0%``."""
    low, high = ("–" if end is None else format_score(scoring, end, 1) for end in (ends[::-1] if scoring == "log_loss" else ends))
    return f"{low} to {high}"


def _of_predictions(scoring: str, codes: Array, chances: Array, weights: Array) -> Array:
    found = chances.argmax(axis=1)
    right = found == codes
    if scoring == "accuracy":
        return (weights * right).sum(axis=1) / weights.sum(axis=1)
    values = []
    for code in np.union1d(codes, found) if scoring == "f1_macro" else np.unique(codes):
        hit, true = (weights * (right & (codes == code))).sum(axis=1), (weights * (codes == code)).sum(axis=1)
        whole = true if scoring == "balanced_accuracy" else (true + (weights * (found == code)).sum(axis=1)) / 2
        values.append(np.divide(hit, whole, out=np.zeros_like(hit), where=whole > 0))
    return np.mean(values, axis=0)


def _of_ranks(scoring: str, codes: Array, chances: Array, weights: Array) -> Array:
    counts = np.bincount(codes, minlength=chances.shape[1])
    present = np.flatnonzero((counts > 0) & (counts < len(codes)))
    if chances.shape[1] == 2 and len(present):
        present = present[[counts[present].argmin()]]
    if not len(present):
        return np.full(len(weights), np.nan)
    return np.mean([_of_rank(scoring, codes == code, chances[:, code], weights) for code in present], axis=0)


def _of_rank(scoring: str, positive: Array, values: Array, weights: Array) -> Array:
    """Of one class: equal values are one step of the ranking."""
    order = np.argsort(-values, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(values[order])), len(order) - 1)
    sorted_weights = weights[:, order]
    hits, seen = (np.cumsum(each, axis=1)[:, ends] for each in (sorted_weights * positive[order], sorted_weights))
    new = np.diff(hits, axis=1, prepend=0)
    if scoring == "average_precision":
        precision = np.divide(hits, seen, out=np.zeros_like(hits), where=seen > 0)
        return (new * precision).sum(axis=1) / hits[:, -1]
    misses = seen - hits
    return (np.diff(misses, axis=1, prepend=0) * (hits - new / 2)).sum(axis=1) / (hits[:, -1] * misses[:, -1])



class Ridge:
    """Leave-one-out ridge regression with one kernel (m × m)."""

    def __init__(self, kernel: Array):
        shifted = [kernel + (1.0 + alpha * np.eye(len(kernel))) for alpha in ALPHAS]
        with one_thread():
            self._inverses = [inverted(each) for each in shifted]

    def held_out(self, codes: Array, c: int, scoring: str = "accuracy", weights: Array | None = None) -> HeldOut:
        """Predictions of each row without its own label, with the best α."""
        return max(self.each(codes, c, scoring, weights), key=lambda each: each.score)

    def each(self, codes: Array, c: int, scoring: str = "accuracy", weights: Array | None = None) -> list[HeldOut]:
        """The same for every α."""
        return [HeldOut(_bounded(found, scoring), codes, scoring, weights) for found in self._predictions(np.eye(c)[codes])]

    def by_chance(
        self,
        codes: Array,
        c: int,
        rng: np.random.Generator,
        permutations: int = PERMUTATIONS,
        scoring: str = "accuracy",
        weights: Array | None = None,
    ) -> Array:
        """Scores with permuted labels (permutations); a row's weight goes with its label."""
        orders = [rng.permutation(len(codes)) for _ in range(permutations)]
        targets = np.hstack([np.eye(c, dtype=np.float32)[codes[order]] for order in orders])  # half the time, and as good
        best = np.full(permutations, -np.inf)
        for found in self._predictions(targets):
            chances = _bounded(found.reshape(len(codes), permutations, c), scoring)
            for k, order in enumerate(orders):
                mine = None if weights is None else weights[order]
                best[k] = max(best[k], HeldOut(chances[:, k], codes[order], scoring, mine).score)
        return best

    def _predictions(self, targets: Array) -> list[Array]:
        """Held-out values of each column, for each α, in its precision; a constant is left to the kernel's 1 1ᵀ."""
        centred = targets - targets.mean(axis=0)
        with one_thread():
            inverses = (each.astype(targets.dtype, copy=False) for each in self._inverses)
            return [targets - matmul(each, centred) / each.diagonal()[:, None] for each in inverses]


def _bounded(estimates: Array, scoring: str) -> Array:
    """Estimates as the measure takes them: ridge regression knows no bounds, and a loss needs probabilities above zero."""
    if scoring != "log_loss":
        return estimates
    above = np.maximum(estimates, 1 / len(estimates))  # as if each class had one row more
    return above / above.sum(axis=-1, keepdims=True)


@dataclass(frozen=True)
class Point:
    """Score with a number of labels, its standard error, and the value of the monotone curve."""

    labels: int
    score: float
    error: float
    smoothed: float


@dataclass(frozen=True)
class LearningCurve:
    """Points in ascending order of labels; ``doubling`` is the rise of the monotone curve from half of the labels to all."""

    points: tuple[Point, ...]
    doubling: Gain | None

    @property
    def before(self) -> float | None:
        """The rise of the monotone curve from a quarter of the labels to half of them, if it was measured."""
        return self.points[-2].smoothed - self.points[-3].smoothed if len(self.points) > 2 else None

    @property
    def outlook(self) -> str:
        """``"more"`` labels would help, would give ``"little"``, or that is ``"unclear"`` from these."""
        if self.doubling is None:
            return "unclear"
        rise, error = self.doubling.value, self.doubling.error
        sure = rise > 3 * error if self.before is None else rise > 2 * error and self.before >= WORTH
        if rise >= WORTH and sure:
            return "more"
        return "little" if rise + 2 * error < 2 * WORTH else "unclear"


def learning_curve(kernel: Array, everything: HeldOut, c: int, rng: np.random.Generator, engine: Engine) -> LearningCurve:
    """Measure the score with fewer labels.

    Parameters
    ----------
    kernel : ndarray of shape (m, m)
        Of the labelled rows.
    everything : HeldOut
        Predictions with all m labels.
    c : int
        Number of classes.
    rng : Generator
    engine : Engine
        Its threads share the random divisions.

    Returns
    -------
    curve : LearningCurve
    """
    codes, m = everything.codes, len(everything.codes)
    least = m if everything.scoring == "accuracy" else int(np.bincount(codes).min())
    enough = [parts for parts in PARTS if m // parts >= LABELS_PER_CLASS * c and least // parts >= LABELS_OF_CLASS]
    divisions = [_divide(codes, parts, rng) for parts in enough for _ in range(N_REPEATS)]
    found = engine.concurrently(*(partial(_divided, kernel, everything, c, part_of) for part_of in divisions))
    labels = [m // parts for parts in enough] + [m]
    groups = [*(found[at : at + N_REPEATS] for at in range(0, len(found), N_REPEATS)), [everything]]
    values = np.array([np.mean([each.score for each in group]) for group in groups])
    drawn = [np.mean([each.drawn for each in group], axis=0) for group in groups]
    errors = np.std(drawn, axis=1)
    smooth = monotone(values, 1 / np.maximum(errors, 1e-3) ** 2)
    points = [Point(*each) for each in zip(labels, values.tolist(), errors.tolist(), smooth.tolist(), strict=True)]
    doubling = Gain(float(smooth[-1] - smooth[-2]), float(np.std(drawn[-1] - drawn[-2]))) if m // 2 in labels else None
    return LearningCurve(tuple(points), doubling)


def monotone(values: Array, weights: Array) -> Array:
    """The nearest ascending values, in weighted squares."""
    return isotonic_regression(values, weights=weights).x


def _divided(kernel: Array, everything: HeldOut, c: int, part_of: Array) -> HeldOut:
    """Each row predicted from the others of its part, with the α that is best on all m rows."""
    codes, scoring = everything.codes, everything.scoring
    chances = np.empty((len(ALPHAS), len(codes), c))
    for part in range(part_of.max() + 1):
        rows = np.flatnonzero(part_of == part)
        chances[:, rows] = [each.chances for each in Ridge(kernel[np.ix_(rows, rows)]).each(codes[rows], c, scoring)]
    return max((HeldOut(mine, codes, scoring, everything.weights) for mine in chances), key=lambda each: each.score)


def _divide(codes: Array, parts: int, rng: np.random.Generator) -> Array:
    """The part of each row (m); rows of each class are spread evenly, and no part always gets the extra one."""
    order = np.lexsort((rng.random(len(codes)), codes))
    part_of = np.empty(len(codes), np.int64)
    part_of[order] = (np.arange(len(codes)) + rng.integers(parts)) % parts
    return part_of


def inverted(matrix: Array) -> Array:
    """The inverse of a positive definite matrix (float64, row-major), which is overwritten: LLᵀ, then its inverse."""
    n, failed = len(matrix), np.zeros(1, np.int32)
    for step in ("dpotrf", "dpotri"):
        routine("lapack", step)(char("L"), integer(n), pointer(matrix), integer(n), pointer(failed))
        if failed[0]:
            raise np.linalg.LinAlgError(f"{step} ended with {failed[0]}: the matrix is not positive definite")
    mirror_upper(matrix)
    return matrix
