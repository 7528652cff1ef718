"""`SlimG`: the estimator that joins graph, components, path and predictions.

    P(A, X) = U ‖ g(X) ‖ g(A_row²X) ‖ g(Ã_sym²X)                 computed once (`propagate.components`)
    min_W  mean CE over labelled rows + λ₁‖W‖₁ + λ₂ Σ_g ‖W_g‖_F  for each pair of a path (`learn.path`)
    the pair with the best validation accuracy predicts every node
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from slimg.components.components import Components, compute_components
from slimg.components.options import COMPONENTS
from slimg.components.projector import Projector
from slimg.engine.choice import check_engine, engine_for
from slimg.engine.estimate import Estimate, Sizes, columns_through, estimate, work_files
from slimg.errors import InputError
from slimg.explain.explainer import Scorer
from slimg.fitted import FittedModel
from slimg.graph.checks import check_train_val
from slimg.graph.graph import Graph
from slimg.learn.labelled import Labelled
from slimg.learn.search import SearchConfig, SearchResult, search
from slimg.learn.sparse_group import check_stopping, class_weights, warn_unconverged
from slimg.progress import progress_for, reporting
from slimg.sizes import as_bytes


class SlimG(FittedModel):
    """Node classifier of "Less is More: SlimG for Accurate, Robust, and Interpretable Graph Mining" (KDD '23).

    Parameters
    ----------
    grid : "path", "paper", or a list of pairs (l1, group) and of mappings {component: λ}
        Penalties to try. "path" goes from λ_max down, without and with an ℓ₁ part, adds a few pairs with one joint group
        (`slimg.learn.path`), and components fitted separately whose scores are added (`slimg.learn.separate`), which is what a
        mapping asks for; "paper" has the paper's twelve pairs.
    cv : int
        Folds when no validation rows are given (fewer if a class has fewer labelled nodes).
    components, pca, k_row, k_sym : the paper's ablations; see `slimg.components.components.compute_components`.
    sparsity : bool
        False drops both penalties; then no minimiser exists on separable data, so L-BFGS is stopped early on the
        validation accuracy and there is no certificate.
    early_stopping : int or None
        Leave a λ₁ after this many pairs in a row without a better validation accuracy; None solves every pair.
    normalize_features : "row" or None
        "row" divides each row by its sum, after subtracting its minimum where entries are negative.
    energy, max_rank : the rank of U and of the PCAs.
    class_weight : "balanced", a dict by class, or None
    tol, max_iter : the duality gap to reach, as a share of the loss at W = 0, and Newton steps at most. Rarely a component
        that is zero in the solution still has a small weight at the default gap; ``tol=1e-6`` tells.
    engine : "memory", "mapped" (row matrices as files), "dask", "auto" (by `estimate`),
        a Dask client, or an engine
    memory : size such as "4GB", or None
        The budget of "mapped" and "auto"; None takes most of what is free.
    random_state : int
        Seeds the folds and the start of the iterative decompositions.
    verbose : bool, or a `slimg.progress.Progress`
        True shows stages and the time that is left, on a terminal or in a notebook.

    Attributes
    ----------
    classes_, coef_ : {component: (width, classes)}, intercept_, rank_, dual_gap_, n_iter_ (Newton steps),
    chosen_ (the record of what was chosen), l1_, group_, joint_, separate_penalties_ (its penalties), selection_ (one record per
    candidate), zero_components_, components_, graph_, data_, notes_, seconds_, trained_on_ (rows),
    held_out_scores_ (of ``trained_on_``, each from the fold that had not seen it; None with validation rows),
    fold_in_agreement_ (None until `measure_fold_in`)
    """

    def __init__(
        self,
        *,
        grid: str | Sequence[Any] = "path",
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
        memory: str | int | None = None,
        random_state: int = 0,
        verbose: Any = False,
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
        self.memory = memory
        self.random_state = random_state
        self.verbose = verbose

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
        present = np.unique(graph.codes[train_rows])
        self.classes_ = graph.classes[present]
        code_of = np.full(len(graph.classes) + 1, -1)
        code_of[present] = np.arange(len(present))
        codes = code_of[graph.codes[train_rows]]
        weights = class_weights(self.class_weight, self.classes_, codes)
        labelled = Labelled(parts.labelled_rows(train_rows), codes, len(present), weights, parts.widths, parts.engine)
        validation = None if val_rows is None else (parts.labelled_rows(val_rows), code_of[graph.codes[val_rows]])
        with progress_for(self.verbose).stage("learning"):
            self._keep(graph, parts, search(self._search(), labelled, validation))
        self.trained_on_, self.fold_in_agreement_ = train_rows, None
        self.seconds_ = {**parts.seconds, "learning": time.perf_counter() - begun}
        return self

    def measure_fold_in(self, share: float = 0.1) -> float:
        """How often a node that is folded in has the class that a fit which saw it gives it.

        Hides a share of the nodes that were not learned from, fits the rest again with the chosen pair, folds the hidden
        ones in, and compares with this model. Takes about as long as one pair's fit; kept in ``fold_in_agreement_``.
        """
        check_is_fitted(self, "graph_", msg="measure_fold_in needs a model that was fitted here, not loaded from a file")
        if not 0 < share < 1:
            raise InputError(f"share must lie between 0 and 1, not {share!r}")
        others = np.setdiff1d(np.arange(self.graph_.n), self.trained_on_)
        count = min(round(share * self.graph_.n), len(others))
        if count == 0:
            raise InputError("every node was learned from: there is none to hide and fold in again")
        hidden = np.zeros(self.graph_.n, bool)
        hidden[np.random.default_rng(self.random_state).choice(others, count, replace=False)] = True
        train = np.cumsum(~hidden)[self.trained_on_] - 1
        rest = clone(self).set_params(grid=self.chosen_grid() if self.sparsity else self.grid)
        folded = rest.fit(self.graph_.subgraph(~hidden), train=train).predict(self.graph_)
        self.fold_in_agreement_ = float((folded == self.predict())[hidden].mean())
        return self.fold_in_agreement_

    def _check(self, graph: Any, y: Any) -> None:
        if not isinstance(graph, Graph):
            raise InputError(f"fit needs a slimg.Graph (see Graph.from_arrays, Graph.from_edges), not {type(graph)}")
        if y is not None:
            raise InputError("labels belong to the graph: use Graph.from_arrays(..., labels=y) and fit(graph)")
        check_engine(self.engine, self.memory)
        progress_for(self.verbose)
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
        sizes, progress = Sizes.of(graph), progress_for(self.verbose)
        engine = engine_for(self.engine, graph, self.memory, work_files(sizes, self.max_rank))
        with reporting(engine, progress), progress.stage("components", columns_through(sizes, self.max_rank)):
            return compute_components(
                graph,
                engine,
                components=self.components,
                pca=self.pca,
                k_row=self.k_row,
                k_sym=self.k_sym,
                normalize=self.normalize_features,
                energy=self.energy,
                max_rank=self.max_rank,
                random_state=self.random_state,
            )

    def estimate(self, what: Graph | Sizes) -> Estimate:
        """Memory, disk and time of a fit on each engine, before it begins; sizes alone are enough."""
        return estimate(what, memory=None if self.memory is None else as_bytes(self.memory))

    def _search(self) -> SearchConfig:
        patience, seed = self.early_stopping, self.random_state
        return SearchConfig(self.grid, self.cv, self.sparsity, patience, self.tol, self.max_iter, seed)

    def _keep(self, graph: Graph, parts: Components, found: SearchResult) -> None:
        solution = found.solution
        self.components_, self.rank_ = parts, parts.rank
        self.coef_ = {name: solution.weights[columns] for name, columns in parts.groups.items()}
        self.intercept_ = solution.intercept.astype(np.float32)
        self.scorer_ = Scorer(Projector.of(parts), self.coef_, self.intercept_, self.classes_)
        self.graph_, self.feature_names_ = graph, graph.feature_names
        self.held_out_scores_ = found.held_out_scores
        self._scores = self._nodes = None
        counts = {"nodes": graph.n, "edges": graph.edges, "features": graph.d, "labelled": len(graph.labelled)}
        self.data_ = counts
        self.selection_ = [record.as_dict() for record in found.records]
        self.chosen_ = self.selection_[found.chosen]
        self.dual_gap_, self.converged_, self.n_iter_ = solution.gap, solution.converged, solution.iterations
        self.zero_components_ = tuple(name for name, weights in self.coef_.items() if not weights.any())
        self.notes_ = (*graph.notes, *parts.notes)
        if not solution.converged and self.sparsity:
            warn_unconverged(solution.gap, self.tol, solution.iterations)
