"""`SlimG`: a list of components and a sparse-group logistic regression.

    P(A, X) = U ‖ g(X) ‖ g(A_row²X) ‖ g(Ã_sym²X) ‖ g(PPR X)      computed once (`slimg.components`)
    min_W  mean CE over labelled rows + λ₁‖W‖₁ + λ₂ Σ_g ‖W_g‖_F  for each pair of a path (`slimg.learn`)
    the pair with the best validation accuracy predicts every node
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from slimg.base import FitRows, FittedModel
from slimg.components.component import Component, Sizes, check_components
from slimg.components.compute import Components, columns_through, compute_components, default_components
from slimg.components.screening import screen_neighbours, screen_paths, screen_ranges, screen_reach
from slimg.engine.base import Array, Engine, check_engine, engine_for
from slimg.errors import InputError, check_whole_number
from slimg.graph.checks import check_graph
from slimg.graph.columns import show
from slimg.graph.graph import Graph
from slimg.learn.objective import Labelled, check_scoring, class_weights
from slimg.learn.search import SearchConfig, SearchResult, search
from slimg.learn.solver import check_stopping, warn_unconverged
from slimg.progress import progress_for, reporting

if TYPE_CHECKING:
    from slimg.components.estimate import Estimate

UNPENALIZED = "unpenalized"
SMALL = 1 << 24
"""Edges and stored features up to which memory is not estimated before a fit in memory."""


class SlimG(FittedModel):
    """Node classifier of "Less is More: SlimG for Accurate, Robust, and Interpretable Graph Mining" (KDD '23).

    Parameters
    ----------
    components : sequence of Component or None, default=None
        The blocks of columns to learn on (`slimg.components`). None takes `default_components` for the number of labels to
        learn from, and for a graph with relations also paths along them (`PathFeatures`) that these labels call for.
        Components that need edges or features which a graph does not have are left out, with a note.
    grid : "path", "paper", "unpenalized", or a list, default="path"
        Penalties to try. "path" goes from λ_max down, without and with an ℓ₁ part, adds a few pairs with one joint group
        and components learned separately whose scores are added; "paper" has the paper's twelve pairs. A list has pairs
        (l1, group) and mappings {component: λ} of components learned separately. "unpenalized" drops both penalties; then no
        minimiser exists on separable data, so L-BFGS is stopped early on the validation accuracy, without a certificate.
    cv : int, default=5
        Folds when no validation rows are given. A class with fewer labelled nodes is held out in some of them only, and the
        only labelled node of a class in none, with a note.
    average : int, default=5
        The model is the mean of this many picks: the best candidate, then each time the one with which the mean has the least
        log loss on the nodes held out. It is one linear model; 1 takes the best candidate alone.
    scoring : str or None, default=None
        What candidates are compared by: "accuracy", "balanced_accuracy", "f1_macro", "average_precision", "roc_auc" or
        "log_loss". None is the accuracy, and the average precision if one of two classes has under 10 % of the labels.
    early_stopping : int or None, default=None
        Leave a λ₁ after this many pairs in a row without a better validation accuracy; None solves every pair.
    class_weight : "balanced", dict or None, default=None
        Weights of the classes in the loss.
    tol : float, default=1e-4
        The duality gap to reach, as a share of the loss at W = 0.
    max_iter : int, default=200
        The most Newton steps for one pair.
    engine : str, Engine or Dask client, default="memory"
        "memory", "mapped" (row matrices as files), "dask", or "auto" (as `estimate` recommends).
    memory : str, int or None, default=None
        The budget of "mapped" and "auto", a size such as "4GB"; None is most of what is free.
    random_state : int, default=0
        Seeds the folds and the start of iterative decompositions.
    verbose : bool or Progress, default=False
        True shows stages and the time that is left, on a terminal or in a notebook.

    Attributes
    ----------
    classes_ : array of shape (c,)
        The labels, sorted.
    coef_ : dict of str to array of shape (width, c)
        Weights of each component, summed over the members; a component that the penalty removed from all of them is
        exactly zero.
    intercept_ : array of shape (c,)
        The intercept of each class.
    zero_components_ : tuple of str
        Components whose weights are exactly zero.
    dual_gap_ : float
        How far from its optimum any member can be at most, as a share of the loss at W = 0.
    converged_ : bool
        Whether ``tol`` was reached.
    n_iter_ : int
        Newton steps.
    selection_ : list of dict
        One record for each candidate that was tried.
    chosen_ : dict
        The record of the best candidate; `l1_`, `group_`, `joint_` are its penalties.
    members_ : list of dict
        The records of the candidates that were picked, the best first, each with its ``weight`` in the model.
    scoring_ : str
        What candidates were compared by.
    rank_ : int
        The largest number of columns that a component was to have.
    components_ : Components
        The rows of P.
    graph_ : Graph
        The fitted graph; a model loaded from a file has none.
    data_ : dict
        Counts of nodes, edges, features and labelled nodes.
    feature_names_ : tuple of str or None
        Names of the features, if the graph has them.
    notes_ : tuple of str
        What was noticed about the graph and left out, one sentence each.
    seconds_ : dict of str to float
        Wall time of the stages.
    trained_on_ : array of int
        Rows that were learned from.
    held_out_scores_ : array or None
        Scores of ``trained_on_``, each from the fold that did not learn from it, NaN where no fold held a node out; None
        with validation rows.
    fold_in_agreement_ : float or None
        None until `measure_fold_in`.

    Examples
    --------
    >>> from slimg import Graph, SlimG
    >>> edges = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("d", "e"), ("e", "f"), ("d", "f")]
    >>> labels = {"a": "left", "c": "left", "d": "right", "f": "right"}
    >>> model = SlimG(grid=[(0, 1e-2)]).fit(Graph.from_edges(edges, label=labels))
    >>> model.predict().tolist()
    ['left', 'left', 'left', 'right', 'right', 'right']
    """

    coef_: dict[str, Array]
    intercept_: Array
    data_: dict[str, Any]
    chosen_: dict[str, Any]
    feature_names_: tuple[str, ...] | None
    graph_: Graph
    components_: Components
    members_: list[dict[str, Any]]
    scoring_: str
    zero_components_: tuple[str, ...]
    dual_gap_: float
    converged_: bool
    n_iter_: int
    selection_: list[dict[str, Any]]
    rank_: int
    notes_: tuple[str, ...]
    seconds_: dict[str, float]
    trained_on_: Array
    held_out_scores_: Array | None

    def __init__(
        self,
        *,
        components: Sequence[Component] | None = None,
        grid: str | Sequence[Any] = "path",
        cv: int = 5,
        average: int = 5,
        scoring: str | None = None,
        early_stopping: int | None = None,
        class_weight: Any = None,
        tol: float = 1e-4,
        max_iter: int = 200,
        engine: Any = "memory",
        memory: str | int | None = None,
        random_state: int = 0,
        verbose: Any = False,
    ) -> None:
        self.components = components
        self.grid = grid
        self.cv = cv
        self.average = average
        self.scoring = scoring
        self.early_stopping = early_stopping
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.engine = engine
        self.memory = memory
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self, graph: Graph, y: None = None, *, train: Any = None, val: Any = None, propagated: Components | None = None
    ) -> SlimG:
        """Learn from the labelled nodes of a graph.

        Parameters
        ----------
        graph : Graph
            Edges, features, labels; nodes without a label are predicted.
        y : None
            Not used: labels belong to the graph.
        train : array of int or bool, default=None
            Rows to learn from, as numbers or a mask; None is all labelled nodes that are not in ``val``. No other labels
            are read.
        val : array of int or bool, default=None
            Rows to choose the penalties on; None chooses by stratified cross-validation, and fits again on all of ``train``.
        propagated : Components or None, default=None
            What `propagate` returned for this graph: several fits with as many labels can share it.

        Returns
        -------
        SlimG
            The fitted model itself.

        Raises
        ------
        InputError
            If an option, the rows or the labels cannot be used; the sentence says what to do.
        """
        self._check(graph, y)
        rows = self._fit_rows(graph, train, val)
        parts = self._propagate(graph, rows) if propagated is None else propagated
        nodes = next(iter(parts.blocks.values())).shape[0]
        if nodes != graph.n:
            raise InputError(f"propagated has {nodes:,} nodes and the graph {graph.n:,}: propagate this graph")
        begun = time.perf_counter()
        weights = class_weights(self.class_weight, rows.classes, rows.codes)
        matrix = parts.labelled_rows(rows.train)
        labelled = Labelled(matrix, rows.codes, len(rows.classes), weights, parts.widths, parts.engine)
        validation = None
        if rows.val is not None and rows.val_codes is not None:
            validation = parts.labelled_rows(rows.val), rows.val_codes
        with progress_for(self.verbose).stage("learning"):
            self._keep(graph, parts, search(self._search(), labelled, validation))
        self.notes_ += self._selection_notes(rows)
        self.trained_on_, self.fold_in_agreement_ = rows.train, None
        self.seconds_ = {**parts.seconds, "learning": time.perf_counter() - begun}
        return self

    def propagate(self, graph: Graph, train: Any = None) -> Components:
        """Compute the rows of P(A, X), which `fit` does unless they are given.

        Parameters
        ----------
        graph : Graph
            Edges, features or both.
        train : array of int or bool, default=None
            Rows to learn from, as in `fit`: the number of their labels decides the default list, their labels choose the
            paths along relations and whether numbers are put in ranges. A list of components needs none; without it a graph
            that has no relations gets the default for few labels.

        Returns
        -------
        Components
            The rows, for ``fit(graph, propagated=...)``.
        """
        check_graph(graph)
        needs_labels = self.components is None and (bool(graph.relations) or train is not None)
        return self._propagate(graph, self._fit_rows(graph, train, None) if needs_labels else None)

    def _propagate(self, graph: Graph, rows: FitRows | None) -> Components:
        wanted, progress = self._wanted(0 if rows is None else len(rows.train), graph.n, graph.d), progress_for(self.verbose)
        engine = self._engine(graph, wanted)
        with reporting(engine, progress), progress.stage("components", columns_through(Sizes.of(graph), wanted)):
            begun, found, notes = time.perf_counter(), None, tuple[str, ...]()
            if self.components is None and rows is not None:
                labelled = graph, engine, rows.train, rows.codes, len(rows.classes)
                far, reaching = screen_reach(*labelled, self.random_state)
                ranges, notes = screen_ranges(*labelled)
                around, told = screen_neighbours(*labelled, bool(ranges))
                wanted, notes = [*wanted, *far, *ranges, *around], (*reaching, *notes, *told)
                if graph.relations:
                    found = screen_paths(*labelled, self.random_state)
                    wanted, notes = [*wanted, *found.components], (*notes, *found.notes)
            seconds = time.perf_counter() - begun
            parts = compute_components(graph, engine, components=wanted, random_state=self.random_state)
        parts.screening, parts.notes, parts.seconds["screening"] = found, (*parts.notes, *notes), seconds
        return parts

    def _engine(self, graph: Graph, wanted: list[Component]) -> Engine:
        sizes = Sizes.of(graph)
        if isinstance(self.engine, str) and self.engine == "memory" and sizes.edges + sizes.stored_features < SMALL:
            return engine_for(self.engine)
        from slimg.components.estimate import choose_engine

        return choose_engine(self.engine, graph, self.memory, wanted)

    def _wanted(self, *sizes: int) -> list[Component]:
        return check_components(default_components(*sizes) if self.components is None else self.components)

    def estimate(self, what: Graph | Sizes) -> Estimate:
        """Estimate memory, disk and time of a fit on each engine.

        Parameters
        ----------
        what : Graph or Sizes
            A graph, or its sizes alone.

        Returns
        -------
        Estimate
            What each engine would take, and the one that is recommended.
        """
        from slimg.components.estimate import estimate

        self._wanted()
        return estimate(what, components=self.components, memory=self.memory)

    def measure_fold_in(self, share: float = 0.1) -> float:
        """Measure how often a node that is folded in has the class that a fit which saw it gives it.

        Hides a share of the nodes that were not learned from, fits the rest again with the members' penalties, folds the
        hidden ones in, and compares with this model. Takes about as long as one pair's fit.

        Parameters
        ----------
        share : float, default=0.1
            The share of nodes to hide, between 0 and 1.

        Returns
        -------
        float
            The share of hidden nodes with the same class; kept in ``fold_in_agreement_``.
        """
        self._check_fitted_here("measure_fold_in")
        if not 0 < share < 1:
            raise InputError(f"share must lie between 0 and 1, not {share!r}")
        others = np.setdiff1d(np.arange(self.graph_.n), self.trained_on_)
        count = min(max(round(share * self.graph_.n), 1), len(others))
        if count == 0:
            raise InputError("every node was learned from: there is none to hide and fold in again")
        hidden = np.zeros(self.graph_.n, bool)
        hidden[np.random.default_rng(self.random_state).choice(others, count, replace=False)] = True
        train = np.cumsum(~hidden)[self.trained_on_] - 1
        used = [each.component for each in self.components_.fitted.values()]
        rest = clone(self).set_params(components=used)
        if not self._is_unpenalized:
            rest.set_params(grid=self.chosen_grid())
        folded = rest.fit(self.graph_.subgraph(~hidden), train=train).predict(self.graph_)
        self.fold_in_agreement_ = float((folded == self.predict())[hidden].mean())
        return self.fold_in_agreement_

    @property
    def _is_unpenalized(self) -> bool:
        return isinstance(self.grid, str) and self.grid == UNPENALIZED

    def _check(self, graph: Any, y: Any) -> None:
        check_graph(graph, y)
        self._wanted()
        check_engine(self.engine, self.memory)
        progress_for(self.verbose)
        check_whole_number(self.cv, "cv", 2)
        check_whole_number(self.average, "average", 1)
        check_scoring(self.scoring)
        check_stopping(self.tol, self.max_iter)
        check_whole_number(self.random_state, "random_state", 0, 2**32 - 1)
        if self.early_stopping is not None:
            check_whole_number(self.early_stopping, "early_stopping", 1)

    def _search(self) -> SearchConfig:
        penalized, patience = not self._is_unpenalized, self.early_stopping
        grid = self.grid if penalized else "path"
        options = self.tol, self.max_iter, self.random_state, self.average, self.scoring
        return SearchConfig(grid, self.cv, penalized, patience, *options)

    def _selection_notes(self, rows: FitRows) -> tuple[str, ...]:
        """What is unusual in how the candidates were compared."""
        counts, notes = np.bincount(rows.codes), []
        single = rows.classes[counts == 1]
        if rows.val is None and len(single):
            having = "has one labelled node" if len(single) == 1 else "have one labelled node each"
            notes.append(f"{show(single)} {having}: it is learned from, but no fold can hold it out.")
        if self.scoring is None and self.scoring_ != "accuracy":
            rare = rows.classes[counts.argmin()]
            notes.append(
                f"Only {counts.min() / counts.sum():.1%} of the labels are {rare!s}: penalties were chosen by its average"
                " precision, and it is what is reported; scoring='accuracy' (--scoring accuracy) changes that."
            )
        return tuple(notes)

    def _keep(self, graph: Graph, parts: Components, found: SearchResult) -> None:
        solution = found.solution
        self.components_, self.rank_ = parts, parts.rank
        self.coef_ = {name: solution.weights[columns] for name, columns in parts.groups.items()}
        self.intercept_ = solution.intercept.astype(np.float32)
        self.graph_, self.feature_names_ = graph, graph.feature_names
        self.held_out_scores_ = found.held_out_scores
        self._scores = self._nodes = self._scorer = self._kept = None
        vars(self).pop("_calibration", None)
        self.data_ = {"nodes": graph.n, "edges": graph.edges, "features": graph.d, "labelled": len(graph.labelled)}
        if graph.reading is not None:
            self.data_["reading"] = graph.reading
        self.selection_ = [record.as_dict() for record in found.records]
        self.chosen_, self.scoring_ = self.selection_[found.chosen], found.scoring
        self.members_ = [self.selection_[place] for place in found.members]
        self.dual_gap_, self.converged_, self.n_iter_ = solution.gap, solution.converged, solution.iterations
        self.zero_components_ = tuple(name for name, weights in self.coef_.items() if not weights.any())
        self.notes_ = (*graph.notes, *parts.notes)
        if not solution.converged and not self._is_unpenalized:
            warn_unconverged(solution.gap, self.tol, solution.iterations)
