"""The numbers behind a diagnosis: how well each component predicts the labels, and which nodes are unusual.

`Ridge` predicts each labelled row from the others. Together, components are weighted by their score above chance alone,
as the group penalty would: one that predicts nothing does not spoil the rest. The score is the accuracy or another measure
(`explain.measures`), that of the fit.

The permutation test of a component compares its score with those of permuted labels. Under the accuracy each component is
tested by itself. Other scores have long tails by chance where a class is rare, and several components are as many chances:
there all share their permutations, and p is how often the largest standardised score of any component is as high.

Of more labels than `ROWS_AT_MOST` a sample is taken. Under other scores than the accuracy it has at least `ROWS_OF_CLASS`
rows of each class, as far as there are so many, and rows are weighted by how many labels they stand for.

    restated   share of the variance of g(X) inside the span of the singular vectors of A, less what r random directions
               of n would hold:  (R² − r/n) / (1 − r/n)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from slimg.components.compute import Components
from slimg.engine.base import Array, Engine
from slimg.explain.leave_one_out import PERMUTATIONS, Gain, LearningCurve, LeaveOneOut, Ridge, gain, learning_curve, p_value
from slimg.explain.measures import interval, measure
from slimg.graph.graph import Graph
from slimg.inference.fold_in import feature_digests
from slimg.linalg.operators import twins

SURE, GAIN = 0.01, 0.02
"""p-value and score above chance from which a component counts as informative."""
Z = 1.959963984540054
PERMUTATIONS_OF_ANY = 199
"""Permutations that all components share."""
ROWS_AT_MOST = 1_500
"""Labelled rows that are examined; of more, a sample."""
ROWS_OF_CLASS = 150
"""Rows of each class that a sample has at least where the score is not the accuracy."""
DOUBT = 0.5
"""How far the estimated share of another class must be above that of a node's label to call it suspect."""
MINORITY, RECOGNISED, LIFT = 0.1, 0.95, 3.0
"""A class with fewer labels than this share of the largest class's is expected to be missed: one of its labels is doubted
only where so many of them are recognised, with an estimated share of `LIFT` times the class's own, and it has less than
that share once."""


@dataclass(frozen=True)
class Score:
    """Held-out score, its 95 % interval, the mean score with permuted labels, and how often that is as high (p).

    Of all components together ``by_chance`` is the baseline, and p the smallest of any of them alone.
    """

    value: float
    interval: tuple[float, float]
    by_chance: float
    p: float | None = None

    @property
    def is_informative(self) -> bool:
        """Whether it is above chance, significantly and by an amount that matters."""
        return self.is_above and self.value - self.by_chance >= GAIN

    @property
    def is_above(self) -> bool:
        """Whether it is above chance: with a small p, or, where there is none, by its whole interval."""
        return self.value > self.by_chance and (self.interval[0] > self.by_chance if self.p is None else self.p <= SURE)


@dataclass(frozen=True)
class SuspectLabel:
    """A labelled node whose neighbours and features predict another class."""

    node: Any
    label: Any
    looks_like: Any
    confidence: float


@dataclass(frozen=True, eq=False)
class Evidence:
    """What was measured.

    Attributes
    ----------
    titles : dict of str to str
        Of each component, in words.
    examined : int
        Labelled nodes that the scores are measured on.
    scoring : str
        What components are judged by, a name of `learn.objective.METRICS`; more is better.
    majority : float
        Share of the largest class, the accuracy of always predicting it.
    baseline : float
        Score of predicting the shares of the classes for every node.
    alone : dict of str to Score
        Of each component alone.
    all : Score
        Of all components together.
    without : dict of str to Score
        Of all components but one.
    gains : dict of str to Gain
        Of all components: "graph" over features alone, "features" over U alone.
    restated : float or None
        See the module's text; None without features or edges.
    curve : LearningCurve
        Score with fewer labels.
    isolated : tuple
        Ids of nodes without an edge.
    duplicates : tuple of tuple
        Ids of nodes with the same neighbours and features.
    suspicious : tuple of SuspectLabel
        The most doubtful first.
    """

    titles: dict[str, str]
    examined: int
    scoring: str
    majority: float
    baseline: float
    alone: dict[str, Score]
    all: Score
    without: dict[str, Score]
    gains: dict[str, Gain]
    restated: float | None
    curve: LearningCurve
    isolated: tuple[Any, ...]
    duplicates: tuple[tuple[Any, ...], ...]
    suspicious: tuple[SuspectLabel, ...]

    @property
    def predicts(self) -> bool:
        """Whether some component alone is informative."""
        return any(each.is_informative for each in self.alone.values())

    @property
    def trust(self) -> str:
        """Whether predictions are above chance: "yes", "no", or "unclear" if either a component or all together are not."""
        return ("no", "unclear", "yes")[self.predicts + self.all.is_above]


