"""The search for the penalties: candidates on the labelled rows, compared on validation rows or by folds.

    rows P_L (m × p), codes y (m)  ─▶  candidates, solved loosely  ─▶  records  ─▶  a few picks, solved to ``tol``  ─▶  mean

Candidates are the pairs (λ₁, λ₂) of a path and components fitted separately (both `learn.path`). To compare
them a gap of `LOOSE` is enough. The first fold tries all of them; those that its rows show to be worse than the best are
left, the others start on the next folds where they ended on the last one. The scores that folds give to the rows they held
out are kept. Where labels are many, a sample of the rows to fit on is tried before the first fold: candidates that are behind
the best by more than `MARGIN` there are left, unless they are a weaker penalty of the same kind, which more rows may favour.

The model is a mean of k picks, W = (1/k) Σ t_j W_j, b = (1/k) Σ t_j b_j: the best candidate, and then, one after another, the one
with which the mean has the least loss on the rows held out; one may be picked several times. t_j is the scale at which candidate
j has its own least loss there, since strong penalties leave scores too small, and a sum of components too large. It is still one
linear model. Each member is certified; a component is zero if it is zero in all of them.

Folds and warm-start groups do not depend on one another: where products are too small to be cut into blocks, the engine's
threads share them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, Protocol

import numpy as np

from slimg.engine.base import Array
from slimg.engine.blas import one_thread
from slimg.learn.objective import METRICS, Labelled, Problem, check_scoring, default_scoring, log_loss, stratified_folds
from slimg.learn.path import (
    Candidate,
    Check,
    Pair,
    Record,
    SeparateFits,
    check_penalties_by_component,
    merge,
    ranked,
    record_of,
    resolve_pairs,
    solve_path,
    starts_for,
    warm_start_groups,
    zero_groups,
)
from slimg.learn.solver import Solution

LOOSE = 1e-3
"""The gap to which candidates are solved to be compared (``tol`` if that is larger)."""
REACH = 2.0
"""Standard errors of the difference in accuracy by which a candidate must be behind the best to be left."""
SCALES = 2.0 ** np.arange(-1, 5.5, 0.5)
"""What the scores of a candidate may be multiplied by."""
SAMPLE, LARGE, MARGIN = 1 << 13, 1 << 15, 0.01
"""Rows that candidates are tried on first where there are more than `LARGE`, and accuracy by which they must be behind."""


@dataclass(frozen=True)
class SearchConfig:
    """How candidates are tried.

    Attributes
    ----------
    grid : str or sequence, default "path"
        "path", "paper", or pairs (l1, group) and mappings {component: λ} of components fitted separately.
    folds : int, default 5
        Folds when there are no validation rows (no more than the largest class has rows).
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
    average : int, default 5
        Picks of which the model is the mean.
    scoring : str, optional
        A name of `learn.objective`; None is the accuracy, and average precision if one of two classes is rare.
    """

    grid: str | Sequence[Any] = "path"
    folds: int = 5
    sparsity: bool = True
    patience: int | None = None
    tol: float = 1e-4
    max_iter: int = 200
    random_state: int = 0
    average: int = 5
    scoring: str | None = None


@dataclass(frozen=True)
class SearchResult:
    """What a search found.

    Attributes
    ----------
    solution : Solution
        The sum of the members, each by its weight; its gap is the largest of theirs.
    records : list of Record
        One for each candidate.
    chosen : int
        The position of the best candidate in ``records``.
    held_out_scores : ndarray of shape (m, c) or None
        With folds, the scores of each row from the fold that held it out, NaN for rows that none did.
    members : tuple of int
        Positions of the members, the best first.
    scoring : str
        What candidates were compared by.
    """

    solution: Solution
    records: list[Record]
    chosen: int
    held_out_scores: Array | None = None
    members: tuple[int, ...] = (0,)
    scoring: str = "accuracy"


class Fits(Protocol):
    """Candidates that are fitted together on the rows of each check."""

    def tasks(self, place: int) -> list[Callable[[], Any]]:
        """Fits on one check, to run in any order."""

    def add(self, place: int, results: Sequence[Any]) -> None:
        """Take the results of the tasks of a check."""

    def forget(self, place: int) -> None:
        """Drop the results of a check; what they left off with is where the next ones begin."""

    def candidates(self) -> list[Candidate]:
        """Candidates and how they did so far."""

    def keep(self, candidates: Sequence[Candidate]) -> None:
        """Go on with these only."""

    def solve(self, candidate: Candidate) -> Solution:
        """A candidate on all rows, to ``tol``."""


@one_thread()  # scores of validation rows are the same for any number of threads, too
def search(config: SearchConfig, labelled: Labelled, validation: tuple[Array, Array] | None) -> SearchResult:
    """Find the best candidates on validation rows, or by folds without them.

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

    Raises
    ------
    InputError
        If ``scoring`` or the grid is unknown, or fewer than two classes have two rows for folds.
    """
    check_scoring(config.scoring)
    config = replace(config, scoring=config.scoring or default_scoring(labelled.codes))
    if not config.sparsity:
        return _stopped_early(config, labelled, validation)
    if validation is not None:
        checks = [Check(*validation)]
    else:
        folds = stratified_folds(labelled.codes, config.folds, config.random_state)
        checks = [Check(labelled.matrix[check], labelled.codes[check], fit, check) for fit, check in folds]
    problem, tried = labelled.problem(), [*checks, *_sampled(labelled, checks[0])]
    families: list[Fits] = [PathFits(config, labelled, problem, _pairs(config, problem), tried)]
    families += _separate_fits(config, labelled, tried)
    left = _try_sample(config, labelled, tried, families) if len(tried) > len(checks) else []
    return _mean_of_best(config, labelled, checks, _race(config, labelled, checks, families) + left)


def _sampled(labelled: Labelled, first: Check) -> list[Check]:
    """The first check with a sample of its rows to fit on, evenly from those of each class; none if they are few."""
    rows = np.arange(len(labelled.codes)) if first.fit is None else first.fit
    if len(rows) <= LARGE:
        return []
    by_class = rows[np.argsort(labelled.codes[rows], kind="stable")]
    starts = np.searchsorted(labelled.codes[by_class], np.arange(labelled.classes))
    even = by_class[np.linspace(0, len(rows) - 1, SAMPLE).astype(np.int64)]
    return [first._replace(fit=np.unique(np.concatenate([even, by_class[np.minimum(starts, len(rows) - 1)]])))]


def _try_sample(config: SearchConfig, labelled: Labelled, checks: Sequence[Check], families: Sequence[Fits]) -> _Found:
    """Fit all candidates on the sample, which is the last check, go on with the promising ones, and return the others."""
    place, found, left = len(checks) - 1, list[tuple[Fits, Candidate]](), list[tuple[Fits, Candidate]]()
    for family in families:
        family.add(place, list(labelled.each(family.tasks(place))))
        found += [(family, _scored(config, checks, each)) for each in family.candidates()]
    reached = _promising(checks, [candidate for _, candidate in found])
    for family in families:
        mine = [(each, kept) for (owner, each), kept in zip(found, reached, strict=True) if owner is family]
        left += [(family, replace(each, record=replace(each.record, folds=0), scores={}))
                 for each, kept in mine if not kept and each.record.separate is None]  # fmt: skip
        family.keep([each for each, kept in mine if kept])
        family.forget(place)
    return left


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
    gaps = config.tol, _loose(config)
    return [SeparateFits(labelled, checks, *gaps, config.max_iter, penalties) for penalties in given]


def _loose(config: SearchConfig) -> float:
    return max(config.tol, LOOSE)


_Found = list[tuple[Fits, Candidate]]
"""Candidates, each with the fits it belongs to."""


def _race(config: SearchConfig, labelled: Labelled, checks: Sequence[Check], families: Sequence[Fits]) -> _Found:
    """Try candidates on the first check, those within reach of the best on the second, and then on all others."""
    places = range(len(checks))
    left: _Found = []
    for begin, end in ((0, 1), (1, 2), (2, len(checks))):
        parts = [(family, place, family.tasks(place)) for place in places[begin:end] for family in families]
        results = iter(labelled.each([task for *_, tasks in parts for task in tasks]))
        for family, place, tasks in parts:
            family.add(place, list(islice(results, len(tasks))))
        found = [(family, _scored(config, checks, each)) for family in families for each in family.candidates()]
        if end >= len(checks):
            return found + left
        reached = _within_reach(checks, [candidate for _, candidate in found])
        left += [entry for entry, kept in zip(found, reached, strict=True) if not kept and entry[1].record.separate is None]
        for family in families:
            mine = zip(found, reached, strict=True)
            family.keep([candidate for (owner, candidate), kept in mine if kept and owner is family])
    return left


def _promising(checks: Sequence[Check], candidates: Sequence[Candidate]) -> list[bool]:
    """Whether each candidate is within reach on a sample, the best pair, or weaker than such a pair of the same kind."""
    kept, records = _within_reach(checks, candidates, MARGIN), [candidate.record for candidate in candidates]
    pairs = [place for place in ranked(records) if records[place].separate is None]
    strongest: dict[Any, float] = {}
    for place in (place for place in pairs if kept[place] or place == pairs[0]):
        kind = records[place].pair[::2]
        strongest[kind] = max(records[place].group, strongest.get(kind, 0.0))
    for place in pairs:
        kept[place] = kept[place] or records[place].group <= strongest.get(records[place].pair[::2], 0.0)
    return kept


def _scored(config: SearchConfig, checks: Sequence[Check], candidate: Candidate) -> Candidate:
    """The candidate with its score: of all rows it was checked on together, unless that is the accuracy, a mean of folds."""
    if config.scoring is None or config.scoring == "accuracy":
        return candidate
    seen = list(candidate.scores)
    codes = np.concatenate([checks[place].codes for place in seen])
    score = METRICS[config.scoring](codes, np.concatenate([candidate.scores[place] for place in seen]))
    return replace(candidate, record=replace(candidate.record, val_score=score))


def _within_reach(checks: Sequence[Check], candidates: Sequence[Candidate], margin: float = 0.0) -> list[bool]:
    """Whether each candidate is not behind the best by `REACH` standard errors of the difference in accuracy, and more."""
    order = ranked([candidate.record for candidate in candidates])
    right = [_right(checks, candidate) for candidate in candidates]
    best = candidates[order[0]].record
    reached = [False] * len(candidates)
    for place in order:
        behind = right[order[0]] - right[place]
        sure = behind.mean() > margin + REACH * np.sqrt(behind.var() / max(len(behind) - 1, 1))
        reached[place] = not sure or candidates[place].record.score >= best.score
    return reached


def _right(checks: Sequence[Check], candidate: Candidate) -> Array:
    parts = [scores.argmax(axis=1) == checks[place].codes for place, scores in candidate.scores.items()]
    return np.concatenate(parts).astype(np.float64)


def _mean_of_best(config: SearchConfig, labelled: Labelled, checks: Sequence[Check], found: _Found) -> SearchResult:
    """Pick candidates, solve them on all rows, and take their mean."""
    records = [candidate.record for _, candidate in found]
    complete = [place for place in ranked(records) if len(found[place][1].scores) == len(checks)]
    weights = _weights(config.average, labelled, checks, [found[place][1] for place in complete])
    members = {place: weight for place, weight in zip(complete, weights, strict=True) if weight}
    solutions = []
    for place, weight in members.items():
        family, candidate = found[place]
        solutions.append(family.solve(candidate))
        records[place] = _final(config, labelled, checks, replace(candidate.record, weight=weight), solutions[-1])
    order = [list(members)[at] for at in ranked([records[place] for place in members])]
    solution, scoring = _sum(solutions, list(members.values())), config.scoring or "accuracy"
    if checks[0].rows is None:
        return SearchResult(solution, records, order[0], None, tuple(order), scoring)
    scores = np.full((len(labelled.codes), labelled.classes), np.nan, np.float32)
    for at, check in enumerate(checks):
        scores[check.rows] = sum(weight * found[place][1].scores[at] for place, weight in members.items())
    return SearchResult(solution, records, order[0], scores, tuple(order), scoring)


def _weights(picks: int, labelled: Labelled, checks: Sequence[Check], candidates: Sequence[Candidate]) -> list[float]:
    """What each candidate, the best first, counts for in the mean of the picks; a candidate that is picked alone counts 1."""
    codes = np.concatenate([check.codes for check in checks])
    counts = np.bincount(labelled.codes, minlength=labelled.classes)
    by_class = np.bincount(labelled.codes, labelled.weights, labelled.classes) / np.maximum(counts, 1)
    scores = [np.concatenate([each.scores[at] for at in range(len(checks))]) for each in candidates]

    def loss(total: Array, scale: float) -> float:
        return log_loss(scale * total, codes, by_class)

    def cost(scores: Array, scale: float) -> float:
        return len(codes) * loss(scores, scale) + np.log(scale) ** 2 / 2  # few rows are little reason to leave 1

    scales = [np.float32(min(SCALES, key=partial(cost, each))) for each in scores]
    picked = [0]
    for k in range(2, picks + 1):
        total = np.sum([scales[at] * scores[at] for at in picked], axis=0)
        picked.append(int(np.argmin([loss(total + scale * each, 1 / k) for scale, each in zip(scales, scores, strict=True)])))
    counts = np.bincount(picked, minlength=len(scores))
    return (counts * scales / picks if np.count_nonzero(counts) > 1 else counts > 0).astype(float).tolist()


def _final(config: SearchConfig, labelled: Labelled, checks: Sequence[Check], record: Record, solution: Solution) -> Record:
    """A member's record with the certificate of its final fit, which validation rows judge again."""
    zero = zero_groups(solution.weights, list(labelled.widths), labelled.group_of)
    nonzero, seconds = float(np.count_nonzero(solution.weights)), record.seconds + solution.seconds
    final = replace(record, dual_gap=solution.gap, zero_components=zero, nonzero=nonzero, seconds=seconds)
    final = replace(final, converged=solution.converged)
    if checks[0].rows is not None:
        return final
    scores, codes = solution.scores(checks[0].matrix), checks[0].codes
    judged = record_of(record.pair, solution, zero, scores, codes)
    score = None if record.val_score is None else METRICS[config.scoring or "accuracy"](codes, scores)
    return replace(final, val_accuracy=judged.val_accuracy, val_loss=judged.val_loss, val_score=score)


