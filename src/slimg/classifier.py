"""`SlimG`: the estimator that joins graph, components, path and predictions.

    P(A, X) = U ‖ g(X) ‖ g(A_row²X) ‖ g(Ã_sym²X)                 computed once (`propagate.components`)
    min_W  mean CE over labelled rows + λ₁‖W‖₁ + λ₂ Σ_g ‖W_g‖_F  for each pair of a path (`learn.path`)
    the pair with the best validation accuracy predicts every node
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from slimg.engine.base import Array
from slimg.engine.memory import MemoryEngine
from slimg.errors import InputError, choices
from slimg.graph.checks import check_train_val
from slimg.graph.graph import Graph
from slimg.learn.early_stopping import fit_stopped
from slimg.learn.path import Pair, resolve_pairs, solve_path
from slimg.learn.selection import Record, best, merge, validate
from slimg.learn.solver import Problem, Solution
from slimg.learn.sparse_group import check_stopping, class_weights, softmax, warn_unconverged
from slimg.propagate.components import COMPONENTS, Components, compute_components


class SlimG(BaseEstimator):
    """Node classifier of "Less is More: SlimG for Accurate, Robust, and Interpretable Graph Mining" (KDD '23).

    Parameters
    ----------
    grid : "path", "paper", or pairs (l1, group)
        Penalties to try. "path" goes from λ_max down, without and with an ℓ₁ part, and adds a few pairs with one joint
        group (`slimg.learn.path`); "paper" has the paper's twelve pairs.
    cv : int
        Folds when no validation rows are given (fewer if a class has fewer labelled nodes).
    components, pca, k_row, k_sym : the paper's ablations; see `slimg.propagate.components.compute_components`.
    sparsity : bool
        False drops both penalties; then no minimiser exists on separable data, so L-BFGS is stopped early on the
        validation accuracy and there is no certificate.
    early_stopping : int or None
        Leave a λ₁ after this many pairs in a row without a better validation accuracy; None solves every pair.
    normalize_features : "row" or None
        "row" divides each row by its sum, after subtracting its minimum where entries are negative.
    energy, max_rank : the rank of U and of the PCAs.
    class_weight : "balanced", a dict by class, or None
    tol, max_iter : the duality gap to reach, as a share of the loss at W = 0, and Newton steps at most.
    engine : an engine, or "memory"
    random_state : int
        Seeds the folds and the start of the iterative decompositions.

    Attributes
    ----------
    classes_, coef_ : {component: (width, classes)}, intercept_, rank_, l1_, group_, joint_, dual_gap_,
    selection_ (one record per pair), zero_components_, components_, notes_, seconds_
    """

    def __init__(
        self,
        *,
        grid: str | Sequence[tuple[float, float]] = "path",
        cv: int = 5,
        components: Collection[str] = COMPONENTS,
        pca: bool = True,
        k_row: int | Collection[int] = 2,
        k_sym: int | Collection[int] = 2,
        sparsity: bool = True,
        early_stopping: int | None = None,
        normalize_features: str | None = "row",
        energy: float = 0.9,
        max_rank: int = 2048,
        class_weight: Any = None,
        tol: float = 1e-4,
        max_iter: int = 200,
        engine: Any = "memory",
        random_state: int = 0,
    ):
        self.grid = grid
        self.cv = cv
        self.components = components
        self.pca = pca
        self.k_row = k_row
        self.k_sym = k_sym
        self.sparsity = sparsity
        self.early_stopping = early_stopping
        self.normalize_features = normalize_features
        self.energy = energy
        self.max_rank = max_rank
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.engine = engine
        self.random_state = random_state

    def fit(
        self,
        graph: Graph,
        y: Any = None,
        *,
        train: Any = None,
        val: Any = None,
        propagated: Components | None = None,
    ) -> SlimG:
        """Learn from the labelled nodes of a graph.

        Parameters
        ----------
        train, val : row numbers or boolean masks
            Only the labels of these rows are read. Without ``train`` all labelled nodes are used; without ``val`` the pair
            is chosen by stratified cross-validation and the model is fitted again on all of ``train``.
        propagated : what `propagate` returned for this graph
            Components do not depend on labels: with several splits of a graph they are needed once.
        """
        self._check(graph, y)
        train_rows, val_rows = check_train_val(graph, train, val)
        parts = self.propagate(graph) if propagated is None else propagated
        nodes = next(iter(parts.blocks.values())).shape[0]
        if nodes != graph.n:
            raise InputError(f"propagated has {nodes:,} nodes and the graph {graph.n:,}: propagate this graph")
        begun = time.perf_counter()
        learner = _Learner(self, parts, graph, train_rows)
        solution, records, chosen = learner.select(val_rows)
        self._keep(graph, parts, learner, solution, records, chosen)
        self.seconds_ = {**parts.seconds, "learning": time.perf_counter() - begun}
        return self

    def decision_function(self) -> Array:
        """Scores of all nodes, in graph order (n × classes)."""
        check_is_fitted(self)
        parts = self.components_
        return parts.engine.to_array(parts.linear(self.coef_)) + self.intercept_

    def predict(self) -> Array:
        """One label per node, in graph order, of the labels' own type."""
        scores = self.decision_function()
        return self.classes_[scores.argmax(axis=1)]

    def predict_proba(self) -> Array:
        """Probabilities of all nodes; columns as `classes_`."""
        return softmax(self.decision_function())

    def component_weights(self) -> dict[str, float]:
        """‖W_g‖_F of each component: zero for those the group penalty removed."""
        check_is_fitted(self)
        return {name: float(np.linalg.norm(weights)) for name, weights in self.coef_.items()}

    def _check(self, graph: Any, y: Any) -> None:
        if not isinstance(graph, Graph):
            raise InputError(f"fit needs a slimg.Graph (see Graph.from_arrays, Graph.from_edges), not {type(graph)}")
        if y is not None:
            raise InputError("labels belong to the graph: use Graph.from_arrays(..., labels=y) and fit(graph)")
        if isinstance(self.engine, str) and self.engine != "memory":
            raise choices("engine", self.engine, ["memory", "an engine object"])
        if not isinstance(self.cv, (int, np.integer)) or self.cv < 2:
            raise InputError(f"cv must be a whole number of folds, at least 2, not {self.cv!r}")
        check_stopping(self.tol, self.max_iter)
        if not isinstance(self.random_state, (int, np.integer)) or not 0 <= self.random_state < 2**32:
            raise InputError(f"random_state must be a whole number from 0 to 2³² − 1, not {self.random_state!r}")
        patience = self.early_stopping
        if patience is not None and (not isinstance(patience, (int, np.integer)) or patience < 1):
            raise InputError(f"early_stopping must be None or a positive number of pairs, not {patience!r}")

    def propagate(self, graph: Graph) -> Components:
        """P(A, X) of a graph, which `fit` computes unless it is given."""
        return compute_components(
            graph,
            MemoryEngine() if isinstance(self.engine, str) else self.engine,
            components=self.components,
            pca=self.pca,
            k_row=self.k_row,
            k_sym=self.k_sym,
            normalize=self.normalize_features,
            energy=self.energy,
            max_rank=self.max_rank,
            random_state=self.random_state,
        )

    def _keep(
        self,
        graph: Graph,
        parts: Components,
        learner: _Learner,
        solution: Solution,
        records: list[Record],
        chosen: int,
    ) -> None:
        self.components_, self.rank_ = parts, parts.rank
        self.classes_ = learner.classes
        self.coef_ = {name: solution.weights[columns] for name, columns in parts.groups.items()}
        self.intercept_ = solution.intercept.astype(np.float32)
        self.selection_ = [record.as_dict() for record in records]
        self.l1_, self.group_, self.joint_ = records[chosen].pair
        self.dual_gap_, self.converged_ = solution.gap, solution.converged
        self.zero_components_ = tuple(name for name, weights in self.coef_.items() if not weights.any())
        self.notes_ = (*graph.notes, *parts.notes)
        if not solution.converged and self.sparsity:
            warn_unconverged(solution.gap, self.tol, solution.iterations)


class _Learner:
    """Labelled rows of P and the search for the pair."""

    def __init__(self, model: SlimG, parts: Components, graph: Graph, train: Array):
        self.model, self.parts = model, parts
        self.codes = graph.codes
        present = np.unique(graph.codes[train])
        self.classes = graph.classes[present]
        self.code_of = np.full(len(graph.classes) + 1, -1)
        self.code_of[present] = np.arange(len(present))
        self.group_of = np.repeat(np.arange(len(parts.names)), list(parts.widths.values()))
        self.matrix, self.y = parts.labelled_rows(train), self.code_of[graph.codes[train]]
        self.weights = class_weights(model.class_weight, self.classes, self.y)

    def select(self, val: Array | None) -> tuple[Solution, list[Record], int]:
        """The chosen solution, one record per pair, and which was chosen."""
        if not self.model.sparsity:
            return self._stopped_early(val)
        problem = self._problem()
        pairs = resolve_pairs(self.model.grid, problem)
        if val is not None:
            rows, codes = self.parts.labelled_rows(val), self.code_of[self.codes[val]]
            return self._best_on_path(problem, pairs, rows, codes)
        records = self._cross_validate(pairs)
        chosen = best(records)
        pair = records[chosen].pair
        ((_, solution),) = solve_path(problem, [pair], self.model.tol, self.model.max_iter)
        return solution, records, chosen

    def _stopped_early(self, val: Array | None) -> tuple[Solution, list[Record], int]:
        """No penalty: the epoch with the best validation accuracy, or as many epochs as the folds took in the median."""
        begun, classes = time.perf_counter(), len(self.classes)
        if val is not None:
            checked = self.parts.labelled_rows(val), self.code_of[self.codes[val]]
            runs = [fit_stopped(self.matrix, self.y, classes, validation=checked)]
            final = runs[0]
        else:
            runs = [
                fit_stopped(self.matrix[fit], self.y[fit], classes, validation=(self.matrix[check], self.y[check]))
                for fit, check in self._folds()
            ]
            final = fit_stopped(self.matrix, self.y, classes, epochs=max(1, int(np.median([run.epoch for run in runs]))))
        accuracy, loss = (float(np.mean([getattr(run, key) for run in runs])) for key in ("val_accuracy", "val_loss"))
        seconds, nonzero = time.perf_counter() - begun, float(np.count_nonzero(final.weights))
        record = Record(0.0, 0.0, False, accuracy, loss, np.nan, (), nonzero, False, seconds)
        weights = final.weights.astype(np.float32)
        return Solution(weights, final.intercept, np.nan, np.nan, False, final.epoch, 0.0, seconds), [record], 0

    def _folds(self) -> list[tuple[Array, Array]]:
        count = min(self.model.cv, int(np.bincount(self.y).min()))
        splitter = StratifiedKFold(count, shuffle=True, random_state=self.model.random_state)
        return list(splitter.split(self.matrix, self.y))

    def _problem(self, rows: Array | None = None) -> Problem:
        matrix, y, weights = self.matrix, self.y, self.weights
        if rows is not None:
            matrix, y, weights = matrix[rows], y[rows], weights[rows]
        return Problem.build(matrix, y, len(self.classes), self.group_of, self.parts.engine, weights)

    def _best_on_path(
        self, problem: Problem, pairs: list[Pair], rows: Array, codes: Array
    ) -> tuple[Solution, list[Record], int]:
        records: list[Record] = []
        for record, solution in self._path(problem, pairs, rows, codes):
            records.append(record)
            if best(records) == len(records) - 1:
                kept = solution
        return kept, records, best(records)

    def _cross_validate(self, pairs: list[Pair]) -> list[Record]:
        folds = self._folds()
        by_pair: dict[Pair, list[Record]] = {}
        for fit, check in folds:
            for record, _ in self._path(self._problem(fit), pairs, self.matrix[check], self.y[check]):
                by_pair.setdefault(record.pair, []).append(record)
        return [merge(records) for pair in pairs if len(records := by_pair.get(pair, [])) == len(folds)]

    def _path(
        self, problem: Problem, pairs: list[Pair], rows: Array, codes: Array
    ) -> Iterator[tuple[Record, Solution]]:
        stop = _Patience(self.model.early_stopping)
        for pair, solution in solve_path(problem, pairs, self.model.tol, self.model.max_iter, skip=stop.reached):
            record = validate(pair, solution, self.parts.names, self.group_of, rows, codes)
            stop.note(pair, record.val_accuracy)
            yield record, solution


class _Patience:
    """Counts, for each λ₁, the pairs since its best validation accuracy."""

    def __init__(self, patience: int | None):
        self.patience = np.inf if patience is None else patience
        self.best: dict[tuple[float, bool], float] = {}
        self.since: dict[tuple[float, bool], int] = {}

    def note(self, pair: Pair, accuracy: float) -> None:
        series = pair.l1, pair.joint
        better = accuracy > self.best.get(series, -1.0)
        self.since[series] = 0 if better else self.since[series] + 1
        self.best[series] = max(accuracy, self.best.get(series, -1.0))

    def reached(self, pair: Pair) -> bool:
        return self.since.get((pair.l1, pair.joint), 0) >= self.patience