def gather(graph: Graph, parts: Components, random_state: int = 0, scoring: str = "accuracy") -> Evidence:
    """Measure a graph, given its components; labelled nodes must be of at least two classes.

    Returns
    -------
    evidence : Evidence
    """
    rng = np.random.default_rng(random_state)
    rows, weights = _sample(graph, rng, scoring)
    present, codes = np.unique(graph.codes[rows], return_inverse=True)
    kernels = {name: _kernel(parts, name, rows) for name in parts.names}
    evaluation = _Evaluation(kernels, LeaveOneOut(np.empty(0), codes, scoring, weights), rng, parts.engine, random_state)
    everything = evaluation.held_out[tuple(parts.names)]
    return Evidence(
        titles=parts.titles,
        examined=len(rows),
        scoring=scoring,
        majority=evaluation.majority,
        baseline=evaluation.baseline,
        alone=evaluation.alone,
        all=evaluation.score(tuple(parts.names)),
        without={name: evaluation.score(others) for name, others in evaluation.but.items()},
        gains={what: evaluation.gain(everything, others) for what, others in evaluation.references.items()},
        restated=_restated(parts),
        curve=learning_curve(evaluation.kernel(parts.names), everything, len(present), rng, parts.engine),
        isolated=tuple(graph.ids[np.diff(graph.adjacency.indptr) == 0].tolist()),
        duplicates=_duplicates(graph),
        suspicious=_suspicious(graph, rows, graph.classes[present], everything),
    )


