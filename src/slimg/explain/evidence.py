"""The numbers behind a diagnosis: how well each component predicts the labels, and which nodes are unusual.

`Ridge` predicts each labelled row from the others. Together, components are weighted by their score above chance alone,
as the group penalty would: one that predicts nothing does not spoil the rest. The score is the accuracy or another measure
(`explain.held_out`), that of the fit.

The permutation test of a component compares its score with those of permuted labels. Under the accuracy each component is
tested by itself. Other scores have long tails by chance where a class is rare, and several components are as many chances:
there all share their permutations, and p is how often the largest standardised score of any component is as high.

Of more labels than `ROWS_AT_MOST` a sample is taken. Under other scores than the accuracy it has at least `ROWS_OF_CLASS`
rows of each class, as far as there are so many, and rows are weighted by how many labels they stand for.

    restated   share of the variance of g(X) inside the span of the singular vectors of A, less what r random directions
               of n would hold:  (R² − r/n) / (1 − r/n)

What the edges between labelled nodes say about classes, and whether chance says as much.

    h      share of these edges whose ends are of one class
    h_adj  (h − Σ_k D_k²) / (1 − Σ_k D_k²),   D_k = share of the ends of these edges that are of class k
           0: as often as by chance given how many edges each class has; 1: always; below 0: they avoid each other
    I      mutual information of the classes of the two ends, over the entropy of one: how far a neighbour's class
           predicts a node's own, equal or not
    rarest share of the neighbours of the rarest class's nodes that are of that class; h says little where classes differ
           in size, since most edges join two nodes of the largest

The test permutes the labels among the labelled nodes, so that edges, degrees and class sizes stay what they are. Intervals
(95%) resample nodes: an edge counts as often as both its ends were drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from slimg.components.compute import Components
from slimg.engine.base import Array, Engine, FileMatrix
from slimg.explain.held_out import PERMUTATIONS, Gain, HeldOut, LearningCurve, Ridge, learning_curve
from slimg.graph.graph import Graph
from slimg.inference.fold_in import feature_digests
from slimg.linalg.operators import twins

SURE, GAIN = 0.01, 0.02
"""p-value and score above chance from which a component counts as informative."""
FEWEST = 20
"""Labels below which a score above chance is not called chance."""
PERMUTATIONS_OF_ANY = 199
"""Permutations that all components share."""
ROWS_AT_MOST = 1_500
"""Labelled rows that are examined; of more, a sample."""
ROWS_OF_CLASS = 150
"""Rows of each class that a sample has at least where the score is not the accuracy."""
DOUBT = 0.5
"""How far the estimated share of another class must be above that of a node's label to call it suspect."""
ADDED = {"features": "graph", "network": "features"}
"""What all components have beside a source."""
Judged = tuple[Array, int, str, Array | None]
"""Classes of the rows (m), their number, what is measured, and weights of the rows (m)."""
MINORITY, RECOGNISED, LIFT = 0.1, 0.95, 3.0
"""A label is doubted only where most of its class are predicted right: a class that is mostly missed contradicts all of its
labels. A class with fewer labels than this share of the largest class's is expected to be missed: one of its labels is doubted
only where so many of them are recognised, with an estimated share of `LIFT` times the class's own, and it has less than that
share once."""


EDGE_PERMUTATIONS = 199
EDGES_AT_MOST = 500_000
"""Labelled edges above which a sample is taken."""



