"""The search for the penalties: candidates on the labelled rows, judged on validation rows or by folds.

    rows P_L (m × p) of the labelled nodes, codes y (m)  ─▶  each candidate's solution  ─▶  record  ─▶  the best solution

Candidates are the pairs (λ₁, λ₂) of a path (`learn.path`) and components learned apart (`learn.apart`). With validation rows
the best solution is taken as it is; with folds the best candidate is solved again on all rows, and the scores that its folds
gave to the rows they had not seen are kept.

Folds and lanes (`learn.path`) do not depend on one another: where products are too small to be cut into blocks, they are
what the engine's threads share.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from slimg.engine.base import Array
from slimg.engine.blas import one_thread
from slimg.learn.apart import Apart, Candidate, Check, check_apart, solve_apart
from slimg.learn.early_stopping import fit_stopped
from slimg.learn.labelled import Labelled, stratified_folds
from slimg.learn.path import Pair, lanes, resolve_pairs, solve_path
from slimg.learn.selection import Record, best, merge, validate
from slimg.learn.solver import Problem, Solution


@dataclass(frozen=True)
class Search:
    """How pairs are tried.

    Attributes
    ----------
    grid : "path", "paper", or pairs and mappings {component: λ} of components learned apart
    folds : how many when there are no validation rows (fewer if a class has fewer rows)
    sparsity : False drops both penalties and stops early instead
    patience : leave a λ₁ after this many pairs in a row without a better validation accuracy; None never
    """

    grid: str | Sequence[Any] = "path"
    folds: int = 5
    sparsity: bool = True
    patience: int | None = None
    tol: float = 1e-4
    max_iter: int = 200
    random_state: int = 0


@dataclass(frozen=True)
class Found:
    """The chosen solution, one record per candidate, which of them was chosen, and with folds the scores (m × c) of each row
    from the fold that had not seen it."""

    solution: Solution
    records: list[Record]
    chosen: int
    unseen: Array | None = None


@one_thread()  # scores of validation rows are the same for any number of threads, too
def search(how: Search, labelled: Labelled, validation: tuple[Array, Array] | None) -> Found:
    """The best candidate by validation rows (matrix, codes; −1 is a class that training has not seen), or by folds."""
    if not how.sparsity:
        return _stopped_early(how, labelled, validation)
    problem = labelled.problem()
    pairs = _pairs(how, problem)
    if validation is not None:
        return _best_on_path(how, labelled, problem, pairs, validation)
    return _best_by_folds(how, labelled, problem, pairs)


def _pairs(how: Search, problem: Problem) -> list[Pair]:
    """Pairs of the grid, without the mappings of components learned apart."""
    grid = how.grid
    if isinstance(grid, (str, Mapping)) or not isinstance(grid, Iterable):
        return resolve_pairs(grid, problem)
    entries = list(grid)
    pairs = [entry for entry in entries if not isinstance(entry, Mapping)]
    return resolve_pairs(pairs, problem) if pairs or not entries else []


def _apart(how: Search, labelled: Labelled, checks: Sequence[Check]) -> list[Apart]:
    """Components learned apart: looked for on the default path, or the mappings of the grid."""
    if isinstance(how.grid, str):
        wanted = how.grid == "path" and len(labelled.widths) > 1
        return [Apart(labelled, checks, how.tol, how.max_iter)] if wanted else []
    given = [check_apart(entry, list(labelled.widths)) for entry in how.grid if isinstance(entry, Mapping)]
    fixed = [{name: [penalty] for name, penalty in apart.items()} for apart in given]
    return [Apart(labelled, checks, how.tol, how.max_iter, tried) for tried in fixed]


def _candidates(how: Search, plan: Apart, results: list[Any]) -> list[Candidate]:
    return plan.candidates(results) if isinstance(how.grid, str) else [plan.all_of_them(results)]


def _best_on_path(
    how: Search, labelled: Labelled, problem: Problem, pairs: list[Pair], validation: tuple[Array, Array]
) -> Found:
    records: list[Record] = []
    for record, solution in _path(how, labelled, problem, pairs, validation):
        records.append(record)
        if best(records) == len(records) - 1:
            kept = solution
    for plan in _apart(how, labelled, [Check(*validation)]):
        for candidate in _candidates(how, plan, labelled.each(plan.tasks())):
            records.append(candidate.record)
            if best(records) == len(records) - 1:
                kept = candidate.solutions[0]
    return Found(kept, records, best(records))


def _best_by_folds(how: Search, labelled: Labelled, problem: Problem, pairs: list[Pair]) -> Found:
    folds = stratified_folds(labelled.codes, how.folds, how.random_state)
    checks = [Check(labelled.matrix[check], labelled.codes[check], fit) for fit, check in folds]
    by_folds, plans = _ByFolds(how, labelled, pairs, checks), _apart(how, labelled, checks)
    several: list[Sequence[Callable[[], Any]]] = [by_folds.tasks(), *(plan.tasks() for plan in plans)]
    results = iter(labelled.each([task for tasks in several for task in tasks]))
    first, *rest = [list(islice(results, len(tasks))) for tasks in several]
    records, unseen = by_folds.records(first, [check for _, check in folds])
    candidates = [each for plan, found in zip(plans, rest, strict=True) for each in _candidates(how, plan, found)]
    records += [candidate.record for candidate in candidates]
    chosen = best(records)
    record = records[chosen]
    if record.apart is None:
        ((_, solution),) = solve_path(problem, [record.pair], how.tol, how.max_iter)
        return Found(solution, records, chosen, unseen[record.pair])
    scores = np.zeros((len(labelled.codes), labelled.classes), np.float32)
    for (_, check), fold, part in zip(folds, checks, candidates[chosen - len(records)].solutions, strict=True):
        scores[check] = part.scores(fold.matrix)
    return Found(solve_apart(labelled, record.apart, how.tol, how.max_iter), records, chosen, scores)


class _ByFolds:
    """Lanes of the path on the rows of each fold: ``tasks`` to run in any order, then records of their results."""

    def __init__(self, how: Search, labelled: Labelled, pairs: list[Pair], checks: Sequence[Check]):
        self._how, self._labelled, self._pairs, self._checks = how, labelled, pairs, checks
        longest_first = sorted(lanes(pairs), key=lambda lane: -max(pair.l1 for pair in lane))
        self._parts = [(lane, place) for lane in longest_first for place in range(len(checks))]

    def tasks(self) -> list[Callable[[], list[tuple[Record, Array]]]]:
        return [partial(self._judge, lane, self._checks[place]) for lane, place in self._parts]

    def records(self, results: Sequence[Any], rows: Sequence[Array]) -> tuple[list[Record], dict[Pair, Array]]:
        """Each pair's record over the folds, and its scores of the rows held out (m × c)."""
        labelled = self._labelled
        by_pair: dict[Pair, list[Record]] = {pair: [] for pair in self._pairs}
        unseen = {pair: np.zeros((len(labelled.codes), labelled.classes), np.float32) for pair in self._pairs}
        for (_, place), found in zip(self._parts, results, strict=True):
            for record, scores in found:
                by_pair[record.pair].append(record)
                unseen[record.pair][rows[place]] = scores
        return [merge(records) for records in by_pair.values() if len(records) == len(self._checks)], unseen

    def _judge(self, lane: list[Pair], check: Check) -> list[tuple[Record, Array]]:
        labelled = self._labelled
        path = _path(self._how, labelled, labelled.problem(check.fit), lane, (check.matrix, check.codes))
        return [(record, solution.scores(check.matrix)) for record, solution in path]


