"""SlimG inside scikit-learn: pipelines, cross-validation and grid search over nodes.

scikit-learn splits samples; here a sample is a node, given by its id, and the graph is a parameter of the estimator:

    X = ids of nodes (m,) or (m, 1)        y = their labels (m,)

    GridSearchCV(NodeClassifier(graph, SlimG()), {"model__grid": ["path", "paper"]}).fit(ids, y)
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
from slimg.components.compute import Components, compute_components
from slimg.engine.base import Array
from slimg.errors import InputError
from slimg.graph.checks import check_graph
from slimg.graph.columns import as_column, show
from slimg.graph.graph import Graph


class NodeClassifier(ClassifierMixin, BaseEstimator):
    """`SlimG` as a classifier of nodes given by their ids.

    Parameters
    ----------
    graph : Graph
        Edges and features of all nodes; its own labels are not read.
    model : SlimG or None, default=None
        The model to fit, which is cloned; None is ``SlimG()``. Its parameters can be searched as ``model__NAME`` when it is
        given.

    Attributes
    ----------
    model_ : SlimG
        The fitted model.
    classes_ : array of shape (c,)
        The labels, sorted.

    Examples
    --------
    >>> from slimg import Graph, NodeClassifier, SlimG
    >>> edges = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("d", "e"), ("e", "f"), ("d", "f")]
    >>> classifier = NodeClassifier(Graph.from_edges(edges), SlimG(grid=[(0, 1e-2)]))
    >>> classifier.fit(["a", "c", "d", "f"], ["left", "left", "right", "right"]).predict(["b", "e"]).tolist()
    ['left', 'right']
    """

    model_: SlimG
    classes_: Array

    def __init__(self, graph: Graph, model: SlimG | None = None) -> None:
        self.graph = graph
        self.model = model

    def fit(self, X: Any, y: Any) -> NodeClassifier:
        """Learn from the nodes with these ids and labels; the folds of the model choose the penalties.

        Parameters
        ----------
        X : array-like of shape (m,) or (m, 1)
            Ids of nodes.
        y : array-like of shape (m,)
            Their labels.

        Returns
        -------
        NodeClassifier
            The fitted classifier itself.

        Raises
        ------
        InputError
            If an id is not in the graph, or X and y differ in length.
        """
        rows = rows_of(self.graph, X)
        labels = as_column(y, "y")
        if len(labels) != len(rows):
            raise InputError(f"y needs one label per node: {len(labels):,} labels for {len(rows):,} nodes")
        column = np.full(self.graph.n, None, object)
        column[rows] = labels
        if (column[rows] != labels).any():
            twice = self.graph.ids[rows[column[rows] != labels]]
            raise InputError(f"y must have one label for a node, but X has {show(twice)} more than once, with different labels")
        known = self.graph.with_labels(column)
        self.model_ = (SlimG() if self.model is None else clone(self.model)).fit(known)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X: Any) -> Array:
        """Predict the labels of nodes.

        Parameters
        ----------
        X : array-like of shape (m,) or (m, 1)
            Ids of nodes.

        Returns
        -------
        array of shape (m,)
            One label for each node.
        """
        check_is_fitted(self)
        return self.model_.predict()[rows_of(self.graph, X)]

    def predict_proba(self, X: Any) -> Array:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like of shape (m,) or (m, 1)
            Ids of nodes.

        Returns
        -------
        array of shape (m, c)
            Columns as `classes_`.
        """
        check_is_fitted(self)
        return self.model_.predict_proba()[rows_of(self.graph, X)]

    def decision_function(self, X: Any) -> Array:
        """Compute the score of each class.

        Parameters
        ----------
        X : array-like of shape (m,) or (m, 1)
            Ids of nodes.

        Returns
        -------
        array of shape (m, c), or (m,) for two classes
            Columns as `classes_`; of two classes by how much the second is ahead, as scikit-learn's scorers expect.
        """
        check_is_fitted(self)
        scores = self.model_.decision_function()[rows_of(self.graph, X)]
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


class SlimGFeatures(TransformerMixin, BaseEstimator):
    """Rows of P(A, X) = U ‖ g(X) ‖ g(A_row²X) ‖ g(Ã_sym²X) for nodes given by their ids.

    The components do not depend on labels and are computed on the whole graph, once per `fit`.

    Parameters
    ----------
    graph : Graph
        Edges, features or both, of all nodes; labels are not read.
    components : sequence of Component or None, default=None
        The blocks of columns (`slimg.components`); None is the default list for few labels.
    random_state : int, default=0
        Seeds the start of iterative decompositions.

    Attributes
    ----------
    components_ : Components
        The rows of all nodes.
    widths_ : dict of str to int
        Component → number of columns: the ``groups`` of a sparse-group classifier.

    Examples
    --------
    >>> from slimg import Graph, SlimGFeatures
    >>> from slimg.components import Structure
    >>> graph = Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d")])
    >>> features = SlimGFeatures(graph, components=[Structure(rank=2)]).fit()
    >>> features.transform(["d", "a"]).shape
    (2, 2)
    >>> features.get_feature_names_out().tolist()
    ['U 0', 'U 1']
    """

    components_: Components
    widths_: dict[str, int]

    def __init__(self, graph: Graph, *, components: Sequence[Component] | None = None, random_state: int = 0) -> None:
        self.graph = graph
        self.components = components
        self.random_state = random_state

    def fit(self, X: Any = None, y: Any = None) -> SlimGFeatures:
        """Compute the components of the graph.

        Parameters
        ----------
        X : array-like, default=None
            Not used: the components are those of the whole graph.
        y : array-like, default=None
            Not used: components do not depend on labels.

        Returns
        -------
        SlimGFeatures
            The fitted transformer itself.
        """
        check_graph(self.graph)
        self.components_ = compute_components(self.graph, components=self.components, random_state=self.random_state)
        self.widths_ = self.components_.widths
        return self

    def transform(self, X: Any) -> Array:
        """Take the rows of some nodes.

        Parameters
        ----------
        X : array-like of shape (m,) or (m, 1)
            Ids of nodes.

        Returns
        -------
        array of shape (m, Σ widths), float32
            One row for each id.
        """
        check_is_fitted(self)
        return self.components_.labelled_rows(rows_of(self.graph, X))

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Name the columns, for example ``U 0``, ``U 1``, …, ``A_sym^2 X 99``.

        Parameters
        ----------
        input_features : array-like, default=None
            Not used: scikit-learn's signature.

        Returns
        -------
        array of shape (Σ widths,)
            One string for each column.
        """
        check_is_fitted(self)
        return np.array([f"{name} {k}" for name, width in self.widths_.items() for k in range(width)], object)


def rows_of(graph: Any, ids: Any) -> Array:
    """Find the rows of nodes by their ids.

    Parameters
    ----------
    graph : Graph
        The graph of the nodes.
    ids : array-like of shape (m,) or (m, 1)
        Ids of nodes.

    Returns
    -------
    array of shape (m,)
        Row numbers.
    """
    check_graph(graph)
    return graph.positions(as_column(ids, "X"), "X")
