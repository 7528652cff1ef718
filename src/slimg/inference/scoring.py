"""Scores of a linear model on P(A, X), for nodes of any graph.

    scores_i = b + Σ_g p_g,i W_g        p_g,i as the component g places node i
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from slimg.components.component import FittedComponent, Target
from slimg.engine.base import Array
from slimg.graph.graph import Graph


@dataclass(frozen=True, eq=False)
class Scorer:
    """A fitted model without its rows.

    Attributes
    ----------
    components : dict of str to FittedComponent
        Those that place nodes; components whose weights are zero may be absent in a model that was loaded.
    titles : dict of str to str
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

    def scores(self, target: Target) -> Array:
        """Score nodes of any graph.

        Parameters
        ----------
        target : Target
            The nodes.

        Returns
        -------
        array of shape (m, c), float64
            One row for each node of the target.
        """
        total = np.tile(self.intercept.astype(np.float64), (len(target.rows), 1))
        for name in self.used:
            rows, _ = self.components[name].rows(target)
            total += rows @ self.weights[name]
        return total

    @cached_property
    def loadings(self) -> dict[str, Array]:
        """Name → weights (d × c) of the features, for each used component that is made of features."""
        found = {}
        for name in self.used:
            fitted = self.components[name]
            beta = fitted.component.loadings(fitted.state, self.weights[name])
            if beta is not None:
                found[name] = beta
        return found

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
