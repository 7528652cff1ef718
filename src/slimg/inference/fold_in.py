"""Scores of a graph that grew, without fitting again.

A model keeps of each node 64 bits for its id, 64 for its features and edges, and its scores. Of
another graph,

    new       nodes whose id the fitted graph does not have
    changed   those whose features or edges are not what they were
    touched   everything within ``reach`` hops of either: placed again by the components and scored

All others keep their scores, to the bit. Nothing is learned: PCA, singular vectors and weights are those of the fit.

Scores of a linear model on P(A, X), for nodes of any graph.

    scores_i = b + Σ_g p_g,i W_g        p_g,i as the component g places node i

A long sum F = Σ_{k ≤ K} c₀ ρᵏ Opᵏ would read the whole graph for a new node. Since F_K X = c₀ X + ρ Op F_{K−1} X, new rows are

    s = c₀ x M + ρ (Op[new, old] T + Op[new, new] s)        M = V Cᵀ,  T = F_{K−1} X M of the fitted graph (n × r)

with T as it was at the fit. Kept is T Q (n × q) with Q (r × q) orthonormal, whose span holds the weights and the first
`LEADING` directions: s W is exact, and ‖s‖ lacks only what lies outside.

Digests of 64 bits for rows: equal rows have equal digests, different ones almost surely not.

    features   Σ_j bits(x_ij) · m_j  mod 2⁶⁴          m_j: an odd number by column, bits(0) = 0
    ids        the number itself, mixed; of other values the first eight bytes of BLAKE2b of their text
    node       mix(id) ⊕ mix(features) ⊕ mix(Σ_{j ∈ N(i)} mix(id_j) · bits(A_ij))
               of a graph with relations: ⊕ the same of each relation and direction with edges at i, mixed with its name

A node's bits do not depend on where in the graph it stands, so those of two graphs can be compared by id. The fingerprint
of a graph is the SHA-256 of the sorted bits of its nodes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from slimg.components.component import FittedComponent, Target
from slimg.components.features import Diffusion
from slimg.engine.base import Array, reader
from slimg.engine.memory import MemoryEngine
from slimg.errors import InputError
from slimg.graph.adjacency import Adjacency
from slimg.graph.checks import check_graph
from slimg.graph.columns import number_of, show
from slimg.graph.graph import Graph
from slimg.learn.objective import softmax
from slimg.linalg.operators import around, row_sums, steps

if TYPE_CHECKING:
    from slimg.inference.new_rows import Drift

BLOCK_ENTRIES = 1 << 22
"""Dense entries that are looked at together."""
BLOCK_IDS = 1 << 16
"""Ids that are looked at together."""
LEADING = 32
"""Directions of a long component that are kept beside those of its weights."""
TAIL_ENTRIES = 1 << 25
"""Entries of a tail that are computed at a time: columns do not depend on each other."""
SHORT = 2
"""Hops up to which a component is computed in the grown graph itself."""


def node_digests(graph: Graph, ids: np.ndarray | None = None) -> np.ndarray:
    """One uint64 per node: its id (or digests ``ids``), its features, and the ids and weights of its neighbours, by relation."""
    ids = id_digests(graph.ids) if ids is None else ids
    around = _neighbours(graph.adjacency, ids)
    digests = ids ^ _mixed(feature_digests(graph.features, graph.n)) ^ _mixed(around + np.uint64(1))
    for relation in graph.relations:
        keys = id_digests(np.array(list(relation.directions), object))
        for key, adjacency in zip(keys, relation.directions.values(), strict=True):
            around = _mixed(_neighbours(adjacency, ids) ^ key)
            digests ^= np.where(np.diff(adjacency.indptr) > 0, around, np.uint64(0))
    return digests


def _neighbours(adjacency: Adjacency, ids: np.ndarray) -> np.ndarray:
    """Sum over each node's neighbours of their digests, times their weights."""

    def carried(columns: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        return ids[columns] if weights is None else ids[columns] * _odd(weights.view(np.uint32))

    return row_sums(adjacency, carried)


def fingerprint(digests: np.ndarray) -> str:
    """Of a whole graph, whatever the order of its nodes."""
    return hashlib.sha256(np.sort(digests).astype("<u8").tobytes()).hexdigest()


def feature_digests(features: Any, n: int) -> np.ndarray:
    """One uint64 per row of X; −0 counts as 0.

    Returns
    -------
    array of shape (n,), uint64
        Equal rows have equal digests.
    """
    if features is None:
        return np.zeros(n, np.uint64)
    factors = _odd(np.arange(features.shape[1], dtype=np.uint64))
    if sp.issparse(features):
        terms = _bits(features.data) * factors[features.indices]
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])
        return sums[features.indptr[1:]] - sums[features.indptr[:-1]]
    d, flat, digests = features.shape[1], reader(features.reshape(-1)), np.zeros(n, np.uint64)
    step = max(1, BLOCK_ENTRIES // max(1, d))
    for start in range(0, n, step):
        block = flat[start * d : min(start + step, n) * d].reshape(-1, d)
        digests[start : start + step] = (_bits(block) * factors).sum(axis=1, dtype=np.uint64)
    return digests


def id_digests(ids: np.ndarray) -> np.ndarray:
    """One uint64 per id."""
    if ids.dtype.kind in "iu":
        return _mixed(ids.astype(np.int64).view(np.uint64))
    if len(ids) > BLOCK_IDS:
        return np.concatenate([id_digests(ids[start : start + BLOCK_IDS]) for start in range(0, len(ids), BLOCK_IDS)])
    values = ids.tolist()
    texts = (repr(value).encode("utf-8", "surrogatepass") for value in values)
    raw = b"".join(hashlib.blake2b(text, digest_size=8).digest() for text in texts)
    digests = np.frombuffer(raw, "<u8").astype(np.uint64)
    numbers = [k for k, value in enumerate(values) if type(value) is int and -(2**63) <= value < 2**63]
    if numbers:  # a number among texts is the same id as among numbers
        digests[numbers] = id_digests(np.array([values[k] for k in numbers], np.int64))
    return digests


def _bits(values: np.ndarray) -> np.ndarray:
    return (np.ascontiguousarray(values, np.float32) + np.float32(0)).view(np.uint32).astype(np.uint64)


def _odd(values: np.ndarray) -> np.ndarray:
    return _mixed(values.astype(np.uint64)) | np.uint64(1)


def _mixed(values: np.ndarray) -> np.ndarray:
    """The finaliser of splitmix64."""
    with np.errstate(over="ignore"):
        z = values + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@dataclass(frozen=True, eq=False)
class Scorer:
    """A fitted model without its rows.

    Attributes
    ----------
    components : dict of str to FittedComponent
        Those that place nodes; components whose weights are zero may be absent in a model that was loaded.
    titles, short_titles : dict of str to str
        Name of every component → the component in words.
    weights : dict of str to array of shape (width, c)
        Weights of every component.
    intercept : array of shape (c,)
        The intercept of each class.
    classes : array of shape (c,)
        The labels, sorted.
    """

    components: Mapping[str, FittedComponent]
    titles: dict[str, str]
    short_titles: dict[str, str]
    weights: dict[str, Array]
    intercept: Array
    classes: Array

    @cached_property
    def used(self) -> tuple[str, ...]:
        """Names of the components whose weights are not all zero."""
        return tuple(name for name, weights in self.weights.items() if weights.any())

    @property
    def reach(self) -> int:
        """Hops within which a change of the graph changes a score."""
        return max((self.components[name].component.reach for name in self.used), default=0)

    def scores(self, target: Target, tails: Mapping[str, Tail] | None = None) -> Array:
        """Score nodes of any graph.

        Parameters
        ----------
        target : Target
            The nodes.
        tails : mapping of str to Tail, default=None
            What new nodes take from their fitted neighbours, for components of a long reach.

        Returns
        -------
        array of shape (m, c), float64
            One row for each node of the target.
        """
        bias, *others = self.parts(target, tails).values()
        return sum(others, bias)

    def parts(self, target: Target, tails: Mapping[str, Tail] | None = None) -> dict[str, Array]:
        """What each component adds to the scores of nodes of any graph.

        Parameters
        ----------
        target : Target
            The nodes.
        tails : mapping of str to Tail, default=None
            As in `scores`.

        Returns
        -------
        dict of str to array of shape (m, c), float64
            "bias" and the components that are used; they add up to `scores`.
        """
        found = {"bias": np.tile(self.intercept.astype(np.float64), (len(target.rows), 1))}
        for name in self.used:
            fitted, weights, tail = self.components[name], self.wide[name], (tails or {}).get(name)
            found[name] = fitted.rows(target)[0] @ weights if tail is None else tail.scores(fitted, weights, target)
        return found

    @cached_property
    def wide(self) -> dict[str, Array]:
        """Name → weights of each used component in float64, the same arrays each time, so that what is made of them is kept."""
        return {name: self.weights[name].astype(np.float64) for name in self.used}

    def loadings(self) -> dict[str, Array]:
        """Give the weights of the features for each used component that is made of features.

        Returns
        -------
        dict of str to array of shape (d, c)
        """
        fitted = {name: self.components[name] for name in self.used}
        found = {name: each.component.loadings(each.state, self.wide[name]) for name, each in fitted.items()}
        return {name: beta for name, beta in found.items() if beta is not None}

    def feature_names(self, name: str) -> tuple[str, ...] | None:
        """Name the features of a component that has its own.

        Parameters
        ----------
        name : str
            The component.

        Returns
        -------
        tuple of str or None
            None for the features of the graph.
        """
        fitted = self.components.get(name)
        return None if fitted is None else fitted.component.feature_names(fitted.state)


class Tail(NamedTuple):
    """T Q / scale of a long component (n × q, float16), the scale (q) and Q (r × q)."""

    rows: Array
    scale: Array
    basis: Array

    def scores(self, fitted: FittedComponent, weights: Array, target: Target) -> Array:
        """p W of new nodes from the tail of their fitted neighbours."""
        component, state = fitted.component, fitted.state
        graph, rows, known = target
        basis = self.basis.astype(np.float64)
        assert isinstance(component, Diffusion) and known is not None
        own = component.alpha * (state.raw(state.prepared(graph, rows)) @ basis)
        way = steps(component.operators(graph)[:1], rows, (0.0, 1.0))
        matrix, there = way.matrices[0], known[way.reached] >= 0
        old = matrix[:, there] @ (self.rows[known[way.reached[there]]].astype(np.float64) * self.scale)
        among, place = matrix[:, ~there], np.searchsorted(rows, way.reached[~there])
        found = own
        for _ in range(component.hops):
            found = own + (1 - component.alpha) * (old + among @ found[place])
        raw = found - state.shift @ basis if state.mean is not None else found
        length = component.lengths(state, raw)
        return raw / np.where(length > 0, length, 1)[:, None] @ (basis.T @ weights.astype(np.float64))


@dataclass(frozen=True, eq=False)
class FittedGraph:
    """The graph that a model was fitted on, without labels, and the tails of its long components."""

    graph: Graph
    tails: dict[str, Tail]

    @classmethod
    def of(cls, scorer: Scorer, graph: Graph) -> FittedGraph:
        """Compute the tails of the long components on the fitted graph."""
        tails = {name: _tail(scorer.components[name], scorer.weights[name], graph) for name in long_components(scorer)}
        return cls(graph, tails)


def long_components(scorer: Scorer) -> list[str]:
    """Names of the long components with weights: Z = α X + (1 − α) Ã_sym Z, Z of the fitted nodes being their tail."""
    listed = {name: scorer.components[name].component for name in scorer.used}
    return [name for name, each in listed.items() if isinstance(each, Diffusion) and each.hops > SHORT]


def _tail(fitted: FittedComponent, weights: Array, graph: Graph) -> Tail:
    component, state = fitted.component, fitted.state
    assert isinstance(component, Diffusion)
    r = len(weights)
    basis, _ = np.linalg.qr(np.concatenate([np.eye(r, min(r, LEADING)), weights], axis=1))
    operator, engine, q = component.operator(graph.adjacency), MemoryEngine(), basis.shape[1]
    own, found, scale = np.empty((graph.n, q), np.float32), np.empty((graph.n, q), np.float16), np.empty(q, np.float32)
    for rows in np.array_split(np.arange(graph.n), -(-graph.n >> 14)):
        own[rows] = state.raw(state.prepared(graph, rows)) @ basis
    width = max(1, TAIL_ENTRIES // graph.n)
    for columns in (slice(start, start + width) for start in range(0, q, width)):
        tail = operator.series(engine, engine.row_matrix(own[:, columns]), component.tail)
        scale[columns] = np.maximum(np.abs(tail).max(axis=0), 1e-30)
        found[:, columns] = tail / scale[columns]
    return Tail(found, scale, basis.astype(np.float32))


@dataclass(frozen=True, eq=False)
class View:
    """A graph with the scores of its nodes.

    Attributes
    ----------
    graph : Graph
        The fitted graph, or one that grew out of it.
    scores : array of shape (n, c)
        Scores of its nodes.
    known : array of shape (n,) or None
        Rows of its nodes in the fitted graph, −1 for new ones; None when it is the fitted graph.
    """

    graph: Graph
    scores: Array
    known: Array | None = None

    def target(self, rows: Array) -> Target:
        """Name some nodes of this graph.

        Parameters
        ----------
        rows : array of shape (m,)
            Row numbers.

        Returns
        -------
        Target
            The nodes, for a component.
        """
        return Target(self.graph, np.asarray(rows), self.known)


@dataclass(frozen=True, eq=False)
class FittedNodes:
    """What a model keeps of the nodes of the fitted graph.

    Attributes
    ----------
    ids : array of shape (n,), uint64
        Digests of the ids.
    nodes : array of shape (n,), uint64
        Digests of the features and edges.
    scores : array of shape (n, c), float32
        Scores of the nodes.
    """

    ids: Array
    nodes: Array
    scores: Array

    @classmethod
    def of(cls, graph: Graph, scores: Array) -> FittedNodes:
        """Digest the nodes of a graph.

        Parameters
        ----------
        graph : Graph
            The fitted graph.
        scores : array of shape (n, c)
            Its scores.

        Returns
        -------
        FittedNodes
            Digests and scores.
        """
        ids = id_digests(graph.ids)
        return cls(ids, node_digests(graph, ids), scores)

    def places(self, graph: Graph) -> Array:
        """Find the nodes of a graph in the fitted one.

        Parameters
        ----------
        graph : Graph
            The fitted graph, or another.

        Returns
        -------
        array of shape (n,)
            For each node its row in the fitted graph, −1 if it is new.
        """
        wanted = id_digests(graph.ids)
        order, ascending = self._sorted
        place = order[np.minimum(np.searchsorted(ascending, wanted), len(order) - 1)]
        return np.where(self.ids[place] == wanted, place, -1)

    @cached_property
    def _sorted(self) -> tuple[Array, Array]:
        """The order of the digests of ids, and these in that order."""
        order = np.argsort(self.ids)
        return order, self.ids[order]

    def lacks(self, graph: Graph) -> bool:
        """Tell whether a graph has so few of the fitted nodes that it must be new rows alone.

        Parameters
        ----------
        graph : Graph
            The graph.

        Returns
        -------
        bool
            Whether it has less than half of the fitted nodes.
        """
        return 2 * int(np.count_nonzero(self.places(graph) >= 0)) < len(self.ids)


@dataclass(frozen=True, eq=False, repr=False)
class FoldIn:
    """Scores of a graph that grew; printing it says what was computed again.

    Attributes
    ----------
    scores : array of shape (n, c)
        In the order of the nodes.
    classes : array of shape (c,)
        The labels, sorted.
    new, changed, touched : arrays of int
        Rows that are new, whose edges or features changed, and that were scored again.
    gone : int
        Fitted nodes that the graph does not have any more.
    agreement : float or None
        How often, at fit time, a hidden node that was folded in had the class of a fit that saw it
        (`SlimG.measure_fold_in`); None if that was not measured.
    temperature : float
        What scores are divided by to give probabilities.
    drift : Drift or None
        How the new nodes differ from the fitted ones, and whether a refit is due (`slimg.inference.new_rows.Drift`).
    against : int or None
        Number of nodes of the fitted graph that new rows alone were added to; None if the whole graph was given.

    Examples
    --------
    >>> from slimg import Graph, SlimG
    >>> edges = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("d", "e"), ("e", "f"), ("d", "f")]
    >>> labels = {"a": "left", "c": "left", "d": "right", "f": "right"}
    >>> model = SlimG(grid=[(0, 1e-2)]).fit(Graph.from_edges(edges, labels=labels))
    >>> grown = Graph.from_edges([*edges, ("f", "g"), ("e", "g")])
    >>> folded = model.fold_in(grown)
    >>> len(folded.new), folded.predict()[-1]
    (1, 'right')
    """

    scores: Array
    classes: Array
    new: Array
    changed: Array
    touched: Array
    gone: int
    agreement: float | None = None
    temperature: float = 1.0
    drift: Drift | None = None
    against: int | None = None

    def __repr__(self) -> str:
        return self.text()

    def predict(self) -> Array:
        """Predict the label of every node.

        Returns
        -------
        array of shape (n,)
            Labels in the order of the nodes.
        """
        return self.classes[self.scores.argmax(axis=1)]

    def predict_proba(self) -> Array:
        """Predict the probability of each class for every node.

        Returns
        -------
        array of shape (n, c)
            In the order of the nodes; columns as ``classes``.
        """
        return softmax(np.divide(self.scores, self.temperature, dtype=np.float64))

    def text(self) -> str:
        """Say in a sentence or two what was computed again.

        Returns
        -------
        str
            How many nodes are new, changed, gone and scored again.
        """
        n = len(self.scores)
        if self.against is not None:
            return self._with_distance(
                f"{number_of(len(self.new), 'new node')} scored against the fitted graph of"
                f" {number_of(self.against, 'node')}, whose scores stay."
            )
        if not len(self.touched) and not self.gone:
            return f"The graph is the one the model was fitted on ({number_of(n, 'node')})."
        parts = [f"{len(self.new):,} of {number_of(n, 'node')} {'is' if len(self.new) == 1 else 'are'} new"]
        if len(self.changed):
            parts.append(f"{len(self.changed):,} have other edges or features than before")
        if self.gone:
            parts.append(f"{self.gone:,} of the fitted ones are gone")
        first = f"{', '.join(parts)}; {len(self.touched):,} were scored again, the others keep their scores."
        return self._with_distance(first)

    def _with_distance(self, first: str) -> str:
        """What was scored, and how far that is from a refit."""
        parts = [first]
        if self.agreement is not None:
            parts.append(f"At fit time, {self.agreement:.1%} of hidden nodes that were folded in had the class of a refit.")
        if self.drift is not None:
            parts.append(self.drift.text())
        return " ".join(parts)


def fold_in(scorer: Scorer, fitted_nodes: FittedNodes, graph: Graph) -> FoldIn:
    """Score a graph whose nodes are, mostly, those of the fitted one.

    Parameters
    ----------
    scorer : Scorer
        The fitted model.
    fitted_nodes : FittedNodes
        Nodes of the fitted graph.
    graph : Graph
        The graph to score.

    Returns
    -------
    FoldIn
        Scores of all nodes.
    """
    known = fitted_nodes.places(graph)
    digests = node_digests(graph)
    same = (known >= 0) & (digests == fitted_nodes.nodes[known])
    new, changed = np.flatnonzero(known < 0), np.flatnonzero((known >= 0) & ~same)
    touched = around(graph.adjacency, np.flatnonzero(~same), scorer.reach)
    scores = fitted_nodes.scores[known]
    if len(touched):
        scores[touched] = scorer.scores(Target(graph, touched, known)).astype(np.float32)
    gone = len(fitted_nodes.ids) - int(np.count_nonzero(known >= 0))
    return FoldIn(scores, scorer.classes, new, changed, touched, gone)


def check_alike(graph: Any, d: int, feature_names: tuple[str, ...] | None) -> None:
    """Refuse a graph whose features are not those of the fit."""
    check_graph(graph)
    if graph.d != d:
        raise InputError(f"the model was fitted on {number_of(d, 'feature')}, the graph has {graph.d:,}: give the same ones")
    if feature_names and graph.feature_names and feature_names != graph.feature_names:
        pairs = zip(feature_names, graph.feature_names, strict=True)
        fitted, given = next((a, b) for a, b in pairs if a != b)
        raise InputError(f"the graph has feature {show([given])} where the model has {show([fitted])}: reorder the columns")
