"""Generated graphs in the place of large ones whose files are not here. They are made up, and results on them say nothing
about the graphs they stand in for: they show that a program runs at such a size and how long it takes.

    θ_i ~ Pareto(exponent)              how many edges node i attracts: degrees are skewed
    y_i                                 c classes, the largest ``imbalance`` times the smallest
    edge (u, v)                         u ∝ θ; with probability ``homophily`` v ∝ θ in the class of u, else v ∝ θ in another
    x_i = strength · μ_{y_i} + ε_i      μ, ε standard normal (d): features follow labels

Repeated edges and loops are dropped and drawn again, so that the number of edges is the one asked for. More of them fall
inside a class, so that the measured homophily is a little lower than the one asked for.
"""

from __future__ import annotations

import numpy as np

from slimg.errors import InputError
from slimg.graph import Adjacency, Graph
from slimg.lab.sanity.generators import draw_clusters

ROUNDS = 50


def make_standin(
    nodes: int,
    edges: int,
    features: int,
    classes: int,
    *,
    homophily: float = 0.7,
    strength: float = 0.2,
    imbalance: float = 4.0,
    exponent: float = 2.5,
    seed: int = 0,
) -> Graph:
    """Draw a graph; ``edges`` are undirected."""
    if edges > nodes * (nodes - 1) // 8:
        raise InputError(f"a stand-in of {nodes:,} nodes is too dense with {edges:,} edges: ask for fewer")
    rng = np.random.default_rng(seed)
    labels = draw_clusters(nodes, classes, imbalance, rng)
    attraction = 1 + rng.pareto(exponent - 1, nodes)
    found = np.empty(0, np.int64)
    for _ in range(ROUNDS):
        lacking = edges - len(found)
        if lacking <= 0:
            break
        drawn = _draw(int(1.2 * lacking) + 16, labels, attraction, homophily, rng)
        found = np.union1d(found, drawn)
    kept = rng.permutation(found)[:edges]
    adjacency, _ = Adjacency.from_edges(*np.divmod(kept, nodes), nodes, directed=False)
    return Graph(adjacency, _features(labels, classes, features, strength, rng), labels).with_notes(
        "A generated stand-in, not a published graph."
    )


def _draw(count: int, labels: np.ndarray, attraction: np.ndarray, homophily: float, rng: np.random.Generator) -> np.ndarray:
    """Edges u < v as u·n + v; fewer than asked for where both ends are the same node."""
    n, order = len(labels), np.argsort(labels, kind="stable")
    edges_of = np.concatenate([[0.0], np.cumsum(attraction[order])])
    ends = np.searchsorted(labels[order], np.arange(labels.max() + 2))
    low, high = edges_of[ends[:-1]], edges_of[ends[1:]]

    first = order[_places(edges_of, rng.random(count) * edges_of[-1])]
    own = labels[first]
    inside = low[own] + rng.random(count) * (high - low)[own]
    outside = rng.random(count) * (edges_of[-1] - (high - low)[own])
    outside += np.where(outside >= low[own], (high - low)[own], 0.0)  # all classes but its own, laid end to end
    second = order[_places(edges_of, np.where(rng.random(count) < homophily, inside, outside))]
    pairs = np.sort(np.column_stack([first, second]), axis=1)
    return np.unique((pairs @ np.array([n, 1]))[pairs[:, 0] < pairs[:, 1]])


def _places(edges_of: np.ndarray, at: np.ndarray) -> np.ndarray:
    return np.clip(np.searchsorted(edges_of, at, side="right") - 1, 0, len(edges_of) - 2)


def _features(labels: np.ndarray, classes: int, d: int, strength: float, rng: np.random.Generator) -> np.ndarray:
    centres = strength * rng.standard_normal((classes, d), dtype=np.float32)
    return centres[labels] + rng.standard_normal((len(labels), d), dtype=np.float32)
