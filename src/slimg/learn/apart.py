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


def search_apart(labelled: Labelled, checks: Sequence[Check], tol: float, max_iter: int) -> list[Candidate]:
    """The first one, two, … components in the order of their validation loss, each with the best of its λ."""
    tried = {name: [rounded(share * largest_penalty(labelled, name)) for share in SHARES] for name in labelled.widths}
    tried = {name: penalties for name, penalties in tried.items() if min(penalties) > 0}
    alone = _alone(labelled, checks, tried, tol, max_iter)
    places = range(len(checks))
    losses = {
        (name, penalty): _loss(labelled, checks, [alone[name, penalty, place] for place in places], name)
        for name in tried
        for penalty in tried[name]
    }
    best = [min((losses[name, penalty], at, name, penalty) for penalty in tried[name]) for at, name in enumerate(tried)]
    order = [(name, penalty) for _, _, name, penalty in sorted(best)]
    return [_candidate(labelled, checks, alone, dict(order[: k + 1])) for k in range(len(order))]


def fixed_apart(
    labelled: Labelled, checks: Sequence[Check], apart: Mapping[str, float], tol: float, max_iter: int
) -> Candidate:
    """The components and penalties that are given."""
    alone = _alone(labelled, checks, {name: [penalty] for name, penalty in apart.items()}, tol, max_iter)
    return _candidate(labelled, checks, alone, dict(apart))


def solve_apart(labelled: Labelled, apart: Mapping[str, float], tol: float, max_iter: int) -> Solution:
    """Learned from all rows."""
    nothing = Check(labelled.matrix[:0], labelled.codes[:0])
    alone = _alone(labelled, [nothing], {name: [penalty] for name, penalty in apart.items()}, tol, max_iter)
    return _added(labelled, None, {name: alone[name, penalty, 0] for name, penalty in apart.items()})


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


def _alone(
    labelled: Labelled, checks: Sequence[Check], tried: Mapping[str, Sequence[float]], tol: float, max_iter: int
) -> _Solved:
    def learn(name: str, fit: Array | None) -> list[Solution]:
        problem = labelled.only(name).problem(fit)
        pairs = [Pair(0.0, penalty, True) for penalty in tried[name]]
        return [solution for _, solution in solve_path(problem, pairs, tol, max_iter)]

    parts = [(name, place) for name in tried for place in range(len(checks))]
    tasks: list[Callable[[], list[Solution]]] = [partial(learn, name, checks[place].fit) for name, place in parts]
    return {
        (name, penalty, place): solution
        for (name, place), solutions in zip(parts, labelled.each(tasks), strict=True)
        for penalty, solution in zip(tried[name], solutions, strict=True)
    }


def _loss(labelled: Labelled, checks: Sequence[Check], solutions: Sequence[Solution], name: str) -> float:
    """Validation loss of a component alone, over the checks."""
    columns, whole, pair = labelled.columns(name), np.zeros(labelled.widths[name], int), Pair(0.0, 0.0)
    return merge(
        [
            validate(pair, solution, [name], whole, check.matrix[:, columns], check.codes)
            for solution, check in zip(solutions, checks, strict=True)
        ]
    ).val_loss


def _candidate(labelled: Labelled, checks: Sequence[Check], alone: _Solved, apart: dict[str, float]) -> Candidate:
    records, solutions = [], []
    pair = Pair(0.0, max(apart.values()))
    for place, check in enumerate(checks):
        parts = {name: alone[name, penalty, place] for name, penalty in apart.items()}
        solutions.append(_added(labelled, check.fit, parts))
        records.append(validate(pair, solutions[-1], list(labelled.widths), labelled.group_of, check.matrix, check.codes))
    return Candidate(replace(merge(records), apart=apart), solutions)


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
