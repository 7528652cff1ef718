"""Graphs of other libraries: networkx, PyTorch Geometric and DGL; the arguments are documented on `slimg.graph.Graph`.

Their objects are read without importing the library; writing needs the library.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from slimg.errors import InputError, require
from slimg.graph.adjacency import Adjacency
from slimg.graph.columns import as_column, from_torch, number_of, show
from slimg.graph.graph import Graph


def from_networkx(
    graph: Any, label: str | None, features: Any, weight: str | None, unlabelled: Any, **rules: Any
) -> Graph:
    """Read a networkx graph of any kind."""
    if not all(hasattr(graph, name) for name in ("nodes", "edges", "is_directed")):
        raise InputError(f"from_networkx takes a networkx graph, not {type(graph).__name__}")
    ids = np.fromiter(graph.nodes, object, graph.number_of_nodes())
    row = {node: k for k, node in enumerate(ids)}
    edges = list(graph.edges(data=True))
    source, target = np.array([(row[u], row[v]) for u, v, _ in edges], np.int64).reshape(-1, 2).T
    weights, notes = _edge_weights(edges, weight)
    adjacency, counts = Adjacency.from_edges(source, target, len(ids), weights, directed=graph.is_directed(), **rules)
    matrix, names = _node_features(graph, features)
    labels = None if label is None else _node_labels(graph, label)
    built = Graph(adjacency, matrix, labels, ids, names, {}, unlabelled, (*notes, *counts.notes()))
    return built.with_notes(*built.warnings())


def from_pyg(data: Any, ids: Any, unlabelled: Any, **rules: Any) -> Graph:
    """Read a `torch_geometric.data.Data`."""
    if not hasattr(data, "num_nodes") or isinstance(getattr(data, "node_types", None), list):
        raise InputError(f"from_pyg takes a homogeneous torch_geometric Data, not {type(data).__name__}")
    edge_index = _member(data, "edge_index")
    if edge_index is None:
        raise InputError("from_pyg needs data.edge_index (2 × m); this Data has none")
    if edge_index.ndim != 2 or edge_index.shape[0] != 2:
        raise InputError(f"data.edge_index must be 2 × m, not of shape {edge_index.shape}")
    weights = _member(data, "edge_weight")
    weights = None if weights is None else as_column(weights, "data.edge_weight")
    unused = _member(data, "edge_attr") is not None
    notes = ["edge_attr is not used (edge_weight is what weighs edges)."] if unused else []
    adjacency, counts = Adjacency.from_edges(edge_index[0], edge_index[1], int(data.num_nodes), weights, **rules)
    masks = _masks({key: _member(data, key) for key in data.keys() if key.endswith("_mask")})  # noqa: SIM118
    notes += counts.notes()
    graph = Graph(adjacency, _member(data, "x"), _member(data, "y"), ids, None, masks, unlabelled, tuple(notes))
    return graph.with_notes(*graph.warnings())


def from_dgl(
    graph: Any, features: str | None, label: str | None, weight: str | None, ids: Any, unlabelled: Any, **rules: Any
) -> Graph:
    """Read a homogeneous `dgl.DGLGraph`."""
    if not all(hasattr(graph, name) for name in ("num_nodes", "edges", "ndata", "edata")):
        raise InputError(f"from_dgl takes a dgl.DGLGraph, not {type(graph).__name__}")
    if not getattr(graph, "is_homogeneous", True):
        raise InputError("from_dgl takes a homogeneous graph: turn it into one with dgl.to_homogeneous")
    source, target = (_array(ends) for ends in graph.edges())
    weights = None if weight is None else as_column(_stored(graph.edata, weight, "edata"), f"edata[{weight!r}]")
    adjacency, counts = Adjacency.from_edges(source, target, int(graph.num_nodes()), weights, **rules)
    # the usual names are optional, others must be there
    found = {
        usual: _stored(graph.ndata, name, "ndata") if name is not None and (name != usual or name in graph.ndata) else None
        for usual, name in (("feat", features), ("label", label))
    }
    masks = _masks({name: _array(graph.ndata[name]) for name in graph.ndata if name.endswith("_mask")})
    built = Graph(adjacency, found["feat"], found["label"], ids, None, masks, unlabelled, counts.notes())
    return built.with_notes(*built.warnings())


def to_networkx(graph: Graph, label: str | None, features: str | None, weight: str) -> Any:
    """Write an undirected `networkx.Graph`."""
    networkx = require("networkx", "networkx", "to_networkx")
    made, ids = networkx.Graph(), graph.ids.tolist()
    rows = None if graph.features is None or features is None else sp.csr_array(graph.features).toarray()
    for k, node in enumerate(ids):
        made.add_node(node)
        if label is not None and graph.codes[k] >= 0:
            made.nodes[node][label] = graph.classes.item(int(graph.codes[k]))
        if rows is not None:
            made.nodes[node][features] = rows[k]
    entries = sp.triu(graph.adjacency.to_scipy(), 1).tocoo()
    pairs = zip(entries.row.tolist(), entries.col.tolist(), entries.data.tolist(), strict=True)
    if graph.adjacency.weights is None:
        made.add_edges_from((ids[u], ids[v]) for u, v, _ in pairs)
    else:
        made.add_edges_from((ids[u], ids[v], {weight: value}) for u, v, value in pairs)
    return made


def to_pyg(graph: Graph) -> Any:
    """Write a `torch_geometric.data.Data`."""
    torch = require("torch", "gnn", "to_pyg")
    data = require("torch_geometric.data", "gnn", "to_pyg").Data(num_nodes=graph.n)
    entries = graph.adjacency.to_scipy().tocoo()
    data.edge_index = torch.from_numpy(np.stack([entries.row, entries.col]).astype(np.int64))
    if graph.adjacency.weights is not None:
        data.edge_weight = torch.from_numpy(entries.data.astype(np.float32))
    if graph.features is not None:
        data.x = torch.from_numpy(sp.csr_array(graph.features).toarray() if sp.issparse(graph.features) else graph.features)
    if graph.labels is not None:
        data.y = torch.from_numpy(graph.codes.copy())
        data.class_names = graph.classes.tolist()
    data.node_ids = graph.ids.tolist()
    for name, mask in graph.masks.items():
        data[f"{name}_mask"] = torch.from_numpy(mask.copy())
    return data


def _edge_weights(edges: list[Any], weight: str | None) -> tuple[np.ndarray | None, list[str]]:
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
    return None if value is None else _array(value)


def _array(value: Any) -> np.ndarray:
    """A tensor, or anything like one, as numpy."""
    if getattr(value, "is_sparse", False):
        value = value.to_dense()
    return np.asarray(from_torch(value))


def _stored(frame: Any, name: str, what: str) -> np.ndarray:
    """A column of DGL's node or edge data."""
    if name not in frame:
        there = ", ".join(map(repr, frame)) or "nothing"
        raise InputError(f"{what} has no {name!r}: it has {there}")
    return _array(frame[name])


def _masks(given: dict[str, np.ndarray | None]) -> dict[str, np.ndarray]:
    """``NAME_mask`` → NAME, one mask per column if there are several."""
    masks: dict[str, np.ndarray] = {}
    for key, mask in given.items():
        name = key.removesuffix("_mask")
        if mask is not None and mask.ndim == 2:
            masks |= {f"{name}_{k}": mask[:, k].astype(bool) for k in range(mask.shape[1])}
        elif mask is not None:
            masks[name] = mask.astype(bool)
    return masks
