"""Components fitted separately, and their scores added.

    W_g, b_g  =  argmin  f(F_g W + 1bᵀ) + λ_g ‖W‖_F                     each component g alone, with a λ of its own
    score     =  Σ_g (F_g W_g + b_g) − (k − 1) log π                    of the k components kept; π: shares of the classes

This is naive Bayes over components: each estimates log p(y | F_g) up to a constant of the row, and the shares of the
classes, which all of them contain, count once. It is the better model where components need penalties of different size,
so that in a common fit one hides what others predict; being linear, it is explained as exactly as the rest of the path.

λ_g is a share of its own λ_max. Components are sorted by their validation loss, because probabilities are added, and the first
one, two, … of them are candidates beside the pairs of the path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from slimg.engine.base import Array
from slimg.errors import InputError, choices
from slimg.learn.labelled import Labelled
from slimg.learn.objective import accuracy, log_loss
from slimg.learn.path import Pair, Record, merge, record_of, rounded, solve_path, starts_for
from slimg.learn.solver import Solution

SHARE = 0.1
"""λ of each component, as a share of its own λ_max."""


class Check(NamedTuple):
    """Validation rows (matrix, codes); for a fold, the positions of the rows to fit on, and of those held out."""

    matrix: Array
    codes: Array
    fit: Array | None = None
    rows: Array | None = None


@dataclass(frozen=True)
class Candidate:
    """A record, and the scores of the validation rows by the position of their check."""

    record: Record
    scores: Mapping[int, Array]


class SeparateFits:
    """Components fitted alone on the rows of each check, to the gap ``loose``; candidates are the sums of some of them.

    ``penalties`` has λ of each component, the sum of all being the only candidate; None takes `SHARE` of its own λ_max.
    """

    def __init__(
        self,
        labelled: Labelled,
        checks: Sequence[Check],
        tol: float,
        loose: float,
        max_iter: int,
        penalties: Mapping[str, float] | None = None,
    ):
        self.labelled, self.checks, self._tol, self._loose, self._max_iter = labelled, checks, tol, loose, max_iter
        self._given, self.penalties = bool(penalties), dict(penalties or _default_penalties(labelled))
        self._parts: dict[str, dict[int, _Part]] = {name: {} for name in self.penalties}
        self._starts: dict[str, dict[Pair, Solution]] = {name: {} for name in self.penalties}

    def tasks(self, place: int) -> list[Callable[[], Solution]]:
        """One for each component."""
        fit, loose = self.checks[place].fit, self._loose
        return [partial(self._fit, name, self._starts[name], fit, loose, False) for name in self.penalties]

    def add(self, place: int, results: Sequence[Solution]) -> None:
        """Keep what candidates need of the solutions: scores of the validation rows, and where to start next."""
        check = self.checks[place]
        for (name, penalty), solution in zip(self.penalties.items(), results, strict=True):
            self._starts[name] = {Pair(0.0, penalty, True): solution}
            scores = solution.scores(np.ascontiguousarray(check.matrix[:, self.labelled.columns(name)]))
            self._parts[name][place] = _Part(scores, record_of(Pair(0.0, penalty), solution, (), scores, check.codes))

    def forget(self, place: int) -> None:
        """Drop the results of a check."""
        for parts in self._parts.values():
            parts.pop(place, None)

    def candidates(self) -> list[Candidate]:
        """The first one, two, … components in the order of their validation loss."""
        if self._given:
            return [self._candidate(list(self.penalties))] if self.penalties else []
        order = sorted(self.penalties, key=self._loss)
        return [self._candidate(order[: k + 1]) for k in range(len(order))]

    def keep(self, candidates: Sequence[Candidate]) -> None:
        """Go on only with components of these candidates."""
        kept = {name for candidate in candidates for name in candidate.record.separate or ()}
        self.penalties = {name: penalty for name, penalty in self.penalties.items() if name in kept}

    def solve(self, candidate: Candidate) -> Solution:
        """The sum of a candidate's components, fitted on all rows to the gap ``tol``."""
        penalties = candidate.record.separate or {}
        return solve_separately(self.labelled, penalties, self._tol, self._max_iter, self._starts)

    def _fit(self, name: str, starts: Mapping[Pair, Solution], fit: Array | None, tol: float, exact_zeros: bool) -> Solution:
        problem, pair = self.labelled.only(name).problem(fit), Pair(0.0, self.penalties[name], True)
        starts = starts_for(problem, starts)
        ((_, solution),) = solve_path(problem, [pair], tol, self._max_iter, starts=starts, exact_zeros=exact_zeros)
        return solution

    def _loss(self, name: str) -> float:
        """Validation loss of a component alone, over the checks."""
        return float(np.mean([part.record.val_loss for part in self._parts[name].values()]))

    def _candidate(self, taken: Sequence[str]) -> Candidate:
        records, scores, separate = [], {}, {name: self.penalties[name] for name in taken}
        zero, parts = tuple(name for name in self.labelled.widths if name not in taken), [self._parts[name] for name in taken]
        for place in parts[0]:
            check, several = self.checks[place], [part[place].record for part in parts]
            shares = self.labelled.log_shares(check.fit)
            scores[place] = np.sum([part[place].scores for part in parts], axis=0)
            scores[place] -= ((len(parts) - 1) * (shares - shares.mean())).astype(np.float32)
            records.append(
                replace(
                    several[0],
                    group=max(separate.values()),
                    val_accuracy=accuracy(check.codes, scores[place]),
                    val_loss=log_loss(scores[place], check.codes),
                    dual_gap=max(record.dual_gap for record in several),
                    zero_components=zero,
                    nonzero=sum(record.nonzero for record in several),
                    converged=all(record.converged for record in several),
                    seconds=sum(record.seconds for record in several),
                )
            )
        return Candidate(replace(merge(records), separate=separate), scores)


