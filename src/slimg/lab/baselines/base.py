"""What the estimators of the laboratory share: a grid of settings, of which the best on validation rows predicts.

    fit     prepare(graph), then learn(setting) for each setting: scores of all nodes (n × classes)
    choose  best validation accuracy, among equals the least validation loss (`learn.path`)

Without validation rows a setting is judged by stratified cross-validation, and the chosen one is learned again from all
labelled rows, for as many iterations as the folds took on average. Nothing of the estimator changes before `fit` ends: an
interrupted one leaves it as it was.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from slimg._sklearn import BaseEstimator
from slimg.base import BaseNodeClassifier
from slimg.engine.base import Array, Engine
from slimg.engine.memory import MemoryEngine
from slimg.errors import InputError, check_whole_number, choices
from slimg.graph.checks import check_graph
from slimg.graph.graph import Graph
from slimg.learn.objective import log_loss, stratified_folds
from slimg.learn.path import best

Estimator = TypeVar("Estimator", bound="WithHyperparameters")
Learn = Callable[[int, "Targets"], "Learned"]
"""What learns with the setting at a place."""


@dataclass(frozen=True)
class Targets:
    """Rows to learn from and to check on (None: learn all iterations), and codes of all nodes in 0 … classes − 1.

    A code of −1 among the rows to check is a class that training does not see: always wrong, and not in the loss.
    """

    codes: Array
    classes: int
    fit: Array
    check: Array | None = None
    iterations: int | None = None

    def validate(self, scores: Array) -> tuple[float, float]:
        """Return accuracy and mean cross-entropy of softmax(scores) on the rows to check; NaN without any."""
        if self.check is None:
            return float("nan"), float("nan")
        codes, rows = self.codes[self.check], np.asarray(scores[self.check], np.float64)
        return float((rows.argmax(axis=1) == codes).mean()), log_loss(rows, codes)

    def learned(self, scores: Array) -> Learned:
        """Return scores that took no iterations, with how they do on the rows to check."""
        return Learned(scores, *self.validate(scores))


@dataclass(frozen=True)
class Learned:
    """Scores of all nodes (n × classes), how they do on the rows to check, the iteration they are from, of how many, and the
    fitted thing that gave them, if there is one."""

    scores: Array
    val_accuracy: float = float("nan")
    val_loss: float = float("nan")
    iteration: int = 0
    iterations: int = 0
    model: Any = None


class Baseline(BaseNodeClassifier):
    """Base of the estimators here; subclasses set parameters and define `settings`, `_prepare` and `_learn`.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
        Classes of the training rows.
    scores_ : ndarray of shape (n, c)
        Scores of all nodes.
    model_ : torch.nn.Module or None
        What gave them, if it is a network.
    setting_ : dict
        The setting that was chosen.
    selection_ : list of dict
        A record per setting: its values, val_accuracy, val_loss, epoch (the one kept), epochs (run, of networks), seconds.
    notes_ : tuple of str
        Notes on the graph and the model.
    seconds_ : dict of str to float
        Of features (what all settings share) and learning (all settings).
    """

    classes_: Array
    scores_: Array
    model_: Any
    setting_: dict[str, Any]
    selection_: list[dict[str, Any]]
    notes_: tuple[str, ...]
    seconds_: dict[str, float]
    cv: int
    engine: Any = "memory"
    random_state: int

    def fit(self, graph: Graph, y: Any = None, *, train: Any = None, val: Any = None) -> Any:
        """Learn from the labelled nodes of a graph.

        Parameters
        ----------
        graph : Graph
            The graph; only the labels of ``train`` and ``val`` are read.
        y : None
            Not used: labels belong to the graph.
        train, val : array of int or bool, default=None
            Without ``train`` all labelled nodes are used, without ``val`` settings are compared by cross-validation.

        Returns
        -------
        estimator
            Itself, fitted.
        """
        return self._fit(graph, y, train, val)

    def _fit(self, graph: Graph, y: Any, train: Any, val: Any, *shared: Any) -> Any:
        """What `fit` does; ``shared`` is passed on to `_prepare`."""
        self._check(graph, y)
        rows = copy(self)._fit_rows(graph, train, val)  # a copy: an interrupted fit leaves this estimator as it was
        settings, codes = self.settings(), np.full(graph.n, -1)
        codes[rows.train] = rows.codes
        if rows.val is not None:
            codes[rows.val] = rows.val_codes
        targets = Targets(codes, len(rows.classes), rows.train, rows.val)
        begun = time.perf_counter()
        inputs = self._prepare(graph, targets, *shared)
        prepared = time.perf_counter()
        learned, records, chosen = select(
            settings, lambda place, rows: self._learn(inputs, settings[place], rows), targets, self.cv, self.random_state
        )
        selected = time.perf_counter()
        scores, own = self._finish(graph, inputs, learned, settings[chosen])
        if not np.isfinite(scores).all():
            raise InputError(f"the loss became infinite or NaN with {settings[chosen]}, the best of the settings: lower lr")
        self.classes_, self.scores_, self.model_ = rows.classes, scores, learned.model
        vars(self).update(own)
        self.selection_, self.setting_ = records, settings[chosen]
        self.notes_ = (*graph.notes, *self._notes(graph))
        features = prepared - begun + time.perf_counter() - selected
        self.seconds_ = {"features": features, "learning": selected - prepared}
        return self

    def settings(self) -> list[dict[str, Any]]:
        """List the settings to choose from.

        Returns
        -------
        list of dict
            Hyperparameters of each; one empty dict when there is nothing to choose.
        """
        return [{}]

    def decision_function(self) -> Array:
        """Scores of all nodes, in graph order (n × classes)."""
        check_is_fitted(self)
        return self.scores_

    def _prepare(self, graph: Graph, targets: Targets) -> Any:
        """What all settings share."""
        return graph

    def _learn(self, inputs: Any, setting: dict[str, Any], targets: Targets) -> Learned:
        """Scores with one setting."""
        raise NotImplementedError

    def _finish(self, graph: Graph, inputs: Any, learned: Learned, setting: dict[str, Any]) -> tuple[Array, dict[str, Any]]:
        """The scores of the chosen setting, and attributes of its own."""
        return learned.scores, {}

    def _notes(self, graph: Graph) -> tuple[str, ...]:
        return ()

    def _check(self, graph: Any, y: Any) -> None:
        check_graph(graph, y)
        check_whole_number(self.random_state, "random_state", 0, 2**32 - 1)
        check_whole_number(self.cv, "cv", 2)
        if getattr(self, "normalize_features", None) not in ("row", None):
            raise choices("normalize_features", getattr(self, "normalize_features", None), ["row", "None"])
        if isinstance(self.engine, str) and self.engine != "memory":
            raise choices("engine", self.engine, ["memory", "an engine object"])

    def _engine(self) -> Engine:
        return MemoryEngine() if isinstance(self.engine, str) else self.engine


def select(
    settings: list[dict[str, Any]], learn: Learn, targets: Targets, cv: int, random_state: int
) -> tuple[Learned, list[dict[str, Any]], int]:
    """Learn with each setting, given its place; what the best one learned, a record of each, and the place of the best.

    Without rows to check, records have means over folds, and the best is learned again from all rows for as many iterations.
    """
    records: list[dict[str, Any]] = []
    for place, setting in enumerate(settings):
        begun = time.perf_counter()
        run = partial(learn, place)
        learned = _over_folds(run, targets, cv, random_state) if targets.check is None else run(targets)
        found = {"val_accuracy": learned.val_accuracy, "val_loss": learned.val_loss}
        steps = {"epoch": learned.iteration} | ({"epochs": learned.iterations} if learned.iterations else {})
        records.append({**setting, **found, **steps, "seconds": time.perf_counter() - begun})
        if best_of(records) == place:
            kept = learned
    chosen = best_of(records)
    if targets.check is None:
        kept = learn(chosen, replace(targets, iterations=max(1, kept.iteration)))
    return kept, records, chosen


def _over_folds(learn: Callable[[Targets], Learned], targets: Targets, cv: int, random_state: int) -> Learned:
    """Means over folds; the scores are of none of them."""
    folds, rows = stratified_folds(targets.codes[targets.fit], cv, random_state), targets.fit
    runs = [learn(replace(targets, fit=rows[fit], check=rows[check])) for fit, check in folds]
    means = np.mean([(each.val_accuracy, each.val_loss, each.iteration, each.iterations) for each in runs], axis=0).tolist()
    return Learned(np.empty((0, targets.classes)), *means[:2], *map(round, means[2:]))


def one_or_several(name: str, given: Any, needed: str, fits: Callable[[Any], bool]) -> tuple[float, ...]:
    """Return one number, or several to choose from, as a tuple; each must be what is needed."""
    values = tuple(given) if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str) else (given,)
    if not values or not all(isinstance(each, int | float | np.number) and fits(each) for each in values):
        raise InputError(f"{name} must be {needed}, or several of them, not {given!r}")
    return values


def best_of(selection: list[dict[str, Any]]) -> int:
    """Which record is taken, by the rule that all estimators follow."""
    plain = {"nonzero": 0.0, "folds": 1}
    return best([SimpleNamespace(**{**plain, "score": each["val_accuracy"], **each}) for each in selection])  # type: ignore[misc]


class WithHyperparameters(BaseEstimator):
    """``hyperparameters``, the keyword arguments that ``__init__`` does not name, are parameters like its own."""

    hyperparameters: dict[str, Any]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Give all parameters, the hyperparameters among them.

        Parameters
        ----------
        deep : bool, default=True
            Whether to add the parameters of parameters that are estimators.

        Returns
        -------
        dict of str to object
            Name → value.
        """
        return {**super().get_params(deep=deep), **self.hyperparameters}

    def set_params(self: Estimator, **params: Any) -> Estimator:
        """Set parameters; those that ``__init__`` does not name are hyperparameters.

        Parameters
        ----------
        **params : object
            Name → value.

        Returns
        -------
        estimator
            The estimator itself.
        """
        own = set(self._get_param_names())
        self.hyperparameters = {**self.hyperparameters, **{k: v for k, v in params.items() if k not in own}}
        return super().set_params(**{k: v for k, v in params.items() if k in own})
