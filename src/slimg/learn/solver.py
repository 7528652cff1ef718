"""Sparse-group multinomial logistic regression, solved to a certified duality gap.

    min_{W, b}  f(F W + 1bᵀ) + λ₁ ‖W‖₁ + λ₂ Σ_g ‖W_g‖_F              f: `learn.loss`, penalty: `learn.penalty`

Each iteration
1. minimises over the intercept, and takes the residual as a dual point: scaled until it is feasible it gives the gap;
2. shifts each row of W by the constant over classes that minimises the penalty (the loss does not depend on it);
3. activates a group that is zero and should not be along its steepest descent, which a quadratic model cannot see, because
   the norm has a kink there;
4. takes a proximal Newton step over the groups that are not zero (`learn.quadratic`) with a line search;
5. deactivates a group that is shrinking or small, that is sets it to exactly zero, if zero is optimal for it while the
   others stay as they are.

At the gap that was asked for, a group that is zero in the solution can still have weights, or the other way round. So in the
end groups that the objective would hardly miss are left out, the others are solved further, and only groups for which zero
is then not optimal, ‖S(Z_g, λ₁)‖_F > λ₂, come back.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from slimg.engine.base import Array
from slimg.engine.blas import one_thread
from slimg.errors import InputError
from slimg.learn.labelled import Problem
from slimg.learn.objective import Fit, SparseGroup, soft
from slimg.learn.quadratic import NEGLIGIBLE, newton_step

ACCURACY, FINE, FINER = 0.3, 1e-3, 0.1
"""The relative accuracy of a Newton step: the slope of its model falls to this share. From a gap of ``FINE`` on it is
``FINER``: there the model is good, and a more accurate step saves one."""
SMALL = 0.02
"""The share of the largest group's norm below which a group is tested for zero."""
UNDECIDED, DECIDED = 10, 0.05
"""In units of the gap to reach: a group is in doubt if the objective rises by no more when it is set to zero; and the gap to
which the others are solved without it where it is not `CLEAR` before."""
CLEAR = 0.05
"""The share of λ₂ by which ‖S(Z_g, λ₁)‖_F must differ from λ₂ to decide at a larger gap."""
FIRST = 0.7
"""Groups are activated together if zero misses being optimal for them by at least this share of the largest miss."""
STALLED = 12
"""Steps that must lower the objective together by more than it is rounded; if they do not, rounding is the limit."""


@dataclass(frozen=True)
class Solution:
    """The solution for one pair of penalties.

    Attributes
    ----------
    weights : ndarray of shape (p, c)
    intercept : ndarray of shape (c,)
        Sums to zero.
    objective : float
    gap : float
        The duality gap divided by the loss at W = 0.
    converged : bool
        Whether the gap is at most the tolerance.
    iterations : int
        Newton steps.
    products : float
        Products with F and Fᵀ, in pairs.
    seconds : float
    """

    weights: Array
    intercept: Array
    objective: float
    gap: float
    converged: bool
    iterations: int
    products: float
    seconds: float

    def scores(self, rows: Array) -> Array:
        """F W + 1bᵀ (rows × c) of any rows, in their precision."""
        return rows @ self.weights + self.intercept.astype(rows.dtype)


@one_thread()  # here, because setting it costs more than a small product
def solve(
    problem: Problem,
    l1: float,
    group: float,
    start: Solution | None = None,
    tol: float = 1e-4,
    max_iter: int = 200,
    exact_zeros: bool = True,
) -> Solution:
    """Solve for one pair (λ₁, λ₂), from zero or from the solution of another pair.

    Where float32 cannot reach the gap, because the penalties are so small that rounding matters, float64 continues.

    Parameters
    ----------
    problem : Problem
    l1, group : float
        λ₁ and λ₂.
    start : Solution, optional
        A warm start; W = 0 by default.
    tol : float, default 1e-4
        The duality gap to reach, as a share of the loss at W = 0.
    max_iter : int, default 200
        Newton steps at most.
    exact_zeros : bool, default True
        Whether groups that are zero in the solution are to be exactly zero, not only within the gap.

    Returns
    -------
    solution : Solution
        The iterate with the smallest gap; with ``exact_zeros`` it may be a later one, whose gap is at most ``tol`` too.
    """
    solution = _verified(problem, l1, group, _descend(problem, l1, group, start, tol, max_iter), tol)
    if not solution.converged and problem.rows.dtype != np.float64 and solution.iterations < max_iter:
        problem = problem.in_double()
        finish = _descend(problem, l1, group, solution, tol, max_iter - solution.iterations)
        solution = _after(solution, _verified(problem, l1, group, finish, tol))
    return _decide_zeros(problem, l1, group, solution, tol, max_iter) if exact_zeros and solution.converged else solution