def solve_separately(
    labelled: Labelled,
    penalties: Mapping[str, float],
    tol: float,
    max_iter: int,
    starts: Mapping[str, Mapping[Pair, Solution]] = MappingProxyType({}),
) -> Solution:
    """The sum of components fitted separately on all rows."""
    fits = SeparateFits(labelled, [], tol, tol, max_iter, penalties)
    tasks = [partial(fits._fit, name, starts.get(name, {}), None, tol, True) for name in penalties]
    results = labelled.each(tasks)
    return _added(labelled, None, dict(zip(penalties, results, strict=True)))


def check_penalties_by_component(penalties: Mapping[Any, Any], names: Sequence[str]) -> dict[str, float]:
    """Check a mapping {component: λ} of a grid; returns it in the order of the components."""
    if not penalties:
        raise InputError("a mapping in grid must name at least one component, such as {'X': 0.01}; this one is empty")
    for name, penalty in penalties.items():
        if name not in names:
            raise choices("component in grid", name, list(names))
        if not isinstance(penalty, (int, float, np.number)) or not np.isfinite(penalty) or penalty <= 0:
            raise InputError(f"the penalty of {name} in grid must be a finite, positive number, not {penalty!r}")
    return {name: float(penalties[name]) for name in names if name in penalties}


def largest_penalty(labelled: Labelled, name: str) -> float:
    """λ_max of a component alone: from there on its weights are zero."""
    problem = labelled.only(name).problem()
    return problem.penalty(0.0, 0.0).lambda_max(problem.gradient_at_zero())


class _Part(NamedTuple):
    """What is kept of a component fitted alone: scores of the validation rows of a check, and its record."""

    scores: Array
    record: Record


def _default_penalties(labelled: Labelled) -> dict[str, float]:
    tried = {name: rounded(SHARE * largest_penalty(labelled, name)) for name in labelled.widths}
    return {name: penalty for name, penalty in tried.items() if penalty > 0}


def _added(labelled: Labelled, fit: Array | None, parts: Mapping[str, Solution]) -> Solution:
    """One solution over all columns; its gap is the largest of the parts."""
    weights = np.zeros((labelled.matrix.shape[1], labelled.classes), labelled.matrix.dtype)
    intercept = -(len(parts) - 1) * labelled.log_shares(fit)
    for name, part in parts.items():
        weights[labelled.columns(name)] = part.weights
        intercept += part.intercept
    several = parts.values()
    return Solution(
        weights,
        intercept - intercept.mean(),
        objective=float(sum(part.objective for part in several)),
        gap=max(part.gap for part in several),
        converged=all(part.converged for part in several),
        iterations=sum(part.iterations for part in several),
        products=sum(part.products for part in several),
        seconds=sum(part.seconds for part in several),
    )
