"""The search for the penalties: candidates on the labelled rows, compared on validation rows or by folds.

    rows P_L (m × p) of the labelled nodes, codes y (m)  ─▶  each candidate's solution  ─▶  record  ─▶  the best solution

Candidates are the pairs (λ₁, λ₂) of a path (`learn.path`) and components fitted separately (`learn.separate`). With
validation rows the best solution is taken as it is; with folds the best candidate is solved again on all rows, and the
scores of its folds for the rows they held out are kept.

Folds and warm-start groups (`learn.path`) do not depend on one another: where products are too small to be cut into blocks,
the engine's threads share them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np

from slimg.engine.base import Array
from slimg.engine.blas import one_thread
from slimg.learn.labelled import Labelled, Problem, stratified_folds
from slimg.learn.path import Pair, Record, best, merge, resolve_pairs, solve_path, validate, warm_start_groups
from slimg.learn.separate import Check, SeparateFits, check_penalties_by_component, solve_separately
from slimg.learn.solver import Solution


@dataclass(frozen=True)
class SearchConfig:
    """How candidates are tried.

    Attributes
    ----------
    grid : str or sequence, default "path"
        "path", "paper", or pairs (l1, group) and mappings {component: λ} of components fitted separately.
    folds : int, default 5
        Folds when there are no validation rows (fewer if a class has fewer rows).
    sparsity : bool, default True
        False drops both penalties and stops early instead.
    patience : int, optional
        Leave a λ₁ after this many pairs in a row without a better validation accuracy; None never does.
    tol : float, default 1e-4
        The duality gap to reach, as a share of the loss at W = 0.
    max_iter : int, default 200
        Newton steps at most.
    random_state : int, default 0
        Seed of the folds.
    """

    grid: str | Sequence[Any] = "path"
    folds: int = 5
    sparsity: bool = True
    patience: int | None = None
    tol: float = 1e-4
    max_iter: int = 200
    random_state: int = 0


@dataclass(frozen=True)
class SearchResult:
    """What a search found.

    Attributes
    ----------
    solution : Solution
        Of the best candidate.
    records : list of Record
        One for each candidate.
    chosen : int
        The position of the best candidate in ``records``.
    held_out_scores : ndarray of shape (m, c) or None
        With folds, the scores of each row from the fold that held it out.
    """

    solution: Solution
    records: list[Record]
    chosen: int
    held_out_scores: Array | None = None


@one_thread()  # scores of validation rows are the same for any number of threads, too
def search(config: SearchConfig, labelled: Labelled, validation: tuple[Array, Array] | None) -> SearchResult:
    """Find the best candidate on validation rows, or by folds without them.

    Parameters
    ----------
    config : SearchConfig
    labelled : Labelled
        The rows to fit on.
    validation : tuple of ndarray (n, p) and ndarray (n,), or None
        Rows and their codes; −1 is a class without training rows, and always wrong.

    Returns
    -------
    result : SearchResult
    """
    if not config.sparsity:
        return _stopped_early(config, labelled, validation)
    problem = labelled.problem()
    pairs = _pairs(config, problem)
    if validation is not None:
        return _best_on_path(config, labelled, problem, pairs, validation)
    return _best_by_folds(config, labelled, problem, pairs)


def _pairs(config: SearchConfig, problem: Problem) -> list[Pair]:
    """Pairs of the grid, without the mappings of components fitted separately."""
    grid = config.grid
    if isinstance(grid, (str, Mapping)) or not isinstance(grid, Iterable):
        return resolve_pairs(grid, problem)
    entries = list(grid)
    pairs = [entry for entry in entries if not isinstance(entry, Mapping)]
    return resolve_pairs(pairs, problem) if pairs or not entries else []


def _separate_fits(config: SearchConfig, labelled: Labelled, checks: Sequence[Check]) -> list[SeparateFits]:
    """Components fitted separately: with penalties of their own on the default path, or the mappings of the grid."""
    given: list[dict[str, float] | None] = []
    if not isinstance(config.grid, str):
        names = list(labelled.widths)
        given += [check_penalties_by_component(entry, names) for entry in config.grid if isinstance(entry, Mapping)]
    elif config.grid == "path" and len(labelled.widths) > 1:
        given.append(None)
    return [SeparateFits(labelled, checks, config.tol, config.max_iter, penalties) for penalties in given]


def _best_on_path(
    config: SearchConfig, labelled: Labelled, problem: Problem, pairs: list[Pair], validation: tuple[Array, Array]
) -> SearchResult:
    separate = (
        (candidate.record, candidate.solutions[0])
        for fits in _separate_fits(config, labelled, [Check(*validation)])
        for candidate in fits.candidates(labelled.each(fits.tasks()))
    )
    records: list[Record] = []
    for record, solution in chain(_path(config, labelled, problem, pairs, validation), separate):
        records.append(record)
        if best(records) == len(records) - 1:
            kept = solution
    return SearchResult(kept, records, best(records))


def _best_by_folds(config: SearchConfig, labelled: Labelled, problem: Problem, pairs: list[Pair]) -> SearchResult:
    folds = stratified_folds(labelled.codes, config.folds, config.random_state)
    checks = [Check(labelled.matrix[check], labelled.codes[check], fit) for fit, check in folds]
    by_folds, separate = _ByFolds(config, labelled, pairs, checks), _separate_fits(config, labelled, checks)
    several: list[Sequence[Callable[[], Any]]] = [by_folds.tasks(), *(fits.tasks() for fits in separate)]
    results = iter(labelled.each([task for tasks in several for task in tasks]))
    first, *rest = [list(islice(results, len(tasks))) for tasks in several]
    records, scores_of = by_folds.records(first, [check for _, check in folds])
    candidates = [each for fits, found in zip(separate, rest, strict=True) for each in fits.candidates(found)]
    records += [candidate.record for candidate in candidates]
    chosen = best(records)
    record = records[chosen]
    if record.separate is None:
        ((_, solution),) = solve_path(problem, [record.pair], config.tol, config.max_iter)
        return SearchResult(solution, records, chosen, scores_of[record.pair])
    scores = np.zeros((len(labelled.codes), labelled.classes), np.float32)
    for (_, check), fold, part in zip(folds, checks, candidates[chosen - len(records)].solutions, strict=True):
        scores[check] = part.scores(fold.matrix)
    return SearchResult(solve_separately(labelled, record.separate, config.tol, config.max_iter), records, chosen, scores)


class _ByFolds:
    """Warm-start groups of the path on the rows of each fold: ``tasks`` to run in any order, then their records."""

    def __init__(self, config: SearchConfig, labelled: Labelled, pairs: list[Pair], checks: Sequence[Check]):
        self._config, self._labelled, self._pairs, self._checks = config, labelled, pairs, checks
        longest_first = sorted(warm_start_groups(pairs), key=lambda group: -max(pair.l1 for pair in group))
        self._parts = [(group, place) for group in longest_first for place in range(len(checks))]

    def tasks(self) -> list[Callable[[], list[tuple[Record, Array]]]]:
        return [partial(self._validate, group, self._checks[place]) for group, place in self._parts]

    def records(self, results: Sequence[Any], rows: Sequence[Array]) -> tuple[list[Record], dict[Pair, Array]]:
        """Each pair's record over the folds, and its scores of the rows held out (m × c)."""
        labelled = self._labelled
        by_pair: dict[Pair, list[Record]] = {pair: [] for pair in self._pairs}
        held_out = {pair: np.zeros((len(labelled.codes), labelled.classes), np.float32) for pair in self._pairs}
        for (_, place), found in zip(self._parts, results, strict=True):
            for record, scores in found:
                by_pair[record.pair].append(record)
                held_out[record.pair][rows[place]] = scores
        return [merge(records) for records in by_pair.values() if len(records) == len(self._checks)], held_out

    def _validate(self, group: list[Pair], check: Check) -> list[tuple[Record, Array]]:
        labelled = self._labelled
        path = _path(self._config, labelled, labelled.problem(check.fit), group, (check.matrix, check.codes))
        return [(record, solution.scores(check.matrix)) for record, solution in path]


