"""The fitted graph as arrays of a model file, so that new nodes are scored and nodes explained without its files.

    graph_ids                                        int64, or uint8: UTF-8 of a JSON list
    graph_indptrK, graph_indicesK, graph_weightsK    matrix K in CSR; of a symmetric one the entries above the diagonal
    graph_features, or graph_features_indptr, …_indices, …_weights      X, dense or CSR
    tailK_rows, tailK_scale, tailK_basis             of the K-th long component (`slimg.inference.new_rows`)

Matrix 0 is A, others are those of relations. The header has {"symmetric": [of each matrix], "relations": [{"name",
"directed", "matrix"}], "tails": [names of components]}. Labels and masks are not kept. A graph whose digests are not those
of the file's nodes is refused, so that ids, edges, relations and features are those of the fit.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from slimg.engine.base import Array
from slimg.errors import InputError
from slimg.graph.adjacency import Adjacency
from slimg.graph.columns import as_column
from slimg.graph.graph import Graph
from slimg.graph.relations import Relation, share_equal
from slimg.inference.fold_in import FittedNodes, Scorer, id_digests, node_digests
from slimg.inference.new_rows import LEADING, FittedGraph, Tail, as_adjacency, ratio_of
from slimg.inference.schema import check_array

Take = Callable[[str, tuple[str, str], dict[str, int]], Array]


def graph_arrays(kept: FittedGraph, encode: Callable[[Any, str], Any]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Make the header and the arrays of a fitted graph.

    Parameters
    ----------
    kept : FittedGraph
        The graph and the tails of long components.
    encode : callable
        Encodes an id as JSON has it.

    Returns
    -------
    header : dict
    arrays : dict of str to array
    """
    graph, arrays = kept.graph, dict[str, Array]()
    whole = graph.ids.dtype.kind in "iu"
    values = [value if type(value) is str else encode(value, "an id") for value in ([] if whole else graph.ids.tolist())]
    text = json.dumps(values, ensure_ascii=False).encode("utf-8", "surrogatepass")
    arrays["graph_ids"] = graph.ids.astype(np.int64) if whole else np.frombuffer(text, np.uint8)
    places: dict[int, int] = {}
    symmetric: list[bool] = []

    def place(matrix: Adjacency, mirrored: bool) -> int:
        if id(matrix) not in places:
            places[id(matrix)] = k = len(symmetric)
            symmetric.append(mirrored)
            half = _upper(matrix) if mirrored else matrix
            arrays.update({f"graph_indptr{k}": half.indptr, f"graph_indices{k}": half.indices})
            if half.weights is not None:
                arrays[f"graph_weights{k}"] = half.weights
        return places[id(matrix)]

    place(graph.adjacency, True)
    relations = [{"name": each.name, "directed": each.directed, "matrix": place(each.out, not each.directed)}
                 for each in graph.relations]  # fmt: skip
    features: Any = graph.features
    if sp.issparse(features):
        arrays["graph_features_indptr"] = features.indptr.astype(np.int64)
        arrays["graph_features_indices"] = features.indices.astype(np.int32)
        arrays["graph_features_weights"] = features.data
    elif features is not None:
        arrays["graph_features"] = features
    for k, tail in enumerate(kept.tails.values()):
        arrays |= {f"tail{k}_{name}": getattr(tail, name) for name in Tail._fields}
    return {"symmetric": symmetric, "relations": relations, "tails": list(kept.tails)}, arrays


def _upper(matrix: Adjacency) -> Adjacency:
    rows = np.repeat(np.arange(matrix.n, dtype=matrix.indices.dtype), np.diff(matrix.indptr))
    keep = matrix.indices > rows
    indptr = np.concatenate([[0], np.cumsum(keep, dtype=np.int64)])[matrix.indptr]
    return Adjacency(indptr, matrix.indices[keep], None if matrix.weights is None else matrix.weights[keep])


