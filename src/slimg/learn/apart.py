"""Components learned apart, and their evidence added.

    W_g, b_g  =  argmin  f(F_g W + 1bᵀ) + λ_g ‖W‖_F                     each component g alone, with a λ of its own
    score     =  Σ_g (F_g W_g + b_g) − (k − 1) log π                    of the k components kept; π: shares of the classes

This is what k independent witnesses come to: each tells log p(y | F_g) up to a constant of the row, and the shares of the
classes, which all of them contain, count once. It is the better model where components need penalties of different size,
so that in a common fit one takes what others know; being linear, it is explained as exactly as the rest of the path.

λ_g is the share of its own λ_max with the least validation loss: what is added are probabilities. Components then stand
in the order of that loss, and the first one, two, … of them are candidates beside the pairs of the path.
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
from slimg.learn.path import Pair, rounded, solve_path
from slimg.learn.selection import Record, merge, validate
from slimg.learn.solver import Solution

SHARES = (0.2, 0.05)
"""λ of each component, as shares of its own λ_max."""


class Check(NamedTuple):
    """Rows to judge on (matrix, codes), and the places of the rows to learn from (None: all)."""

    matrix: Array
    codes: Array
    fit: Array | None = None


@dataclass(frozen=True)
class Candidate:
    """Components added, their record, and their solution on the rows of each check."""

    record: Record
    solutions: list[Solution]


class Apart:
    """Components learned alone on the rows of each check: ``tasks`` to run in any order, then candidates of their results.

    ``tried`` has the penalties of each component; None tries `SHARES` of its own λ_max.
    """

    def __init__(
        self,
        labelled: Labelled,
        checks: Sequence[Check],
        tol: float,
        max_iter: int,
        tried: Mapping[str, Sequence[float]] | None = None,
    ):
        self.labelled, self.checks, self._tol, self._max_iter = labelled, checks, tol, max_iter
        self.tried = _default_penalties(labelled) if tried is None else tried
        self._parts = [(name, place) for name in self.tried for place in range(len(checks))]

    def tasks(self) -> list[Callable[[], list[Solution]]]:
        return [partial(self._learn, name, self.checks[place].fit) for name, place in self._parts]

    def candidates(self, results: Sequence[list[Solution]]) -> list[Candidate]:
        """The first one, two, … components in the order of their validation loss, each with the best of its λ."""
        alone = self._by_part(results)
        best = [
            min((self._loss(alone, name, penalty), at, name, penalty) for penalty in self.tried[name])
            for at, name in enumerate(self.tried)
        ]
        order = [(name, penalty) for _, _, name, penalty in sorted(best)]
        return [self._candidate(alone, dict(order[: k + 1])) for k in range(len(order))]

    def all_of_them(self, results: Sequence[list[Solution]]) -> Candidate:
        """Every component that was tried, with its one λ."""
        return self._candidate(self._by_part(results), {name: penalty for name, (penalty,) in self.tried.items()})

    def _learn(self, name: str, fit: Array | None) -> list[Solution]:
        problem = self.labelled.only(name).problem(fit)
        pairs = [Pair(0.0, penalty, True) for penalty in self.tried[name]]
        return [solution for _, solution in solve_path(problem, pairs, self._tol, self._max_iter)]

    def _by_part(self, results: Sequence[list[Solution]]) -> _Solved:
        return {
            (name, penalty, place): solution
            for (name, place), solutions in zip(self._parts, results, strict=True)
            for penalty, solution in zip(self.tried[name], solutions, strict=True)
        }

    def _loss(self, alone: _Solved, name: str, penalty: float) -> float:
        """Validation loss of a component alone, over the checks."""
        columns, whole = self.labelled.columns(name), np.zeros(self.labelled.widths[name], int)
        records = [
            validate(Pair(0.0, penalty), alone[name, penalty, at], [name], whole, check.matrix[:, columns], check.codes)
            for at, check in enumerate(self.checks)
        ]
        return merge(records).val_loss

    def _candidate(self, alone: _Solved, apart: dict[str, float]) -> Candidate:
        labelled, pair, records, solutions = self.labelled, Pair(0.0, max(apart.values())), [], []
        names, group_of = list(labelled.widths), labelled.group_of
        for place, check in enumerate(self.checks):
            parts = {name: alone[name, penalty, place] for name, penalty in apart.items()}
            solutions.append(_added(labelled, check.fit, parts))
            records.append(validate(pair, solutions[-1], names, group_of, check.matrix, check.codes))
        return Candidate(replace(merge(records), apart=apart), solutions)


def solve_apart(labelled: Labelled, apart: Mapping[str, float], tol: float, max_iter: int) -> Solution:
    """Learned from all rows."""
    tried = {name: [penalty] for name, penalty in apart.items()}
    plan = Apart(labelled, [Check(labelled.matrix[:0], labelled.codes[:0])], tol, max_iter, tried)
    results = labelled.each(plan.tasks())
    return _added(labelled, None, {name: solution for name, (solution,) in zip(tried, results, strict=True)})


def check_apart(apart: Mapping[Any, Any], names: Sequence[str]) -> dict[str, float]:
    """A grid's ``{component: λ}``, or why it is none."""
    if not apart:
        raise InputError("a mapping in grid must name at least one component, such as {'X': 0.01}; this one is empty")
    for name, penalty in apart.items():
        if name not in names:
            raise choices("component in grid", name, list(names))
        if not isinstance(penalty, (int, float, np.number)) or not np.isfinite(penalty) or penalty <= 0:
            raise InputError(f"the penalty of {name} in grid must be a finite, positive number, not {penalty!r}")
    return {name: float(apart[name]) for name in names if name in apart}


def largest_penalty(labelled: Labelled, name: str) -> float:
    """λ_max of a component alone: from there on its weights are zero."""
    problem = labelled.only(name).problem()
    return problem.penalty(0.0, 0.0).lambda_max(problem.gradient_at_zero())


_Solved = dict[tuple[str, float, int], Solution]
"""By component, λ and the place of the check."""


def _default_penalties(labelled: Labelled) -> dict[str, list[float]]:
    largest = {name: largest_penalty(labelled, name) for name in labelled.widths}
    tried = {name: [rounded(share * most) for share in SHARES] for name, most in largest.items()}
    return {name: penalties for name, penalties in tried.items() if min(penalties) > 0}


def _added(labelled: Labelled, fit: Array | None, parts: Mapping[str, Solution]) -> Solution:
    """One solution over all columns; its gap is the largest of the parts'."""
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
