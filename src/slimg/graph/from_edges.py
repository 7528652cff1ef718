"""A graph from a list of edges between nodes of any ids.

    nodes of the graph = nodes of the table, in its order       (those without edges are kept)
                       = else, the ids that occur in the edges, sorted
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from slimg.errors import InputError, choices
from slimg.graph.adjacency import Adjacency, Rule
from slimg.graph.columns import as_column, codes_of, number_of, show
from slimg.graph.graph import Graph
from slimg.graph.tables import EdgeTable, NodeTable, has_ids

Unknown = Literal["fail", "keep", "drop"]


def from_edges(
    edges: Any,
    nodes: Any = None,
    *,
    source: Any = None,
    target: Any = None,
    weight: Any = None,
    id: Any = None,
    label: Any = None,
    features: Any = None,
    directed: bool = True,
    duplicates: Rule = "sum",
    symmetrise: Rule = "max",
    unknown: Unknown = "fail",
    unlabelled: Any = None,
) -> Graph:
    """Graph from edges and, optionally, nodes.

    Parameters
    ----------
    edges : table (pandas, arrow, polars, dictionary of columns), m × 2 or m × 3 array, or list of pairs or triples
    nodes : table with one row per node, or a vector of ids
    source, target, weight : columns of ``edges``; by default the columns of these names, else the first two, and no
        weights (the third column of an array or triple is the weight)
    id : column of ``nodes`` with the ids; by default the column ``id`` or ``node``, else its index if that is named or
        not of numbers, else the first column
    label : column of ``nodes``, or a vector in the order of the nodes, or a mapping (or indexed series) id → label
    features : columns of ``nodes`` (by default all other columns of numbers; ``[]`` for none), or a matrix in the order
        of the nodes, or a frame indexed by id. Without ``nodes``, row i belongs to id i.
    directed : whether (u, v) and (v, u) are two edges, joined by ``symmetrise``; if not, they are repetitions of one
    duplicates : ``"sum"`` or ``"max"`` of the weights of a repeated edge; without weights it counts once
    symmetrise : ``"max"`` or ``"sum"`` of the weights of both directions
    unknown : what to do with edges to ids that ``nodes`` lacks: ``"fail"``, ``"keep"`` them as nodes with zero
        features and no label, or ``"drop"`` these edges
    unlabelled : a further value of the labels that means "no label"
    """
    if unknown not in ("fail", "keep", "drop"):
        raise choices("rule for unknown ids", unknown, ("fail", "keep", "drop"))
    table = EdgeTable.read(edges, source, target, weight)
    people = _nodes_of(table, nodes, id, label, features)
    table, people, notes = _join(table, people, unknown)
    rows = [_rows_of(ends, people.ids) for ends in (table.source, table.target)]
    adjacency, counts = Adjacency.from_edges(
        rows[0], rows[1], len(people.ids), table.weight, directed=directed, duplicates=duplicates, symmetrise=symmetrise
    )
    graph = Graph(
        adjacency,
        people.features,
        people.labels,
        people.ids,
        people.feature_names,
        unlabelled=unlabelled,
        notes=(*table.notes, *people.notes, *notes, *counts.notes()),
    )
    return graph.with_notes(*graph.warnings())


def _nodes_of(table: EdgeTable, nodes: Any, id: Any, label: Any, features: Any) -> NodeTable:
    """The node table: given, or made from indexed features, numbered rows, or the edges alone."""
    if nodes is not None:
        return NodeTable.read(nodes, id, label, features)
    if has_ids(features):
        return NodeTable.read(features.index, None, label, features)
    rows = _positional_rows(label, features)
    if rows is None:
        ends = _stack(table.source, table.target)
        return NodeTable.read(codes_of(ends, "ids of the edges")[0], None, label, None)
    ends = _stack(table.source, table.target)
    if ends.dtype.kind not in "iu" and len(ends):
        raise InputError(
            f"rows of features or labels cannot be matched to ids like {show(ends[:2])}: pass nodes=, the ids in the"
            " order of the rows"
        )
    if len(ends) and (ends.min() < 0 or ends.max() >= rows):
        worst = ends.min() if ends.min() < 0 else ends.max()
        raise InputError(
            f"edges have node {worst}, but features or labels have {rows:,} rows, numbered 0 to {rows - 1}:"
            " give one row per node, or pass nodes= with the ids of the rows"
        )
    return NodeTable.read(np.arange(rows), None, label, features)


def _positional_rows(label: Any, features: Any) -> int | None:
    """Number of rows of data that are given by position; None when there is none."""
    if features is not None and not (isinstance(features, (list, tuple)) and not len(features)):
        if not sp.issparse(features):
            features = np.asarray(features)
        return features.shape[0]
    if label is None or isinstance(label, (dict, str)) or has_ids(label):
        return None
    return len(as_column(label, "labels"))


def _join(table: EdgeTable, people: NodeTable, unknown: str) -> tuple[EdgeTable, NodeTable, list[str]]:
    """Apply the rule for edges whose ends are not among the nodes."""
    lost_source = _rows_of(table.source, people.ids) < 0
    lost_target = _rows_of(table.target, people.ids) < 0
    lost = lost_source | lost_target
    if not lost.any():
        return table, people, []
    strangers = codes_of(_stack(table.source[lost_source], table.target[lost_target]), "ids of the edges")[0]
    told = f"{number_of(len(strangers), 'id of the edges is', 'ids of the edges are')} not among the nodes"
    if unknown == "fail":
        hint = f"; ids of the nodes look like {show(people.ids[:2])}"
        raise InputError(f"{told}: {show(strangers)}{hint}; add them, or choose unknown='keep' or unknown='drop'")
    if unknown == "drop":
        kept = ~lost
        weight = None if table.weight is None else table.weight[kept]
        table = EdgeTable(table.source[kept], table.target[kept], weight, table.notes)
        return table, people, [f"{told}: {number_of(int(lost.sum()), 'edge')} dropped (ids {show(strangers)})."]
    note = f"{told}: kept without label and with zero features (ids {show(strangers)})."
    return table, _extended(people, strangers), [note]


def _extended(people: NodeTable, strangers: np.ndarray) -> NodeTable:
    """The node table with further ids, zero features and no labels."""
    features, labels, more = people.features, people.labels, len(strangers)
    if sp.issparse(features):
        features = sp.vstack([features, sp.csr_array((more, features.shape[1]))], format="csr")
    elif features is not None:
        array = np.asarray(features)
        features = np.vstack([array, np.zeros((more, array.shape[1]), array.dtype)])
    if labels is not None and not isinstance(labels, dict):
        labels = _stack(as_column(labels, "labels"), np.full(more, None, object))
    return NodeTable(_stack(people.ids, strangers), labels, features, people.feature_names, people.notes)


def _rows_of(ends: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Row of each end among the ids, −1 if it is not there."""
    import pandas as pd

    try:
        return pd.Index(ids, tupleize_cols=False).get_indexer(pd.Index(ends, tupleize_cols=False))
    except TypeError:
        raise InputError("ids of the edges must be hashable values (text, numbers, tuples)") from None


def _stack(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Both columns in one; of different types, as objects, so that no value changes."""
    if first.dtype == second.dtype:
        return np.concatenate([first, second])
    return as_column(np.concatenate([first.astype(object), second.astype(object)]), "values")
