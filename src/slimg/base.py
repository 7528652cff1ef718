"""The base of node classifiers: what `fit` is given, checked once, and predictions from scores.

    labels of the training rows ─▶ classes_ and codes 0 … c − 1        scores (n × c) ─▶ labels, probabilities
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from slimg.engine.base import Array
from slimg.errors import InputError
from slimg.graph.checks import check_train_val
from slimg.graph.graph import Graph
from slimg.learn.objective import softmax

if TYPE_CHECKING:
    from slimg._sklearn import BaseEstimator
else:
    from sklearn.base import BaseEstimator


class FitRows(NamedTuple):
    """The rows that a fit reads, and their classes.

    Attributes
    ----------
    train : array of shape (m,)
        Rows to learn from.
    val : array or None
        Rows to select on; None when selection is by folds.
    classes : array of shape (c,)
        Labels of the training rows, sorted.
    codes : array of shape (m,)
        Positions of the training rows' labels in ``classes``.
    val_codes : array or None
        Those of the validation rows; −1 for a label that no training row has.
    """

    train: Array
    val: Array | None
    classes: Array
    codes: Array
    val_codes: Array | None


class BaseNodeClassifier(BaseEstimator):
    """Base class of estimators that are fitted on a `Graph` and predict its nodes.

    A subclass sets ``classes_`` in `fit` and defines `decision_function`.

    Attributes
    ----------
    classes_ : array of shape (c,)
        The labels, sorted.
    """

    classes_: Array

    def decision_function(self) -> Array:
        """Scores of all nodes.

        Returns
        -------
        array of shape (n, c)
            In the order of the nodes; columns as `classes_`.
        """
        raise InputError(f"{type(self).__name__} does not give scores")

    def predict(self) -> Array:
        """Predict the label of every node.

        Returns
        -------
        array of shape (n,)
            Labels of their own type, in the order of the nodes.
        """
        return self.classes_[self.decision_function().argmax(axis=1)]

    def predict_proba(self) -> Array:
        """Predict the probability of each class for every node.

        Returns
        -------
        array of shape (n, c)
            In the order of the nodes; columns as `classes_`.
        """
        return softmax(self.decision_function())

    def _fit_rows(self, graph: Graph, train: Any, val: Any) -> FitRows:
        """Check the rows given to `fit`, set ``classes_``, and give the codes of the labels."""
        train_rows, val_rows = check_train_val(graph, train, val)
        present = np.unique(graph.codes[train_rows])
        code_of = np.full(len(graph.classes) + 1, -1)
        code_of[present] = np.arange(len(present))
        self.classes_ = graph.classes[present]
        val_codes = None if val_rows is None else code_of[graph.codes[val_rows]]
        return FitRows(train_rows, val_rows, self.classes_, code_of[graph.codes[train_rows]], val_codes)


def check_graph(graph: Any, y: Any = None) -> None:
    """Refuse what is not a graph, and labels that are given beside it.

    Parameters
    ----------
    graph : object
        What was given as a graph.
    y : object, default=None
        What was given as labels.

    Raises
    ------
    InputError
        If ``graph`` is not a `Graph`, or ``y`` is not None.
    """
    if not isinstance(graph, Graph):
        raise InputError(
            f"a slimg.Graph is needed, not {type(graph)}: make one of tables or files with slimg.read(edges=…, nodes=…,"
            " label=…), or of arrays with Graph.from_edges or Graph.from_arrays"
        )
    if y is not None:
        raise InputError("labels belong to the graph: use Graph.from_arrays(..., labels=y) and fit(graph)")


def check_whole_number(value: Any, name: str, least: int, most: int | None = None) -> None:
    """Refuse an option that is not a whole number in its range.

    Parameters
    ----------
    value : object
        What was given.
    name : str
        Name of the option.
    least : int
        The smallest value.
    most : int or None, default=None
        The largest value; None for no bound.

    Raises
    ------
    InputError
        If it is anything else.
    """
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))
    if not whole or value < least or (most is not None and value > most):
        above = f" and at most {most}" if most is not None else ""
        raise InputError(f"{name} must be a whole number of at least {least}{above}, not {value!r}")
