"""Sparse-group multinomial logistic regression, solved to a certified duality gap.

    min_{W, b}  f(F W + 1bᵀ) + λ₁ ‖W‖₁ + λ₂ Σ_g ‖W_g‖_F              f: `learn.loss`, penalty: `learn.penalty`

Each iteration
1. minimises over the intercept, and takes the residual as a dual point: scaled until it is feasible it gives the gap;
2. shifts each row of W by the constant over classes that minimises the penalty (the loss does not depend on it);
3. activates a group that is zero and should not be along its steepest descent, which a quadratic model cannot see, because
   the norm has a kink there;
4. takes a proximal Newton step over the groups that are not zero with a line search;
5. deactivates a group that is shrinking or small, that is sets it to exactly zero, if zero is optimal for it while the
   others stay as they are.

At the gap that was asked for, a group that is zero in the solution can still have weights, or the other way round. So in the
end groups that the objective would hardly miss are left out, the others are solved further, and only groups for which zero
is then not optimal, ‖S(Z_g, λ₁)‖_F > λ₂, come back.

The Newton step is that of a quadratic model of the loss with the exact penalty, minimised by projected conjugate gradients.

At W (only groups that are not zero take part) the model of the objective at W + V, intercept b + v, is

    q(V, v) = ⟨Z, V⟩ + ½ ⟨(V, v), H (V, v)⟩ + λ₁ ‖W + V‖₁ + λ₂ Σ_g ‖W_g + V_g‖_F,      H (V, v) = Fᵀ D (F V + 1vᵀ)

It is minimised in rounds. In a round, coordinates that are zero and want to stay so are left out and the others keep their
sign; there the norms are smooth, and conjugate gradients solve with H plus the group norms' second derivative
(λ₂/‖·‖)(I − uuᵀ), u the unit vector of the group. They are scaled by its diagonal less (λ₂/‖·‖) uuᵀ: a small group is stiff
across u, but not along it. What crosses zero is set to zero, without λ₁ also a group that would pass through it, and the free
coordinates are chosen again. So whole sets of coordinates enter and leave in one step, which a line search over the true
objective would admit one kink at a time. Where that lowers nothing, because the direction is long where the model is flat and
most of it is cut off, rounds become conservative: coordinates leave zero by proximal gradient steps only, and the system is
damped by a share of its diagonal, which grows while directions cross zero and falls when they do not.
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
from slimg.engine.kernels import SUMS, compiled
from slimg.errors import InputError
from slimg.learn.objective import Fit, Problem, Rows, SparseGroup, soft

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
ROUNDS = 50
ROUGH = 0.5
"""Relative accuracy of conjugate gradients while the free coordinates still change; then it is made smaller."""
PRODUCTS = 150
"""Products with F that one step may cost."""
RIDGE = 1e-6
"""What is added to the diagonal of H, as a share of its largest entry."""
DAMPING = 0.01
"""The first share of the diagonal that damps conservative rounds."""
SLOW = 30
"""Products after which conjugate gradients count as slow."""
THOROUGH = 0.1
"""The accuracy from which on groups that were set to zero may come back within a step; otherwise the next one activates them."""
NEGLIGIBLE = 1e-12
"""The norm below which a group counts as zero: λ₂/‖·‖ must not overflow."""
DIRECT_SIZE, DIRECT_WORK = 1200, 1 << 30
"""Free coordinates, and multiplications (m·size²), up to which a system may be solved directly."""
SELECT_BELOW = 0.7
"""Columns are copied together when fewer than this share take part."""


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


class Step(NamedTuple):
    """V (p × c) and v (c) to add to weights and intercept, the scores F V (m × c), and the number of products with F."""

    weights: Array
    intercept: Array
    scores: Array
    products: float


def newton_step(
    rows: Rows,
    penalty: SparseGroup,
    weights: Array,
    probabilities: Array,
    row_weights: Array,
    gradient: Array,
    accuracy: float,
    fit_intercept: bool = True,
) -> Step:
    """Minimise the model around ``weights`` (p × c), where the loss has the given gradient.

    Returns
    -------
    step : Step
        At which the slope of the model has fallen to the share ``accuracy`` of its largest.
    """
    active = (penalty.of_rows(penalty.norms(weights), 1.0) > 0)[:, 0]
    chosen = np.flatnonzero(active & ((weights != 0) | (np.abs(gradient) > 0.9 * penalty.l1)).any(axis=1))
    if len(chosen) >= SELECT_BELOW * len(weights):
        chosen = np.arange(len(weights))
    part = rows if len(chosen) == len(weights) else rows.select(chosen)
    inside = SparseGroup(penalty.l1, penalty.group, penalty.group_of[chosen], penalty.groups)
    model = _Model(part, inside, active[chosen], probabilities, row_weights, fit_intercept)
    here = model.minimise(weights[chosen], gradient[chosen], accuracy)
    whole = np.zeros_like(weights)
    whole[chosen] = here.step
    return Step(whole, here.intercept_step, part.times(here.step), (model.products + 0.5) * len(chosen) / len(weights))


class _Point(NamedTuple):
    """A point of the model: (V, v), its image under H, and the value q."""

    step: Array
    intercept_step: Array
    image: Array
    intercept_image: Array
    value: float = 0.0


class _Model:
    """The model on the chosen rows of W; rows that are not active are in groups that are zero and stay zero."""

    def __init__(
        self, part: Rows, penalty: SparseGroup, active: Array, probabilities: Array, row_weights: Array, fit_intercept: bool
    ):
        self.part, self.penalty, self.active = part, penalty, active[:, None]
        self.p, self.w, self.fit_intercept = probabilities, row_weights, fit_intercept
        self.whole = penalty.group > 0 and penalty.l1 == 0  # groups are set to zero whole; with λ₁ their coordinates are
        spread = probabilities * (1 - probabilities) * row_weights[:, None]
        self.diagonal = part.squared_transposed_times(spread)
        tiny = np.finfo(part.dtype).tiny
        self.ridge = np.asarray(RIDGE * float(self.diagonal.max(initial=0.0)) + tiny, part.dtype)
        self.intercept_diagonal = np.maximum(spread.sum(axis=0), 1e-3 * spread.mean() * len(spread) + tiny)
        self.products = 0.5

    def times(self, step: Array, intercept_step: Array) -> tuple[Array, Array]:
        """H (V, v), with a small ridge; without an intercept v stays zero, because its slope is zero."""
        self.products += 1
        image, intercept_image = self.part.hessian_product(self.p, self.w, step, intercept_step)
        image += self.ridge * step
        return image, intercept_image if self.fit_intercept else np.zeros_like(intercept_image)

    def minimise(self, weights: Array, gradient: Array, accuracy: float) -> _Point:
        none, no_shift = np.zeros_like(weights), np.zeros(weights.shape[1], weights.dtype)
        here = _Point(none, no_shift, none, no_shift, self.penalty.value(weights))
        first, rough, conservative, damping = 0.0, ROUGH, False, 0.0
        for _ in range(ROUNDS):
            at = weights + here.step
            norms, curvature = self._group_curvature(at)
            diagonal = self.diagonal + curvature + self.ridge
            steepest = _steepest(gradient + here.image + curvature * at, at, self.penalty.l1)
            slope = steepest * self._active(norms)
            size = self._size(slope, diagonal, here)
            first = max(first, size)
            if size <= accuracy**2 * first and self.whole and accuracy <= THOROUGH:
                slope = self._with_zero_groups(steepest, norms)
                size = self._size(slope, diagonal, here)
            if size <= accuracy**2 * first or self.products > PRODUCTS:
                break
            free = (at != 0) | ((slope != 0) & (not conservative))
            system = _System(self, at, norms, curvature, diagonal, free, at.dtype.type(damping))
            direction = system.solve(slope, here.intercept_image, max(rough, accuracy / 2))
            side = _side(at, slope, self.penalty.l1)
            there, crossed = self._search(weights, gradient, here, direction, side)
            rough = rough if crossed else rough * ROUGH
            conservative = conservative or there is None
            if conservative:
                damping = max(3 * damping, DAMPING) if crossed else damping / 10
                there = self._prox_step(weights, gradient, there or here, diagonal) or there
            if there is None:
                break
            here = there
        return here

    def _group_curvature(self, at: Array) -> tuple[Array, Array]:
        """‖·‖_F of the group of each row, and λ₂ over it: the second derivative of the group norm across its direction."""
        norms = self.penalty.of_rows(self.penalty.norms(at), np.inf).astype(at.dtype)
        norms[norms < NEGLIGIBLE] = 0
        return norms, self.penalty.group / np.where(norms > 0, norms, np.inf)

    def _size(self, slope: Array, diagonal: Array, here: _Point) -> float:
        """The squared length of the slope, scaled by the diagonal."""
        own = _dot(here.intercept_image, here.intercept_image / self.intercept_diagonal)
        return _dot(slope, slope / diagonal) + own

    def _active(self, norms: Array) -> Array:
        """Rows that may change: a group that a round has set to zero stays there."""
        return self.active & (norms > 0) if self.whole else self.active

    def _with_zero_groups(self, steepest: Array, norms: Array) -> Array:
        """The slope with that of the groups which were set to zero, S(Z_g, λ₁)(1 − λ₂/‖S(Z_g, λ₁)‖), or zero."""
        sizes = np.maximum(self.penalty.of_rows(self.penalty.norms(steepest), 1.0), np.finfo(np.float32).tiny)
        left = np.where(norms > 0, 1, np.maximum(1 - self.penalty.group / sizes, 0)).astype(steepest.dtype)
        return steepest * self.active * left

    def _prox_step(self, weights: Array, gradient: Array, here: _Point, diagonal: Array) -> _Point | None:
        """A scaled proximal gradient step for the ℓ₁ part with the best length: it finds out what should be zero."""
        at = weights + here.step
        norms, curvature = self._group_curvature(at)
        smooth = gradient + here.image + curvature * at
        step = (soft_by(at - smooth / diagonal, self.penalty.l1 / diagonal) - at) * self._active(norms)
        intercept_step = -here.intercept_image / self.intercept_diagonal
        direction = _Point(step, intercept_step, *self.times(step, intercept_step))
        slope = _dot(gradient + here.image, step) + _dot(here.intercept_image, intercept_step)
        slope += self.penalty.value(at + step) - self.penalty.value(at)
        along = _dot(step, direction.image) + _dot(intercept_step, direction.intercept_image)
        length = at.dtype.type(min(1.0, -slope / max(along, 1e-30)))
        return self._if_lower(weights, gradient, here, *_along(here, length, direction))

    def _if_lower(
        self,
        weights: Array,
        gradient: Array,
        here: _Point,
        step: Array,
        intercept_step: Array,
        image: Array,
        intercept_image: Array,
    ) -> _Point | None:
        value = _dot(gradient, step) + 0.5 * (_dot(step, image) + _dot(intercept_step, intercept_image))
        value += self.penalty.value(weights + step)
        return _Point(step, intercept_step, image, intercept_image, value) if value < here.value else None

    def _search(
        self, weights: Array, gradient: Array, here: _Point, direction: _Point, side: Array
    ) -> tuple[_Point | None, bool]:
        """A point along the direction, cut off where it crosses zero, with a lower value; whether it crossed."""
        length, any_crossed, at = weights.dtype.type(1), False, weights + here.step
        while length > 0.01:
            step, intercept_step, image, intercept_image = _along(here, length, direction)
            crossed = (weights + step) * side < 0
            if self.whole:  # a group that has turned by more than a right angle, or nearly vanished, would pass through zero
                left = self.penalty.dots(at, weights + step) < NEGLIGIBLE * self.penalty.dots(at, at)
                crossed |= self.penalty.of_rows(left)
            if crossed.any():
                any_crossed = True
                step = np.where(crossed, -weights, step)
                image, intercept_image = self.times(step, intercept_step)
            there = self._if_lower(weights, gradient, here, step, intercept_step, image, intercept_image)
            if there is not None:
                return there, any_crossed
            length /= 4
        return None, True


class _System:
    """H plus the second derivative of the group norms at a point, and damping, on its free coordinates:

    S(x) = H x + curvature (x − u⟨u, x⟩) + damping · x
    """

    def __init__(
        self,
        model: _Model,
        at: Array,
        norms: Array,
        curvature: Array,
        diagonal: Array,
        free: Array,
        damping: np.floating[Any],
    ):
        self.model, self.curvature, self.free = model, curvature, free
        self.damping, self.diagonal = damping * diagonal, (1 + damping) * diagonal
        self.unit = at / np.where(norms > 0, norms, np.inf)
        stiffness, pull = (curvature + self.damping) * free, curvature * self.unit * free
        along = np.zeros((2, model.penalty.groups + 1))
        scaling = self.unit * free / self.diagonal, np.append(self._lift(), 0.0)
        self._terms = free.astype(at.dtype), stiffness, pull, self.unit, model.penalty.places, along, *scaling

    def _lift(self) -> Array:
        """κ of each group in (D − curvature uuᵀ)⁻¹ = D⁻¹ + κ D⁻¹uuᵀD⁻¹, D the diagonal, u on the free coordinates."""
        penalty, squares = self.model.penalty, self.unit * self.unit
        curvature = np.sqrt(penalty.dots(self.unit, self.curvature**2 * self.unit))
        rest = np.where(self.free, (self.model.diagonal + self.model.ridge + self.damping) / self.diagonal, 1)
        share = np.bincount(penalty.places, (squares * rest).sum(axis=1, dtype=np.float64), penalty.groups + 1)[:-1]
        return np.divide(curvature, share, out=np.zeros_like(share), where=share > 0)

    def solve(self, slope: Array, intercept_slope: Array, accuracy: float) -> _Point:
        """x with S(x) ≈ −slope by conjugate gradients, and its image under H.

        Where those take long and few coordinates are free, the system is written out and solved directly.
        """
        model = self.model
        patience = model.products + (SLOW if self._is_small() else PRODUCTS)
        r = -slope * self.free
        d = self._scaled(r)
        x, hx = np.zeros_like(r), np.zeros_like(r)
        intercept = np.zeros((6, r.shape[1]), r.dtype)  # x, its image, r, d, the image of d, and the diagonal
        intercept[2], intercept[5] = -intercept_slope, model.intercept_diagonal
        intercept[3] = intercept[2] / intercept[5]
        size = begun = _dot(r, d) + _dot(intercept[2], intercept[3])
        while size > (accuracy / 2) ** 2 * begun and model.products < PRODUCTS:
            if model.products > patience:
                return self._solve_directly(slope, intercept_slope)
            h, intercept[4] = model.times(d, intercept[3])
            size = conjugate_step(x, hx, r, d, h, *self._terms, self.diagonal, intercept, size)
            if not 0 <= size < np.inf:  # float32 has run out; what was found so far is kept and judged by the search
                break
        return _Point(x, intercept[0], hx, intercept[1])

    def _scaled(self, r: Array) -> Array:
        """(D − curvature uuᵀ)⁻¹ r."""
        *_, places, _, lifted, lift = self._terms
        along = np.bincount(places, np.einsum("ij,ij->i", lifted, r, dtype=np.float64), len(lift))
        return r / self.diagonal + (lift * along)[places][:, None].astype(r.dtype) * lifted

    def _is_small(self) -> bool:
        size = int(np.count_nonzero(self.free)) + self.free.shape[1]
        return size <= DIRECT_SIZE and len(self.model.p) * size**2 <= DIRECT_WORK

    def _solve_directly(self, slope: Array, intercept_slope: Array) -> _Point:
        """With E = columns of F of the free coordinates (ones for the intercept) and p their classes' probabilities,

            H = Eᵀ diag(w) (p ∘ E) where classes agree  −  (p ∘ E)ᵀ diag(w) (p ∘ E),   plus curvature (I − uuᵀ) and damping.
        """
        model, c = self.model, self.free.shape[1]
        row, kind = np.nonzero(self.free)
        ends = c if model.fit_intercept else 0
        kinds = np.append(kind, np.arange(ends))
        with one_thread():
            columns = np.hstack([model.part.matrix[:, row], np.ones((len(model.p), ends))]).astype(np.float64)
            likely = columns * model.p[:, kinds]
            weighted = likely * model.w[:, None]
            hessian = np.where(kinds[:, None] == kinds, columns.T @ weighted, 0.0) - likely.T @ weighted
            unit = self.unit[row, kind].astype(np.float64)
            curvature = np.broadcast_to(self.curvature, self.free.shape)[row, kind]
            group = model.penalty.group_of[row]
            same = (group[:, None] == group) & (group[:, None] >= 0)
            hessian[: len(row), : len(row)] -= np.where(same, curvature[:, None] * np.outer(unit, unit), 0.0)
            added, largest = curvature + self.damping[row, kind] + float(model.ridge), float(model.intercept_diagonal.max())
            hessian[np.diag_indices(len(kinds))] += np.append(added, np.full(ends, largest))
            hessian[len(row) :, len(row) :] += largest * (1.0 / c - np.eye(ends))
            target = -np.append(slope[row, kind], intercept_slope[:ends]).astype(np.float64)
            hessian[np.diag_indices(len(kinds))] += 1e-10 * hessian.diagonal().max()  # equal columns make it singular
            x = np.linalg.solve(hessian, target)
        step, intercept_step = np.zeros_like(slope), np.zeros_like(intercept_slope)
        step[row, kind], intercept_step[:ends] = x[: len(row)], x[len(row) :]
        return _Point(step, intercept_step, *model.times(step, intercept_step))


def _along(here: _Point, length: np.floating[Any], direction: _Point) -> tuple[Array, Array, Array, Array]:
    """The step, intercept step and images after a length of a direction."""
    step, intercept_step, image, intercept_image = (a + length * b for a, b in zip(here[:4], direction[:4], strict=True))
    return step, intercept_step, image, intercept_image


def _steepest(smooth: Array, at: Array, l1: float) -> Array:
    """The shortest subgradient of a smooth part plus λ₁‖·‖₁."""
    return np.where(at != 0, smooth + l1 * np.sign(at), soft(smooth, l1))


def _side(at: Array, slope: Array, l1: float) -> Array:
    """The sign that a coordinate must keep for λ₁‖·‖₁ to stay smooth; 0, any sign, without an ℓ₁ part."""
    return np.where(at != 0, np.sign(at), -np.sign(slope)) if l1 > 0 else np.zeros_like(at)


def soft_by(values: Array, thresholds: Array) -> Array:
    """`soft` with one threshold per entry."""
    return np.sign(values) * np.maximum(np.abs(values) - thresholds, 0)


def _dot(a: Array, b: Array) -> float:
    return float(np.vdot(a, b))


@compiled(fastmath=SUMS)
def conjugate_step(x, hx, r, d, h, free, stiffness, pull, unit, places, sums, lifted, lift, diagonal, intercept, size):
    """One step of conjugate gradients with S(d) = free ∘ h + stiffness ∘ d − pull ∘ ⟨u, d⟩_g, h = H d.

    Updates x, H x, the residual r and the direction d (k × c); ``intercept`` (6 × c) holds the same for v. Residuals are
    scaled, M⁻¹r = r/diagonal + lift_g lifted ⟨lifted, r⟩_g. Returns the new size ⟨r, M⁻¹r⟩ of the residual; −1 says that the
    curvature ⟨d, S(d)⟩ is not positive, and nothing was changed. ``sums`` (2 × groups + 1) is scratch, ``places`` (k) the
    group of each row, the last for rows in none. Compiled, as `slimg.learn.objective.add_hessian_product` is.
    """
    k, c = d.shape
    xb, hxb, rb, db, hb, intercept_diagonal = intercept
    sums[:] = 0
    along, left = sums
    for i in range(k):
        total = 0.0
        for j in range(c):
            total += unit[i, j] * d[i, j]
        along[places[i]] += total
    along[-1] = 0
    full = np.empty_like(d)
    curvature = 0.0
    for i in range(k):
        pulled = d.dtype.type(along[places[i]])
        for j in range(c):
            full[i, j] = h[i, j] * free[i, j] + stiffness[i, j] * d[i, j] - pull[i, j] * pulled
            curvature += d[i, j] * full[i, j]
    for j in range(c):
        curvature += db[j] * hb[j]
    if not 0 < curvature < np.inf:
        return -1.0
    length = d.dtype.type(size / curvature)
    after = 0.0
    for i in range(k):
        total = 0.0
        for j in range(c):
            x[i, j] += length * d[i, j]
            hx[i, j] += length * h[i, j]
            r[i, j] -= length * full[i, j]
            after += r[i, j] * (r[i, j] / diagonal[i, j])
            total += lifted[i, j] * r[i, j]
        left[places[i]] += total
    for g in range(len(lift)):
        after += lift[g] * left[g] * left[g]
    for j in range(c):
        xb[j] += length * db[j]
        hxb[j] += length * hb[j]
        rb[j] -= length * hb[j]
        after += rb[j] * (rb[j] / intercept_diagonal[j])
    beta = d.dtype.type(after / size)
    for i in range(k):
        raised = d.dtype.type(lift[places[i]] * left[places[i]])
        for j in range(c):
            d[i, j] = r[i, j] / diagonal[i, j] + raised * lifted[i, j] + beta * d[i, j]
    for j in range(c):
        db[j] = rb[j] / intercept_diagonal[j] + beta * db[j]
    return after
