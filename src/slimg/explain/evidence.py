"""The numbers behind a diagnosis: what each component tells about the labels, and which nodes are odd.

`Ridge` judges a component by the labelled rows, each held out in turn. Together, components are weighed by what they tell
alone (accuracy above chance), as the group penalty would: one that tells nothing does not spoil the rest.

    restated   share of the variance of g(X) inside the span of the singular vectors of A, less what r random directions
               of n would hold:  (R² − r/n) / (1 − r/n)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from slimg.components.components import Components
from slimg.engine.base import Array, Engine
from slimg.explain.learning_curve import LearningCurve, learning_curve
from slimg.explain.ridge import Gain, Held, Ridge, gain
from slimg.graph.digest import feature_digests
from slimg.graph.graph import Graph
from slimg.linalg.reduction import twins

SURE, GAIN = 0.01, 0.02
"""p-value and accuracy above chance from which a component is said to tell the classes."""
Z = 1.959963984540054
ROWS_AT_MOST = 1_500
"""Labelled rows that are judged; of more, a sample."""
DOUBT = 0.5
"""How far the estimated share of another class must be above that of a node's label to call it suspicious."""


@dataclass(frozen=True)
class Accuracy:
    """Held-out accuracy, its 95 % interval, what permuted labels reach on average, and how often they reach as much."""

    value: float
    interval: tuple[float, float]
    by_chance: float
    p: float | None = None

    @property
    def tells(self) -> bool:
        """Whether it is above chance, surely and by an amount that matters."""
        return (self.p is None or self.p <= SURE) and self.value - self.by_chance >= GAIN


@dataclass(frozen=True)
class Suspicion:
    """A labelled node that everything else contradicts."""

    node: Any
    label: Any
    looks_like: Any
    confidence: float


@dataclass(frozen=True, eq=False)
class Evidence:
    """What was measured.

    Attributes
    ----------
    examined : labelled nodes that accuracies are about
    majority : accuracy of always answering with the largest class
    alone, without : component → `Accuracy` of it alone, and of all but it;  all : of all together
    gains : "graph", "features", "hops" → `Gain` of all over features alone, over U alone, over U and X without hops
    restated : see the module's text; None without features or edges
    curve : accuracy with fewer labels (`slimg.explain.learning_curve.LearningCurve`)
    isolated : ids without an edge;  duplicates : sets of ids with the same neighbours and features
    suspicious : labels in doubt, the most doubtful first
    """

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
    suspicious: tuple[Suspicion, ...]


def gather(graph: Graph, parts: Components, random_state: int = 0) -> Evidence:
    """Measure a graph whose components are at hand; labelled nodes of at least two classes."""
    rng = np.random.default_rng(random_state)
    rows = graph.labelled
    if len(rows) > ROWS_AT_MOST:
        rows = np.sort(rng.choice(rows, ROWS_AT_MOST, replace=False))
    present, codes = np.unique(graph.codes[rows], return_inverse=True)
    kernels = {name: _kernel(parts, name, rows) for name in parts.names}
    judge = _Judge(kernels, codes, len(present), rng, parts.engine)
    held = judge.held(parts.names)
    return Evidence(
        examined=len(rows),
        majority=judge.majority,
        alone=judge.alone,
        all=judge.accuracy(held),
        without={name: judge.accuracy(judge.held(_but(parts.names, name))) for name in parts.names if len(parts.names) > 1},
        gains=judge.gains(held),
        restated=_restated(parts),
        curve=judge.curve(held),
        isolated=tuple(graph.ids[np.diff(graph.adjacency.indptr) == 0].tolist()),
        duplicates=_duplicates(graph),
        suspicious=_suspicious(graph, rows, graph.classes[present], held),
    )


