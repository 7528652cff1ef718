"""Components fitted separately, and their scores added.

    W_g, b_g  =  argmin  f(F_g W + 1bᵀ) + λ_g ‖W‖_F                     each component g alone, with a λ of its own
    score     =  Σ_g (F_g W_g + b_g) − (k − 1) log π                    of the k components kept; π: shares of the classes

This is naive Bayes over components: each estimates log p(y | F_g) up to a constant of the row, and the shares of the
classes, which all of them contain, count once. It is the better model where components need penalties of different size,
so that in a common fit one hides what others predict; being linear, it is explained as exactly as the rest of the path.

λ_g is the share of its own λ_max with the least validation loss, because probabilities are added. Components are then
sorted by that loss, and the first one, two, … of them are candidates beside the pairs of the path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from slimg.engine.base import Array
from slimg.errors import InputError, choices
from slimg.learn.labelled import Labelled
from slimg.learn.objective import log_loss
from slimg.learn.path import Pair, Record, merge, rounded, solve_path, validate
from slimg.learn.solver import Solution

SHARES = (0.2, 0.05)
"""λ of each component, as shares of its own λ_max."""


class Check(NamedTuple):
    """Validation rows (matrix, codes), and the positions of the rows to fit on (None: all)."""

    matrix: Array
    codes: Array
    fit: Array | None = None


@dataclass(frozen=True)
class Candidate:
    """Components added, their record, and their solution for each check."""

    record: Record
    solutions: list[Solution]


class SeparateFits:
    """Components fitted alone on the rows of each check: ``tasks`` to run in any order, then candidates from their results.

    ``penalties`` has λ of each component; None tries `SHARES` of its own λ_max.
    """

    labelled: Labelled
    checks: Sequence[Check]
    penalties: dict[str, list[float]]

    def __init__(
        self,
        labelled: Labelled,
        checks: Sequence[Check],
        tol: float,
        max_iter: int,
        penalties: Mapping[str, float] | None = None,
    ):
        self.labelled, self.checks, self._tol, self._max_iter, self._given = labelled, checks, tol, max_iter, penalties
        given = {name: [penalty] for name, penalty in penalties.items()} if penalties else None
        self.penalties = given or _default_penalties(labelled)
        self._parts = [(name, place) for name in self.penalties for place in range(len(checks))]

    def tasks(self) -> list[Callable[[], list[Solution]]]:
        """One for each component and check."""
        return [partial(self._fit, name, self.checks[place].fit) for name, place in self._parts]

    def candidates(self, results: Sequence[list[Solution]]) -> list[Candidate]:
        """The first one, two, … components in the order of their validation loss, each with the best of its λ.

        With given penalties, one for each component, all components are the only candidate.
        """
        alone = self._by_part(results)
        if self._given:
            return [self._candidate(alone, {name: penalty for name, (penalty,) in self.penalties.items()})]
        best = [
            min((self._loss(alone, name, penalty), at, name, penalty) for penalty in self.penalties[name])
            for at, name in enumerate(self.penalties)
        ]
        order = [(name, penalty) for _, _, name, penalty in sorted(best)]
        return [self._candidate(alone, dict(order[: k + 1])) for k in range(len(order))]

    def _fit(self, name: str, fit: Array | None) -> list[Solution]:
        problem = self.labelled.only(name).problem(fit)
        pairs = [Pair(0.0, penalty, True) for penalty in self.penalties[name]]
        return [solution for _, solution in solve_path(problem, pairs, self._tol, self._max_iter)]

    def _by_part(self, results: Sequence[list[Solution]]) -> _Solved:
        return {
            (name, penalty, place): solution
            for (name, place), solutions in zip(self._parts, results, strict=True)
            for penalty, solution in zip(self.penalties[name], solutions, strict=True)
        }

    def _loss(self, alone: _Solved, name: str, penalty: float) -> float:
        """Validation loss of a component alone, over the checks."""
        columns, solutions = self.labelled.columns(name), [alone[name, penalty, at] for at in range(len(self.checks))]
        scores = [each.scores(check.matrix[:, columns]) for each, check in zip(solutions, self.checks, strict=True)]
        return float(np.mean([log_loss(each, check.codes) for each, check in zip(scores, self.checks, strict=True)]))

    def _candidate(self, alone: _Solved, separate: dict[str, float]) -> Candidate:
        labelled, pair, records, solutions = self.labelled, Pair(0.0, max(separate.values())), [], []
        names, group_of = list(labelled.widths), labelled.group_of
        for place, check in enumerate(self.checks):
            parts = {name: alone[name, penalty, place] for name, penalty in separate.items()}
            solutions.append(_added(labelled, check.fit, parts))
            records.append(validate(pair, solutions[-1], names, group_of, check.matrix, check.codes))
        return Candidate(replace(merge(records), separate=separate), solutions)


def solve_separately(labelled: Labelled, penalties: Mapping[str, float], tol: float, max_iter: int) -> Solution:
    """The sum of components fitted separately on all rows."""
    fits = SeparateFits(labelled, [Check(labelled.matrix[:0], labelled.codes[:0])], tol, max_iter, penalties)
    results = labelled.each(fits.tasks())
    return _added(labelled, None, {name: solution for name, (solution,) in zip(penalties, results, strict=True)})


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


_Solved = dict[tuple[str, float, int], Solution]
"""By component, λ and the position of the check."""


def _default_penalties(labelled: Labelled) -> dict[str, list[float]]:
    largest = {name: largest_penalty(labelled, name) for name in labelled.widths}
    tried = {name: [rounded(share * most) for share in SHARES] for name, most in largest.items()}
    return {name: penalties for name, penalties in tried.items() if min(penalties) > 0}


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
