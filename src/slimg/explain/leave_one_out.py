"""How well rows predict classes: ridge regression, each row held out exactly; and the curve with fewer labels.

    G = (K + α I)⁻¹,   K = Σ_g w_g P_g P_gᵀ + 1 1ᵀ  (m × m),   Y one-hot less its mean (m × c)
    prediction for row i without row i  =  Y_i − (G Y)_i / G_ii

One inverse per α serves every permutation of the labels and all m held-out rows, which is why a diagnosis uses it and not
the solver of `learn`: the four components alone, together and without each take a second. Three inverses by Cholesky take
0.6 of the time of one decomposition into eigenvectors (m = 1,500), and do not hold the interpreter lock. The α with the best
score (`explain.measures`) counts, for permuted labels and for fewer labels too, so that the choice favours neither.

The learning curve divides the m labelled rows into 2, 4 and 8 parts, class by class. Each row is predicted from its own
part, without its own label: with about m/2, m/4 and m/8 labels. So every point of the curve is measured on all m rows, and
the rise between two points is a mean of differences on the same rows, whose standard error is known:

    rise = mean_i (right_i with m labels − share of divisions in which i is right with m/2),     error = sd_i / √m

Labels never make a classifier worse on average, so the curve is made monotone (pool adjacent violators, points weighted by
1/error²). The error leaves out that all rows share their training rows, so chance exceeds twice of it more often than it
should: in 10 % of draws in which the optimum was reached long before (120 draws of 200 or 400 labels). A curve that still
rises did so before, too. Requiring that of the doubling before as well leaves 1 % of 200 fresh draws with 400 labels and 6 %
with 200; of draws in which labels help, four in five still say so, as many as without it. A score other than the accuracy is
no mean over rows: its errors are the standard deviation over rows drawn again, the same ones for both points.

What the edges between labelled nodes say about classes, and whether chance says as much.

    h      share of these edges whose ends are of one class
    h_adj  (h − Σ_k D_k²) / (1 − Σ_k D_k²),   D_k = share of the ends of these edges that are of class k
           0: as often as by chance given how many edges each class has; 1: always; below 0: they avoid each other
    I      mutual information of the classes of the two ends, over the entropy of one: how far a neighbour's class
           predicts a node's own, equal or not
    rarest share of the neighbours of the rarest class's nodes that are of that class; h says little where classes differ
           in size, since most edges join two nodes of the largest

The test permutes the labels among the labelled nodes, so that edges, degrees and class sizes stay what they are. Intervals
(95 %) resample nodes: an edge counts as often as both its ends were drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression

from slimg.engine.base import Array, Engine
from slimg.engine.blas import char, integer, matmul, mirror_upper, one_thread, pointer, routine
from slimg.engine.blocks import FileMatrix
from slimg.explain.measures import draws, measure
from slimg.graph.graph import Graph

EDGE_PERMUTATIONS = 199
EDGES_AT_MOST = 500_000
"""Labelled edges above which a sample is taken."""


@dataclass(frozen=True)
class Agreement:
    """Classes at both ends of the edges between labelled nodes, with p-values from permuted labels.

    Attributes
    ----------
    edges : int
        Edges between labelled nodes that were counted.
    share : float
        h, with ``interval`` and ``by_chance``, what it would be if ends of edges were joined at random.
    adjusted : float
        h_adj, with ``adjusted_interval``.
    p_more, p_less : float
        How often permuted labels give an h_adj as high, or as low.
    information : float
        I; ``p_information`` is how often permuted labels give as much.
    minority : int
        Edges with an end outside the largest class.
    rarest : Any
        The class with the fewest labelled nodes; ``rarest_share`` of its nodes' neighbours are of it, and
        ``rarest_by_chance`` with permuted labels (None if no edge has one of its nodes).
    """

    edges: int
    share: float
    interval: tuple[float, float]
    by_chance: float
    adjusted: float
    adjusted_interval: tuple[float, float]
    p_more: float
    p_less: float
    information: float
    p_information: float
    minority: int
    rarest: Any
    rarest_share: float | None
    rarest_by_chance: float | None


def agreement(graph: Graph, random_state: int = 0) -> Agreement | None:
    """Test the edges between labelled nodes.

    Returns
    -------
    agreement : Agreement or None
        None without such edges, or with a single class.
    """
    rng = np.random.default_rng(random_state)
    u, v = _labelled_edges(graph, rng)
    nodes = graph.labelled
    if len(u) == 0 or len(np.unique(graph.codes[nodes])) < 2:
        return None
    c, codes = len(graph.classes), graph.codes.copy()
    table = _table(codes, u, v, c)
    share, adjusted, information = _measures(table)
    null, total = np.empty((EDGE_PERMUTATIONS, 3)), np.zeros((c, c))
    for k in range(EDGE_PERMUTATIONS):
        codes[nodes] = rng.permutation(graph.codes[nodes])
        permuted = _table(codes, u, v, c)
        null[k], total = _measures(permuted), total + permuted
    drawn = np.array([_measures(_resampled(graph, u, v, c, rng)) for _ in range(EDGE_PERMUTATIONS)])
    low, high = np.quantile(drawn, (0.025, 0.975), axis=0)
    intervals = [(float(a), float(b)) for a, b in zip(low, high, strict=True)]
    sizes = np.bincount(graph.codes[nodes], minlength=c)
    rarest, largest = int(np.where(sizes > 0, sizes, len(nodes)).argmin()), int(sizes.argmax())
    return Agreement(
        edges=len(u), share=share, interval=intervals[0], by_chance=float(np.square(table.sum(axis=1)).sum()),
        adjusted=adjusted, adjusted_interval=intervals[1],
        p_more=p_value(null[:, 1] >= adjusted), p_less=p_value(null[:, 1] <= adjusted),
        information=information, p_information=p_value(null[:, 2] >= information),
        minority=int(np.count_nonzero((graph.codes[u] != largest) | (graph.codes[v] != largest))),
        rarest=graph.classes.tolist()[rarest],
        rarest_share=_own_share(table, rarest), rarest_by_chance=_own_share(total, rarest),
    )  # fmt: skip


def _labelled_edges(graph: Graph, rng: np.random.Generator) -> tuple[Array, Array]:
    rows, found = FileMatrix(graph.adjacency), [np.empty((2, 0), np.int64)]
    for start, stop in rows.blocks():
        indptr, indices, _ = rows.read(start, stop)
        row = np.repeat(np.arange(start, stop), np.diff(indptr))
        chosen = (row < indices) & (graph.codes[row] >= 0) & (graph.codes[indices] >= 0)
        found.append(np.array([row[chosen], indices[chosen]], np.int64))
    edges = np.hstack(found)
    if edges.shape[1] > EDGES_AT_MOST:
        edges = edges[:, np.sort(rng.choice(edges.shape[1], EDGES_AT_MOST, replace=False))]
    return edges[0], edges[1]


def _table(codes: Array, u: Array, v: Array, c: int, weights: Array | None = None) -> Array:
    """Shares of edges by the classes of their ends (c × c, symmetric, summing to one)."""
    counts = np.bincount(codes[u] * c + codes[v], weights, minlength=c * c).reshape(c, c)
    both = counts + counts.T
    return both / max(both.sum(), 1e-300)


def _own_share(table: Array, code: int) -> float | None:
    """Share of the neighbours of a class's nodes that are of it."""
    ends = table[code].sum()
    return float(table[code, code] / ends) if ends > 0 else None