class _Judge:
    """Held-out predictions from any set of components; those of a diagnosis are computed side by side."""

    def __init__(self, kernels: dict[str, Array], codes: Array, c: int, rng: np.random.Generator, engine: Engine):
        self.kernels, self.codes, self.c, self.rng, self.engine = kernels, codes, c, rng, engine
        self.majority = float(np.bincount(codes).max() / len(codes))
        chances = rng.spawn(len(kernels))
        found = engine.concurrently(*(partial(self._judged, *each) for each in zip(kernels.values(), chances, strict=True)))
        self.alone = {name: accuracy for name, (_, accuracy) in zip(kernels, found, strict=True)}
        self._held: dict[tuple[str, ...], Held] = {(name,): held for name, (held, _) in zip(kernels, found, strict=True)}
        sets = [names for names in self._sets() if names not in self._held]
        self._held.update(zip(sets, engine.concurrently(*(partial(self._together, names) for names in sets)), strict=True))

    def held(self, names: Iterable[str]) -> Held:
        """From these components together."""
        return self._held[tuple(names)]

    def _sets(self) -> list[tuple[str, ...]]:
        """All components, all but one, and the rivals of all."""
        names = tuple(self.kernels)
        sets = [names, *(_but(names, name) for name in names if len(names) > 1), *self._rivals().values()]
        return list(dict.fromkeys(sets))

    def _rivals(self) -> dict[str, tuple[str, ...]]:
        rivals = {"graph": ("X",), "features": ("U",), "hops": ("U", "X")}
        return {what: rival for what, rival in rivals.items() if set(rival) < set(self.kernels)}

    def _judged(self, kernel: Array, rng: np.random.Generator) -> tuple[Held, Accuracy]:
        """A component alone, beside permuted labels."""
        ridge = Ridge(kernel)
        held, chance = ridge.held_out(self.codes, self.c), ridge.by_chance(self.codes, self.c, rng)
        p = (1 + np.count_nonzero(chance >= held.accuracy)) / (1 + len(chance))
        return held, Accuracy(held.accuracy, _interval(held), float(chance.mean()), float(p))

    def _together(self, names: Sequence[str]) -> Held:
        return Ridge(self._kernel(names)).held_out(self.codes, self.c)

    def accuracy(self, held: Held) -> Accuracy:
        return Accuracy(held.accuracy, _interval(held), self.majority)

    def gains(self, everything: Held) -> dict[str, Gain]:
        return {what: gain(everything.right, self.held(rival).right) for what, rival in self._rivals().items()}

    def curve(self, everything: Held) -> LearningCurve:
        return learning_curve(self._kernel(list(self.kernels)), everything, self.c, self.rng, self.engine)

    def _kernel(self, names: Sequence[str]) -> Array:
        """Components weighed by what they tell alone."""
        told = {name: max(self.alone[name].value - self.alone[name].by_chance, 0.0) for name in names}
        total = sum(told.values())
        shares = [told[name] / total if total else 1 / len(names) for name in names]
        return np.tensordot(shares, [self.kernels[name] for name in names], axes=1)


def wilson(correct: int, total: int) -> tuple[float, float]:
    """The interval of a share at 95 %; from 0 to 1 if nothing was counted.

    centre (k + z²/2)/(n + z²), half-width z √(k(n − k)/n + z²/4)/(n + z²)
    """
    if total == 0:
        return 0.0, 1.0
    centre = (correct + Z * Z / 2) / (total + Z * Z)
    half = Z * np.sqrt(correct * (total - correct) / total + Z * Z / 4) / (total + Z * Z)
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))


def _interval(held: Held) -> tuple[float, float]:
    return wilson(int(held.right.sum()), len(held.right))


def _kernel(parts: Components, name: str, rows: Array) -> Array:
    block = parts.engine.rows(parts.blocks[name], rows).astype(np.float64)
    return block @ block.T


def _but(names: Iterable[str], name: str) -> tuple[str, ...]:
    return tuple(other for other in names if other != name)


def _restated(parts: Components) -> float | None:
    if "X" not in parts.blocks or "U" not in parts.blocks:
        return None
    engine, block, spectrum = parts.engine, parts.blocks["X"], parts.states["U"]
    n, r = block.shape[0], spectrum.rank  # type: ignore[union-attr]
    ones = engine.row_matrix(np.ones((n, 1), np.float32))
    mean, reach = engine.gram(block, ones)[:, 0] / n, engine.gram(spectrum.vectors, ones)[:, 0]  # type: ignore[union-attr]
    inside = engine.gram(spectrum.vectors, block) - np.outer(reach, mean)  # type: ignore[union-attr]
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


def _suspicious(graph: Graph, rows: Array, classes: Array, held: Held) -> tuple[Suspicion, ...]:
    best = held.shares.argmax(axis=1)
    every = np.arange(len(rows))
    margin = held.shares[every, best] - held.shares[every, held.codes]
    doubtful = np.flatnonzero(margin >= DOUBT)
    doubtful = doubtful[np.argsort(-margin[doubtful], kind="stable")]
    return tuple(
        Suspicion(
            graph.ids.item(int(rows[k])),
            classes.item(int(held.codes[k])),
            classes.item(int(best[k])),
            float(np.clip(held.shares[k, best[k]], 0, 1)),
        )
        for k in doubtful
    )
