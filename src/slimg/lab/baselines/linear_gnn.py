"""`LinearGNN`: any propagator as a classifier.

    P = P(A, X)                                                                     `lab.propagators`
    min_W  mean CE over the labelled rows of P + (weight_decay/2) ‖W‖²,  stopped early        `learn.early_stopping`
    over the grid  weight_decay ∈ {0, 5e-4} × the propagator's own (the paper's last table); the best on validation predicts

Propagators of the grid that are functions of the same operator share its hops, and only the labelled rows of each are kept;
P is computed for all nodes once, for the setting that was chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from slimg.components.compute import Components
from slimg.components.estimate import choose_engine
from slimg.engine.base import Array, Engine, check_engine
from slimg.errors import InputError, check_whole_number
from slimg.graph.checks import check_graph
from slimg.graph.graph import Graph
from slimg.lab.baselines.base import Baseline, Learned, Targets, WithHyperparameters, one_or_several
from slimg.lab.propagators.registry import Propagator, get, kind_of, together
from slimg.learn.early_stopping import EPOCHS, PATIENCE, fit_stopped

WEIGHT_DECAYS = (0.0, 5e-4)
Propagated = list[tuple[Propagator, Components]]


@dataclass(frozen=True)
class _Rows:
    """Each propagator with its rows of P(A, X) at the labelled nodes, and P for all nodes where it is known; the place of each
    node among the rows; the engine that computes P where it is not known."""

    of: list[tuple[Propagator, Array, Components | None]]
    place: Array
    engine: Engine | None = None

    def at(self, setting: dict[str, Any]) -> tuple[Propagator, Array, Components | None]:
        """Those of the propagator with these hyperparameters."""
        wanted = {key: value for key, value in setting.items() if key != "weight_decay"}
        for each in self.of:
            if _values(each[0]) == wanted:
                return each
        raise InputError(f"propagated is of other hyperparameters than {wanted}: use what this model's propagate gives")


class LinearGNN(WithHyperparameters, Baseline):
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

    Further ones are those of `slimg.lab.baselines.base.Baseline`.

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

    def __init__(
        self, propagator: str | Propagator = "sgc", *, weight_decay: float | Sequence[float] | None = None,
        epochs: int = EPOCHS, patience: int = PATIENCE, cv: int = 5, normalize_features: str | None = "row",
        engine: Any = "memory", memory: str | int | None = None, random_state: int = 0, **hyperparameters: Any,
    ):  # fmt: skip
        self.propagator, self.weight_decay, self.hyperparameters = propagator, weight_decay, hyperparameters
        self.epochs, self.patience, self.cv, self.normalize_features = epochs, patience, cv, normalize_features
        self.engine, self.memory, self.random_state = engine, memory, random_state

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
        return self._fit(graph, y, train, val, propagated)

    def settings(self) -> list[dict[str, Any]]:
        """Return each combination of the propagator's hyperparameters and a weight decay."""
        values = [_values(each) for each in self.propagators()]
        return [{**each, "weight_decay": decay} for each, decay in product(values, self._weight_decays())]

    def propagators(self) -> list[Propagator]:
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
            One pair for each of `propagators`.
        """
        settings, engine = self.propagators(), choose_engine(self.engine, graph, self.memory)
        return list(zip(settings, together(settings, graph, engine, self.normalize_features), strict=True))

    def _prepare(self, graph: Graph, targets: Targets, propagated: Propagated | None = None) -> _Rows:
        labelled = targets.fit if targets.check is None else np.concatenate([targets.fit, targets.check])
        place = np.zeros(graph.n, np.int64)
        place[labelled] = np.arange(len(labelled))
        settings = self.propagators() if propagated is None else []
        if len(settings) == 1:
            propagated = self.propagate(graph)
        if propagated is not None:
            return _Rows([(each, parts.labelled_rows(labelled), parts) for each, parts in propagated], place)
        engine, rows = choose_engine(self.engine, graph, self.memory), np.arange(len(labelled))
        several = zip(settings, together(settings, graph, engine, self.normalize_features, labelled), strict=True)
        return _Rows([(each, parts.labelled_rows(rows), None) for each, parts in several], place, engine)

    def _learn(self, inputs: _Rows, setting: dict[str, Any], targets: Targets) -> Learned:
        _, matrix, _ = inputs.at(setting)
        held = None if targets.check is None else (matrix[inputs.place[targets.check]], targets.codes[targets.check])
        data = matrix[inputs.place[targets.fit]], targets.codes[targets.fit], targets.classes, setting["weight_decay"], held
        stopped = fit_stopped(*data, targets.iterations or self.epochs, self.patience)
        return Learned(np.empty(0), stopped.val_accuracy, stopped.val_loss, stopped.epoch, model=stopped)

    def _finish(self, graph: Graph, inputs: _Rows, learned: Learned, setting: dict[str, Any]) -> tuple[Array, dict[str, Any]]:
        """Scores of all nodes by the setting that was chosen, whose P is computed unless it is known."""
        chosen, _, parts = inputs.at(setting)
        if parts is None:
            assert inputs.engine is not None
            (parts,) = together([chosen], graph, inputs.engine, self.normalize_features)
        coef = {name: learned.model.weights[columns] for name, columns in parts.groups.items()}
        scores = parts.engine.to_array(parts.linear(coef)) + learned.model.intercept
        own = {"propagator_": chosen, "weight_decay_": setting["weight_decay"], "components_": parts}
        return scores, {**own, "coef_": coef, "intercept_": learned.model.intercept, "model_": None}

    def _notes(self, graph: Graph) -> tuple[str, ...]:
        return self.components_.notes

    def _weight_decays(self) -> tuple[float, ...]:
        given = WEIGHT_DECAYS if self.weight_decay is None else self.weight_decay
        return one_or_several("weight_decay", given, "None, a number of at least 0", lambda each: 0 <= each < np.inf)

    def _check(self, graph: Any, y: Any) -> None:
        check_graph(graph, y)
        check_engine(self.engine, self.memory)
        self._weight_decays()
        for name, least in (("cv", 2), ("epochs", 1), ("patience", 1)):
            check_whole_number(getattr(self, name), name, least)


def _values(propagator: Propagator) -> dict[str, Any]:
    return {name: getattr(propagator, name) for name in propagator.hyperparameters()}

