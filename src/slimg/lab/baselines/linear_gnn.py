"""`LinearGNN`: any propagator as a classifier.

    P = P(A, X)                                                                     `lab.propagators`
    min_W  mean CE over the labelled rows of P + (weight_decay/2) ‖W‖²,  stopped early        `learn.early_stopping`
    over the grid  weight_decay ∈ {0, 5e-4} × the propagator's own (the paper's last table); the best on validation predicts

Propagators of the grid that are functions of the same operator share its hops, and only the labelled rows of each are kept;
P is computed for all nodes once, for the setting that was chosen.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from slimg.base import BaseNodeClassifier, FitRows, check_graph
from slimg.components.compute import Components
from slimg.components.estimate import choose_engine
from slimg.engine.base import Array, check_engine
from slimg.errors import InputError, check_whole_number
from slimg.graph.graph import Graph
from slimg.lab.baselines.base import Learned, Targets, WithHyperparameters, one_or_several, select
from slimg.lab.propagators.registry import Propagator, get, kind_of, together
from slimg.learn.early_stopping import EPOCHS, PATIENCE, Stopped, fit_stopped

WEIGHT_DECAYS = (0.0, 5e-4)
Propagated = list[tuple[Propagator, Components]]


class LinearGNN(WithHyperparameters, BaseNodeClassifier):
    """A registered propagator with logistic regression: ``LinearGNN("dgc", K=200, T=5).fit(graph).predict()``.

    Parameters
    ----------
    propagator : str or Propagator, default="sgc"
        A name (see `slimg.lab.propagators.names`) or a propagator with its hyperparameters.
    weight_decay : float, sequence of float or None, default=None
        Weight decay, or several to choose from; None for the paper's 0 and 5e-4.
    epochs, patience : int, default=100, 5
        See `slimg.learn.early_stopping`.
    cv : int, default=5
        Folds when no validation rows are given (fewer if a class has fewer labelled nodes).
    normalize_features : "row" or None, default="row"
        "row" divides each row of X by its sum; None takes X as it is.
    engine, memory : default="memory", None
        Where the work is done and its budget, as in `SlimG`.
    random_state : int, default=0
        Seed of the folds.
    **hyperparameters
        Of the propagator; those that are not given take the paper's grid, or their default without one.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
        Classes of the training rows.
    coef_ : dict of str to ndarray of shape (width, c)
        Weights by block of columns.
    intercept_ : ndarray of shape (c,)
        Intercept of each class.
    propagator_ : Propagator
        The one that was chosen.
    weight_decay_ : float
        The one that was chosen.
    components_ : Components
        Columns of P(A, X) for all nodes.
    selection_ : list of dict
        A record per setting: its hyperparameters, weight_decay, val_accuracy, val_loss, epoch, seconds.
    notes_ : tuple of str
        Notes on the graph and the propagation.
    seconds_ : dict of str to float
        Of propagation and learning.

    Examples
    --------
    >>> from slimg import Graph
    >>> from slimg.lab.baselines.linear_gnn import LinearGNN
    >>> x = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]]
    >>> graph = Graph.from_edges([(0, 1), (1, 2), (3, 4), (4, 5)], features=x, labels=["a", "a", None, "b", "b", None])
    >>> LinearGNN("sgc", K=1).fit(graph).predict().tolist()
    ['a', 'a', 'a', 'b', 'b', 'b']
    """

    coef_: dict[str, Array]
    intercept_: Array
    propagator_: Propagator
    weight_decay_: float
    components_: Components
    selection_: list[dict[str, Any]]
    notes_: tuple[str, ...]
    seconds_: dict[str, float]

    def __init__(
        self, propagator: str | Propagator = "sgc", *, weight_decay: float | Sequence[float] | None = None,
        epochs: int = EPOCHS, patience: int = PATIENCE, cv: int = 5, normalize_features: str | None = "row",
        engine: Any = "memory", memory: str | int | None = None, random_state: int = 0, **hyperparameters: Any,
    ):  # fmt: skip
        self.propagator = propagator
        self.weight_decay = weight_decay
        self.epochs = epochs
        self.patience = patience
        self.cv = cv
        self.normalize_features = normalize_features
        self.engine = engine
        self.memory = memory
        self.random_state = random_state
        self.hyperparameters = hyperparameters

    def fit(
        self, graph: Graph, y: Any = None, *, train: Any = None, val: Any = None, propagated: Propagated | None = None
    ) -> LinearGNN:
        """Learn from the labelled nodes of a graph.

        Parameters
        ----------
        graph : Graph
            The graph; only the labels of ``train`` and ``val`` are read.
        y : None
            Not used: labels belong to the graph.
        train, val : array of int or bool, default=None
            Without ``train`` all labelled nodes are used; without ``val`` the setting is chosen by stratified
            cross-validation, and fitted again on all of ``train`` for as many epochs as the folds took on average.
        propagated : list, optional
            What `propagate` returned for this graph; with several splits of a graph it is needed once.

        Returns
        -------
        LinearGNN
            The fitted estimator.
        """
        self._check(graph, y)
        given = self._fit_rows(graph, train, val)
        labelled = given.train if given.val is None else np.concatenate([given.train, given.val])
        begun = time.perf_counter()
        settings = self.settings() if propagated is None else [each for each, _ in propagated]
        if propagated is None and len(settings) == 1:
            propagated = self.propagate(graph)
        if propagated is None:
            compute = partial(together, graph=graph, engine=choose_engine(self.engine, graph, self.memory),
                              normalize_features=self.normalize_features)  # fmt: skip
            chosen = np.arange(len(labelled))
            rows = [parts.labelled_rows(chosen) for parts in compute(settings, rows=labelled)]
        else:
            rows = [parts.labelled_rows(labelled) for _, parts in propagated]
        gathered = time.perf_counter()
        place, stopped = self._select(settings, rows, given)
        selected = time.perf_counter()
        self.propagator_ = settings[place]
        parts = propagated[place][1] if propagated else compute([self.propagator_])[0]
        self.components_, self.notes_ = parts, (*graph.notes, *parts.notes)
        self.coef_ = {name: stopped.weights[columns] for name, columns in parts.groups.items()}
        self.intercept_ = stopped.intercept
        propagation = gathered - begun + time.perf_counter() - selected
        self.seconds_ = {"propagation": propagation, "learning": selected - gathered}
        return self

    def settings(self) -> list[Propagator]:
        """Return the propagator with each combination of the hyperparameters that are not fixed.

        Returns
        -------
        list of Propagator
            At least one.
        """
        if isinstance(self.propagator, Propagator):
            if self.hyperparameters:
                given = ", ".join(self.hyperparameters)
                raise InputError(f"{self.propagator.name} is given with its hyperparameters: {given} cannot be set again")
            self.propagator.validate()
            return [self.propagator]
        grid = kind_of(self.propagator).grid
        open_names = [name for name in grid if name not in self.hyperparameters]
        combinations = product(*(grid[name] for name in open_names))
        return [get(self.propagator, **self.hyperparameters, **dict(zip(open_names, each, strict=True)))
                for each in combinations]  # fmt: skip

    def propagate(self, graph: Graph) -> Propagated:
        """Compute P(A, X) for all nodes and each setting; `fit` computes what it needs unless this is given.

        Parameters
        ----------
        graph : Graph
            Its labels are not read.

        Returns
        -------
        list of (Propagator, Components)
            One pair for each of `settings`.
        """
        settings = self.settings()
        engine = choose_engine(self.engine, graph, self.memory)
        return list(zip(settings, together(settings, graph, engine, self.normalize_features), strict=True))

    def decision_function(self) -> Array:
        """Scores of all nodes, in graph order (n × classes)."""
        check_is_fitted(self)
        parts = self.components_
        return parts.engine.to_array(parts.linear(self.coef_)) + self.intercept_

    def _select(self, settings: list[Propagator], rows: list[Array], given: FitRows) -> tuple[int, Stopped]:
        """Learn with every setting and weight decay; which setting is best, what it learned, and records of all.

        Rows are those of training and, behind them, of validation.
        """
        codes = given.codes if given.val_codes is None else np.concatenate([given.codes, given.val_codes])
        fit, check = np.split(np.arange(len(codes)), [len(given.codes)])
        targets = Targets(codes, len(given.classes), fit, None if given.val_codes is None else check)
        tried = list(product(range(len(settings)), self._weight_decays()))

        def learn(k: int, targets: Targets) -> Learned:
            matrix, weight_decay = rows[tried[k][0]], tried[k][1]
            held = None if targets.check is None else (matrix[targets.check], codes[targets.check])
            data = matrix[targets.fit], codes[targets.fit], targets.classes, weight_decay, held
            stopped = fit_stopped(*data, targets.iterations or self.epochs, self.patience)
            return Learned(np.empty(0), stopped.val_accuracy, stopped.val_loss, stopped.epoch, model=stopped)

        values = [{name: getattr(each, name) for name in each.hyperparameters()} for each in settings]
        listed = [{**values[place], "weight_decay": weight_decay} for place, weight_decay in tried]
        kept, records, chosen = select(listed, learn, targets, self.cv, self.random_state)
        self.selection_ = [{key: value for key, value in each.items() if key != "epochs"} for each in records]
        place, self.weight_decay_ = tried[chosen]
        return place, kept.model

    def _weight_decays(self) -> tuple[float, ...]:
        given = WEIGHT_DECAYS if self.weight_decay is None else self.weight_decay
        return one_or_several("weight_decay", given, "None, a number of at least 0", lambda each: 0 <= each < np.inf)

    def _check(self, graph: Any, y: Any) -> None:
        check_graph(graph, y)
        check_engine(self.engine, self.memory)
        self._weight_decays()
        for name, least in (("cv", 2), ("epochs", 1), ("patience", 1)):
            check_whole_number(getattr(self, name), name, least)
