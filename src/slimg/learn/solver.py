"""Sparse-group multinomial logistic regression, solved to a certified duality gap.

    min_{W, b}  f(F W + 1bᵀ) + λ₁ ‖W‖₁ + λ₂ Σ_g ‖W_g‖_F              f: `learn.loss`, penalty: `learn.penalty`

Each iteration
1. minimises over the intercept, and takes the residual as a dual point: scaled until it is feasible it gives the gap;
2. moves each row of W by the constant over classes that makes the penalty least (the loss does not see it);
3. lets a group that is zero and should not be start along its steepest descent, which a quadratic model cannot see, the
   norm having a kink there;
4. takes a proximal Newton step over the groups that are not zero (`learn.quadratic`) with a line search;
5. sets a group that is shrinking or small to exactly zero if zero is optimal for it, the others being as they are.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from slimg.engine.base import Array
from slimg.engine.blas import one_thread
from slimg.learn.loss import Fit, MultinomialLoss
from slimg.learn.penalty import SparseGroup, soft
from slimg.learn.quadratic import newton_step
from slimg.learn.rows import Rows

ACCURACY, FINE, FINER = 0.3, 1e-3, 0.1
"""A Newton step is worked out until the slope of its model has fallen to the first share. From a gap of ``FINE`` on it is to
``FINER``: there the model is good, and a step worked out further is one step less."""
SMALL = 0.02
"""The share of the largest group's norm below which a group is asked whether it should be zero."""
STALLED = 12
"""Steps that must gain something together, or else rounding is to blame."""


@dataclass(frozen=True)
class Problem:
    """What does not change along a path: rows, labels and groups."""

    rows: Rows
    loss: MultinomialLoss
    group_of: Array
    groups: int

    @classmethod
    def build(
        cls,
        matrix: Array,
        codes: Array,
        classes: int,
        group_of: Array,
        engine: Any,
        row_weights: Array | None = None,
        fit_intercept: bool = True,
    ) -> Problem:
        weights = np.ones(len(codes)) if row_weights is None else np.asarray(row_weights, np.float64)
        weights = (weights / weights.sum()).astype(matrix.dtype)
        loss = MultinomialLoss(np.asarray(codes), weights, classes, fit_intercept, engine)
        return cls(Rows(matrix, engine), loss, np.asarray(group_of), int(max(group_of, default=-1)) + 1)

    def penalty(self, l1: float, group: float) -> SparseGroup:
        return SparseGroup(float(l1), float(group), self.group_of, self.groups)

    def in_double(self) -> Problem:
        """The same problem in float64."""
        rows = Rows(self.rows.matrix.astype(np.float64), self.rows.engine)
        weights = self.loss.row_weights.astype(np.float64)
        return replace(self, rows=rows, loss=replace(self.loss, row_weights=weights / weights.sum()))

    def gradient_at_zero(self) -> Array:
        """Z at W = 0 with the best intercept: λ_max follows from it."""
        zero = np.zeros((self.rows.shape[0], self.loss.classes), self.rows.dtype)
        fit = self.loss.with_intercept(zero, np.zeros(self.loss.classes))
        return self.rows.transposed_times(self.loss.residual(fit.probabilities))


