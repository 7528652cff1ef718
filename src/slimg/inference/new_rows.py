"""New nodes alone, scored against the fitted graph, and how far they are from it.

    A' = (A B; Bᵀ C)        n fitted nodes, m new ones; B and C are the edges of the new rows

Components of a short reach place the new nodes in A' as they place nodes of any graph; those of a long one use what the
model keeps of the fitted nodes (`slimg.inference.fold_in`).

Drift compares the new nodes with the fitted ones, each a number without a unit:

    degree      (mean log(1 + d) of the new − of the fitted) / its standard deviation
    features    distance of the means of x M over the spread of the fitted, without what chance gives to so few nodes
    structure   ‖A_i V‖² / ‖A_i‖², the share of a node's edges that U holds: mean of the new over mean of the fitted
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from slimg.components.component import Target
from slimg.components.features import FeatureComponent
from slimg.components.structure import Structure, StructureState
from slimg.engine.base import Array
from slimg.errors import InputError
from slimg.graph.adjacency import Adjacency, as_adjacency, index_type
from slimg.graph.columns import list_names, stacked
from slimg.graph.graph import Graph
from slimg.inference.fold_in import FittedGraph, FittedNodes, FoldIn, Scorer
from slimg.linalg.operators import around, gathered

SAMPLE = 1_000
"""Fitted nodes that new ones are compared with."""
MOST_NEW, MOST_DEGREE, MOST_FEATURES, LEAST_STRUCTURE = 0.1, 1.0, 0.5, 0.25
"""Beyond these a refit is due. U is fitted to the edges of fitted nodes; of others it holds a third to a half of that."""


class Drift(NamedTuple):
    """How the new nodes differ from the fitted ones; None where it cannot be said.

    Attributes
    ----------
    new : float
        Number of new nodes over that of fitted ones.
    degree : float
        Difference of the mean log(1 + degree), in standard deviations of the fitted nodes (of at least a tenth).
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
    found = matrix.to_scipy()
    found.resize((n, n))
    return as_adjacency(found if more is None else found.maximum(moved(more, to, n)))


def moved(matrix: Adjacency, to: Array, n: int) -> sp.csr_array:
    """The entries (i, j) at (to[i], to[j]) of an n × n matrix, without those where either is −1."""
    entries = matrix.to_scipy().tocoo()
    rows, columns = to[entries.row], to[entries.col]
    keep = (rows >= 0) & (columns >= 0)
    return sp.csr_array(sp.coo_array((entries.data[keep], (rows[keep], columns[keep])), shape=(n, n)))


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


def fold_in_new(scorer: Scorer, nodes: FittedNodes, given: Graph, fitted: FittedGraph) -> FoldIn:
    """Score new nodes against the fitted graph.

    Parameters
    ----------
    scorer : Scorer
        The fitted model.
    nodes : FittedNodes
        Nodes of the fitted graph.
    given : Graph
        New nodes, those that they are linked with, and their edges.
    fitted : FittedGraph
        The fitted graph.

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
        scores[new] = scorer.scores(target, fitted.tails).astype(np.float32)
        drift = drift_of(scorer, target, Target(fitted.graph, np.arange(fitted.graph.n)))
    none = np.zeros(0, np.int64)
    return FoldIn(scores, scorer.classes, new, none, new, 0, drift=drift, against=fitted.graph.n)


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
    degree = (logs[0].mean() - logs[1].mean()) / max(float(logs[1].std()), 0.1)
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