def _path(
    how: Search, labelled: Labelled, problem: Problem, pairs: list[Pair], validation: tuple[Array, Array]
) -> Iterator[tuple[Record, Solution]]:
    stop, names, group_of = _Patience(how.patience), list(labelled.widths), labelled.group_of
    for pair, solution in solve_path(problem, pairs, how.tol, how.max_iter, skip=stop.reached):
        record = validate(pair, solution, names, group_of, *validation)
        stop.note(pair, record.val_accuracy)
        yield record, solution


def _stopped_early(how: Search, labelled: Labelled, validation: tuple[Array, Array] | None) -> Found:
    """No penalty: the epoch with the best validation accuracy, or as many epochs as the folds took in the median."""
    begun, matrix, codes, classes = time.perf_counter(), labelled.matrix, labelled.codes, labelled.classes
    unseen = None
    if validation is not None:
        runs = [fit_stopped(matrix, codes, classes, validation=validation)]
        final = runs[0]
    else:
        folds = stratified_folds(labelled.codes, how.folds, how.random_state)
        runs = [
            fit_stopped(matrix[fit], codes[fit], classes, validation=(matrix[check], codes[check])) for fit, check in folds
        ]
        unseen = np.zeros((len(codes), classes), np.float32)
        for (_, check), run in zip(folds, runs, strict=True):
            unseen[check] = matrix[check] @ run.weights + run.intercept
        final = fit_stopped(matrix, codes, classes, epochs=max(1, int(np.median([run.epoch for run in runs]))))
    accuracy, loss = (float(np.mean([getattr(run, key) for run in runs])) for key in ("val_accuracy", "val_loss"))
    seconds, nonzero = time.perf_counter() - begun, float(np.count_nonzero(final.weights))
    record = Record(0.0, 0.0, False, accuracy, loss, np.nan, (), nonzero, False, seconds)
    weights = final.weights.astype(np.float32)
    solution = Solution(weights, final.intercept, np.nan, np.nan, False, final.epoch, 0.0, seconds)
    return Found(solution, [record], 0, unseen)


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