@dataclass(frozen=True)
class Score:
    """Held-out score, its 95% interval, the mean score with permuted labels, and how often that is as high (p).

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
    sources : dict of str to tuple of str
        Components that are made of the "features" alone, and of the "network" alone (`Components.sources`).
    by_source : dict of str to Score
        Of the components of each source together.
    gains : dict of str to Gain
        Of all components: "graph" over the features alone, "features" over the network alone.
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
    sources: dict[str, tuple[str, ...]]
    by_source: dict[str, Score]
    gains: dict[str, Gain]
    restated: float | None
    curve: LearningCurve
    isolated: tuple[Any, ...]
    duplicates: tuple[tuple[Any, ...], ...]
    suspicious: tuple[SuspectLabel, ...]

    @property
    def predicts(self) -> bool:
        """Whether a source alone is informative, or a component made of both."""
        pure = {name for names in self.sources.values() for name in names}
        mixed = (each for name, each in self.alone.items() if name not in pure)
        return any(each.is_informative for each in (*self.by_source.values(), *mixed))

    @property
    def trust(self) -> str:
        """Whether predictions are above chance: "yes", "no", or "unclear" if either a component or all together are not.

        So few labels that they say neither are unclear, too.
        """
        few = self.examined < FEWEST and self.all.value > self.all.by_chance
        return ("unclear" if few else "no", "unclear", "yes")[self.predicts + self.all.is_above]


def gather(graph: Graph, parts: Components, random_state: int = 0, scoring: str = "accuracy") -> Evidence:
    """Measure a graph, given its components; labelled nodes must be of at least two classes.

    Returns
    -------
    evidence : Evidence
    """
    rng = np.random.default_rng(random_state)
    rows, weights = _sample(graph, rng, scoring)
    present, codes = np.unique(graph.codes[rows], return_inverse=True)
    names = tuple(parts.names)
    judged = codes, len(present), scoring, weights
    kernels = {name: _kernel(parts, name, rows) for name in names}
    held, alone = _alone(kernels, judged, rng, parts.engine, random_state)

    def kernel(used: Sequence[str]) -> Array:
        """Components weighted by their score above chance."""
        above = [max(alone[name].value - alone[name].by_chance, 0.0) for name in used]
        shares = np.array(above) / sum(above) if sum(above) else np.full(len(used), 1 / len(used))
        return np.tensordot(shares, [kernels[name] for name in used], axes=1)

    def predicted(used: Sequence[str]) -> HeldOut:
        return Ridge(kernel(used)).held_out(*judged)

    but = {name: tuple(other for other in names if other != name) for name in names if len(names) > 1}
    sources = parts.sources
    sets = [used for used in dict.fromkeys([names, *but.values(), *sources.values()]) if used not in held]
    together = parts.engine.concurrently(*(partial(predicted, used) for used in sets))
    held |= zip(sets, together, strict=True)
    everything, baseline = held[names], held[names].baseline

    def score(used: tuple[str, ...]) -> Score:
        return Score(held[used].score, held[used].interval, baseline, min(alone[name].p or 0.0 for name in used))

    return Evidence(
        titles=parts.titles,
        examined=len(rows),
        scoring=scoring,
        majority=float(everything.shares.max()),
        baseline=baseline,
        alone=alone,
        all=score(names),
        without={name: score(others) for name, others in but.items()},
        sources=sources,
        by_source={source: score(used) if len(used) > 1 else alone[used[0]] for source, used in sources.items()},
        gains={ADDED[source]: everything.gain(held[used]) for source, used in sources.items() if used != names},
        restated=_restated(parts),
        curve=learning_curve(kernel(names), everything, len(present), rng, parts.engine),
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


def _alone(
    kernels: dict[str, Array], judged: Judged, rng: np.random.Generator, engine: Engine, seed: int
) -> tuple[dict[tuple[str, ...], HeldOut], dict[str, Score]]:
    """Each component alone, computed concurrently: its predictions, and its score."""
    plain = judged[2] == "accuracy"
    permutations = PERMUTATIONS if plain else PERMUTATIONS_OF_ANY
    chances = rng.spawn(len(kernels)) if plain else [np.random.default_rng(seed) for _ in kernels]

    def predicted(kernel: Array, chance: np.random.Generator) -> tuple[HeldOut, Array]:
        """Predictions, and scores with permuted labels."""
        codes, c, scoring, weights = judged
        ridge = Ridge(kernel)
        return ridge.held_out(*judged), ridge.by_chance(codes, c, chance, permutations, scoring, weights)

    found = engine.concurrently(*(partial(predicted, *each) for each in zip(kernels.values(), chances, strict=True)))
    null, values = np.array([each for _, each in found]), np.array([held.score for held, _ in found])
    p = [p_value(mine >= value) for mine, value in zip(null, values, strict=True)] if plain else _p_of_any(null, values)
    scores = {
        name: Score(held.score, held.interval, float(mine.mean()), each)
        for name, (held, mine), each in zip(kernels, found, p, strict=True)
    }
    return {(name,): held for name, (held, _) in zip(kernels, found, strict=True)}, scores


def p_value(as_extreme: Array) -> float:
    """The share of permutations that are as extreme, the data itself counted as one."""
    return float((1 + np.count_nonzero(as_extreme)) / (1 + len(as_extreme)))


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


def _suspicious(graph: Graph, rows: Array, classes: Array, held_out: HeldOut) -> tuple[SuspectLabel, ...]:
    best = held_out.chances.argmax(axis=1)
    every = np.arange(len(rows))
    margin = held_out.chances[every, best] - held_out.chances[every, held_out.codes]
    sizes = np.bincount(held_out.codes)
    lift = held_out.chances[every, held_out.codes] * len(rows) / sizes[held_out.codes]
    recognised = np.bincount(held_out.codes, lift >= LIFT) >= RECOGNISED * sizes
    usual = (sizes >= MINORITY * sizes.max()) & (2 * np.bincount(held_out.codes, held_out.right) >= sizes)
    doubted = usual[held_out.codes] | recognised[held_out.codes] & (lift < 1)
    doubtful = np.flatnonzero((margin >= DOUBT) & doubted)
    doubtful = doubtful[np.argsort(-margin[doubtful], kind="stable")]
    names, found, given = graph.ids[rows].tolist(), classes[best].tolist(), classes[held_out.codes].tolist()
    confidence = np.clip(held_out.chances[every, best], 0, 1).tolist()
    return tuple(SuspectLabel(names[k], given[k], found[k], confidence[k]) for k in doubtful)


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
    rng, nodes = np.random.default_rng(random_state), graph.labelled
    u, v = np.searchsorted(nodes, _labelled_edges(graph, rng))  # their places among labelled nodes, whose codes fit the cache
    codes = graph.codes[nodes]
    if len(u) == 0 or len(np.unique(codes)) < 2:
        return None
    c = len(graph.classes)
    table = _table(codes, u, v, c)
    share, adjusted, information = _measures(table)
    null, total = np.empty((EDGE_PERMUTATIONS, 3)), np.zeros((c, c))
    for k in range(EDGE_PERMUTATIONS):
        permuted = _table(rng.permutation(codes), u, v, c)
        null[k], total = _measures(permuted), total + permuted
    drawn = np.array([_measures(_resampled(codes, u, v, c, rng)) for _ in range(EDGE_PERMUTATIONS)])
    low, high = np.quantile(drawn, (0.025, 0.975), axis=0)
    intervals = [(float(a), float(b)) for a, b in zip(low, high, strict=True)]
    sizes = np.bincount(codes, minlength=c)
    rarest, largest = int(np.where(sizes > 0, sizes, len(nodes)).argmin()), int(sizes.argmax())
    return Agreement(
        edges=len(u), share=share, interval=intervals[0], by_chance=float(np.square(table.sum(axis=1)).sum()),
        adjusted=adjusted, adjusted_interval=intervals[1],
        p_more=p_value(null[:, 1] >= adjusted), p_less=p_value(null[:, 1] <= adjusted),
        information=information, p_information=p_value(null[:, 2] >= information),
        minority=int(np.count_nonzero((codes[u] != largest) | (codes[v] != largest))),
        rarest=graph.classes.tolist()[rarest],
        rarest_share=_own_share(table, rarest), rarest_by_chance=_own_share(total, rarest),
    )  # fmt: skip


def _labelled_edges(graph: Graph, rng: np.random.Generator) -> Array:
    """Edges between labelled nodes, once each (2 × edges), or a sample of them."""
    rows, known, found = FileMatrix(graph.adjacency), graph.codes >= 0, [np.empty((2, 0), np.int64)]
    for start, stop in rows.blocks():
        indptr, indices, _ = rows.read(start, stop)
        degrees, own = np.diff(indptr), known[start:stop]
        indices = indices[np.repeat(own, degrees)]
        row = np.repeat(np.arange(start, stop)[own], degrees[own])
        chosen = (row < indices) & known[indices]
        found.append(np.array([row[chosen], indices[chosen]], np.int64))
    edges = np.hstack(found)
    if edges.shape[1] > EDGES_AT_MOST:
        edges = edges[:, np.sort(rng.choice(edges.shape[1], EDGES_AT_MOST, replace=False))]
    return edges


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


def _resampled(codes: Array, u: Array, v: Array, c: int, rng: np.random.Generator) -> Array:
    drawn = np.bincount(rng.integers(len(codes), size=len(codes)), minlength=len(codes)).astype(np.float64)
    return _table(codes, u, v, c, drawn[u] * drawn[v])
