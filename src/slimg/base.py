"""Node classifiers: what `fit` is given, checked once, predictions from scores, and what a fitted model can do.

    labels of the training rows ─▶ classes_ and codes 0 … c − 1        scores (n × c) ─▶ labels, probabilities

The rooms that a fitted model needs — `slimg.inference`, `slimg.explain`, `slimg.report` — are imported by the methods that
use them, so that a fit loads none of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from slimg.components.compute import Components
from slimg.engine.base import Array, RowMatrix
from slimg.errors import InputError
from slimg.graph.checks import check_train_val
from slimg.graph.columns import show
from slimg.graph.graph import Graph
from slimg.learn.objective import softmax

if TYPE_CHECKING:
    from typing_extensions import Self

    from slimg._sklearn import BaseEstimator
    from slimg.explain.counterfactual import Counterfactual
    from slimg.explain.explanation import Explanation, Summary
    from slimg.inference.fold_in import FittedGraph, FittedNodes, FoldIn, Scorer, View
    from slimg.inference.predictions import Calibration
    from slimg.report.notebook import Page
    from slimg.report.plots import Plots
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


class FittedModel(BaseNodeClassifier):
    """A linear model on P(A, X) after `fit` or `load`.

    Attributes
    ----------
    coef_ : dict of str to array of shape (width, c)
        Weights of each component.
    intercept_ : array of shape (c,)
        The intercept of each class.
    data_ : dict
        Counts of the fitted graph.
    feature_names_ : tuple of str or None
        Names of the features, if the graph has them.
    graph_, components_ : Graph and Components
        The fitted graph and its rows of P; a model that was loaded has neither.
    """

    coef_: dict[str, Array]
    intercept_: Array
    data_: dict[str, Any]
    chosen_: dict[str, Any]
    members_: list[dict[str, Any]]
    scoring_: str
    feature_names_: tuple[str, ...] | None
    fold_in_agreement_: float | None
    graph_: Graph
    components_: Components
    trained_on_: Array
    held_out_scores_: Array | None
    _calibration: Calibration | None
    _scores: Array | None
    _nodes: FittedNodes | None
    _scorer: Scorer | None
    _kept: FittedGraph | None

    @property
    def l1_(self) -> float:
        """The λ₁ that was chosen."""
        return self.chosen_["l1"]

    @property
    def group_(self) -> float:
        """The λ₂ that was chosen; the largest λ of components learned separately."""
        return self.chosen_["group"]

    @property
    def joint_(self) -> bool:
        """Whether one group of all components was chosen."""
        return self.chosen_["joint"]

    @property
    def separate_penalties_(self) -> dict[str, float] | None:
        """The λ of each component if components learned separately were chosen, else None."""
        return self.chosen_["separate"]

    @property
    def scorer_(self) -> Scorer:
        """Components and weights, without the rows of the fitted graph."""
        check_is_fitted(self)
        if self._scorer is None:
            from slimg.inference.fold_in import Scorer

            parts = self.components_
            self._scorer = Scorer(parts.fitted, parts.titles, parts.short_titles, self.coef_, self.intercept_, self.classes_)
        return self._scorer

    @property
    def calibration_(self) -> Calibration | None:
        """Temperature, calibration error before and after it, reliability of each class, abstention; None with ``val``."""
        check_is_fitted(self)
        if "_calibration" not in vars(self):
            from slimg.inference.predictions import calibrate

            place = {value: code for code, value in enumerate(self.classes_.tolist())}
            code_of = np.array([place.get(value, -1) for value in self.graph_.classes.tolist()])
            codes = code_of[self.graph_.codes[self.trained_on_]]
            self._calibration = calibrate(self.held_out_scores_, codes)
        return self._calibration

    @property
    def temperature_(self) -> float:
        """What scores are divided by to give probabilities; fitted on held-out scores, 1 without them."""
        return 1.0 if self.calibration_ is None else self.calibration_.temperature

    def chosen_grid(self) -> list[Any]:
        """Give the members' penalties as a ``grid``: a `fit` with it tries nothing else.

        Returns
        -------
        list
            For each member a triple (l1, group, joint), or a mapping {component: λ}.
        """
        check_is_fitted(self)
        return [each["separate"] or (each["l1"], each["group"], each["joint"]) for each in self.members_]

    def decision_function(self, graph: Graph | None = None) -> Array:
        """Scores of all nodes.

        Parameters
        ----------
        graph : Graph or None, default=None
            A graph that grew out of the fitted one (see `fold_in`); None is the fitted graph.

        Returns
        -------
        array of shape (n, c)
            In the order of the nodes; columns as `classes_`.
        """
        check_is_fitted(self)
        return self._own_scores().copy() if graph is None else self._folded(graph).scores

    def predict(self, graph: Graph | None = None) -> Array:
        """Predict the label of every node.

        Parameters
        ----------
        graph : Graph or None, default=None
            A graph that grew out of the fitted one (see `fold_in`); None is the fitted graph.

        Returns
        -------
        array of shape (n,)
            Labels of their own type, in the order of the nodes.
        """
        check_is_fitted(self)
        if graph is None and self._scores is None and hasattr(self, "components_"):
            from slimg.inference.predictions import largest

            return self.classes_[largest(self.components_.engine, self._linear(), self.intercept_)]
        return self.classes_[self.decision_function(graph).argmax(axis=1)]

    def predict_proba(self, graph: Graph | None = None) -> Array:
        """Predict the probability of each class for every node: softmax(scores / `temperature_`).

        Parameters
        ----------
        graph : Graph or None, default=None
            A graph that grew out of the fitted one (see `fold_in`); None is the fitted graph.

        Returns
        -------
        array of shape (n, c)
            In the order of the nodes; columns as `classes_`.
        """
        return softmax(np.divide(self.decision_function(graph), self.temperature_, dtype=np.float64))

    def predict_set(
        self, coverage: float = 0.9, graph: Graph | None = None, *, class_conditional: bool = False
    ) -> Array:
        """Predict for every node a set of classes that holds the true one with a stated probability.

        This holds on average over nodes if the labelled nodes were chosen at random among all (conformal prediction,
        `slimg.inference.predictions`). A set may be empty where no class is likely enough.

        Parameters
        ----------
        coverage : float, default=0.9
            Share of nodes whose set holds the true class, between 0 and 1.
        graph : Graph or None, default=None
            A graph that grew out of the fitted one (see `fold_in`); None is the fitted graph.
        class_conditional : bool, default=False
            Whether the share is to hold within each class, for rare classes; sets are larger.

        Returns
        -------
        array of bool, shape (n, c)
            Whether each class is in the set of each node; columns as `classes_`.

        Raises
        ------
        InputError
            If the model was fitted with validation rows, so that no labels were held out.
        """
        return self.prediction_sets(self.predict_proba(graph), coverage, class_conditional=class_conditional)

    def prediction_sets(self, chances: Array, coverage: float = 0.9, *, class_conditional: bool = False) -> Array:
        """Make prediction sets of probabilities that are there already; see `predict_set`.

        Parameters
        ----------
        chances : array of shape (m, c)
            What `predict_proba` returned.
        coverage : float, default=0.9
            Share of nodes whose set holds the true class.
        class_conditional : bool, default=False
            Whether the share is to hold within each class.

        Returns
        -------
        array of bool, shape (m, c)
            Whether each class is in the set.
        """
        calibration = self.calibration_
        if calibration is None:
            raise InputError("the model was fitted with validation rows, so no fold held out its labels: fit without val")
        return calibration.accepted(chances, coverage, class_conditional)

    def write_predictions(self, folder: str | PathLike[str], *, probabilities: bool = False) -> Path:
        """Write predictions of the fitted graph as a folder of Parquet files, whole or not at all.

        Scores are computed chunk by chunk where the rows are, so that this also serves graphs larger than memory and
        clusters.

        Parameters
        ----------
        folder : path-like
            The folder, which must not exist.
        probabilities : bool, default=False
            Whether to add a column for each class.

        Returns
        -------
        Path
            The folder.
        """
        from slimg.inference.predictions import write_predictions

        self._check_fitted_here("write_predictions")
        engine, graph = self.components_.engine, self.graph_
        fixed = self.intercept_, self.classes_, graph.ids, probabilities, self.temperature_
        return write_predictions(folder, engine, self._linear(), *fixed)

    def fold_in(self, graph: Graph, *, new_rows: bool | None = None) -> FoldIn:
        """Score a graph that grew out of the fitted one, or new nodes alone, without fitting again.

        Nodes are known by their ids. Of a whole graph, new ones, those whose edges or features changed, and what lies within
        the hops of the model around either are placed by the components as they were fitted; all others keep their scores.
        New rows alone are added to the fitted graph (`slimg.inference.new_rows`), and the new nodes are scored.

        Parameters
        ----------
        graph : Graph
            The grown graph, or new nodes with the fitted ones they are linked with, with the same features.
        new_rows : bool or None, default=None
            Whether they are new rows alone; None if the graph has less than half of the fitted nodes.

        Returns
        -------
        FoldIn
            Scores of all nodes of ``graph``, which of them are new or changed, and whether a refit is due.
        """
        from slimg.components.component import Target
        from slimg.inference.new_rows import drift_of

        found = self._folded(graph, new_rows)
        if found.against is not None:
            return found
        known = self._fitted_nodes().places(graph)
        new, old = (Target(graph, rows, known) for rows in (found.new, np.flatnonzero(known >= 0)))
        return replace(found, drift=drift_of(self.scorer_, new, old))

    def _folded(self, graph: Graph, new_rows: bool | None = None) -> FoldIn:
        """`fold_in` without the drift of a whole graph."""
        from slimg.inference.fold_in import check_alike, fold_in

        check_is_fitted(self)
        check_alike(graph, self.data_["features"], self.feature_names_)
        given = self.scorer_, self._fitted_nodes(), graph
        if self._adds(graph, new_rows):
            from slimg.inference.new_rows import fold_in_new

            found = fold_in_new(*given, self.fitted_graph_)
        else:
            found = fold_in(*given)
        return replace(found, agreement=self.fold_in_agreement_, temperature=self.temperature_)

    @property
    def fitted_graph_(self) -> FittedGraph:
        """The fitted graph, also of a model from a file that keeps it, and what long components need of it."""
        from slimg.inference.fold_in import FittedGraph

        check_is_fitted(self)
        if self._kept is None:
            if "graph_" not in vars(self):
                raise InputError("the model was saved without its graph: give the whole graph")
            self._kept = FittedGraph.of(self.scorer_, self.graph_)
        return self._kept

    @property
    def keeps_graph_(self) -> bool:
        """Whether `fitted_graph_` is there: not of a model from a file without it."""
        check_is_fitted(self)
        return self._kept is not None or "graph_" in vars(self)

    def _adds(self, graph: Graph, new_rows: bool | None) -> bool:
        """Whether a graph is one of new rows alone."""
        return self.keeps_graph_ and self._fitted_nodes().lacks(graph) if new_rows is None else new_rows

    def save(self, path: str | PathLike[str], *, keep_graph: bool = True) -> Path:
        """Write the model to one file of arrays and JSON, whole or not at all.

        Parameters
        ----------
        path : path-like
            The file.
        keep_graph : bool, default=True
            Whether the file holds the fitted graph without its labels, so that new rows alone can be predicted. The graph
            of a fit on another engine than "memory" is not kept, nor one whose ids are neither numbers nor text.

        Returns
        -------
        Path
            The file.
        """
        from slimg.inference.model_file import FITTED
        from slimg.inference.saving import Saved, save

        check_is_fitted(self)
        params = {**self.get_params(deep=False), "engine": "memory", "verbose": False}
        fitted = {name: getattr(self, name) for name in FITTED}
        known = self.data_, self.feature_names_, self.scorer_, self._fitted_nodes(), self.calibration_
        return save(path, Saved(params, fitted, *known, self.fitted_graph_ if keep_graph and self._can_keep() else None))

    def _can_keep(self) -> bool:
        """Whether the graph is in memory and its ids can be written."""
        from slimg.engine.memory import MemoryEngine

        if "graph_" not in vars(self):
            return self._kept is not None
        plain = {type(value) for value in self.graph_.ids.tolist()} <= {str, int, float, bool}
        return plain and type(self.components_.engine) is MemoryEngine

    def to_onnx(self, path: str | PathLike[str]) -> Path:
        """Write an ONNX model of "rows of the components → probabilities", whole or not at all.

        Needs the extra ``onnx``. The rows of a node are those of `SlimGFeatures` with the same components.

        Parameters
        ----------
        path : path-like
            The file.

        Returns
        -------
        Path
            The file.
        """
        from slimg.inference.onnx import write_onnx

        return write_onnx(path, self.scorer_, self.temperature_)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model from a file.

        Parameters
        ----------
        path : path-like
            A file that `save` wrote.

        Returns
        -------
        SlimG
            A model that predicts the fitted graph to the bit, and graphs given to `predict`.
        """
        from slimg.inference.saving import load

        saved = load(path, cls._get_param_names())
        model = cls(**saved.params)
        for name, value in saved.fitted.items():  # names and types as the schema has them
            setattr(model, name, value)
        model._scorer, model.classes_ = saved.scorer, saved.scorer.classes
        model.coef_, model.intercept_ = saved.scorer.weights, saved.scorer.intercept
        model.data_, model.feature_names_ = saved.data, saved.feature_names
        model._calibration, model._kept = saved.calibration, saved.graph
        model._nodes, model._scores = saved.fitted_nodes, saved.fitted_nodes.scores
        return model

    def explain(self, node: Any, graph: Graph | None = None) -> Explanation:
        """Explain the scores of a node, exactly, feature by feature and neighbour by neighbour.

        Parameters
        ----------
        node : object
            The id of the node.
        graph : Graph or None, default=None
            Needed when the model was loaded from a file, or to explain a node of a graph that grew.

        Returns
        -------
        Explanation
            The score of each class as a sum over components, features and neighbours.
        """
        return self.explain_all([node], graph)[0]

    def explain_all(self, nodes: Sequence[Any], graph: Graph | None = None) -> list[Explanation]:
        """Explain several nodes, which is faster than one by one.

        Parameters
        ----------
        nodes : sequence
            Ids of the nodes.
        graph : Graph or None, default=None
            As in `explain`.

        Returns
        -------
        list of Explanation
            One for each node, in their order.
        """
        view = self._view(graph)
        return list(self._explain_rows(view, view.graph.positions(list(nodes), "node")))

    def _explain_rows(self, view: View, rows: Sequence[int] | Array) -> Iterator[Explanation]:
        from slimg.explain.explanation import explain_rows

        found = explain_rows(self.scorer_, view, rows, self.data_.get("reading"))
        return (replace(each, temperature=self.temperature_) for each in found)

    def counterfactual(
        self, node: Any, without_edges: Sequence[Any] = (), without_neighbours: Sequence[Any] = (), graph: Graph | None = None
    ) -> Counterfactual:
        """Score a node as if some edges were not there.

        The propagation is computed again; PCA, singular vectors and weights are held as they are.

        Parameters
        ----------
        node : object
            The id of the node.
        without_edges : sequence of pairs
            Edges (u, v) to leave out, by ids.
        without_neighbours : sequence
            Ids of neighbours of the node, the edges to which are left out.
        graph : Graph or None, default=None
            As in `explain`.

        Returns
        -------
        Counterfactual
            The edges left out, and the scores before and after.
        """
        from slimg.explain import counterfactual as counterfactuals

        view = self._view(graph)
        row = int(view.graph.positions([node], "node")[0])
        pairs = counterfactuals.edges_of(view.graph, row, without_edges, without_neighbours)
        return replace(counterfactuals.without(self.scorer_, view, row, pairs), temperature=self.temperature_)

    def find_counterfactual(
        self, node: Any, at_most: int = 5, to: Any = None, graph: Graph | None = None
    ) -> Counterfactual | None:
        """Search a small set of the node's edges without which it would have another class.

        Parameters
        ----------
        node : object
            The id of the node.
        at_most : int, default=5
            The most edges to leave out.
        to : object, default=None
            The class it should become; None for any other.
        graph : Graph or None, default=None
            As in `explain`.

        Returns
        -------
        Counterfactual or None
            None if no such set was found.
        """
        from slimg.explain import counterfactual as counterfactuals

        view = self._view(graph)
        if to is not None and to not in self.classes_.tolist():
            raise InputError(f"no class {to!r}: the model knows {show(self.classes_)}")
        target = None if to is None else self.classes_.tolist().index(to)
        row = int(view.graph.positions([node], "node")[0])
        found = counterfactuals.search(self.scorer_, view, row, at_most, target)
        return None if found is None else replace(found, temperature=self.temperature_)

    def summary(self) -> Summary:
        """Summarise the weight of every component, feature and class.

        Returns
        -------
        Summary
            Weights of the components, and the features that speak most for and against each class.
        """
        from slimg.explain.explanation import Summary

        return Summary.of(self.scorer_, self.feature_names_)

    @property
    def plot(self) -> Plots:
        """Figures: ``model.plot.components()``, ``.path()``, ``.features(label)``, ``.explanation(node)``."""
        from slimg.report.plots import Plots

        check_is_fitted(self)
        return Plots(self)

    def report(
        self, path: str | PathLike[str] | None = None, *, title: str | None = None, names: Sequence[Any] | None = None
    ) -> Path | Page:
        """Make the page of ``slimg fit``: findings, scores beside other models, what counts, a map, and explanations.

        Parameters
        ----------
        path : path-like or None, default=None
            The file to write, whole or not at all; None returns the page, which a notebook shows.
        title : str or None, default=None
            Title of the page.
        names : sequence of n values, default=None
            What people know the nodes by, shown beside ids.

        Returns
        -------
        Path or Page
            The file, or the page as text.

        Raises
        ------
        InputError
            If the model was fitted with validation rows, so that no labels were held out.
        """
        from slimg.report.notebook import Page
        from slimg.report.page import render
        from slimg.report.record import fit_record
        from slimg.system import atomic_write

        self._check_fitted_here("report")
        page = Page(render(fit_record(self, self.graph_, names=names), title))
        if path is None:
            return page
        with atomic_write(Path(path)) as file:
            file.write(page)
        return Path(path)

    def help(self) -> str:
        """List what this model can be asked now.

        Returns
        -------
        str
            One line for each call, with what it gives.

        Examples
        --------
        >>> from slimg import SlimG
        >>> SlimG().help()
        model.fit(graph)   learn from the labelled nodes of a graph
        """
        from slimg.report.notebook import help_text

        return help_text(self)

    def component_weights(self) -> dict[str, float]:
        """Measure the weight of each component, ‖W_g‖_F.

        Returns
        -------
        dict of str to float
            Component → norm; exactly zero for those that the group penalty removed.
        """
        check_is_fitted(self)
        return {name: float(np.linalg.norm(weights)) for name, weights in self.coef_.items()}

    def _repr_html_(self) -> str:
        """In a notebook: what was fitted, or the parameters before that."""
        if hasattr(self, "coef_"):
            from slimg.report.notebook import model_html

            return model_html(self)
        from sklearn.utils import estimator_html_repr

        return estimator_html_repr(self)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _check_fitted_here(self, method: str) -> None:
        check_is_fitted(self, "graph_", msg=f"{method} needs a model that was fitted here, not loaded from a file")

    def _view(self, graph: Graph | None) -> View:
        """A graph with its scores: the fitted one unless another is given."""
        from slimg.inference.fold_in import View

        check_is_fitted(self)
        fitted = getattr(self, "graph_", None if self._kept is None else self._kept.graph)
        if graph is None or graph is fitted:
            if fitted is None:
                raise InputError("the model was saved without its graph: give graph=, as it was or as it grew")
            return View(fitted, self._own_scores())
        if self._adds(graph, None):
            return self._joined_view(graph)
        return View(graph, self._folded(graph).scores, self._fitted_nodes().places(graph))

    def _joined_view(self, graph: Graph) -> View:
        """The fitted graph with new rows, whose scores are computed without approximation."""
        from slimg.components.component import Target
        from slimg.inference.fold_in import View
        from slimg.inference.new_rows import join

        joined = join(self.fitted_graph_.graph, self._fitted_nodes(), graph)
        new = self.scorer_.scores(Target(joined.graph, joined.rows, joined.known)).astype(np.float32)
        return View(joined.graph, np.concatenate([self._own_scores(), new]), joined.known)

    def _own_scores(self) -> Array:
        """Scores of the fitted graph (n × c), computed when they are first needed."""
        if self._scores is None:
            self._scores = self.components_.engine.to_array(self._linear()) + self.intercept_
        return self._scores

    def _linear(self) -> RowMatrix:
        """Scores of the fitted graph without the intercept."""
        return self.components_.linear(self.coef_)

    def _fitted_nodes(self) -> FittedNodes:
        if self._nodes is None:
            from slimg.inference.fold_in import FittedNodes

            self._nodes = FittedNodes.of(self.graph_, self._own_scores())
        return self._nodes