def _measures(table: Array) -> tuple[float, float, float]:
    """h, h_adj and I."""
    share, ends = float(np.trace(table)), table.sum(axis=1)
    expected = float(ends @ ends)
    independent = np.outer(ends, ends)
    positive = table > 0
    shared = float((table[positive] * np.log(table[positive] / independent[positive])).sum())
    entropy = -float((ends[ends > 0] * np.log(ends[ends > 0])).sum())
    adjusted = (share - expected) / (1 - expected) if expected < 1 else 0.0  # one class only: undefined
    return share, adjusted, shared / entropy if entropy > 0 else 0.0


def _resampled(graph: Graph, u: Array, v: Array, c: int, rng: np.random.Generator) -> Array:
    drawn = np.bincount(rng.choice(graph.labelled, len(graph.labelled)), minlength=graph.n).astype(np.float64)
    return _table(graph.codes, u, v, c, drawn[u] * drawn[v])


def p_value(as_extreme: Array) -> float:
    """The share of permutations that are as extreme, the data itself counted as one."""
    return float((1 + np.count_nonzero(as_extreme)) / (1 + len(as_extreme)))


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


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Predictions of each row from the others: estimated probabilities of the classes (m × c), and the true codes (m).

    ``scoring`` is what they are judged by (`explain.measures`); rows count ``weights`` (m) times, once by default.
    """

    shares: Array
    codes: Array
    scoring: str = "accuracy"
    weights: Array | None = None

    @property
    def right(self) -> Array:
        """Whether each prediction is right (m)."""
        return self.shares.argmax(axis=1) == self.codes

    @property
    def accuracy(self) -> float:
        return float(self.right.mean())

    @property
    def score(self) -> float:
        return self.accuracy if self.scoring == "accuracy" else float(self.measured(self.weights))

    def measured(self, weights: Array | None) -> Array:
        """The score for one weighting of the rows (m), or for several (draws × m)."""
        shares = self.shares
        if self.scoring == "log_loss":  # ridge regression knows no bounds: as if each class had one row more
            shares = np.maximum(shares, 1 / len(shares))
            shares = shares / shares.sum(axis=1, keepdims=True)
        return measure(self.scoring, self.codes, shares, weights)

    def drawn(self, seed: int) -> Array:
        """Scores of rows drawn again; the same seed draws the same rows."""
        rng = np.random.default_rng(seed)
        return np.concatenate([self.measured(each) for each in draws(self.codes, rng, weights=self.weights)])


@dataclass(frozen=True)
class Gain:
    """The difference of two scores on the same rows, and its standard error."""

    value: float
    error: float

    @property
    def interval(self) -> tuple[float, float]:
        """About 95 %: two standard errors on either side."""
        return self.value - 2 * self.error, self.value + 2 * self.error

    @property
    def matters(self) -> bool:
        """Whether it exceeds twice its error, and half a point."""
        return self.interval[0] > 0 and self.value > 0.005


def gain(more: Array, less: Array) -> Gain:
    """The gain from how often each row is right (m) with the one and with the other."""
    difference = np.asarray(more, np.float64) - less
    return Gain(float(difference.mean()), float(difference.std() / np.sqrt(len(difference))))


class Ridge:
    """Leave-one-out ridge regression with one kernel (m × m)."""

    def __init__(self, kernel: Array):
        shifted = [kernel + (1.0 + alpha * np.eye(len(kernel))) for alpha in ALPHAS]
        with one_thread():
            self._inverses = [inverted(each) for each in shifted]

    def held_out(self, codes: Array, c: int, scoring: str = "accuracy", weights: Array | None = None) -> LeaveOneOut:
        """Predictions of each row without its own label, with the best α."""
        return max(self.each(codes, c, scoring, weights), key=lambda each: each.score)

    def each(self, codes: Array, c: int, scoring: str = "accuracy", weights: Array | None = None) -> list[LeaveOneOut]:
        """The same for every α."""
        return [LeaveOneOut(shares, codes, scoring, weights) for shares in self._predictions(np.eye(c)[codes])]

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
        targets = np.hstack([np.eye(c)[codes[order]] for order in orders])
        best = np.full(permutations, -np.inf)
        for found in self._predictions(targets):
            shares = found.reshape(len(codes), permutations, c)
            for k, order in enumerate(orders):
                mine = None if weights is None else weights[order]
                best[k] = max(best[k], LeaveOneOut(shares[:, k], codes[order], scoring, mine).score)
        return best

    def _predictions(self, targets: Array) -> list[Array]:
        """Held-out values of each column, for each α; a constant is left to the kernel's 1 1ᵀ."""
        centred = targets - targets.mean(axis=0)
        with one_thread():
            return [targets - matmul(each, centred) / each.diagonal()[:, None] for each in self._inverses]


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