def kept_graph(
    header: dict[str, Any], rest: dict[str, Array], nodes: FittedNodes, scorer: Scorer, d: int,
    feature_names: tuple[str, ...] | None, decode: Callable[[Any], Any],
) -> FittedGraph:  # fmt: skip
    """Make the graph of a header and arrays, which are checked and removed from ``rest``.

    Parameters
    ----------
    header : dict
        As `graph_arrays` made it.
    rest : dict of str to array
        Arrays of the file that are not used yet.
    nodes : FittedNodes
        Digests that the graph must have.
    scorer : Scorer
        The components.
    d : int
        Number of features.
    feature_names : tuple of str or None
        Their names.
    decode : callable
        Decodes an id.

    Returns
    -------
    FittedGraph
    """
    n = len(nodes.ids)

    def take(name: str, rule: tuple[str, str], sizes: dict[str, int]) -> Array:
        if name not in rest:
            raise InputError(f"there is no array {name!r}")
        check_array(name, rest[name], rule, sizes)
        return rest.pop(name)

    ids = _ids(rest, take, n, decode)
    if not header["symmetric"] or not header["symmetric"][0] or (id_digests(ids) != nodes.ids).any():
        raise InputError("the graph of the file has other nodes than its digests")
    matrices = [_matrix(f"graph_{{}}{k}", rest, take, n, mirrored) for k, mirrored in enumerate(header["symmetric"])]
    relations = []
    for each in header["relations"]:
        if each["matrix"] >= len(matrices) or header["symmetric"][each["matrix"]] is each["directed"]:
            raise InputError(f"relation {each['name']!r} has no matrix of its kind")
        out = matrices[each["matrix"]]
        into = as_adjacency(_csr(out).T.tocsr()) if each["directed"] else out
        relations.append(Relation(each["name"], out, into, each["directed"]))
    features: Any = None
    if "graph_features_indptr" in rest:
        indptr, indices, values = _arrays("graph_features_{}", rest, take, n, d)
        if values is None:
            raise InputError("there is no array 'graph_features_weights'")
        features = sp.csr_array((values, indices, indptr), shape=(n, d))
    elif d:
        features = take("graph_features", ("f4", "nd"), {"n": n, "d": d})
    graph = Graph(matrices[0], features, ids=ids, feature_names=feature_names, relations=share_equal(relations))
    if (node_digests(graph) != nodes.nodes).any():
        raise InputError("the graph of the file is not the one its digests were made of")
    return FittedGraph(graph, _tails(header["tails"], take, scorer, n))


def _ids(rest: dict[str, Array], take: Take, n: int, decode: Callable[[Any], Any]) -> Array:
    given = rest.get("graph_ids")
    if given is not None and given.dtype == np.int64:
        return take("graph_ids", ("i8", "n"), {"n": n})
    text = take("graph_ids", ("u1", "t"), {"t": 0 if given is None else given.size}).tobytes()
    try:
        values = json.loads(text.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"the ids of the graph are not JSON ({str(error)[:60]})") from None
    if not isinstance(values, list) or len(values) != n:
        raise InputError(f"the graph has other ids than those of its {n:,} nodes")
    return as_column([value if type(value) is str else decode(value) for value in values], "ids")


def _arrays(name: str, rest: dict[str, Array], take: Take, n: int, width: int) -> tuple[Array, Array, Array | None]:
    """The arrays of a CSR matrix of n rows, checked: pointers ascend, columns ascend in each row and exist."""
    indptr = take(name.format("indptr"), ("i8", "p"), {"p": n + 1})
    if indptr[0] != 0 or (np.diff(indptr) < 0).any():
        raise InputError(f"the pointers {name.format('indptr')!r} do not ascend")
    sizes = {"e": int(indptr[-1])}
    indices = take(name.format("indices"), ("i4", "e"), sizes)
    within = np.ones(len(indices), bool)
    starts = indptr[:-1][np.diff(indptr) > 0]
    within[starts] = False
    if len(indices) and (indices.min() < 0 or indices.max() >= width or (np.diff(indices, prepend=-1)[within] <= 0).any()):
        raise InputError(f"the columns {name.format('indices')!r} do not ascend, or there are no such")
    weights = name.format("weights")
    return indptr, indices, take(weights, ("f4", "e"), sizes) if weights in rest else None


def _matrix(name: str, rest: dict[str, Array], take: Take, n: int, mirrored: bool) -> Adjacency:
    indptr, indices, weights = _arrays(name, rest, take, n, n)
    rows = np.repeat(np.arange(n), np.diff(indptr))
    if (indices <= rows).any() if mirrored else (indices == rows).any():
        raise InputError(f"the matrix {name.format('indices')!r} has loops or entries below the diagonal")
    if weights is not None and len(weights) and weights.min() <= 0:
        raise InputError(f"the matrix {name.format('indices')!r} has weights that are not positive")
    matrix = Adjacency(indptr, indices, weights)
    if not mirrored:
        return matrix
    half = _csr(matrix)
    return as_adjacency(sp.csr_array(half + half.T.tocsr()))


def _csr(matrix: Adjacency) -> sp.csr_array:
    values = np.ones(matrix.nnz, bool) if matrix.weights is None else matrix.weights
    return sp.csr_array((values, matrix.indices, matrix.indptr), shape=(matrix.n, matrix.n))


def _tails(names: list[str], take: Take, scorer: Scorer, n: int) -> dict[str, Tail]:
    wanted = [name for name in scorer.used if ratio_of(scorer.components[name].component) is not None]
    if names != wanted:
        raise InputError("the tails of the file are not those of its components")
    found = {}
    for k, name in enumerate(names):
        r, c = scorer.weights[name].shape
        sizes = {"n": n, "r": r, "q": min(r, min(r, LEADING) + c)}
        rules = {"rows": ("f2", "nq"), "scale": ("f4", "q"), "basis": ("f4", "rq")}
        found[name] = Tail(**{key: take(f"tail{k}_{key}", rule, sizes) for key, rule in rules.items()})
    return found