def _sum(solutions: Sequence[Solution], weights: Sequence[float]) -> Solution:
    """The weighted sum of weights and intercepts; the gap is the largest, counts are added up."""
    if len(solutions) == 1:
        return solutions[0]
    total = np.zeros(solutions[0].weights.shape)
    for each, weight in zip(solutions, weights, strict=True):
        total += weight * each.weights.astype(np.float64)
    return Solution(
        total.astype(solutions[0].weights.dtype),
        np.average([each.intercept for each in solutions], axis=0, weights=weights) * sum(weights),
        objective=float(np.average([each.objective for each in solutions], weights=weights)),
        gap=max(each.gap for each in solutions),
        converged=all(each.converged for each in solutions),
        iterations=sum(each.iterations for each in solutions),
        products=sum(each.products for each in solutions),
        seconds=sum(each.seconds for each in solutions),
    )


class PathFits:
    """Pairs of a path: a task for each warm-start group (`learn.path`) on the rows of a check."""

    def __init__(self, config: SearchConfig, labelled: Labelled, problem: Problem, pairs: list[Pair], checks: Sequence[Check]):
        self._config, self._labelled, self._problem, self._pairs, self._checks = config, labelled, problem, pairs, checks
        self._records: dict[Pair, list[Record]] = {pair: [] for pair in pairs}
        self._scores: dict[Pair, dict[int, Array]] = {pair: {} for pair in pairs}
        self._starts: dict[Pair, Solution] = {}

    def tasks(self, place: int) -> list[Callable[[], Any]]:
        groups = sorted(warm_start_groups(self._pairs), key=lambda group: -max(pair.l1 for pair in group))
        return [partial(self._fit, group, self._checks[place], dict(self._starts)) for group in groups]

    def add(self, place: int, results: Sequence[list[tuple[Pair, Solution, Record, Array]]]) -> None:
        solved = [each for result in results for each in result]
        for pair, solution, record, scores in solved:
            self._records[pair].append(record)
            self._scores[pair][place], self._starts[pair] = scores, solution
        reached = {pair for pair, *_ in solved}
        self._pairs = [pair for pair in self._pairs if pair in reached]  # patience may have left some

    def forget(self, place: int) -> None:
        for pair in self._pairs:
            self._scores[pair].pop(place, None)
            self._records[pair].clear()

    def candidates(self) -> list[Candidate]:
        return [Candidate(merge(self._records[pair]), self._scores[pair]) for pair in self._pairs]

    def keep(self, candidates: Sequence[Candidate]) -> None:
        kept = {candidate.record.pair for candidate in candidates}
        self._pairs = [pair for pair in self._pairs if pair in kept]

    def solve(self, candidate: Candidate) -> Solution:
        pair, config, problem, starts = candidate.record.pair, self._config, self._problem, dict(self._starts)
        if self._checks[0].fit is not None and not starts_for(problem, starts):  # from strong penalties with the same λ₁
            series = [each for each in self._records if each[::2] == pair[::2] and each.group > pair.group]
            found = [each for _, each in solve_path(problem, series, _loose(config), config.max_iter, exact_zeros=False)]
            starts = {pair: found[-1]} if found else {}
        ((_, solution),) = solve_path(problem, [pair], config.tol, config.max_iter, starts=starts)
        return solution

    def _fit(
        self, group: list[Pair], check: Check, starts: Mapping[Pair, Solution]
    ) -> list[tuple[Pair, Solution, Record, Array]]:
        config, stop, names = self._config, _Patience(self._config.patience), list(self._labelled.widths)
        problem = self._problem if check.fit is None else self._labelled.problem(check.fit)
        found = []
        starts = starts_for(problem, starts)
        path = solve_path(problem, group, _loose(config), config.max_iter, stop.reached, starts, exact_zeros=False)
        for pair, solution in path:
            zero, scores = zero_groups(solution.weights, names, self._labelled.group_of), solution.scores(check.matrix)
            record = record_of(pair, solution, zero, scores, check.codes)
            stop.note(pair, record.val_accuracy)
            found.append((pair, solution, record, scores))
        return found


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
        runs = [fit_stopped(matrix[fit], codes[fit], classes, validation=(matrix[check], codes[check])) for fit, check in folds]
        held_out_scores = np.full((len(codes), classes), np.nan, np.float32)
        for (_, check), run in zip(folds, runs, strict=True):
            held_out_scores[check] = matrix[check] @ run.weights + run.intercept
        final = fit_stopped(matrix, codes, classes, epochs=max(1, int(np.median([run.epoch for run in runs]))))
    accuracy, loss = (float(np.mean([getattr(run, key) for run in runs])) for key in ("val_accuracy", "val_loss"))
    seconds, nonzero = time.perf_counter() - begun, float(np.count_nonzero(final.weights))
    record = Record(0.0, 0.0, False, accuracy, loss, np.nan, (), nonzero, False, seconds, weight=1.0)
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
