"""The graph as it would be if an edge were there or not, or if a node had other features.

    scores' = b + Σ_g p_g(A', X') W_g        A', X': the changed graph; PCA, singular vectors and weights as they were fitted

One entry of a matrix is set at a time. Of a graph with relations, the entry of A is made again from those of the relations,
as when they are read from files: A_uv = max(S_uv, S_vu), S = Σ_r D_r; 1 where all D_r are binary. Relations that repeat
another (`Relation.same_as`) hold the same edge, and change with it.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from slimg.engine.base import Array
from slimg.errors import InputError, choices
from slimg.graph.adjacency import Adjacency
from slimg.graph.columns import show
from slimg.graph.graph import Graph
from slimg.graph.relations import Relation, opposite


def with_edge(graph: Graph, u: int, v: int, weight: float, key: str = "") -> Graph:
    """A graph with one edge more, or less.

    Parameters
    ----------
    graph : Graph
        The graph.
    u, v : int
        Rows of the ends.
    weight : float
        Above 0 to add the edge, 0 to remove it.
    key : str, default=""
        Relation and direction as seen from u, a key of `Graph.directions`; "" removes the edges of all relations.

    Returns
    -------
    Graph
        Nothing that is not changed is copied.

    Raises
    ------
    InputError
        If the two ends are one node, or the edge is there already, or is not there.

    Examples
    --------
    >>> from slimg import Graph
    >>> graph = Graph.from_edges([("ann", "bob"), ("bob", "cy")])
    >>> with_edge(graph, 0, 2, 1.0).adjacency.neighbours(2)
    array([0, 1], dtype=int32)
    """
    by = f" by {key}" if key else ""
    names = [show(graph.ids[[row]]) for row in (u, v)]
    if u == v:
        raise InputError(f"an edge joins two different nodes, and {names[0]} was named twice: choose another node")
    if key not in graph.directions() and (key or (graph.relations and weight)):
        raise choices("relation", key, graph.directions())
    matrix = graph.direction(key) if key else graph.adjacency
    if matrix.weights is None and weight not in (0, 1):
        raise InputError(f"the edges{by} have no weights, and {weight:g} was given: leave it out")
    if bool(entry(matrix, u, v)) is bool(weight):
        there = "already an" if weight else "no"
        raise InputError(f"there is {there} edge between {names[0]} and {names[1]}{by}: choose another node")
    relations = tuple(_with_edge(relation, u, v, weight, key) for relation in graph.relations)
    joined = weight
    if relations:
        joined = max(sum(entry(each.out, *pair) for each in relations) for pair in ((u, v), (v, u)))
    adjacency = _set(_set(graph.adjacency, u, v, joined), v, u, joined)
    return Graph._trusted(**{**vars(graph), "adjacency": adjacency, "relations": relations})


def with_features(graph: Graph, row: int, first: int, values: Any) -> Graph:
    """A graph in which some features of one node are others.

    Parameters
    ----------
    graph : Graph
        The graph.
    row : int
        Row of the node.
    first : int
        The first column that changes.
    values : sparse array of shape (1, k)
        The k columns from there on.

    Returns
    -------
    Graph
    """
    features: Any = graph.features
    features = features.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scipy's, that other formats are faster
        features[row, first : first + values.shape[1]] = values.toarray()[0]
    if sp.issparse(features):
        features.eliminate_zeros()
    return Graph._trusted(**{**vars(graph), "features": features})


def entry(matrix: Adjacency, u: int, v: int) -> float:
    """One entry of a matrix.

    Returns
    -------
    float
        The weight, 1 of a binary matrix; 0 without an edge.
    """
    place, there = _place(matrix, u, v)
    return 0.0 if not there else 1.0 if matrix.weights is None else float(matrix.weights[place])


def _with_edge(relation: Relation, u: int, v: int, weight: float, key: str) -> Relation:
    """A relation with the edge, where its matrix is the one that the key names, or repeats it."""
    own = relation.same_as or next(iter(relation.directions))
    pairs = [(u, v)] if key in ("", own) else []
    if key in ("", opposite(own)) or (pairs and relation.symmetric):
        pairs.append((v, u))
    out, into = relation.out, relation.into
    for a, b in pairs:
        out, into = _set(out, a, b, weight), _set(into, b, a, weight)
    return replace(relation, out=out, into=into) if pairs else relation


def _place(matrix: Adjacency, u: int, v: int) -> tuple[int, bool]:
    """Where the entry is, or would be, and whether it is there."""
    start, end = matrix.indptr[u : u + 2].tolist()
    place = start + int(np.searchsorted(matrix.indices[start:end], v))
    return place, bool(place < end and matrix.indices[place] == v)


def _set(matrix: Adjacency, u: int, v: int, value: float) -> Adjacency:
    """The matrix with another entry; 0 removes it."""
    place, there = _place(matrix, u, v)

    def spliced(array: Array, item: float) -> Array:
        return np.concatenate([array[:place], np.array([item] if value else [], array.dtype), array[place + there :]])

    indptr = matrix.indptr + (np.arange(matrix.n + 1) > u) * (bool(value) - there)
    return Adjacency(indptr, spliced(matrix.indices, v), None if matrix.weights is None else spliced(matrix.weights, value))
