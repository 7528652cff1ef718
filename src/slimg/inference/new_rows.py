"""New nodes alone, scored against the fitted graph, and how far they are from it.

    A' = (A B; Bᵀ C)        n fitted nodes, m new ones; B and C are the edges of the new rows

Components of a short reach place the new nodes in A' as they place nodes of any graph. A long sum F = Σ_{k ≤ K} c₀ ρᵏ Opᵏ
would read the whole graph; since F_K X = c₀ X + ρ Op F_{K−1} X, its new rows are

    s = c₀ x M + ρ (Op[new, old] T + Op[new, new] s)        M = V Cᵀ,  T = F_{K−1} X M of the fitted graph (n × r)

with T as it was at the fit. Kept is T Q (n × q) with Q (r × q) orthonormal, whose span holds the weights and the first
`LEADING` directions: s W is exact, and ‖s‖ lacks only what lies outside.

Drift compares the new nodes with the fitted ones, each a number without a unit:

    degree      (mean log(1 + d) of the new − of the fitted) / its standard deviation
    features    distance of the means of x M over the spread of the fitted, without what chance gives to so few nodes
    structure   ‖A_i V‖² / ‖A_i‖², the share of a node's edges that U holds: mean of the new over mean of the fitted
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from slimg.components.component import Component, FittedComponent, Target
from slimg.components.features import FeatureComponent
from slimg.components.structure import Structure, StructureState
from slimg.engine.base import Array
from slimg.engine.memory import MemoryEngine
from slimg.errors import InputError
from slimg.graph.adjacency import Adjacency, index_type
from slimg.graph.columns import list_names, stacked
from slimg.graph.graph import Graph
from slimg.inference.fold_in import FittedNodes, FoldIn, Scorer
from slimg.linalg.operators import around, gathered, steps

LEADING = 32
"""Directions of a long component that are kept beside those of its weights."""
SHORT = 2
"""Hops up to which a component is computed in the grown graph itself."""
SAMPLE = 1_000
"""Fitted nodes that new ones are compared with."""
MOST_NEW, MOST_DEGREE, MOST_FEATURES, LEAST_STRUCTURE = 0.1, 1.0, 0.5, 0.25
"""Beyond these a refit is due. U is fitted to the edges of fitted nodes; of others it holds a third to a half of that."""


class Tail(NamedTuple):
    """T Q / scale of a long component (n × q, float16), the scale (q) and Q (r × q)."""

    rows: Array
    scale: Array
    basis: Array

    def of(self, nodes: Array) -> Array:
        """T Q of some fitted nodes, float64."""
        return self.rows[nodes].astype(np.float64) * self.scale


@dataclass(frozen=True, eq=False)
class FittedGraph:
    """The graph that a model was fitted on, without labels, and the tails of its long components."""

    graph: Graph
    tails: dict[str, Tail]


class Drift(NamedTuple):
    """How the new nodes differ from the fitted ones; None where it cannot be said.

    Attributes
    ----------
    new : float
        Number of new nodes over that of fitted ones.
    degree : float
        Difference of the mean log(1 + degree), in standard deviations of the fitted nodes.
    features : float or None
        Distance of the mean features over the spread of the fitted nodes.
    structure : float or None
        Share of a new node's edges that U holds, over that of a fitted node.
    """

    new: float
    degree: float
    features: float | None
    structure: float | None

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why a refit is due; empty if it is not."""
        found = []
        if self.new > MOST_NEW:
            found.append(f"there are more than {MOST_NEW:.0%} new nodes")
        if abs(self.degree) > MOST_DEGREE:
            found.append(f"they have many {'more' if self.degree > 0 else 'fewer'} edges than the fitted ones")
        if self.features is not None and self.features > MOST_FEATURES:
            found.append("their features are others")
        if self.structure is not None and self.structure < LEAST_STRUCTURE:
            found.append("they are linked in ways that the fitted network did not have")
        return tuple(found)

    @property
    def refit_due(self) -> bool:
        """Whether the model should be fitted again."""
        return bool(self.reasons)

    def text(self) -> str:
        """Say in two sentences how far the new nodes are, and whether a refit is due.

        Returns
        -------
        str
        """
        parts = [f"degree {self.degree:+.2f} standard deviations"]
        if self.features is not None:
            parts.append(f"features {self.features:.2f}")
        if self.structure is not None:
            parts.append(f"share of edges that U holds {self.structure:.0%} of that of a fitted node")
        first = f"Drift of the new nodes, {self.new:.2%} of the fitted ones: {', '.join(parts)}."
        why = ", ".join(self.reasons)
        return f"{first} {f'A refit is due: {why}.' if why else 'A refit is not due.'}"