def _after(first: Solution, second: Solution) -> Solution:
    """The second solution, which was found from the first, with the cost of both."""
    counts = {name: getattr(first, name) + getattr(second, name) for name in ("iterations", "products", "seconds")}
    return replace(second, **counts)


def _decide_zeros(problem: Problem, l1: float, group: float, solution: Solution, tol: float, max_iter: int) -> Solution:
    """Leave out the groups in doubt, solve the others further, and take back those for which zero is not optimal."""
    penalty, here, start = problem.penalty(l1, group), solution, solution
    zero = np.flatnonzero(penalty.norms(solution.weights) == 0)
    doubt = _in_doubt(problem, penalty, solution, UNDECIDED * tol * problem.loss.at_zero())
    out, excess = np.union1d(zero, doubt), _excess(problem, penalty, solution)
    if not len(doubt) and (excess[zero] <= 0).all():
        return solution
    gaps, clear = [UNDECIDED * tol, tol, DECIDED * tol], CLEAR * group
    while gaps:
        here = _after(here, _solve_without(problem, l1, group, start, out, gaps[0], max_iter))
        excess = _excess(problem, penalty, here)[out]
        worst = excess.max(initial=-np.inf)
        if worst > (clear if len(gaps) > 1 else 0):
            out, start = out[excess < FIRST * worst], solution
        elif gaps.pop(0) == tol and worst < -clear:
            break
        else:
            start = here
    here = _verified(problem, l1, group, here, tol)
    return here if here.converged else solution


def _excess(problem: Problem, penalty: SparseGroup, solution: Solution) -> Array:
    """‖S(Z_g, λ₁)‖_F − λ₂ of each group: zero is not optimal for a group where this is positive."""
    scores = problem.rows.times(solution.weights.astype(problem.rows.dtype, copy=False))
    probabilities = problem.loss.evaluate(scores, solution.intercept).probabilities
    gradient = problem.rows.transposed_times(problem.loss.residual(probabilities))
    return penalty.norms(soft(gradient, penalty.l1)) - penalty.group


def _in_doubt(problem: Problem, penalty: SparseGroup, solution: Solution, allowed: float) -> Array:
    """Groups that are not zero, and without which, the others as they are, the objective rises by at most ``allowed``."""
    rows, loss, weights = problem.rows, problem.loss, solution.weights.astype(problem.rows.dtype, copy=False)
    scores, norms = rows.times(weights), penalty.norms(weights)
    before, found = loss.evaluate(scores, solution.intercept).value, []
    for which in np.flatnonzero(norms):
        mine = np.flatnonzero(penalty.group_of == which)
        without = loss.with_intercept(scores - rows.select(mine).times(weights[mine]), solution.intercept).value
        saved = penalty.group * norms[which] + penalty.l1 * float(np.abs(weights[mine]).sum(dtype=np.float64))
        if without - before - saved <= allowed:
            found.append(which)
    return np.asarray(found, int)


def _solve_without(
    problem: Problem, l1: float, group: float, start: Solution, out: Array, tol: float, max_iter: int
) -> Solution:
    """The solution without some groups, whose weights are zero."""
    kept = np.flatnonzero(~np.isin(problem.group_of, out))
    part = replace(problem, rows=problem.rows.select(kept), group_of=problem.group_of[kept])
    found = _descend(part, l1, group, replace(start, weights=start.weights[kept]), tol, max_iter)
    weights = np.zeros_like(start.weights)
    weights[kept] = found.weights
    return replace(found, weights=weights)


def _descend(problem: Problem, l1: float, group: float, start: Solution | None, tol: float, max_iter: int) -> Solution:
    begun, unit = time.perf_counter(), problem.loss.at_zero()
    state = _State(problem, problem.penalty(l1, group), start)
    best, iterations = state.certified(), 0
    recent, least = [best.objective], unit * max(1e-3 * tol, float(np.finfo(problem.rows.dtype).eps))
    while best.gap > tol * unit and iterations < max_iter and not state.stuck and not _stalled(recent, least):
        iterations += 1
        state.activate_groups()
        state.newton(ACCURACY if best.gap > FINE * unit else FINER)
        state.deactivate_groups()
        state.centre_classes()
        here = state.certified()
        recent.append(here.objective)
        if here.gap < best.gap:
            best = here
    seconds = time.perf_counter() - begun
    converged = best.gap <= tol * unit
    return Solution(*best[:3], best.gap / unit, converged, iterations, state.products, seconds)


