"""A path of pairs (λ₁, λ₂): which pairs, in what order, and from which start.

Pairs go from strong to weak penalties and each starts at the solution of the nearest pair solved so far. A *joint* pair
has one group of all components, λ₂ ‖W‖_F: its path is that of ridge regression, which is what stopping early comes to, and
it is the better one where every component knows a little and none enough (Squirrel, Chameleon).

Without an ℓ₁ part the problem does not change when a group is rotated, so only the span of its labelled rows matters: a
group with more columns than there are rows is replaced by its m coordinates in that span (`Rotation`), and the weights are
turned back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from slimg.engine.base import Array
from slimg.engine.blas import one_thread
from slimg.errors import InputError, choices
from slimg.learn.rows import Rows
from slimg.learn.solver import Problem, Solution, solve

PAPER_L1 = (1e-3, 1e-4, 1e-5)
PAPER_GROUP = (1e-3, 1e-4, 1e-5, 1e-6)
PATH_L1 = (0.0, 1e-4, 1e-3)
PATH_SHARES = (0.4, 0.1, 0.02)
JOINT_SHARES = (0.4, 0.2, 0.1, 0.05)
"""λ₂ of the default path, as shares of λ_max."""


class Pair(NamedTuple):
    """Weights of the two penalties; ``joint`` makes one group of all components."""

    l1: float
    group: float
    joint: bool = False


def paper_pairs() -> list[Pair]:
    """The twelve pairs of the paper."""
    return _ordered(Pair(l1, group) for group in PAPER_GROUP for l1 in PAPER_L1)


def default_pairs(problem: Problem) -> list[Pair]:
    """For each λ₁, λ₂ from below λ_max down to a small share of it; then the joint pairs, without λ₁."""
    gradient = problem.gradient_at_zero()
    pairs = [
        Pair(l1, rounded(problem.penalty(l1, 0.0).lambda_max(gradient) * share)) for l1 in PATH_L1 for share in PATH_SHARES
    ]
    largest = _joint(problem).penalty(0.0, 0.0).lambda_max(gradient)
    pairs += [Pair(0.0, rounded(largest * share), True) for share in JOINT_SHARES]
    return _ordered(pair for pair in pairs if pair.group > 0)


def resolve_pairs(grid: str | Sequence[tuple[float, float]], problem: Problem) -> list[Pair]:
    """``"path"``, ``"paper"`` or pairs of one's own."""
    if isinstance(grid, str):
        if grid not in ("path", "paper"):
            raise choices("grid", grid, ["path", "paper", "a list of (l1, group) pairs"])
        return paper_pairs() if grid == "paper" else default_pairs(problem)
    try:
        pairs = [Pair(float(pair[0]), float(pair[1]), bool(pair[2:] and pair[2])) for pair in grid if len(pair) in (2, 3)]
    except (TypeError, ValueError, IndexError) as error:
        raise InputError(f"grid must be 'path', 'paper' or a list of pairs (l1, group), not {grid!r}") from error
    if not pairs or any(not np.isfinite(pair).all() or min(pair[:2]) < 0 or max(pair[:2]) == 0 for pair in pairs):
        raise InputError(
            "grid needs at least one pair (l1, group) of finite, non-negative numbers that are not both zero"
            f" (without a penalty there may be no minimum: use sparsity=False), not {grid!r}"
        )
    return _ordered(pairs)


def lanes(pairs: Iterable[Pair]) -> list[list[Pair]]:
    """The pairs apart, where none starts from one of another lane: the same solutions come of a lane alone."""
    apart: dict[tuple[bool, bool], list[Pair]] = {}
    for pair in pairs:
        apart.setdefault(_kind(pair), []).append(pair)
    return list(apart.values())


def solve_path(
    problem: Problem,
    pairs: Sequence[Pair],
    tol: float,
    max_iter: int,
    skip: Callable[[Pair], bool] = lambda pair: False,
) -> Iterator[tuple[Pair, Solution]]:
    """Solutions in the order of the pairs, without those that ``skip`` says to leave out when their turn comes."""
    lanes: dict[tuple[bool, bool], _Lane] = {}
    for pair in pairs:
        if skip(pair):
            continue
        kind = _kind(pair)
        if kind not in lanes:
            lanes[kind] = _Lane(_joint(problem) if pair.joint else problem, turn=pair.l1 == 0)
        yield pair, lanes[kind].solve(pair, tol, max_iter)


def _kind(pair: Pair) -> tuple[bool, bool]:
    return pair.joint, pair.l1 == 0


class _Lane:
    """Pairs that can start from one another: of the same groups, and in the same coordinates."""

    def __init__(self, problem: Problem, turn: bool):
        rotation = Rotation(problem) if turn else None
        self.rotation = rotation if rotation is not None and rotation.helps else None
        self.problem = problem if self.rotation is None else self.rotation.problem
        self.solved: dict[Pair, Solution] = {}

    def solve(self, pair: Pair, tol: float, max_iter: int) -> Solution:
        self.solved[pair] = solve(self.problem, pair.l1, pair.group, _nearest(self.solved, pair), tol, max_iter)
        return self.solved[pair] if self.rotation is None else self.rotation.back(self.solved[pair])


class Rotation:
    """Each group F_g (m × p_g) with p_g > m as L_g Q_gᵀ, L_g m × m: W_g = Q_g W'_g has the same scores and norm."""

    def __init__(self, problem: Problem):
        m = problem.rows.shape[0]
        self.size = problem.rows.shape[1]
        self.members = [np.flatnonzero(problem.group_of == g) for g in range(problem.groups)]
        self.helps = bool(np.all(problem.group_of >= 0)) and any(len(mine) > m for mine in self.members)
        self.problem = problem
        if self.helps:
            self._turn(problem, m)

    def _turn(self, problem: Problem, m: int) -> None:
        self.bases: list[Array | None] = []
        parts = []
        with one_thread():
            for mine in self.members:
                block = problem.rows.matrix[:, mine]
                basis = np.linalg.qr(block.T)[0] if len(mine) > m else None
                self.bases.append(basis)
                parts.append(block if basis is None else block @ basis)
        group_of = np.repeat(np.arange(problem.groups), [part.shape[1] for part in parts])
        rows = Rows(np.ascontiguousarray(np.hstack(parts)), problem.rows.engine)
        self.problem = replace(problem, rows=rows, group_of=group_of)

    def back(self, solution: Solution) -> Solution:
        weights = np.zeros((self.size, solution.weights.shape[1]), solution.weights.dtype)
        for which, (mine, basis) in enumerate(zip(self.members, self.bases, strict=True)):
            part = solution.weights[self.problem.group_of == which]
            if part.any():
                weights[mine] = part if basis is None else basis @ part
        return replace(solution, weights=weights)


def _joint(problem: Problem) -> Problem:
    return replace(problem, group_of=np.zeros_like(problem.group_of), groups=1)


def rounded(value: float) -> float:
    """Three digits: a pair that was chosen can be written down and given again."""
    return float(f"{value:.3g}")


def _ordered(pairs: Iterable[Pair]) -> list[Pair]:
    return sorted(set(pairs), key=lambda pair: (pair.joint, -pair.group, -pair.l1))


def _nearest(solved: dict[Pair, Solution], pair: Pair) -> Solution | None:
    def distance(other: Pair) -> float:
        l1, group = (abs(np.log10((a + 1e-7) / (b + 1e-7))) for a, b in zip(other[:2], pair[:2], strict=True))
        return l1 + 0.6 * group

    return solved[min(solved, key=distance)] if solved else None
