"""What the edges between labelled nodes say about classes, and whether chance says as much.

    h      share of these edges whose ends are of one class
    h_adj  (h − Σ_k D_k²) / (1 − Σ_k D_k²),   D_k = share of the ends of these edges that are of class k
           0: as often as by chance given how many edges each class has; 1: always; below 0: they avoid each other
    I      mutual information of the classes of the two ends, over the entropy of one: how far a neighbour's class
           predicts a node's own, equal or not

The test permutes the labels among the labelled nodes, so that edges, degrees and class sizes stay what they are. Intervals
(95 %) resample nodes: an edge counts as often as both its ends were drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slimg.engine.base import Array
from slimg.graph.graph import Graph

PERMUTATIONS = 199
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
        h, with ``interval`` and its mean over permuted labels, ``by_chance``.
    adjusted : float
        h_adj, with ``adjusted_interval``.
    p_more, p_less : float
        How often permuted labels give an h_adj as high, or as low.
    information : float
        I; ``p_information`` is how often permuted labels give as much.
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
    null = np.empty((PERMUTATIONS, 3))
    for k in range(PERMUTATIONS):
        codes[nodes] = rng.permutation(graph.codes[nodes])
        null[k] = _measures(_table(codes, u, v, c))
    drawn = np.array([_measures(_resampled(graph, u, v, c, rng)) for _ in range(PERMUTATIONS)])
    low, high = np.quantile(drawn, (0.025, 0.975), axis=0)
    return Agreement(
        edges=len(u),
        share=share,
        interval=(float(low[0]), float(high[0])),
        by_chance=float(null[:, 0].mean()),
        adjusted=adjusted,
        adjusted_interval=(float(low[1]), float(high[1])),
        p_more=_p(null[:, 1] >= adjusted),
        p_less=_p(null[:, 1] <= adjusted),
        information=information,
        p_information=_p(null[:, 2] >= information),
    )


def _labelled_edges(graph: Graph, rng: np.random.Generator) -> tuple[Array, Array]:
    indptr, indices = graph.adjacency.indptr, graph.adjacency.indices
    row = np.repeat(np.arange(graph.n), np.diff(indptr))
    chosen = np.flatnonzero((row < indices) & (graph.codes[row] >= 0) & (graph.codes[indices] >= 0))
    if len(chosen) > EDGES_AT_MOST:
        chosen = np.sort(rng.choice(chosen, EDGES_AT_MOST, replace=False))
    return row[chosen], indices[chosen].astype(np.int64)


def _table(codes: Array, u: Array, v: Array, c: int, weights: Array | None = None) -> Array:
    """Shares of edges by the classes of their ends (c × c, symmetric, summing to one)."""
    counts = np.bincount(codes[u] * c + codes[v], weights, minlength=c * c).reshape(c, c)
    both = counts + counts.T
    return both / max(both.sum(), 1e-300)


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


def _p(as_extreme: Array) -> float:
    return float((1 + np.count_nonzero(as_extreme)) / (1 + len(as_extreme)))
