"""Scores of a graph that grew, without fitting again.

A model keeps of each node 64 bits for its id, 64 for its features and edges (`slimg.graph.digest`), and its scores. Of
another graph,

    new       nodes whose id the fitted graph does not have
    changed   those whose features or edges are not what they were
    touched   everything within ``reach`` hops of either: placed again by the components and scored

All others keep their scores, to the bit. Nothing is learned: PCA, singular vectors and weights are those of the fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from slimg.components.component import Target
from slimg.components.neighbourhood import around
from slimg.engine.base import Array
from slimg.errors import InputError
from slimg.graph.columns import number_of, show
from slimg.graph.digest import id_digests, node_digests
from slimg.graph.graph import Graph
from slimg.inference.scoring import Scorer
from slimg.learn.loss import softmax


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
        return cls(id_digests(graph.ids), node_digests(graph), scores)

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
        order = np.argsort(self.ids)
        place = order[np.minimum(np.searchsorted(self.ids[order], wanted), len(order) - 1)]
        return np.where(self.ids[place] == wanted, place, -1)


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
    """

    scores: Array
    classes: Array
    new: Array
    changed: Array
    touched: Array
    gone: int
    agreement: float | None = None

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
        return softmax(self.scores)

    def text(self) -> str:
        """Say in a sentence or two what was computed again.

        Returns
        -------
        str
            How many nodes are new, changed, gone and scored again.
        """
        n = len(self.scores)
        if not len(self.touched) and not self.gone:
            return f"The graph is the one the model was fitted on ({number_of(n, 'node')})."
        parts = [f"{len(self.new):,} of {number_of(n, 'node')} {'is' if len(self.new) == 1 else 'are'} new"]
        if len(self.changed):
            parts.append(f"{len(self.changed):,} have other edges or features than before")
        if self.gone:
            parts.append(f"{self.gone:,} of the fitted ones are gone")
        first = f"{', '.join(parts)}; {len(self.touched):,} were scored again, the others keep their scores."
        if self.agreement is None:
            return first
        return f"{first} At fit time, {self.agreement:.1%} of hidden nodes that were folded in had the class of a refit."


def fold_in(scorer: Scorer, fitted_nodes: FittedNodes, graph: Graph, agreement: float | None = None) -> FoldIn:
    """Score a graph whose nodes are, mostly, those of the fitted one.

    Parameters
    ----------
    scorer : Scorer
        The fitted model.
    fitted_nodes : FittedNodes
        Nodes of the fitted graph.
    graph : Graph
        The graph to score.
    agreement : float or None, default=None
        What `SlimG.measure_fold_in` returned.

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
    return FoldIn(scores, scorer.classes, new, changed, touched, gone, agreement)


def check_alike(graph: Any, d: int, feature_names: tuple[str, ...] | None) -> None:
    """Refuse a graph whose features are not those of the fit."""
    if not isinstance(graph, Graph):
        raise InputError(f"a slimg.Graph is needed (see Graph.from_arrays, Graph.from_edges), not {type(graph)}")
    if graph.d != d:
        raise InputError(f"the model was fitted on {number_of(d, 'feature')}, the graph has {graph.d:,}: give the same ones")
    if feature_names and graph.feature_names and feature_names != graph.feature_names:
        pairs = zip(feature_names, graph.feature_names, strict=True)
        fitted, given = next((a, b) for a, b in pairs if a != b)
        raise InputError(f"the graph has feature {show([given])} where the model has {show([fitted])}: reorder the columns")