def ratio_of(component: Component) -> float | None:
    """ρ of a component that is a long geometric sum of one operator, else None."""
    if not isinstance(component, FeatureComponent) or component.hops <= SHORT:
        return None
    weights = np.array(component.coefficients)
    if not weights.all() or not np.allclose(weights[1:] / weights[:-1], weights[1] / weights[0]):
        return None
    return float(weights[1] / weights[0]) if type(component).operator is not FeatureComponent.operator else None


def tails_of(scorer: Scorer, graph: Graph) -> dict[str, Tail]:
    """Compute the tails of the long components on the fitted graph."""
    used = {name: scorer.components[name] for name in scorer.used}
    return {name: _tail(fitted, scorer.weights[name], graph)
            for name, fitted in used.items() if ratio_of(fitted.component) is not None}  # fmt: skip


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


def _long_scores(fitted: FittedComponent, tail: Tail, weights: Array, target: Target) -> Array:
    """p W of new nodes from the tail of their fitted neighbours."""
    component, state = fitted.component, fitted.state
    graph, rows, known = target
    ratio = ratio_of(component)
    assert isinstance(component, FeatureComponent) and known is not None and ratio is not None
    basis = tail.basis.astype(np.float64)
    own = component.coefficients[0] * (state.raw(state.prepared(graph, rows)) @ basis)
    way = steps(component.operators(graph)[:1], rows, (0.0, 1.0))
    there = known[way.reached] >= 0
    matrix = way.matrices[0]
    old = matrix[:, there] @ tail.of(known[way.reached[there]])
    among, place = matrix[:, ~there], np.searchsorted(rows, way.reached[~there])
    found = own
    for _ in range(component.hops):
        found = own + ratio * (old + among @ found[place])
    raw = found - state.shift @ basis if state.mean is not None else found
    length = np.sqrt(np.einsum("ij,ij->i", raw, raw))
    return raw / np.where(length > 0, length, 1)[:, None] @ (basis.T @ weights)


class Joined(NamedTuple):
    """A grown graph; of each of its nodes the row in the fitted graph or −1; its new rows; which given nodes are new."""

    graph: Graph
    known: Array
    rows: Array
    new: Array


def join(fitted: Graph, nodes: FittedNodes, given: Graph, hops: int | None = None) -> Joined:
    """Add new nodes and their edges to the fitted graph, or to the part of it that is near them.

    Nodes of ``given`` that the fitted graph has keep their features there; edges that it has already keep the larger weight.

    Parameters
    ----------
    fitted : Graph
        The fitted graph.
    nodes : FittedNodes
        Its digests.
    given : Graph
        New nodes, those that they are linked with, and their edges.
    hops : int or None, default=None
        None for the whole graph with its ids; else without ids, and of the fitted graph only what lies within so many hops of
        a new node, with all edges, and the neighbours of that.

    Returns
    -------
    Joined
        Fitted nodes first, then the new ones.
    """
    _check_relations(fitted, given)
    places = nodes.places(given)
    new = places < 0
    inside = None if hops is None else around(fitted.adjacency, places[~new], max(hops - 1, 0))
    known = np.arange(fitted.n) if inside is None else np.union1d(inside, gathered(fitted.adjacency, inside).indices)
    n, total = len(known), len(known) + int(new.sum())
    to = np.where(new, n + np.cumsum(new) - 1, np.searchsorted(known, places))
    more = {relation.name: relation for relation in given.relations}

    def grown(matrix: Adjacency, added: Adjacency | None) -> Adjacency:
        return _grown(matrix if inside is None else _rows_of(matrix, inside, known), added, to, total)

    relations = []
    for each in fitted.relations:
        own = more.get(each.name)
        out = grown(each.out, None if own is None else own.out)
        into = grown(each.into, None if own is None else own.into) if each.directed else out
        relations.append(replace(each, out=out, into=into))
    named: dict[str, Any] = {}
    if inside is None:
        named = {"ids": stacked(fitted.ids, given.ids[new]), "feature_names": fitted.feature_names}
    features = fitted.features if inside is None or fitted.features is None else fitted.features[known]
    matrix = grown(fitted.adjacency, given.adjacency)
    graph = Graph(matrix, _stacked(features, given.features, new), relations=tuple(relations), **named)
    return Joined(graph, np.concatenate([known, np.full(total - n, -1)]), np.arange(n, total), np.flatnonzero(new))