@dataclass(frozen=True)
class Solution:
    """Weights (p × c), intercept (c, sums to zero) and what is known of them.

    ``gap`` is the duality gap divided by the loss at W = 0; ``products`` counts products with F and Fᵀ, in pairs.
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
        """F W + 1bᵀ of any rows, in their precision."""
        return rows @ self.weights + self.intercept.astype(rows.dtype)


@one_thread()  # here, because setting it is dearer than a small product
def solve(
    problem: Problem, l1: float, group: float, start: Solution | None = None, tol: float = 1e-4, max_iter: int = 200
) -> Solution:
    """The solution for one pair (λ₁, λ₂), from zero or from another pair's solution.

    Where float32 cannot reach the gap, because the penalties are so small that rounding is felt, float64 goes on from there.
    """
    solution = _descend(problem, l1, group, start, tol, max_iter)
    if solution.converged or problem.rows.dtype == np.float64 or solution.iterations >= max_iter:
        return solution
    finish = _descend(problem.in_double(), l1, group, solution, tol, max_iter - solution.iterations)
    return replace(
        finish,
        iterations=solution.iterations + finish.iterations,
        products=solution.products + finish.products,
        seconds=solution.seconds + finish.seconds,
    )


def _descend(
    problem: Problem, l1: float, group: float, start: Solution | None, tol: float, max_iter: int
) -> Solution:
    begun, unit = time.perf_counter(), problem.loss.at_zero()
    state = _State(problem, problem.penalty(l1, group), start)
    best, iterations = state.certified(), 0
    recent = [best.objective]
    while best.gap > tol * unit and iterations < max_iter and not state.stuck and not _stalled(recent, tol * unit):
        iterations += 1
        state.wake_groups()
        state.newton(ACCURACY if best.gap > FINE * unit else FINER)
        state.rest_groups()
        state.centre_classes()
        here = state.certified()
        recent.append(here.objective)
        if here.gap < best.gap:
            best = here
    seconds = time.perf_counter() - begun
    converged = best.gap <= tol * unit
    return Solution(*best[:3], best.gap / unit, converged, iterations, state.products, seconds)


def _stalled(objectives: list[float], unit: float) -> bool:
    """Whether the last steps together gained next to nothing of what is allowed to be missing."""
    return len(objectives) > STALLED and objectives[-STALLED - 1] - objectives[-1] < 1e-3 * unit


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

    def wake_groups(self) -> None:
        """A zero group whose gradient is too large moves along −S(Z_g, λ₁)(1 − λ₂/‖S(Z_g, λ₁)‖)."""
        shrunk = soft(self.gradient, self.penalty.l1)
        sizes = self.penalty.norms(shrunk)
        asleep = (self.penalty.norms(self.weights) == 0) & (sizes > self.penalty.group)
        for which in np.flatnonzero(asleep):
            mine = np.flatnonzero(self.penalty.group_of == which)
            self._start_group(mine, -shrunk[mine] * (1 - self.penalty.group / sizes[which]))
        if asleep.any():
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

    def rest_groups(self) -> None:
        """A group that has lost half its norm, or has little beside the largest, is set to zero if that is its minimiser,
        the others being as they are."""
        norms = self.penalty.norms(self.weights)
        small = (norms < 0.5 * self.largest) | (norms < SMALL * norms.max(initial=0.0))
        for which in np.flatnonzero((norms > 0) & small):
            self._try_zero(int(which))
            self.largest[which] = norms[which]
        self.largest = np.maximum(self.largest, norms)

    def centre_classes(self) -> None:
        """Row j of W minus the a_j that minimises λ₁ Σ_k|w_jk − a| + λ₂/(2‖W_g‖) Σ_k (w_jk − a)².

        The minimiser is the median of the c weights and of the c + 1 points where the slope of the quadratic part takes
        the values −λ₁c, −λ₁(c−2), …, λ₁c. Adding a constant over classes changes no probability.
        """
        norms = self.penalty.of_rows(self.penalty.norms(self.weights))
        live = np.flatnonzero((norms[:, 0] > 0) & (self.weights != 0).any(axis=1))
        if not len(live):
            return
        w, c = self.weights[live].astype(np.float64), self.weights.shape[1]
        steps = (np.arange(c + 1) * 2 - c) / c
        with np.errstate(divide="ignore", invalid="ignore"):  # without a group penalty the outer points are at infinity
            reach = self.penalty.l1 / (self.penalty.group / norms[live])
            points = w.mean(axis=1, keepdims=True) - np.where(steps == 0, 0.0, reach * steps)
        self.weights = self.weights.copy()
        centre = np.median(np.concatenate([w, points], axis=1), axis=1, keepdims=True).astype(self.weights.dtype)
        self.weights[live] -= centre

    def _gradient(self, fit: Fit) -> Array:
        self.products += 0.5
        return self.rows.transposed_times(self.loss.residual(fit.probabilities))

    def _start_group(self, mine: Array, direction: Array) -> None:
        scores = self.rows.select(mine).times(direction)
        self.products += 0.5 * len(mine) / len(self.weights)
        p, w = self.fit.probabilities, self.loss.row_weights
        mixed = (p * scores).sum(axis=1)
        bending = float(np.dot(w, (p * scores * scores).sum(axis=1) - mixed * mixed))
        square = float(np.vdot(direction, direction))
        length = square / max(bending, 1e-6 * square)
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
