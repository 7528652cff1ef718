"""Graphs of the cells, by a small description:

    {"name": "cora"}                                  a published graph, from the files that are here
    {"case": "semantic-uniform", "n": 6000}           a sanity check, at the paper's degree and nodes per feature
    {"synthetic": "ogbn-arxiv", "nodes": 16000, …}      a generated graph that replaces one whose files are not here

Features of published graphs are divided by their row sums before they are used, those of generated ones are taken as they
are; ``"prepared": "raw"`` or ``"row"`` in the description decides otherwise.

Generated graphs show that a program runs at such a size and how long it takes; results on them say nothing about the graphs
they replace:

    θ_i ~ Pareto(exponent)              how many edges node i attracts: degrees are skewed
    y_i                                 c classes, the largest ``imbalance`` times the smallest
    edge (u, v)                         u ∝ θ; with probability ``homophily`` v ∝ θ in the class of u, else v ∝ θ in another
    x_i = strength · μ_{y_i} + ε_i      μ, ε standard normal (d): features follow labels

Repeated edges and loops are dropped and drawn again until the number of edges is reached. More of them fall inside a class,
so that the measured homophily is a little lower than ``homophily``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import slimg.lab.datasets as datasets
from slimg.errors import InputError, check_names
from slimg.graph import Adjacency, Graph
from slimg.lab.datasets import files
from slimg.lab.datasets.loader import find
from slimg.lab.sanity.case import draw_clusters, make, parts, scaled

ROUNDS = 50
KINDS = ("name", "case", "synthetic")
_KNOWN = {"name": {"name", "prepared"}, "case": {"case", "n", "prepared"}}


def check(data: Any, where: str) -> None:
    """Raise `InputError` unless this describes a graph."""
    kinds = [kind for kind in KINDS if isinstance(data, dict) and kind in data]
    if len(kinds) != 1:
        raise InputError(f"{where}: a graph is described by one of {', '.join(KINDS)}, not by {data!r}")
    (kind,) = kinds
    if kind == "name":
        find(data["name"])
    elif kind == "case":
        parts(data["case"])
        scaled(data.get("n", 0))
    unknown = sorted(set(data) - _KNOWN.get(kind, set(data)))
    if unknown:
        raise InputError(f"{where}: {unknown[0]!r} is no part of the description of a graph by {kind}")
    check_names(f"{where}: prepared", [data.get("prepared", "row")], ("row", "raw"))


def column(data: dict[str, Any]) -> str:
    """Return the column of the graph in a table.

    Returns
    -------
    str
    """
    return str(next(data[kind] for kind in KINDS if kind in data))


def is_synthetic(data: dict[str, Any]) -> bool:
    """Whether the graph is generated in place of a published one.

    Returns
    -------
    bool
    """
    return "synthetic" in data


def is_present(name: str) -> bool:
    """Whether the files of a published graph are here.

    Returns
    -------
    bool
    """
    return files.find(find(name)) is not None


def load(data: dict[str, Any]) -> Graph:
    """Load or draw the graph, with all its labels.

    Returns
    -------
    Graph
    """
    if "name" in data:
        return datasets.load(data["name"])
    if "case" in data:
        return make(*parts(data["case"]), **scaled(data["n"])).graph
    return make_synthetic(**{key: value for key, value in data.items() if key not in ("synthetic", "prepared")})


def normalization(data: dict[str, Any]) -> str | None:
    """Return what is done to the features, as ``normalize_features`` of the models.

    Returns
    -------
    "row" or None
    """
    return "row" if data.get("prepared", "row" if "name" in data else "raw") == "row" else None


def make_synthetic(
    nodes: int, edges: int, features: int, classes: int, *, homophily: float = 0.7, strength: float = 0.2,
    imbalance: float = 4.0, exponent: float = 2.5, seed: int = 0,
) -> Graph:  # fmt: skip
    """Draw a graph; ``edges`` are undirected.

    Returns
    -------
    Graph
        With features and all labels.
    """
    if edges > nodes * (nodes - 1) // 8:
        raise InputError(f"a generated graph of {nodes:,} nodes is too dense with {edges:,} edges: use fewer")
    rng = np.random.default_rng(seed)
    labels = draw_clusters(nodes, classes, imbalance, rng)
    attraction = 1 + rng.pareto(exponent - 1, nodes)
    found = np.empty(0, np.int64)
    for _ in range(ROUNDS):
        if (lacking := edges - len(found)) <= 0:
            break
        found = np.union1d(found, _draw(int(1.2 * lacking) + 16, labels, attraction, homophily, rng))
    kept = rng.permutation(found)[:edges]
    adjacency, _ = Adjacency.from_edges(*np.divmod(kept, nodes), nodes, directed=False)
    centres = strength * rng.standard_normal((classes, features), dtype=np.float32)
    matrix = centres[labels] + rng.standard_normal((nodes, features), dtype=np.float32)
    return Graph(adjacency, matrix, labels).with_notes("A generated graph, not a published one.")


def _draw(count: int, labels: np.ndarray, attraction: np.ndarray, homophily: float, rng: np.random.Generator) -> np.ndarray:
    """Edges u < v as u·n + v; fewer than ``count`` where both ends are the same node."""
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