def _rows_of(matrix: Adjacency, inside: Array, known: Array) -> Adjacency:
    """Some rows of a matrix, whose entries lie in the columns ``known``, among these; other rows are empty."""
    block = gathered(matrix, inside)
    counts = np.zeros(len(known), np.int64)
    counts[np.searchsorted(known, inside)] = np.diff(block.indptr)
    indices = np.searchsorted(known, block.indices).astype(index_type(len(known)))
    weights = None if matrix.weights is None else block.data.astype(np.float32)
    return Adjacency(np.concatenate([[0], np.cumsum(counts)]), indices, weights)


def _check_relations(fitted: Graph, given: Graph) -> None:
    kinds = {relation.name: relation.directed for relation in fitted.relations}
    wrong = [relation.name for relation in given.relations if kinds.get(relation.name) is not relation.directed]
    if wrong or (kinds and not given.relations and given.edges):
        have = list_names([f"{name} ({'' if directed else 'un'}directed)" for name, directed in kinds.items()]) or "none"
        what = f"relation {wrong[0]!r}" if wrong else "edges without a relation"
        raise InputError(f"the new rows have {what}, but the relations of the fitted graph are {have}: name them alike")


def _grown(matrix: Adjacency, more: Adjacency | None, to: Array, n: int) -> Adjacency:
    """A matrix with n rows and columns and the entries of another, whose row i is row ``to[i]`` here."""
    indptr = np.concatenate([matrix.indptr, np.full(n - matrix.n, matrix.nnz, np.int64)])
    if more is None or not more.nnz:
        return Adjacency(indptr, matrix.indices, matrix.weights)
    binary = matrix.weights is None and more.weights is None
    kind = bool if binary else np.float32
    old = sp.csr_array((_values(matrix, kind), matrix.indices, indptr), shape=(n, n))
    added = moved(more, to, n, kind)
    return as_adjacency(old + added if binary else old.maximum(added))


def moved(matrix: Adjacency, to: Array, n: int, kind: Any = None) -> sp.csr_array:
    """The entries (i, j) at (to[i], to[j]) of an n × n matrix, without those where either is −1."""
    rows, columns = to[np.repeat(np.arange(matrix.n), np.diff(matrix.indptr))], to[matrix.indices]
    keep = (rows >= 0) & (columns >= 0)
    values = _values(matrix, kind or (bool if matrix.weights is None else np.float32))[keep]
    return sp.csr_array(sp.coo_array((values, (rows[keep], columns[keep])), shape=(n, n)))


def as_adjacency(matrix: sp.csr_array) -> Adjacency:
    """A canonical CSR matrix as it is; a boolean one is binary."""
    matrix.sort_indices()
    weights = None if matrix.dtype == bool else matrix.data.astype(np.float32, copy=False)
    return Adjacency(matrix.indptr.astype(np.int64), matrix.indices.astype(index_type(matrix.shape[0])), weights)


def _values(matrix: Adjacency, kind: Any) -> Array:
    return np.ones(matrix.nnz, kind) if matrix.weights is None else matrix.weights.astype(kind, copy=False)


def _stacked(fitted: Any, given: Any, new: Array) -> Any:
    if fitted is None:
        return None
    if sp.issparse(fitted):
        return sp.csr_array(sp.vstack([fitted, sp.csr_array(given)[new]], format="csr"))
    return np.concatenate([fitted, given.toarray()[new] if sp.issparse(given) else given[new]])


def completed(fitted: Graph, nodes: FittedNodes, given: Graph, *, edges: bool) -> Graph:
    """Take what a graph lacks from the fitted one: its edges, or its nodes with their features.

    Parameters
    ----------
    fitted : Graph
        The fitted graph.
    nodes : FittedNodes
        Its digests.
    given : Graph
        Nodes without edges, or edges between fitted nodes.
    edges : bool
        Whether the edges are those that ``given`` has, so that the nodes come from the fitted graph; else it is the reverse.

    Returns
    -------
    Graph
    """
    places = nodes.places(given)
    if edges:
        strange = given.ids[places < 0]
        if len(strange):
            raise InputError(f"the fitted graph has no node {strange[0]!r}, and there is no table of nodes: give one too")
        to, n, source, base = places, fitted.n, given, fitted
    else:
        to, n, source, base = np.full(fitted.n, -1), given.n, fitted, given
        to[places[places >= 0]] = np.flatnonzero(places >= 0)
    parts: dict[int, Adjacency] = {}

    def part(matrix: Adjacency) -> Adjacency:
        return parts.get(id(matrix)) or parts.setdefault(id(matrix), as_adjacency(moved(matrix, to, n)))

    relations = tuple(replace(each, out=part(each.out), into=part(each.into)) for each in source.relations)
    return replace(base, adjacency=part(source.adjacency), relations=relations)


