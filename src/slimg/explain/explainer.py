"""Scores of a linear model on P(A, X), and their decomposition.

    scores_i = b + Σ_g p_g,i W_g                            p_g,i as placed (`slimg.components.projector`)
             = b + Σ_g (b_g,i − μ_g) β_g / ‖s_g,i‖          β_g = C_gᵀ W_g   (d × c),  b_g,i = Σ_s Opʰ_is x_s
             … + Σ_s A_is V_s W_U / ‖s_U,i‖                 the part of U
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from slimg.components.features import dense_rows
from slimg.components.neighbourhood import gathered, steps
from slimg.components.projector import Projector, Walk
from slimg.engine.base import Array
from slimg.explain.explanation import Explanation, Part
from slimg.graph.graph import Graph
from slimg.linalg.operators import operator


@dataclass(frozen=True, eq=False)
class Scorer:
    """A fitted model without its rows: how nodes are placed, and the weights (width × c) of each component."""

    projector: Projector
    weights: dict[str, Array]
    intercept: Array
    classes: Array

    @property
    def reach(self) -> int:
        """Hops within which a change of the graph is felt."""
        walks = [self.projector.walks[name] for name, weights in self.weights.items() if weights.any()]
        return max((1 if walk is None else walk.hops for walk in walks), default=0)

    def scores(self, graph: Graph, rows: Array, known: Array | None = None) -> Array:
        """Scores (m × c), float64, of rows of any graph; see `Placing.unscaled` for ``known``."""
        total = np.tile(self.intercept.astype(np.float64), (len(rows), 1))
        for name, weights in self.weights.items():
            if weights.any():
                placed, _ = self.projector.rows(name, graph, rows, known)
                total += placed @ weights
        return total

    @cached_property
    def loadings(self) -> dict[str, Array]:
        """β = CᵀW (d × c), float64, of each feature component that was not removed."""
        found = {}
        for name, weights in self.weights.items():
            if self.projector.walks[name] is not None and weights.any():
                _, components = self.projector.affine(name, weights.shape[0])
                wide = weights.astype(np.float64)
                found[name] = wide if components is None else np.asarray(components, np.float64).T @ wide
        return found


@dataclass(frozen=True, eq=False)
class View:
    """A graph at hand, the scores of its nodes (n × c), and where they stand in the fitted one (None: it is that one)."""

    graph: Graph
    scores: Array
    known: Array | None = None


class Explainer:
    """Explanations of nodes of one graph."""

    def __init__(self, scorer: Scorer, graph: Graph, known: Array | None = None):
        self.scorer, self.graph, self.known = scorer, graph, known

    def explain(self, rows: Sequence[int] | Array, scores: Array) -> list[Explanation]:
        """One explanation per row; ``scores`` (m × c) are what the parts have to add up to."""
        rows = np.asarray(rows)
        columns = [self._parts(name, rows) for name in self.scorer.weights]
        bias = self.scorer.intercept.astype(np.float64)
        names = self.graph.feature_names
        found = []
        for k, row in enumerate(rows):
            parts = tuple(column[k] for column in columns)
            rounding = scores[k] - bias - np.sum([part.scores for part in parts], axis=0)
            node = self.graph.ids.item(int(row))
            found.append(Explanation(node, self.scorer.classes, scores[k], bias, parts, rounding, names))
        return found

    def _parts(self, name: str, rows: Array) -> list[Part]:
        walk = self.scorer.projector.walks[name]
        if not self.scorer.weights[name].any():
            return [self._removed(name)] * len(rows)
        return self._structure(name, rows) if walk is None else self._features(name, walk, rows)

    def _removed(self, name: str) -> Part:
        c = len(self.scorer.classes)
        nothing = np.zeros(0)
        return Part(
            name, title_of(name), True, np.zeros(c), 0.0, None, None, None, nothing, [], nothing, np.zeros((0, c))
        )

    def _structure(self, name: str, rows: Array) -> list[Part]:
        projector, weights = self.scorer.projector, self.scorer.weights[name].astype(np.float64)
        _, lengths = projector.rows(name, self.graph, rows, self.known)
        links = gathered(self.graph.adjacency, rows)
        reached, place = np.unique(links.indices, return_inverse=True)
        links = sp.csr_array((links.data, place, links.indptr), shape=(len(rows), len(reached)))
        own = projector.right_vectors(reached, self.known) @ weights
        return [self._part(name, lengths[k], _row(links, k), reached, own) for k in range(len(rows))]

    def _features(self, name: str, walk: Walk, rows: Array) -> list[Part]:
        projector, beta = self.scorer.projector, self.scorer.loadings[name]
        paths, reached = self._paths(walk, rows)
        prepared = projector.prepared(self.graph, reached)
        values = dense_rows(paths @ prepared)
        mean, components = projector.affine(name, len(beta))
        raw = values - mean if components is None else (values - mean) @ np.asarray(components, np.float64).T
        lengths = np.sqrt(np.einsum("ij,ij->i", raw, raw))
        own = prepared @ beta - mean @ beta
        return [
            self._part(name, lengths[k], _row(paths, k), reached, own, (values[k], mean, beta)) for k in range(len(rows))
        ]

    def _paths(self, walk: Walk, rows: Array) -> tuple[sp.csr_array, Array]:
        if walk.hops == 0:
            return sp.csr_array(sp.identity(len(rows), format="csr")), rows
        way = steps(operator(walk.operator, self.graph.adjacency), rows, walk.hops)
        return way.paths(), way.reached

    def _part(
        self,
        name: str,
        length: float,
        path: tuple[Array, Array],
        reached: Array,
        own: Array,
        described: tuple[Array, Array, Array] | None = None,
    ) -> Part:
        """One node's part, from its row of path weights and what each node reached would say alone (``own``)."""
        scale = 1 / length if length > 0 else 0.0
        places, weights = path
        sources, source_scores = reached[places], weights[:, None] * own[places] * scale
        features = values = mean = None
        scores = source_scores.sum(axis=0)
        if described is not None:
            values, mean, beta = described
            features = (values - mean)[:, None] * beta * scale
            scores = features.sum(axis=0)
        graph = self.graph
        labels = [graph.classes[code] if code >= 0 else None for code in graph.codes[sources]]
        ids = graph.ids[sources]
        return Part(name, title_of(name), False, scores, length, features, values, mean, ids, labels, weights, source_scores)


def title_of(name: str) -> str:
    """A component in words."""
    walk = Walk.of(name)
    if walk is None:
        return "its place in the network"
    if walk.hops == 0:
        return "its own features"
    away = "one step" if walk.hops == 1 else f"{walk.hops} steps"
    if walk.operator == "A_row":
        return f"the mean features of nodes {away} away"
    return f"the features within {away}, its own included"


def _row(matrix: Any, k: int) -> tuple[Array, Array]:
    part = slice(matrix.indptr[k], matrix.indptr[k + 1])
    return matrix.indices[part], matrix.data[part]
