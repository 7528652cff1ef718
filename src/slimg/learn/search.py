"""The search for the pair (λ₁, λ₂): a path of pairs on the labelled rows, judged on validation rows or by folds.

    rows P_L (m × p) of the labelled nodes, codes y (m)  ─▶  each pair's solution  ─▶  record  ─▶  the best pair's solution

With validation rows the best solution on the path is taken as it is; with folds the best pair is solved again on all rows,
and the scores that its folds gave to the rows they had not seen are kept.

Folds and lanes (`learn.path`) do not depend on one another: where products are too small to be cut into blocks, they are
what the engine's threads share.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from slimg.engine.base import Array
from slimg.learn.early_stopping import fit_stopped
from slimg.learn.path import Pair, lanes, resolve_pairs, solve_path
from slimg.learn.selection import Record, best, merge, validate
from slimg.learn.solver import Problem, Solution

SHARED_WORK = 1 << 27
"""Multiplications (m·p·c) from which a product with the rows has blocks enough for all threads."""


@dataclass(frozen=True)
class Search:
    """How pairs are tried.

    Attributes
    ----------
    grid : "path", "paper" or pairs
    folds : how many when there are no validation rows (fewer if a class has fewer rows)
    sparsity : False drops both penalties and stops early instead
    patience : leave a λ₁ after this many pairs in a row without a better validation accuracy; None never
    """

    grid: str | Sequence[tuple[float, float]] = "path"
    folds: int = 5
    sparsity: bool = True
    patience: int | None = None
    tol: float = 1e-4
    max_iter: int = 200
    random_state: int = 0


@dataclass(frozen=True)
class Found:
    """The chosen solution, one record per pair that was tried, which of them was chosen, and with folds the scores (m × c)
    of each row from the fold that had not seen it."""

    solution: Solution
    records: list[Record]
    chosen: int
    unseen: Array | None = None


@dataclass(frozen=True)
class Labelled:
    """Rows to learn from: matrix (m × p), codes (m), the number of classes, row weights (m), groups by name and width."""

    matrix: Array
    codes: Array
    classes: int
    weights: Array
    widths: dict[str, int]
    engine: Any

    @property
    def group_of(self) -> Array:
        return np.repeat(np.arange(len(self.widths)), list(self.widths.values()))

    def problem(self, rows: Array | None = None) -> Problem:
        """The problem on all rows, or on some of them."""
        matrix, codes, weights = self.matrix, self.codes, self.weights
        if rows is not None:
            matrix, codes, weights = matrix[rows], codes[rows], weights[rows]
        return Problem.build(matrix, codes, self.classes, self.group_of, self.engine, weights)

    def folds(self, count: int, random_state: int) -> list[tuple[Array, Array]]:
        """Stratified (fit, check) places; no more folds than the smallest class has rows."""
        count = min(count, int(np.bincount(self.codes).min()))
        splitter = StratifiedKFold(count, shuffle=True, random_state=random_state)
        return list(splitter.split(self.matrix, self.codes))


def search(how: Search, labelled: Labelled, validation: tuple[Array, Array] | None) -> Found:
    """The best pair by validation rows (matrix, codes; −1 is a class that training has not seen), or by folds."""
    if not how.sparsity:
        return _stopped_early(how, labelled, validation)
    problem = labelled.problem()
    pairs = resolve_pairs(how.grid, problem)
    if validation is not None:
        return _best_on_path(how, labelled, problem, pairs, validation)
    records, unseen = _cross_validate(how, labelled, pairs)
    chosen = best(records)
    pair = records[chosen].pair
    ((_, solution),) = solve_path(problem, [pair], how.tol, how.max_iter)
    return Found(solution, records, chosen, unseen[pair])


def _best_on_path(
    how: Search, labelled: Labelled, problem: Problem, pairs: list[Pair], validation: tuple[Array, Array]
) -> Found:
    records: list[Record] = []
    for record, solution in _path(how, labelled, problem, pairs, validation):
        records.append(record)
        if best(records) == len(records) - 1:
            kept = solution
    return Found(kept, records, best(records))


def _cross_validate(how: Search, labelled: Labelled, pairs: list[Pair]) -> tuple[list[Record], dict[Pair, Array]]:
    """Each pair's record over the folds, and its scores of the rows held out (m × c)."""
    folds = labelled.folds(how.folds, how.random_state)
    by_pair: dict[Pair, list[Record]] = {pair: [] for pair in pairs}
    unseen = {pair: np.zeros((len(labelled.codes), labelled.classes), np.float32) for pair in pairs}

    def judge(lane: list[Pair], fit: Array, check: Array) -> list[tuple[Record, Array]]:
        rows = labelled.matrix[check]
        path = _path(how, labelled, labelled.problem(fit), lane, (rows, labelled.codes[check]))
        return [(record, solution.scores(rows)) for record, solution in path]

    parts = [(lane, *fold) for lane in lanes(pairs) for fold in folds]
    for (_, _, check), found in zip(parts, _each(labelled, [partial(judge, *part) for part in parts]), strict=True):
        for record, scores in found:
            by_pair[record.pair].append(record)
            unseen[record.pair][check] = scores
    return [merge(records) for records in by_pair.values() if len(records) == len(folds)], unseen


def _each(labelled: Labelled, tasks: Sequence[Callable[[], Any]]) -> list[Any]:
    """Results of tasks, side by side unless products with the rows are large enough to occupy all threads."""
    side_by_side = labelled.matrix.size * labelled.classes < SHARED_WORK
    return labelled.engine.concurrently(*tasks) if side_by_side else [task() for task in tasks]


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
        folds = labelled.folds(how.folds, how.random_state)
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