def _verified(problem: Problem, l1: float, group: float, solution: Solution, tol: float) -> Solution:
    """The solution with the gap that holds: scores computed anew, loss, intercept and dual point in float64.

    A dual point needs residuals whose columns sum to zero. In float32 they sum to about 1e-6, which the intercept of a rare
    class multiplies: the gap of the iteration can then be too small, even negative.
    """
    rows, loss, penalty, unit = problem.rows, problem.loss, problem.penalty(l1, group), problem.loss.at_zero()
    weights = solution.weights.astype(rows.dtype, copy=False)
    scores = rows.times(weights).astype(np.float64)
    primal = loss.evaluate(scores, solution.intercept).value + penalty.value(weights)
    probabilities = loss.with_intercept(scores, solution.intercept).probabilities
    gradient = rows.transposed_times(loss.residual(probabilities).astype(rows.dtype))
    gap = max(0.0, primal - loss.dual_value(probabilities, penalty.feasible_scale(gradient)))
    converged = gap <= tol * unit
    return replace(solution, gap=gap / unit, converged=converged, products=solution.products + 1)


def _stalled(objectives: list[float], least: float) -> bool:
    """Whether the last steps together gained less than this: a share of the gap to reach, or what rounding makes of the loss.

    The loss is a mean of log Σ exp, sums that are at least one: in float32 it is known to about 1e-7 however small it is.
    """
    return len(objectives) > STALLED and objectives[-STALLED - 1] - objectives[-1] < least


class _Certified(NamedTuple):
    weights: Array
    intercept: Array
    objective: float
    gap: float


