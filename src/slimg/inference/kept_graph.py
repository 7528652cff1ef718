"""The fitted graph that a model keeps, so that new nodes are scored and nodes explained without its files.

A long sum F = Σ_{k ≤ K} c₀ ρᵏ Opᵏ would read the whole graph for a new node. Since F_K X = c₀ X + ρ Op F_{K−1} X, new rows are

    s = c₀ x M + ρ (Op[new, old] T + Op[new, new] s)        M = V Cᵀ,  T = F_{K−1} X M of the fitted graph (n × r)

with T as it was at the fit. Kept is T Q (n × q) with Q (r × q) orthonormal, whose span holds the weights and the first
`LEADING` directions: s W is exact, and ‖s‖ lacks only what lies outside.

Arrays of the model file:

    graph_ids                                        int64, or uint8: UTF-8 of a JSON list
    graph_indptrK, graph_indicesK, graph_weightsK    matrix K in CSR; of a symmetric one the entries above the diagonal
    graph_features, or graph_features_indptr, …_indices, …_weights      X, dense or CSR
    tailK_rows, tailK_scale, tailK_basis             of the K-th long component

Matrix 0 is A, others are those of relations. The header has {"symmetric": [of each matrix], "relations": [{"name",
"directed", "matrix"}], "tails": [names of components]}. Labels and masks are not kept. A graph whose digests are not those
of the file's nodes is refused, so that ids, edges, relations and features are those of the fit.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from slimg.components.component import Component, FittedComponent, Target
from slimg.components.features import FeatureComponent
from slimg.engine.base import Array
from slimg.engine.memory import MemoryEngine
from slimg.errors import InputError
from slimg.graph.adjacency import Adjacency, as_adjacency
from slimg.graph.columns import as_column
from slimg.graph.graph import Graph
from slimg.graph.relations import Relation, share_equal
from slimg.inference.fold_in import FittedNodes, Scorer, id_digests, node_digests
from slimg.linalg.operators import steps

LEADING = 32
"""Directions of a long component that are kept beside those of its weights."""
SHORT = 2
"""Hops up to which a component is computed in the grown graph itself."""
Take = Callable[[str, tuple[str, str], dict[str, int]], Array]
"""Name, rule and sizes of an array of the file → the array, checked."""


class Tail(NamedTuple):
    """T Q / scale of a long component (n × q, float16), the scale (q) and Q (r × q)."""

    rows: Array
    scale: Array
    basis: Array

    def scores(self, fitted: FittedComponent, weights: Array, target: Target) -> Array:
        """p W of new nodes from the tail of their fitted neighbours."""
        component, state = fitted.component, fitted.state
        graph, rows, known = target
        ratio, basis = ratio_of(component), self.basis.astype(np.float64)
        assert isinstance(component, FeatureComponent) and known is not None and ratio is not None
        own = component.coefficients[0] * (state.raw(state.prepared(graph, rows)) @ basis)
        way = steps(component.operators(graph)[:1], rows, (0.0, 1.0))
        matrix, there = way.matrices[0], known[way.reached] >= 0
        old = matrix[:, there] @ (self.rows[known[way.reached[there]]].astype(np.float64) * self.scale)
        among, place = matrix[:, ~there], np.searchsorted(rows, way.reached[~there])
        found = own
        for _ in range(component.hops):
            found = own + ratio * (old + among @ found[place])
        raw = found - state.shift @ basis if state.mean is not None else found
        length = np.sqrt(np.einsum("ij,ij->i", raw, raw))
        return raw / np.where(length > 0, length, 1)[:, None] @ (basis.T @ weights.astype(np.float64))


@dataclass(frozen=True, eq=False)
class FittedGraph:
    """The graph that a model was fitted on, without labels, and the tails of its long components."""

    graph: Graph
    tails: dict[str, Tail]

    @classmethod
    def of(cls, scorer: Scorer, graph: Graph) -> FittedGraph:
        """Compute the tails of the long components on the fitted graph."""
        tails = {name: _tail(scorer.components[name], scorer.weights[name], graph) for name in _long(scorer)}
        return cls(graph, tails)


def ratio_of(component: Component) -> float | None:
    """ρ of a component that is a long geometric sum of one operator, else None."""
    if not isinstance(component, FeatureComponent) or component.hops <= SHORT:
        return None
    weights = np.array(component.coefficients)
    if not weights.all() or not np.allclose(weights[1:] / weights[:-1], weights[1] / weights[0]):
        return None
    return float(weights[1] / weights[0]) if type(component).operator is not FeatureComponent.operator else None


def _long(scorer: Scorer) -> list[str]:
    """Names of the long components with weights."""
    return [name for name in scorer.used if ratio_of(scorer.components[name].component) is not None]


def _tail(fitted: FittedComponent, weights: Array, graph: Graph) -> Tail:
    component, state = fitted.component, fitted.state
    assert isinstance(component, FeatureComponent)
    r = len(weights)
    basis, _ = np.linalg.qr(np.concatenate([np.eye(r, min(r, LEADING)), weights], axis=1))
    step, blocks = 1 << 14, []
    for start in range(0, graph.n, step):
        rows = np.arange(start, min(start + step, graph.n))
        blocks.append((state.raw(state.prepared(graph, rows)) @ basis).astype(np.float32))
    operator, engine = component.operator(graph.adjacency), MemoryEngine()
    assert operator is not None
    tail = operator.series(engine, engine.row_matrix(np.concatenate(blocks)), component.coefficients[:-1])
    scale = np.maximum(np.abs(tail).max(axis=0), 1e-30).astype(np.float32)
    return Tail((tail / scale).astype(np.float16), scale, basis.astype(np.float32))


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
    header: dict[str, Any], rest: dict[str, Array], take: Take, nodes: FittedNodes, scorer: Scorer, d: int,
    feature_names: tuple[str, ...] | None, decode: Callable[[Any], Any],
) -> FittedGraph:  # fmt: skip
    """Make the graph of a header and arrays.

    Parameters
    ----------
    header : dict
        As `graph_arrays` made it.
    rest : dict of str to array
        Arrays of the file that are not used yet.
    take : callable
        Checks an array and removes it from ``rest``.
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
    n, symmetric = len(nodes.ids), header["symmetric"]

    def csr(name: str, width: int) -> sp.csr_array:
        """A matrix of n rows; scipy checks that its pointers ascend and that its columns exist."""
        indptr = take(name.format("indptr"), ("i8", "p"), {"p": n + 1})
        weights, sizes = name.format("weights"), {"e": int(indptr[-1])}
        indices = take(name.format("indices"), ("i4", "e"), sizes)
        values = take(weights, ("f4", "e"), sizes) if weights in rest else np.ones(len(indices), bool)
        matrix = sp.csr_array((values, indices, indptr), shape=(n, width))
        matrix.check_format(full_check=True)
        matrix.sum_duplicates()
        return matrix

    ids = _ids(rest, take, n, decode)
    if not symmetric or not symmetric[0] or (id_digests(ids) != nodes.ids).any():
        raise InputError("the graph of the file has other nodes than its digests")
    halves = [csr(f"graph_{{}}{k}", n) for k in range(len(symmetric))]
    if any(half.diagonal().any() for half in halves):
        raise InputError("the graph of the file has loops")
    matrices = [as_adjacency(sp.csr_array(half + half.T.tocsr()) if mirrored else half)
                for half, mirrored in zip(halves, symmetric, strict=True)]  # fmt: skip
    relations = []
    for each in header["relations"]:
        if each["matrix"] >= len(matrices) or symmetric[each["matrix"]] is each["directed"]:
            raise InputError(f"relation {each['name']!r} has no matrix of its kind")
        out = matrices[each["matrix"]]
        into = as_adjacency(halves[each["matrix"]].T.tocsr()) if each["directed"] else out
        relations.append(Relation(each["name"], out, into, each["directed"]))
    features: Any = None
    if "graph_features_indptr" in rest:
        features = csr("graph_features_{}", d)
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


def _tails(names: list[str], take: Take, scorer: Scorer, n: int) -> dict[str, Tail]:
    if names != _long(scorer):
        raise InputError("the tails of the file are not those of its components")
    found = {}
    for k, name in enumerate(names):
        r, c = scorer.weights[name].shape
        sizes = {"n": n, "r": r, "q": min(r, min(r, LEADING) + c)}
        rules = {"rows": ("f2", "nq"), "scale": ("f4", "q"), "basis": ("f4", "rq")}
        found[name] = Tail(**{key: take(f"tail{k}_{key}", rule, sizes) for key, rule in rules.items()})
    return found