def fold_in_new(
    scorer: Scorer, nodes: FittedNodes, fitted: FittedGraph, given: Graph, agreement: float | None = None
) -> FoldIn:
    """Score new nodes against the fitted graph.

    Parameters
    ----------
    scorer : Scorer
        The fitted model.
    nodes : FittedNodes
        Nodes of the fitted graph.
    fitted : FittedGraph
        That graph.
    given : Graph
        New nodes, those that they are linked with, and their edges.
    agreement : float or None, default=None
        What `SlimG.measure_fold_in` returned.

    Returns
    -------
    FoldIn
        Scores of the nodes of ``given``; those of fitted nodes are as they were.
    """
    used = [scorer.components[name].component for name in scorer.used if name not in fitted.tails]
    joined = join(fitted.graph, nodes, given, max([1, *(each.reach for each in used)]))
    new = joined.new
    scores = nodes.scores[nodes.places(given)]
    drift = None
    if len(new):
        target = Target(joined.graph, joined.rows, joined.known)
        scores[new] = new_scores(scorer, fitted.tails, target).astype(np.float32)
        drift = drift_of(scorer, target, Target(fitted.graph, np.arange(fitted.graph.n)))
    none = np.zeros(0, np.int64)
    return FoldIn(scores, scorer.classes, new, none, new, 0, agreement, drift=drift, against=fitted.graph.n)


def new_scores(scorer: Scorer, tails: Mapping[str, Tail], target: Target) -> Array:
    """Score nodes that are all new, with the tails of long components.

    Returns
    -------
    array of shape (m, c), float64
    """
    total = np.tile(scorer.intercept.astype(np.float64), (len(target.rows), 1))
    for name in scorer.used:
        fitted, weights = scorer.components[name], scorer.weights[name].astype(np.float64)
        if name in tails:
            total += _long_scores(fitted, tails[name], weights, target)
        else:
            total += fitted.rows(target)[0] @ weights
    return total


def drift_of(scorer: Scorer, new: Target, old: Target) -> Drift | None:
    """Compare new nodes with a sample of the fitted ones.

    Parameters
    ----------
    scorer : Scorer
        The fitted model.
    new, old : Target
        The new nodes in the grown graph, and the fitted ones in any graph.

    Returns
    -------
    Drift or None
        None if there are no new nodes, or no fitted ones.
    """
    if not len(new.rows) or not len(old.rows):
        return None
    logs = [np.log1p(each.graph.adjacency.degree())[each.rows] for each in (new, old)]
    degree = (logs[0].mean() - logs[1].mean()) / max(float(logs[1].std()), 1e-6)
    few = [each._replace(rows=_spread(each.rows)) for each in (new, old)]
    used = [scorer.components[name] for name in scorer.used]
    features = next((each.state for each in used if isinstance(each.component, FeatureComponent)), None)
    shift = None
    if features is not None:
        here, there = (features.raw(features.prepared(each.graph, each.rows)) for each in few)
        spread = max(float(there.var(axis=0).sum()), 1e-30)
        square = ((here.mean(axis=0) - there.mean(axis=0)) ** 2).sum() / spread
        shift = float(np.sqrt(max(square - 1 / len(here) - 1 / len(there), 0.0)))
    share = None
    for fitted in used:
        if share is None and isinstance(fitted.component, Structure):
            mine, others = (_energy(fitted.component, fitted.state, each) for each in few)
            share = None if mine is None or others is None else mine / max(others, 1e-30)
    return Drift(len(new.rows) / len(old.rows), float(degree), shift, share)


def _energy(structure: Structure, state: StructureState, target: Target) -> float | None:
    """Mean of ‖A_i V‖² / ‖A_i‖² over nodes with edges."""
    raw = structure.project(state, target)
    links, _ = structure.links(target)
    whole = np.asarray(links.multiply(links).sum(axis=1)).ravel()
    return float(((raw**2).sum(axis=1)[whole > 0] / whole[whole > 0]).mean()) if whole.any() else None


def _spread(rows: Array) -> Array:
    """At most `SAMPLE` of the rows, evenly spaced."""
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), SAMPLE)).astype(np.int64)]