class _State:
    """Weights, scores T (up to a constant per row, which softmax does not see), loss and gradient, kept together."""

    def __init__(self, problem: Problem, penalty: SparseGroup, start: Solution | None):
        self.rows, self.loss, self.penalty = problem.rows, problem.loss, penalty
        p, c = problem.rows.shape[1], problem.loss.classes
        dtype = problem.rows.dtype
        self.products, self.stuck = 0.0, False
        self.largest = np.zeros(penalty.groups)
        self.weights = np.zeros((p, c), dtype) if start is None else start.weights.astype(dtype)
        intercept = np.zeros(c) if start is None else start.intercept
        self.scores = np.zeros((self.rows.shape[0], c), dtype)
        if self.weights.any():
            self.scores = self.rows.times(self.weights)
            self.products += 0.5
        self.fit = self.loss.with_intercept(self.scores, intercept)
        self.gradient = self._gradient(self.fit)

    @property
    def objective(self) -> float:
        return self.fit.value + self.penalty.value(self.weights)

    def certified(self) -> _Certified:
        """The point with the best intercept, and its duality gap."""
        self.fit = self.loss.with_intercept(self.scores, self.fit.intercept)
        self.gradient = self._gradient(self.fit)
        scale = self.penalty.feasible_scale(self.gradient)
        gap = self.objective - self.loss.dual_value(self.fit.probabilities, scale)
        return _Certified(self.weights, self.fit.intercept, self.objective, gap)

    def activate_groups(self) -> None:
        """Move each zero group for which zero is not optimal along −S(Z_g, λ₁)(1 − λ₂/‖S(Z_g, λ₁)‖).

        What rounding left of a group becomes zero first: the model of a step takes it as zero, so that it could not move.
        """
        zero = self.penalty.norms(self.weights) < NEGLIGIBLE
        self.weights = np.where(self.penalty.of_rows(zero), 0, self.weights)
        shrunk = soft(self.gradient, self.penalty.l1)
        sizes = self.penalty.norms(shrunk)
        excess = np.where(zero, sizes - self.penalty.group, 0.0)
        inactive = (excess > 0) & (excess >= FIRST * excess.max(initial=0.0))
        for which in np.flatnonzero(inactive):
            mine = np.flatnonzero(self.penalty.group_of == which)
            self._start_group(mine, -shrunk[mine] * (1 - self.penalty.group / sizes[which]))
        if inactive.any():
            self.fit = self.loss.with_intercept(self.scores, self.fit.intercept)  # the model of a step takes it as optimal
            self.gradient = self._gradient(self.fit)

    def newton(self, accuracy: float) -> None:
        """One proximal Newton step; the line search needs no further product with F."""
        before, fit = self.objective, self.fit
        at = self.weights, fit.probabilities, self.loss.row_weights, self.gradient
        step = newton_step(self.rows, self.penalty, *at, accuracy, self.loss.fit_intercept)
        self.products += step.products
        slope = float(np.vdot(self.gradient, step.weights))
        slope += self.penalty.value(self.weights + step.weights) - self.penalty.value(self.weights)
        length = 1.0
        while True:
            weights = self.weights + self.weights.dtype.type(length) * step.weights
            scores = self.scores + self.scores.dtype.type(length) * step.scores
            fit = self.loss.evaluate(scores, self.fit.intercept + length * step.intercept)
            after = fit.value + self.penalty.value(weights)
            if after <= before + 1e-4 * length * min(slope, 0.0) or length < 1e-6:
                break
            length /= 2
        self.stuck = not after < before
        if not self.stuck:
            self.weights, self.scores, self.fit = weights, scores, fit

    def deactivate_groups(self) -> None:
        """Set a group that has lost half its norm, or is small beside the largest, to zero if that minimises the objective
        while the others stay as they are."""
        norms = self.penalty.norms(self.weights)
        small = (norms < 0.5 * self.largest) | (norms < SMALL * norms.max(initial=0.0))
        for which in np.flatnonzero((norms > 0) & small):
            self._try_zero(int(which))
            self.largest[which] = norms[which]
        self.largest = np.maximum(self.largest, norms)

    def centre_classes(self) -> None:
        """Row j of W minus the a_j that minimises λ₁ Σ_k|w_jk − a| + λ₂/(2‖W_g‖) Σ_k (w_jk − a)².

        The minimiser is the median of the c weights and of the c + 1 points where the slope of the quadratic part takes
        the values −λ₁c, −λ₁(c−2), …, λ₁c; without λ₁ it is the mean. Adding a constant over classes changes no probability.
        """
        if self.penalty.l1 == 0:
            self.weights = self.weights - self.weights.mean(axis=1, keepdims=True)
            return
        norms = self.penalty.of_rows(self.penalty.norms(self.weights))
        nonzero = np.flatnonzero((norms[:, 0] > 0) & (self.weights != 0).any(axis=1))
        if not len(nonzero):
            return
        w, c = self.weights[nonzero].astype(np.float64), self.weights.shape[1]
        steps = (np.arange(c + 1) * 2 - c) / c
        with np.errstate(divide="ignore", invalid="ignore"):  # without a group penalty the outer points are at infinity
            reach = self.penalty.l1 / (self.penalty.group / norms[nonzero])
            points = w.mean(axis=1, keepdims=True) - np.where(steps == 0, 0.0, reach * steps)
        self.weights = self.weights.copy()
        centre = np.median(np.concatenate([w, points], axis=1), axis=1, keepdims=True).astype(self.weights.dtype)
        self.weights[nonzero] -= centre

    def _gradient(self, fit: Fit) -> Array:
        self.products += 0.5
        return self.rows.transposed_times(self.loss.residual(fit.probabilities))

    def _start_group(self, mine: Array, direction: Array) -> None:
        scores = self.rows.select(mine).times(direction)
        self.products += 0.5 * len(mine) / len(self.weights)
        p, w = self.fit.probabilities, self.loss.row_weights
        mixed = (p * scores).sum(axis=1)
        curvature = float(np.dot(w, (p * scores * scores).sum(axis=1) - mixed * mixed))
        square = float(np.vdot(direction, direction))
        length = square / max(curvature, 1e-6 * square)
        before = self.objective
        while length > 1e-12:
            weights = self.weights.copy()
            weights[mine] = self.weights.dtype.type(length) * direction
            fit = self.loss.evaluate(self.scores + scores.dtype.type(length) * scores, self.fit.intercept)
            if fit.value + self.penalty.value(weights) < before:
                self.weights, self.fit = weights, fit
                self.scores = self.scores + scores.dtype.type(length) * scores
                return
            length /= 2

    def _try_zero(self, which: int) -> None:
        mine = np.flatnonzero(self.penalty.group_of == which)
        part = self.rows.select(mine)
        scores = self.scores - part.times(self.weights[mine])
        fit = self.loss.evaluate(scores, self.fit.intercept)
        gradient = part.transposed_times(self.loss.residual(fit.probabilities))
        self.products += len(mine) / len(self.weights)
        if np.linalg.norm(soft(gradient, self.penalty.l1)) <= self.penalty.group:
            self.weights = self.weights.copy()
            self.weights[mine] = 0
            self.scores, self.fit = scores, fit


def check_stopping(tol: Any, max_iter: Any) -> None:
    if not isinstance(tol, (int, float, np.number)) or not np.isfinite(tol) or tol <= 0:
        raise InputError(f"tol must be a positive number (a share of the loss at zero), not {tol!r}")
    if not isinstance(max_iter, (int, np.integer)) or max_iter < 1:
        raise InputError(f"max_iter must be a positive whole number of Newton steps, not {max_iter!r}")


def warn_unconverged(gap: float, tol: float, iterations: int) -> None:
    warnings.warn(
        f"the duality gap is {gap:.1e} of the loss at zero after {iterations} Newton steps, not yet {tol:.1e}:"
        " raise max_iter, use float64 features, or accept a larger tol",
        ConvergenceWarning,
        stacklevel=3,
    )