def learning_curve(
    kernel: Array, everything: LeaveOneOut, c: int, rng: np.random.Generator, engine: Engine
) -> LearningCurve:
    """Measure the score with fewer labels.

    Parameters
    ----------
    kernel : ndarray of shape (m, m)
        Of the labelled rows.
    everything : LeaveOneOut
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
    codes, m, plain = everything.codes, len(everything.codes), everything.scoring == "accuracy"
    least = m if plain else int(np.bincount(codes).min())
    enough = [parts for parts in PARTS if m // parts >= LABELS_PER_CLASS * c and least // parts >= LABELS_OF_CLASS]
    divisions = [_divide(codes, parts, rng) for parts in enough for _ in range(N_REPEATS)]
    found = engine.concurrently(*(partial(_divided, kernel, everything, c, part_of) for part_of in divisions))
    labels = [m // parts for parts in enough] + [m]
    groups = [*(found[at : at + N_REPEATS] for at in range(0, len(found), N_REPEATS)), [everything]]
    values = np.array([np.mean([each.score for each in group]) for group in groups])
    if plain:
        rows = [np.mean([each.right for each in group], axis=0) for group in groups]
        errors = np.array([right.std() / np.sqrt(m) for right in rows])
        last = gain(rows[-1], rows[-2]).error if len(rows) > 1 else 0.0
    else:
        drawn = [np.mean([each.drawn(0) for each in group], axis=0) for group in groups]
        errors = np.array([each.std() for each in drawn])
        last = float((drawn[-1] - drawn[-2]).std()) if len(drawn) > 1 else 0.0
    smooth = monotone(values, 1 / np.maximum(errors, 1e-3) ** 2)
    points = [Point(*each) for each in zip(labels, values.tolist(), errors.tolist(), smooth.tolist(), strict=True)]
    if m // 2 not in labels:
        return LearningCurve(tuple(points), None)
    return LearningCurve(tuple(points), Gain(float(smooth[-1] - smooth[-2]), last))


def monotone(values: Array, weights: Array) -> Array:
    """The nearest ascending values, in weighted squares."""
    return isotonic_regression(values, weights=weights).x


def _divided(kernel: Array, everything: LeaveOneOut, c: int, part_of: Array) -> LeaveOneOut:
    """Each row predicted from the others of its part, with the α that is best on all m rows."""
    codes = everything.codes
    shares = np.empty((len(ALPHAS), len(codes), c))
    for part in range(part_of.max() + 1):
        rows = np.flatnonzero(part_of == part)
        shares[:, rows] = [each.shares for each in Ridge(kernel[np.ix_(rows, rows)]).each(codes[rows], c)]
    each = [LeaveOneOut(mine, codes, everything.scoring, everything.weights) for mine in shares]
    return max(each, key=lambda one: one.score)


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
