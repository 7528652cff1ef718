"""SlimG inside scikit-learn: pipelines, cross-validation and grid search over nodes.

scikit-learn splits samples; here a sample is a node, given by its id, and the graph is a parameter of the estimator:

    X = ids of nodes (m,) or (m, 1)        y = their labels (m,)

    GridSearchCV(NodeClassifier(graph), {"model__grid": ["path", "paper"]}).fit(ids, y)
    make_pipeline(SlimGFeatures(graph), LogisticRegression()).fit(ids, y).predict(other_ids)

Only the labels in y are learned from; those of the graph itself are not read. `clone` shares the graph, which is frozen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from slimg._sklearn import BaseEstimator, ClassifierMixin, TransformerMixin
from slimg.classifier import SlimG
from slimg.components.component import Component
from slimg.components.compute import PAPER_COMPONENTS, compute_components
from slimg.engine.base import Array
from slimg.errors import InputError
from slimg.graph.columns import as_column
from slimg.graph.graph import Graph


class NodeClassifier(ClassifierMixin, BaseEstimator):
    """`SlimG` as a classifier of nodes given by their ids.

    Parameters
    ----------
    graph : Graph
    model : SlimG or None
        What is fitted; None is ``SlimG()``. Its parameters can be searched as ``model__NAME`` when it is given.

    Attributes
    ----------
    model_ : the fitted SlimG;  classes_
    """

    def __init__(self, graph: Graph, model: SlimG | None = None):
        self.graph = graph
        self.model = model

    def fit(self, X: Any, y: Any) -> NodeClassifier:
        """Learn from the nodes with these ids and labels; the model's own folds choose the pair."""
        rows = rows_of(self.graph, X)
        labels = as_column(y, "y")
        if len(labels) != len(rows):
            raise InputError(f"y needs one label per node: {len(labels):,} labels for {len(rows):,} nodes")
        column = np.full(self.graph.n, None, object)
        column[rows] = labels
        known = self.graph.with_labels(column)
        self.model_ = (SlimG() if self.model is None else clone(self.model)).fit(known)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X: Any) -> Array:
        check_is_fitted(self)
        return self.model_.predict()[rows_of(self.graph, X)]

    def predict_proba(self, X: Any) -> Array:
        check_is_fitted(self)
        return self.model_.predict_proba()[rows_of(self.graph, X)]

    def decision_function(self, X: Any) -> Array:
        check_is_fitted(self)
        return self.model_.decision_function()[rows_of(self.graph, X)]


class SlimGFeatures(TransformerMixin, BaseEstimator):
    """Rows of P(A, X) = U ‖ g(X) ‖ g(A_row²X) ‖ g(Ã_sym²X) for nodes given by their ids.

    The components do not depend on labels and are computed on the whole graph, once per `fit`.

    Parameters
    ----------
    graph : Graph
    components : sequence of Component, default=PAPER_COMPONENTS
        The blocks of columns (`slimg.components`).
    random_state : int, default=0
        Seeds the start of iterative decompositions.

    Attributes
    ----------
    components_ : the components;  widths_ : {component: columns}, the ``groups`` of a sparse-group classifier
    """

    def __init__(
        self,
        graph: Graph,
        *,
        components: Sequence[Component] = PAPER_COMPONENTS,
        random_state: int = 0,
    ):
        self.graph = graph
        self.components = components
        self.random_state = random_state

    def fit(self, X: Any = None, y: Any = None) -> SlimGFeatures:
        """Compute the components of the graph; X and y are not needed."""
        if not isinstance(self.graph, Graph):
            raise InputError(f"SlimGFeatures needs a slimg.Graph, not {type(self.graph)}")
        self.components_ = compute_components(self.graph, components=self.components, random_state=self.random_state)
        self.widths_ = self.components_.widths
        return self

    def transform(self, X: Any) -> Array:
        """Rows (m × columns, float32) of the nodes with these ids."""
        check_is_fitted(self)
        return self.components_.labelled_rows(rows_of(self.graph, X))

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """``U 0``, ``U 1``, …, ``A_sym^2 X 99``."""
        check_is_fitted(self)
        return np.array([f"{name} {k}" for name, width in self.widths_.items() for k in range(width)], object)


def rows_of(graph: Any, ids: Any) -> Array:
    """Rows of the nodes with these ids."""
    if not isinstance(graph, Graph):
        raise InputError(f"graph must be a slimg.Graph (see Graph.from_arrays, Graph.from_edges), not {type(graph)}")
    return graph.positions(as_column(ids, "X"), "X")
