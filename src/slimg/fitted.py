"""What a fitted model can be asked: predictions, of a graph that grew too, reasons, and to be written to a file."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from slimg.components.components import Components
from slimg.engine.base import Array, RowMatrix
from slimg.errors import InputError
from slimg.explain import counterfactual as counterfactuals
from slimg.explain.counterfactual import Counterfactual
from slimg.explain.explainer import Explainer, Scorer, View
from slimg.explain.explanation import Explanation
from slimg.explain.summary import Summary
from slimg.graph.columns import show
from slimg.graph.graph import Graph
from slimg.inference.fold_in import FittedNodes, FoldIn, check_alike, fold_in
from slimg.inference.predictions import largest, write_predictions
from slimg.inference.saving import Saved, load, save
from slimg.learn.loss import softmax
from slimg.report.notebook import model_html
from slimg.report.plots import Plots

if TYPE_CHECKING:
    from typing_extensions import Self

KEPT = (
    "rank_", "chosen_", "dual_gap_", "converged_", "zero_components_", "selection_", "notes_", "seconds_",
    "fold_in_agreement_",
)  # fmt: skip
"""Fitted attributes that a model's file keeps as they are."""


class FittedModel(BaseEstimator):
    """A linear model on P(A, X) after `fit` or `load`.

    Attributes
    ----------
    scorer_ : weights and what places nodes;  data_ : counts of the fitted graph;  feature_names_
    graph_, components_ : the fitted graph and its rows of P; a model that was loaded has neither
    """

    classes_: Array
    coef_: dict[str, Array]
    intercept_: Array
    scorer_: Scorer
    data_: dict[str, Any]
    chosen_: dict[str, Any]
    feature_names_: tuple[str, ...] | None
    fold_in_agreement_: float | None
    graph_: Graph
    components_: Components
    _scores: Array | None
    _nodes: FittedNodes | None

    @property
    def l1_(self) -> float:
        """λ₁ of what was chosen."""
        return self.chosen_["l1"]

    @property
    def group_(self) -> float:
        """λ₂ of what was chosen; the largest λ of components fitted separately."""
        return self.chosen_["group"]

    @property
    def joint_(self) -> bool:
        """Whether one group of all components was chosen."""
        return self.chosen_["joint"]

    @property
    def separate_penalties_(self) -> dict[str, float] | None:
        """λ of each component if components fitted separately were chosen."""
        return self.chosen_["separate"]

    def chosen_grid(self) -> list[Any]:
        """What was chosen, as a ``grid`` of its own: `fit` then tries nothing else."""
        check_is_fitted(self)
        return [self.separate_penalties_ or (self.l1_, self.group_, self.joint_)]

    def decision_function(self, graph: Graph | None = None) -> Array:
        """Scores of all nodes, in graph order (n × classes): of the fitted graph, or of one that grew (`fold_in`)."""
        check_is_fitted(self)
        return self._own_scores().copy() if graph is None else self.fold_in(graph).scores

    def predict(self, graph: Graph | None = None) -> Array:
        """One label per node, in graph order, of the labels' own type."""
        check_is_fitted(self)
        if graph is None and self._scores is None and hasattr(self, "components_"):
            return self.classes_[largest(self.components_.engine, self._linear(), self.intercept_)]
        return self.classes_[self.decision_function(graph).argmax(axis=1)]

    def predict_proba(self, graph: Graph | None = None) -> Array:
        """Probabilities of all nodes; columns as `classes_`."""
        return softmax(self.decision_function(graph))

    def write_predictions(self, folder: str | PathLike[str], *, probabilities: bool = False) -> Path:
        """Predictions of the fitted graph as a folder of Parquet files (`slimg.inference.predictions`), whole or not at all.

        Scores are made run by run where the rows are, so that this also serves graphs larger than memory and clusters.
        """
        check_is_fitted(self, "graph_", msg="write_predictions needs a model that was fitted here, not loaded from a file")
        engine, graph = self.components_.engine, self.graph_
        return write_predictions(folder, engine, self._linear(), self.intercept_, self.classes_, graph.ids, probabilities)

    def fold_in(self, graph: Graph) -> FoldIn:
        """Score a graph that grew out of the fitted one, without fitting again.

        Nodes are known by their ids. New ones, those whose edges or features changed, and what lies within the hops of
        the model around either are placed through the stored PCA and singular vectors; all others keep their scores.
        """
        check_is_fitted(self)
        check_alike(graph, self.data_["features"], self.feature_names_)
        return fold_in(self.scorer_, self._fitted_nodes(), graph, self.fold_in_agreement_)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the model to one file of arrays and JSON (`slimg.inference.model_file`), whole or not at all."""
        check_is_fitted(self)
        params = {**self.get_params(deep=False), "engine": "memory", "verbose": False}
        fitted = {name: getattr(self, name) for name in KEPT}
        return save(path, Saved(params, fitted, self.data_, self.feature_names_, self.scorer_, self._fitted_nodes()))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """The model of a file: it predicts the fitted graph to the bit, and others given to `predict`."""
        saved = load(path)
        model = cls(**saved.params)
        for name, value in saved.fitted.items():
            setattr(model, name, value)
        model.scorer_, model.classes_ = saved.scorer, saved.scorer.classes
        model.coef_, model.intercept_ = saved.scorer.weights, saved.scorer.intercept
        model.data_, model.feature_names_ = saved.data, saved.feature_names
        model._nodes, model._scores = saved.fitted_nodes, saved.fitted_nodes.scores
        return model

    def explain(self, node: Any, graph: Graph | None = None) -> Explanation:
        """Why a node, given by its id, has the scores it has: exactly, feature by feature and neighbour by neighbour.

        ``graph`` is needed when the model was loaded from a file, or to explain a node of a graph that grew.
        """
        return self.explain_all([node], graph)[0]

    def explain_all(self, nodes: Sequence[Any], graph: Graph | None = None) -> list[Explanation]:
        """Explanations of several nodes, given by their ids; faster than one by one."""
        view = self._view(graph)
        rows = view.graph.positions(list(nodes), "node")
        return Explainer(self.scorer_, view.graph, view.known).explain(rows, view.scores[rows].astype(np.float64))

    def counterfactual(
        self,
        node: Any,
        without_edges: Sequence[Any] = (),
        without_neighbours: Sequence[Any] = (),
        graph: Graph | None = None,
    ) -> Counterfactual:
        """What a node would be if edges, pairs (u, v) of ids, or its edges to some neighbours were not there.

        The propagation is computed again; PCA, singular vectors and weights are held as they are.
        """
        view = self._view(graph)
        row = int(view.graph.positions([node], "node")[0])
        pairs = counterfactuals.edges_of(view.graph, row, without_edges, without_neighbours)
        return counterfactuals.without(self.scorer_, view, row, pairs)

    def find_counterfactual(
        self, node: Any, at_most: int = 5, to: Any = None, graph: Graph | None = None
    ) -> Counterfactual | None:
        """Few of the node's edges without which it would be classified otherwise (as ``to``); None if none are found."""
        view = self._view(graph)
        if to is not None and to not in self.classes_.tolist():
            raise InputError(f"no class {to!r}: the model knows {show(self.classes_)}")
        target = None if to is None else self.classes_.tolist().index(to)
        row = int(view.graph.positions([node], "node")[0])
        return counterfactuals.search(self.scorer_, view, row, at_most, target)

    def summary(self) -> Summary:
        """The weight of every component, feature and class."""
        check_is_fitted(self)
        return Summary.of(self.scorer_, self.feature_names_)

    @property
    def plot(self) -> Plots:
        """Figures: ``model.plot.components()``, ``.path()``, ``.features(label)``, ``.explanation(node)``."""
        check_is_fitted(self)
        return Plots(self)

    def _repr_html_(self) -> str:
        """In a notebook: what was fitted, or the parameters before that."""
        return model_html(self) if hasattr(self, "scorer_") else estimator_html_repr(self)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def component_weights(self) -> dict[str, float]:
        """‖W_g‖_F of each component: zero for those the group penalty removed."""
        check_is_fitted(self)
        return {name: float(np.linalg.norm(weights)) for name, weights in self.coef_.items()}

    def _view(self, graph: Graph | None) -> View:
        """A graph with its scores: the fitted one unless another is given."""
        check_is_fitted(self)
        fitted = getattr(self, "graph_", None)
        if graph is None or graph is fitted:
            if fitted is None:
                raise InputError("a model from a file has no graph with it: give graph=, as it was or as it grew")
            return View(fitted, self._own_scores())
        return View(graph, self.fold_in(graph).scores, self._fitted_nodes().places(graph))

    def _own_scores(self) -> Array:
        """Scores of the fitted graph (n × c), computed when they are first needed."""
        if self._scores is None:
            self._scores = self.components_.engine.to_array(self._linear()) + self.intercept_
        return self._scores

    def _linear(self) -> RowMatrix:
        """Scores of the fitted graph without the intercept, as a row matrix."""
        return self.components_.linear(self.coef_)

    def _fitted_nodes(self) -> FittedNodes:
        if self._nodes is None:
            self._nodes = FittedNodes.of(self.graph_, self._own_scores())
        return self._nodes
