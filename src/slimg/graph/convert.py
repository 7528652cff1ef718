"""Graphs of other libraries: networkx and PyTorch Geometric. Neither is imported: their objects are read as given."""

from __future__ import annotations

from typing import Any

import numpy as np

from slimg.errors import InputError
from slimg.graph.adjacency import Adjacency, Rule
from slimg.graph.columns import as_column, number_of, show
from slimg.graph.graph import Graph


def from_networkx(
    graph: Any,
    *,
    label: str | None = None,
    features: Any = None,
    weight: str | None = "weight",
    duplicates: Rule = "sum",
    symmetrise: Rule = "max",
    unlabelled: Any = None,
) -> Graph:
    """Graph from a networkx graph of any kind; node ids and their order are networkx's.

    Parameters
    ----------
    label : node attribute that holds the label; nodes without it are unlabelled
    features : node attribute that holds a vector, a list of node attributes that hold numbers, or a matrix in the order
        of ``graph.nodes``
    weight : edge attribute; edges without it weigh 1. None for a binary graph
    duplicates, symmetrise : rules for parallel edges and for both directions of a directed graph
    """
    if not all(hasattr(graph, name) for name in ("nodes", "edges", "is_directed")):
        raise InputError(f"from_networkx takes a networkx graph, not {type(graph).__name__}")
    ids = np.fromiter(graph.nodes, object, graph.number_of_nodes())
    row = {node: k for k, node in enumerate(ids)}
    edges = list(graph.edges(data=True))
    ends = np.array([(row[u], row[v]) for u, v, _ in edges], np.int64).reshape(-1, 2)
    weights, notes = _edge_weights(edges, weight)
    adjacency, counts = Adjacency.from_edges(
        ends[:, 0],
        ends[:, 1],
        len(ids),
        weights,
        directed=graph.is_directed(),
        duplicates=duplicates,
        symmetrise=symmetrise,
    )
    matrix, names = _node_features(graph, features)
    labels = None if label is None else _node_labels(graph, label)
    built = Graph(
        adjacency, matrix, labels, ids, names, unlabelled=unlabelled, notes=(*notes, *counts.notes())
    )
    return built.noting(*built.remarks())


def from_pyg(
    data: Any, *, ids: Any = None, duplicates: Rule = "sum", symmetrise: Rule = "max", unlabelled: Any = None
) -> Graph:
    """Graph from a `torch_geometric.data.Data`: ``x``, ``y``, ``edge_index``, ``edge_weight`` and every ``*_mask``.

    PyTorch Geometric has no mark for missing labels: pass ``unlabelled=-1`` if −1 is one. A mask with one column per
    split becomes one mask per column: ``train_0``, ``train_1``, …
    """
    if not hasattr(data, "num_nodes") or isinstance(getattr(data, "node_types", None), list):
        raise InputError(f"from_pyg takes a homogeneous torch_geometric Data, not {type(data).__name__}")
    edge_index = _member(data, "edge_index")
    if edge_index is None:
        raise InputError("from_pyg needs data.edge_index (2 × m); this Data has none")
    if edge_index.ndim != 2 or edge_index.shape[0] != 2:
        raise InputError(f"data.edge_index must be 2 × m, not of shape {edge_index.shape}")
    weights = _member(data, "edge_weight")
    notes = []
    if weights is not None:
        weights = as_column(weights, "data.edge_weight")
    if _member(data, "edge_attr") is not None:
        notes.append("edge_attr is not used (edge_weight is what weighs edges).")
    adjacency, counts = Adjacency.from_edges(
        edge_index[0], edge_index[1], int(data.num_nodes), weights, duplicates=duplicates, symmetrise=symmetrise
    )
    graph = Graph(
        adjacency,
        _member(data, "x"),
        _member(data, "y"),
        ids,
        masks=_masks(data),
        unlabelled=unlabelled,
        notes=(*notes, *counts.notes()),
    )
    return graph.noting(*graph.remarks())


def _edge_weights(edges: list, weight: str | None) -> tuple[np.ndarray | None, list[str]]:
    """Weights of the edges, 1 where an edge has none; None when no edge has any."""
    if weight is None:
        return None, []
    found = [data.get(weight) for _, _, data in edges]
    absent = sum(value is None for value in found)
    if absent == len(found):
        return None, []
    values = as_column([1.0 if value is None else value for value in found], f"edge attribute {weight!r}")
    return values, [f"{number_of(absent, 'edge')} without {weight!r} weigh 1."] if absent else []


def _node_labels(graph: Any, label: str) -> np.ndarray:
    values = [data.get(label) for _, data in graph.nodes(data=True)]
    if all(value is None for value in values):
        raise InputError(f"no node has the attribute {label!r} for label: the nodes have {_attributes(graph)}")
    return as_column(values, "labels")


def _node_features(graph: Any, features: Any) -> tuple[Any, tuple[str, ...] | None]:
    """Matrix in node order, and names when each attribute is a column."""
    if features is None or not isinstance(features, (str, list, tuple)):
        return features, None
    wanted = [features] if isinstance(features, str) else list(features)
    for name in wanted:
        without = [node for node, data in graph.nodes(data=True) if data.get(name) is None]
        if without:
            raise InputError(
                f"{number_of(len(without), 'node lacks', 'nodes lack')} the attribute {name!r} for features"
                f" ({show(without)}): the nodes have {_attributes(graph)}"
            )
    if isinstance(features, str):
        return [np.ravel(data[features]) for _, data in graph.nodes(data=True)], None
    return [[data[name] for name in wanted] for _, data in graph.nodes(data=True)], tuple(wanted)


def _attributes(graph: Any) -> str:
    names = sorted({str(name) for _, data in graph.nodes(data=True) for name in data})
    return ", ".join(map(repr, names)) or "none"


def _member(data: Any, name: str) -> np.ndarray | None:
    """A tensor of the data as numpy."""
    value = getattr(data, name, None)
    if value is None:
        return None
    if getattr(value, "is_sparse", False):
        value = value.to_dense()
    return value.detach().cpu().numpy() if hasattr(value, "detach") else np.asarray(value)


def _masks(data: Any) -> dict[str, np.ndarray]:
    masks: dict[str, np.ndarray] = {}
    for key in data.keys():  # noqa: SIM118  (Data iterates over pairs)
        if not key.endswith("_mask"):
            continue
        mask, name = _member(data, key), key.removesuffix("_mask")
        if mask is None:
            continue
        if mask.ndim == 2:
            masks |= {f"{name}_{k}": mask[:, k].astype(bool) for k in range(mask.shape[1])}
        else:
            masks[name] = mask.astype(bool)
    return masks