def _path(
    config: SearchConfig, labelled: Labelled, problem: Problem, pairs: list[Pair], validation: tuple[Array, Array]
) -> Iterator[tuple[Record, Solution]]:
    stop, names, group_of = _Patience(config.patience), list(labelled.widths), labelled.group_of
    for pair, solution in solve_path(problem, pairs, config.tol, config.max_iter, skip=stop.reached):
        record = validate(pair, solution, names, group_of, *validation)
        stop.note(pair, record.val_accuracy)
        yield record, solution


def _stopped_early(config: SearchConfig, labelled: Labelled, validation: tuple[Array, Array] | None) -> SearchResult:
    """No penalty: the epoch with the best validation accuracy, or as many epochs as the folds took in the median."""
    from slimg.learn.early_stopping import fit_stopped

    begun, matrix, codes, classes = time.perf_counter(), labelled.matrix, labelled.codes, labelled.classes
    held_out_scores = None
    if validation is not None:
        runs = [fit_stopped(matrix, codes, classes, validation=validation)]
        final = runs[0]
    else:
        folds = stratified_folds(labelled.codes, config.folds, config.random_state)
        runs = [
            fit_stopped(matrix[fit], codes[fit], classes, validation=(matrix[check], codes[check])) for fit, check in folds
        ]
        held_out_scores = np.zeros((len(codes), classes), np.float32)
        for (_, check), run in zip(folds, runs, strict=True):
            held_out_scores[check] = matrix[check] @ run.weights + run.intercept
        final = fit_stopped(matrix, codes, classes, epochs=max(1, int(np.median([run.epoch for run in runs]))))
    accuracy, loss = (float(np.mean([getattr(run, key) for run in runs])) for key in ("val_accuracy", "val_loss"))
    seconds, nonzero = time.perf_counter() - begun, float(np.count_nonzero(final.weights))
    record = Record(0.0, 0.0, False, accuracy, loss, np.nan, (), nonzero, False, seconds)
    weights = final.weights.astype(np.float32)
    solution = Solution(weights, final.intercept, np.nan, np.nan, False, final.epoch, 0.0, seconds)
    return SearchResult(solution, [record], 0, held_out_scores)


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
