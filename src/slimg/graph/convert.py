"""Graphs of other libraries: networkx, PyTorch Geometric and DGL; the arguments are documented on `slimg.graph.Graph`.

Their objects are read without importing the library; writing needs the library.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from slimg.errors import InputError, choices, require
from slimg.graph.adjacency import Adjacency
from slimg.graph.columns import as_column, from_torch, list_names, number_of, show, text_of
from slimg.graph.from_edges import side_by_side, split
from slimg.graph.graph import Graph
from slimg.graph.relations import EdgeTable, connect


def from_networkx(
    graph: Any, label: str | None, features: Any, weight: str | None, relation: str | None, directed: Any, unlabelled: Any,
    **rules: Any,
) -> Graph:
    """Read a networkx graph of any kind."""
    if not all(hasattr(graph, name) for name in ("nodes", "edges", "is_directed")):
        raise InputError(f"from_networkx takes a networkx graph, not {type(graph).__name__}")
    if directed and not graph.is_directed():
        raise InputError(f"the networkx {type(graph).__name__} is undirected: there is no direction to keep")
    ids = np.fromiter(graph.nodes, object, graph.number_of_nodes())
    row = {node: k for k, node in enumerate(ids)}
    edges = list(graph.edges(data=True))
    source, target = np.array([(row[u], row[v]) for u, v, _ in edges], np.int64).reshape(-1, 2).T
    weights, notes = _edge_weights(edges, weight)
    table = EdgeTable(source, target, weights, mutual=not graph.is_directed())
    tables = [table] if relation is None else split(table, _edge_relations(graph, edges, relation), relation)
    adjacency, relations, told = connect(tables, len(ids), directed, **rules)
    matrix, names = _node_features(graph, features)
    labels = None if label is None else _node_labels(graph, label)
    used = {label, *([features] if isinstance(features, str) else names or ())}
    unused = sorted({str(name) for _, data in graph.nodes(data=True) for name in data if name not in used})
    if unused and features is None:
        notes.append(f"Attributes of the nodes that are not used: {list_names(unused)}; features= takes those that are numbers.")
    built = Graph(adjacency, matrix, labels, ids, names, {}, unlabelled, (*notes, *told), relations)
    return built.with_notes(*built.warnings())


def from_pyg(
    data: Any, ids: Any, directed: Any, keep_labels: str, label_type: str | None, unlabelled: Any, **rules: Any
) -> Graph:
    """Read a `torch_geometric.data.Data` or `HeteroData`."""
    if not hasattr(data, "num_nodes"):
        raise InputError(f"from_pyg takes a torch_geometric Data or HeteroData, not {type(data).__name__}")
    if isinstance(getattr(data, "node_types", None), list):
        tables, notes, n, fields = _hetero(data, label_type)
    else:
        n, edge_type = int(data.num_nodes), _member(data, "edge_type")
        table, notes = _pyg_edges(data, "data", 0, 0)
        tables = [table]
        if edge_type is not None:
            names = getattr(data, "edge_type_names", None)
            tables = split(table, _named(edge_type, names, "edge_type"), "edge_type")
        types = _member(data, "node_type")
        types = None if types is None else _named(types, getattr(data, "node_type_names", None), "node_type")
        fields = {"features": _member(data, "x"), "labels": _member(data, "y"), "masks": _pyg_masks(data), "node_types": types}
    adjacency, relations, told = connect(tables, n, directed, **rules)
    fields = fields if ids is None else {**fields, "ids": ids}
    graph = Graph(adjacency, unlabelled=unlabelled, notes=(*notes, *told), relations=relations, **fields)
    return _only_labels(graph.with_notes(*graph.warnings()), keep_labels)


def from_dgl(
    graph: Any, features: str | None, label: str | None, weight: str | None, ids: Any, keep_labels: str, unlabelled: Any,
    **rules: Any,
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
    return _only_labels(built.with_notes(*built.warnings()), keep_labels)


def to_networkx(graph: Graph, label: str | None, features: str | None, weight: str) -> Any:
    """Write an undirected `networkx.Graph`, or a `networkx.MultiDiGraph` of relations."""
    networkx = require("networkx", "networkx", "to_networkx")
    made, ids = networkx.MultiDiGraph() if graph.relations else networkx.Graph(), graph.ids.tolist()
    rows = None if graph.features is None or features is None else sp.csr_array(graph.features).toarray()
    for k, node in enumerate(ids):
        made.add_node(node)
        if label is not None and graph.codes[k] >= 0:
            made.nodes[node][label] = graph.classes.item(int(graph.codes[k]))
        if rows is not None:
            made.nodes[node][features] = rows[k]
        if graph.node_types is not None:
            made.nodes[node]["type"] = graph.node_types[k]

    def edges(matrix: Adjacency, entries: Any, *key: str) -> None:
        pairs = zip(entries.row.tolist(), entries.col.tolist(), entries.data.tolist(), strict=True)
        weighted = matrix.weights is not None
        made.add_edges_from((ids[u], ids[v], *key, {weight: value} if weighted else {}) for u, v, value in pairs)

    for relation in graph.relations:
        edges(relation.out, relation.out.to_scipy().tocoo(), relation.name)
    if not graph.relations:
        edges(graph.adjacency, sp.triu(graph.adjacency.to_scipy(), 1).tocoo())
    return made


def to_pyg(graph: Graph) -> Any:
    """Write a `torch_geometric.data.Data`."""
    torch = require("torch", "gnn", "to_pyg")
    data = require("torch_geometric.data", "gnn", "to_pyg").Data(num_nodes=graph.n)
    matrices = [relation.out for relation in graph.relations] or [graph.adjacency]
    entries = [matrix.to_scipy().tocoo() for matrix in matrices]
    ends = np.concatenate([np.stack([each.row, each.col]) for each in entries], axis=1)
    data.edge_index = torch.from_numpy(ends.astype(np.int64))
    if any(matrix.weights is not None for matrix in matrices):
        data.edge_weight = torch.from_numpy(np.concatenate([each.data for each in entries]).astype(np.float32))
    if graph.relations:
        data.edge_type = torch.from_numpy(np.repeat(np.arange(len(entries)), [each.nnz for each in entries]))
        data.edge_type_names = [relation.name for relation in graph.relations]
    if graph.node_types is not None:
        names, types = np.unique(graph.node_types, return_inverse=True)
        data.node_type, data.node_type_names = torch.from_numpy(types.astype(np.int64)), names.tolist()
    if graph.features is not None:
        data.x = torch.from_numpy(sp.csr_array(graph.features).toarray() if sp.issparse(graph.features) else graph.features)
    if graph.labels is not None:
        data.y = torch.from_numpy(graph.codes.copy())
        data.class_names = graph.classes.tolist()
    data.node_ids = graph.ids.tolist()
    for name, mask in graph.masks.items():
        data[f"{name}_mask"] = torch.from_numpy(mask.copy())
    return data


def _hetero(data: Any, label_type: str | None) -> tuple[list[EdgeTable], list[str], int, dict[str, Any]]:
    """The node types of a HeteroData one after the other, its edge types as relations; n, and what a `Graph` holds."""
    sizes = {name: int(data[name].num_nodes or 0) for name in data.node_types}
    if not sizes:
        raise InputError("from_pyg needs nodes: this HeteroData has none")
    starts = dict(zip(sizes, np.cumsum([0, *sizes.values()]).tolist(), strict=False))
    n, several = sum(sizes.values()), len(sizes) > 1
    words = [kind[1] for kind in data.edge_types]
    tables, notes = [], []
    for kind in data.edge_types:
        first, word, second = kind
        bare = [name for name in (first, second) if name not in sizes]
        if bare:
            raise InputError(f"data[{kind}] has nodes of type {bare[0]!r}, but there are none: set data[{bare[0]!r}].num_nodes")
        table, more = _pyg_edges(data[kind], f"data[{kind}]", starts[first], starts[second], (sizes[first], sizes[second]))
        tables.append(replace(table, name=word if words.count(word) == 1 else " ".join(kind)))
        notes += more
    features, names = _member(data[next(iter(sizes))], "x"), None
    ids, types = None, None
    if several:
        blocks = {name: (_member(data[name], "x"), None, size) for name, size in sizes.items()}
        features, names, more = side_by_side(blocks)
        notes += more
        ids = [f"{name}:{k}" for name, size in sizes.items() for k in range(size)]
        types = np.repeat(np.array(list(sizes), object), list(sizes.values()))
    labelled = [name for name in sizes if _member(data[name], "y") is not None]
    if label_type is not None and label_type not in labelled:
        raise choices("label_type", label_type, labelled)
    if len(labelled) > 1 and label_type is None:
        raise InputError(f"{len(labelled)} node types have labels ({show(labelled)}): name one with label_type=")
    labels, masks = None, {}
    if labelled:
        name = label_type or labelled[0]
        place = slice(starts[name], starts[name] + sizes[name])
        labels = np.full(n, None, object)
        labels[place] = as_column(_member(data[name], "y"), "labels").astype(object)
        for key, mask in _pyg_masks(data[name]).items():
            masks[key] = np.zeros(n, bool)
            masks[key][place] = mask
    fields = {"features": features, "feature_names": names, "labels": labels, "masks": masks, "ids": ids, "node_types": types}
    return tables or [EdgeTable(np.empty(0, int), np.empty(0, int))], notes, n, fields


def _pyg_edges(
    store: Any, what: str, first: int, second: int, sizes: tuple[int, int] | None = None
) -> tuple[EdgeTable, list[str]]:
    """Edges of one store, whose nodes begin at these numbers, and notes."""
    edge_index = _member(store, "edge_index")
    if edge_index is None:
        raise InputError(f"from_pyg needs {what}.edge_index (2 × m), but there is none")
    if edge_index.ndim != 2 or edge_index.shape[0] != 2:
        raise InputError(f"{what}.edge_index must be 2 × m, not of shape {edge_index.shape}")
    for ends, size in zip(edge_index, sizes or (), strict=False):
        if len(ends) and (ends.min() < 0 or ends.max() >= size):
            raise InputError(f"{what}.edge_index has node {ends.max()}, but its type has {size:,} nodes")
    weights = _member(store, "edge_weight")
    weights = None if weights is None else as_column(weights, f"{what}.edge_weight")
    unused = _member(store, "edge_attr") is not None
    notes = ["edge_attr is not used (edge_weight is what weighs edges)."] if unused else []
    return EdgeTable(edge_index[0] + first, edge_index[1] + second, weights), notes


def _pyg_masks(store: Any) -> dict[str, np.ndarray]:
    return _masks({key: _member(store, key) for key in store.keys() if key.endswith("_mask")})  # noqa: SIM118


def _named(codes: np.ndarray, names: Any, what: str) -> np.ndarray:
    """Numbers as the names they stand for, or as text."""
    column = as_column(codes, what)
    if names is None:
        return np.array([text_of(value) for value in column], object)
    if len(column) and (column.min() < 0 or column.max() >= len(names)):
        raise InputError(f"{what} has {column.max()}, but there are {len(names)} {what}_names")
    return np.array([name if isinstance(name, str) else " ".join(name) for name in names], object)[column]


def _only_labels(graph: Graph, keep: str) -> Graph:
    """Hide the labels outside a mask: a fit would learn from them."""
    if keep == "all" or graph.labels is None:
        return graph
    if keep not in graph.masks:
        splits = [name for name in graph.masks if name.startswith(f"{keep}_")]
        if splits or keep != "train":
            raise InputError(
                f"keep_labels={keep!r} names no mask: choose one of {show(splits or graph.masks)}, or 'all' for all labels"
            )
        return graph
    hidden = int((~graph.masks[keep])[graph.labelled].sum())
    if not hidden:
        return graph
    note = (f"Labels of the {number_of(len(graph.labelled) - hidden, 'node')} in {keep}_mask are kept, {hidden:,} others are"
            " hidden, so that a fit does not learn from them: keep_labels='all' keeps all.")  # fmt: skip
    return graph.mask_labels(graph.masks[keep]).with_notes(note)


def _edge_relations(graph: Any, edges: list[Any], relation: str) -> np.ndarray:
    """Name of the relation of each edge: an attribute, or the key of a multigraph."""
    if relation == "key" and graph.is_multigraph():
        return as_column([key for _, _, key in graph.edges(keys=True)], "keys of the edges")
    found = [data.get(relation) for _, _, data in edges]
    absent = sum(value is None for value in found)
    if absent:
        there = ", ".join(sorted({repr(str(name)) for _, _, data in edges for name in data})) or "none"
        lack = number_of(absent, "edge lacks", "edges lack")
        raise InputError(f"{lack} the attribute {relation!r} for relation: the edges have {there}")
    return as_column(found, f"edge attribute {relation!r}")


def _edge_weights(edges: list[Any], weight: str | None) -> tuple[np.ndarray | None, list[str]]:
    """Weights of the edges, 1 where an edge has none; None when no edge has any."""
    if weight is None:
        return None, []
    found = [data.get(weight) for _, _, data in edges]
    absent = sum(value is None for value in found)
    if absent == len(found):
        if weight != "weight" and edges:
            raise InputError(f"no edge has the attribute {weight!r} for weight: name another, or weight=None")
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