def _sample(graph: Graph, rng: np.random.Generator, scoring: str) -> tuple[Array, Array | None]:
    """Labelled rows that are examined, and how many labels each stands for (None: as many as any other)."""
    rows = graph.labelled
    if len(rows) <= ROWS_AT_MOST:
        return rows, None
    if scoring == "accuracy":
        return np.sort(rng.choice(rows, ROWS_AT_MOST, replace=False)), None
    codes = graph.codes[rows]
    sizes = np.bincount(codes)
    least = np.minimum(sizes, min(ROWS_OF_CLASS, ROWS_AT_MOST // len(sizes)))
    left = (sizes - least) / max((sizes - least).sum(), 1)
    wanted = least + np.floor((ROWS_AT_MOST - least.sum()) * left).astype(np.int64)
    taken = np.concatenate([rng.choice(rows[codes == code], n, replace=False) for code, n in enumerate(wanted)])
    taken = np.sort(taken)
    return taken, (sizes / np.maximum(wanted, 1))[graph.codes[taken]]


class _Evaluation:
    """Held-out predictions from sets of components, computed concurrently; ``judged`` has codes, score and weights."""

    def __init__(
        self, kernels: dict[str, Array], judged: LeaveOneOut, rng: np.random.Generator, engine: Engine, seed: int
    ):
        self.kernels, self.codes, self.c, self.seed = kernels, judged.codes, int(judged.codes.max()) + 1, seed
        self.scoring, self.weights = judged.scoring, judged.weights
        shares = np.bincount(self.codes, self.weights) / (len(self.codes) if self.weights is None else self.weights.sum())
        self.majority = float(shares.max())
        constant = np.broadcast_to(shares, (len(self.codes), self.c))
        self.baseline = float(measure(self.scoring, self.codes, constant, self.weights))
        plain = self.scoring == "accuracy"
        chances = rng.spawn(len(kernels)) if plain else [np.random.default_rng(seed) for _ in kernels]
        alone = engine.concurrently(*(partial(self._alone, *each) for each in zip(kernels.values(), chances, strict=True)))
        null = np.array([each for _, each in alone])
        values = np.array([held_out.score for held_out, _ in alone])
        p = [p_value(mine >= value) for mine, value in zip(null, values, strict=True)] if plain else _p_of_any(null, values)
        self.alone = {
            name: Score(float(value), self._interval(held_out), float(mine.mean()), each)
            for name, value, (held_out, mine), each in zip(kernels, values, alone, p, strict=True)
        }
        names, references = tuple(kernels), {"graph": ("X",), "features": ("U",)}
        self.references = {what: others for what, others in references.items() if set(others) < set(kernels)}
        self.but = {name: tuple(other for other in names if other != name) for name in names if len(names) > 1}
        self.held_out: dict[tuple[str, ...], LeaveOneOut] = {}
        self.held_out |= {(name,): held_out for name, (held_out, _) in zip(kernels, alone, strict=True)}
        sets = [s for s in dict.fromkeys([names, *self.but.values(), *self.references.values()]) if s not in self.held_out]
        together = engine.concurrently(*(partial(self._together, each) for each in sets))
        self.held_out |= zip(sets, together, strict=True)

    def _alone(self, kernel: Array, rng: np.random.Generator) -> tuple[LeaveOneOut, Array]:
        """A component alone: predictions, and scores with permuted labels."""
        ridge, number = Ridge(kernel), PERMUTATIONS if self.scoring == "accuracy" else PERMUTATIONS_OF_ANY
        held_out = ridge.held_out(self.codes, self.c, self.scoring, self.weights)
        return held_out, ridge.by_chance(self.codes, self.c, rng, number, self.scoring, self.weights)

    def _together(self, names: Sequence[str]) -> LeaveOneOut:
        return Ridge(self.kernel(names)).held_out(self.codes, self.c, self.scoring, self.weights)

    def _interval(self, held_out: LeaveOneOut) -> tuple[float, float]:
        if self.scoring != "accuracy":
            return interval(held_out.drawn(self.seed))
        return wilson(int(held_out.right.sum()), len(held_out.right))

    def score(self, names: tuple[str, ...]) -> Score:
        held_out = self.held_out[names]
        p = min(each.p for name, each in self.alone.items() if name in names and each.p is not None)
        return Score(held_out.score, self._interval(held_out), self.baseline, p)

    def gain(self, everything: LeaveOneOut, names: tuple[str, ...]) -> Gain:
        """What all components give beyond some."""
        less = self.held_out[names]
        if self.scoring == "accuracy":
            return gain(everything.right, less.right)
        return Gain(everything.score - less.score, float((everything.drawn(self.seed) - less.drawn(self.seed)).std()))

    def kernel(self, names: Sequence[str]) -> Array:
        """Components weighted by their score above chance."""
        above = {name: max(self.alone[name].value - self.alone[name].by_chance, 0.0) for name in names}
        total = sum(above.values())
        shares = [above[name] / total if total else 1 / len(names) for name in names]
        return np.tensordot(shares, [self.kernels[name] for name in names], axes=1)


def wilson(correct: int, total: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share; (0, 1) if nothing was counted.

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


def _p_of_any(null: Array, values: Array) -> list[float]:
    """How often the largest standardised score of any component is as high as each of the ``values`` by permutation."""
    mean, spread = null.mean(axis=1), np.maximum(null.std(axis=1), 1e-12)
    largest = ((null - mean[:, None]) / spread[:, None]).max(axis=0)
    return [p_value(largest >= value) for value in (values - mean) / spread]


def _kernel(parts: Components, name: str, rows: Array) -> Array:
    block = parts.engine.rows(parts.blocks[name], rows).astype(np.float64)
    return block @ block.T


def _restated(parts: Components) -> float | None:
    if "X" not in parts.blocks or "U" not in parts.blocks:
        return None
    engine, block, spectrum = parts.engine, parts.blocks["X"], parts.fitted["U"].state.spectrum
    n, r = block.shape[0], spectrum.rank
    ones = engine.row_matrix(np.ones((n, 1), np.float32))
    mean, reach = engine.gram(block, ones)[:, 0] / n, engine.gram(spectrum.vectors, ones)[:, 0]
    inside = engine.gram(spectrum.vectors, block) - np.outer(reach, mean)
    total = float(engine.sum_rows(lambda rows: np.square(rows, dtype=np.float64).sum(keepdims=True), block).sum())
    total -= n * float(mean @ mean)
    if total <= 0 or r >= n:
        return None
    return float((np.square(inside).sum() / total - r / n) / (1 - r / n))


def _duplicates(graph: Graph) -> tuple[tuple[Any, ...], ...]:
    alike = twins(graph.adjacency)
    linked = np.flatnonzero((np.diff(graph.adjacency.indptr) > 0) & (np.bincount(alike, minlength=graph.n)[alike] > 1))
    if len(linked) == 0:
        return ()
    features: Any = None if graph.features is None else graph.features[linked]
    keys = np.column_stack([alike[linked].astype(np.uint64), feature_digests(features, len(linked))])
    _, group, sizes = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(group, kind="stable")
    members = np.split(linked[order], np.cumsum(sizes)[:-1])
    return tuple(tuple(graph.ids[mine].tolist()) for mine in members if len(mine) > 1)


def _suspicious(graph: Graph, rows: Array, classes: Array, held_out: LeaveOneOut) -> tuple[SuspectLabel, ...]:
    best = held_out.shares.argmax(axis=1)
    every = np.arange(len(rows))
    margin = held_out.shares[every, best] - held_out.shares[every, held_out.codes]
    sizes = np.bincount(held_out.codes)
    lift = held_out.shares[every, held_out.codes] * len(rows) / sizes[held_out.codes]
    recognised = np.bincount(held_out.codes, lift >= LIFT) >= RECOGNISED * sizes
    doubted = (sizes >= MINORITY * sizes.max())[held_out.codes] | recognised[held_out.codes] & (lift < 1)
    doubtful = np.flatnonzero((margin >= DOUBT) & doubted)
    doubtful = doubtful[np.argsort(-margin[doubtful], kind="stable")]
    names, found, given = graph.ids[rows].tolist(), classes[best].tolist(), classes[held_out.codes].tolist()
    confidence = np.clip(held_out.shares[every, best], 0, 1).tolist()
    return tuple(SuspectLabel(names[k], given[k], found[k], confidence[k]) for k in doubtful)
