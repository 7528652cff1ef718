"""The numbers behind a diagnosis: how well each component predicts the labels, and which nodes are unusual.

`Ridge` predicts each labelled row from the others. Together, components are weighted by their accuracy above chance alone,
as the group penalty would: one that predicts nothing does not spoil the rest.

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
from slimg.explain.leave_one_out import Gain, LearningCurve, LeaveOneOut, Ridge, gain, learning_curve, p_value
from slimg.graph.graph import Graph
from slimg.inference.fold_in import feature_digests
from slimg.linalg.operators import twins

SURE, GAIN = 0.01, 0.02
"""p-value and accuracy above chance from which a component counts as informative."""
Z = 1.959963984540054
ROWS_AT_MOST = 1_500
"""Labelled rows that are examined; of more, a sample."""
DOUBT = 0.5
"""How far the estimated share of another class must be above that of a node's label to call it suspect."""


@dataclass(frozen=True)
class Accuracy:
    """Held-out accuracy, its 95 % interval, the mean accuracy with permuted labels, and how often that is as high (p)."""

    value: float
    interval: tuple[float, float]
    by_chance: float
    p: float | None = None

    @property
    def is_informative(self) -> bool:
        """Whether it is above chance, significantly and by an amount that matters."""
        return (self.p is None or self.p <= SURE) and self.value - self.by_chance >= GAIN


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
        Labelled nodes that the accuracies are measured on.
    majority : float
        Accuracy of always predicting the largest class.
    alone : dict of str to Accuracy
        Of each component alone.
    all : Accuracy
        Of all components together.
    without : dict of str to Accuracy
        Of all components but one.
    gains : dict of str to Gain
        Of all components: "graph" over features alone, "features" over U alone, "hops" over U and X.
    restated : float or None
        See the module's text; None without features or edges.
    curve : LearningCurve
        Accuracy with fewer labels.
    isolated : tuple
        Ids of nodes without an edge.
    duplicates : tuple of tuple
        Ids of nodes with the same neighbours and features.
    suspicious : tuple of SuspectLabel
        The most doubtful first.
    """

    titles: dict[str, str]
    examined: int
    majority: float
    alone: dict[str, Accuracy]
    all: Accuracy
    without: dict[str, Accuracy]
    gains: dict[str, Gain]
    restated: float | None
    curve: LearningCurve
    isolated: tuple[Any, ...]
    duplicates: tuple[tuple[Any, ...], ...]
    suspicious: tuple[SuspectLabel, ...]


def gather(graph: Graph, parts: Components, random_state: int = 0) -> Evidence:
    """Measure a graph, given its components; labelled nodes must be of at least two classes.

    Returns
    -------
    evidence : Evidence
    """
    rng = np.random.default_rng(random_state)
    rows = graph.labelled
    if len(rows) > ROWS_AT_MOST:
        rows = np.sort(rng.choice(rows, ROWS_AT_MOST, replace=False))
    present, codes = np.unique(graph.codes[rows], return_inverse=True)
    kernels = {name: _kernel(parts, name, rows) for name in parts.names}
    evaluation = _Evaluation(kernels, codes, len(present), rng, parts.engine)
    everything, right = evaluation.held_out[tuple(parts.names)], evaluation.right
    return Evidence(
        titles=parts.titles,
        examined=len(rows),
        majority=evaluation.majority,
        alone=evaluation.alone,
        all=evaluation.accuracy(tuple(parts.names)),
        without={name: evaluation.accuracy(others) for name, others in evaluation.but.items()},
        gains={what: gain(everything.right, right(others)) for what, others in evaluation.references.items()},
        restated=_restated(parts),
        curve=learning_curve(evaluation.kernel(parts.names), everything, len(present), rng, parts.engine),
        isolated=tuple(graph.ids[np.diff(graph.adjacency.indptr) == 0].tolist()),
        duplicates=_duplicates(graph),
        suspicious=_suspicious(graph, rows, graph.classes[present], everything),
    )


class _Evaluation:
    """Held-out predictions from sets of components, computed concurrently."""

    def __init__(self, kernels: dict[str, Array], codes: Array, c: int, rng: np.random.Generator, engine: Engine):
        self.kernels, self.codes, self.c = kernels, codes, c
        self.majority = float(np.bincount(codes).max() / len(codes))
        chances = rng.spawn(len(kernels))
        alone = engine.concurrently(*(partial(self._alone, *each) for each in zip(kernels.values(), chances, strict=True)))
        self.alone = {name: accuracy for name, (_, accuracy) in zip(kernels, alone, strict=True)}
        names, references = tuple(kernels), {"graph": ("X",), "features": ("U",), "hops": ("U", "X")}
        self.references = {what: others for what, others in references.items() if set(others) < set(kernels)}
        self.but = {name: tuple(other for other in names if other != name) for name in names if len(names) > 1}
        self.held_out: dict[tuple[str, ...], LeaveOneOut] = {}
        self.held_out |= {(name,): held_out for name, (held_out, _) in zip(kernels, alone, strict=True)}
        sets = [s for s in dict.fromkeys([names, *self.but.values(), *self.references.values()]) if s not in self.held_out]
        together = engine.concurrently(*(partial(self._together, each) for each in sets))
        self.held_out |= zip(sets, together, strict=True)

    def _alone(self, kernel: Array, rng: np.random.Generator) -> tuple[LeaveOneOut, Accuracy]:
        """A component alone, with its labels and with permuted ones."""
        ridge = Ridge(kernel)
        held_out, chance = ridge.held_out(self.codes, self.c), ridge.by_chance(self.codes, self.c, rng)
        p = p_value(chance >= held_out.accuracy)
        return held_out, Accuracy(held_out.accuracy, _interval(held_out), float(chance.mean()), p)

    def _together(self, names: Sequence[str]) -> LeaveOneOut:
        return Ridge(self.kernel(names)).held_out(self.codes, self.c)

    def right(self, names: tuple[str, ...]) -> Array:
        return self.held_out[names].right

    def accuracy(self, names: tuple[str, ...]) -> Accuracy:
        held_out = self.held_out[names]
        return Accuracy(held_out.accuracy, _interval(held_out), self.majority)

    def kernel(self, names: Sequence[str]) -> Array:
        """Components weighted by their accuracy above chance."""
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


def _interval(held_out: LeaveOneOut) -> tuple[float, float]:
    return wilson(int(held_out.right.sum()), len(held_out.right))


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
    linked = np.flatnonzero(np.diff(graph.adjacency.indptr) > 0)
    keys = np.column_stack([twins(graph.adjacency).astype(np.uint64), feature_digests(graph.features, graph.n)])[linked]
    if len(linked) == 0:
        return ()
    _, group, sizes = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(group, kind="stable")
    members = np.split(linked[order], np.cumsum(sizes)[:-1])
    return tuple(tuple(graph.ids[mine].tolist()) for mine in members if len(mine) > 1)


def _suspicious(graph: Graph, rows: Array, classes: Array, held_out: LeaveOneOut) -> tuple[SuspectLabel, ...]:
    best = held_out.shares.argmax(axis=1)
    every = np.arange(len(rows))
    margin = held_out.shares[every, best] - held_out.shares[every, held_out.codes]
    doubtful = np.flatnonzero(margin >= DOUBT)
    doubtful = doubtful[np.argsort(-margin[doubtful], kind="stable")]
    names, found, given = graph.ids[rows].tolist(), classes[best].tolist(), classes[held_out.codes].tolist()
    confidence = np.clip(held_out.shares[every, best], 0, 1).tolist()
    return tuple(SuspectLabel(names[k], given[k], found[k], confidence[k]) for k in doubtful)
