"""The step of the proximal Newton method: a quadratic model of the loss with the exact penalty, minimised by projected
conjugate gradients.

At W (only groups that are not zero take part) the model of the objective at W + V, intercept b + v, is

    q(V, v) = ⟨Z, V⟩ + ½ ⟨(V, v), H (V, v)⟩ + λ₁ ‖W + V‖₁ + λ₂ Σ_g ‖W_g + V_g‖_F,      H (V, v) = Fᵀ D (F V + 1vᵀ)

It is minimised in rounds. In a round, coordinates that are zero and want to stay so are left out and the others keep their
sign; there the norms are smooth, and conjugate gradients, scaled by the diagonal, solve with H plus the group norms' second
derivative (λ₂/‖·‖)(I − uuᵀ), u the unit vector of the group. What crosses zero is set to zero, and the free coordinates
are chosen anew. So whole sets of coordinates enter and leave in one step, which a line search over the true objective
would admit one kink at a time. Where that lowers nothing, because the course leaves through flat directions and most of it
is cut off, rounds become careful: coordinates leave zero by proximal gradient steps only, and the system is braked by a
share of its diagonal, which grows while courses cross zero and goes when they do not.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from slimg.engine.base import Array
from slimg.engine.blas import one_thread
from slimg.learn.kernels import conjugate_step
from slimg.learn.penalty import SparseGroup, soft
from slimg.learn.rows import Rows

ROUNDS = 50
ROUGH = 0.5
"""How far conjugate gradients go while the free coordinates still change; then ever further."""
PRODUCTS = 150
"""Products with F that one step may cost."""
DAMPING = 1e-6
BRAKE = 0.01
"""The first share of the diagonal that brakes careful rounds."""
SLOW = 30
"""Products after which conjugate gradients are slow."""
DIRECT_SIZE, DIRECT_WORK = 1200, 1 << 30
"""Free coordinates, and multiplications (m·size²), up to which a system may be written out."""
SELECT_BELOW = 0.7
"""Columns are copied together when fewer than this share take part."""


class Step(NamedTuple):
    """Displacement of the weights (p × c) and of the intercept, F·V, and how many products with F were made."""

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
    """Minimise the model around ``weights``, where the loss has the given gradient, until its slope fell to ``accuracy``."""
    alive = (penalty.of_rows(penalty.norms(weights), 1.0) > 0)[:, 0]
    chosen = np.flatnonzero(alive & ((weights != 0) | (np.abs(gradient) > 0.9 * penalty.l1)).any(axis=1))
    if len(chosen) >= SELECT_BELOW * len(weights):
        chosen = np.arange(len(weights))
    part = rows if len(chosen) == len(weights) else rows.select(chosen)
    inside = SparseGroup(penalty.l1, penalty.group, penalty.group_of[chosen], penalty.groups)
    model = _Model(part, inside, alive[chosen], probabilities, row_weights, fit_intercept)
    moved, shift = model.minimise(weights[chosen], gradient[chosen], accuracy)
    whole = np.zeros_like(weights)
    whole[chosen] = moved
    return Step(whole, shift, part.times(moved), (model.products + 0.5) * len(chosen) / len(weights))


class _Point(NamedTuple):
    """A point of the model: displacement (V, v), its image under H, and the value q."""

    moved: Array
    shift: Array
    image: Array
    image_shift: Array
    value: float


class _Model:
    """The model on the chosen rows of W; rows that are not alive belong to groups that are zero and stay so."""

    def __init__(
        self, part: Rows, penalty: SparseGroup, alive: Array, probabilities: Array, row_weights: Array, fit_intercept: bool
    ):
        self.part, self.penalty, self.alive = part, penalty, alive[:, None]
        self.p, self.w, self.fit_intercept = probabilities, row_weights, fit_intercept
        spread = probabilities * (1 - probabilities) * row_weights[:, None]
        self.diagonal = part.squared_transposed_times(spread)
        tiny = np.finfo(part.dtype).tiny
        self.damping = np.asarray(DAMPING * float(self.diagonal.max(initial=0.0)) + tiny, part.dtype)
        self.shift_diagonal = np.maximum(spread.sum(axis=0), 1e-3 * spread.mean() * len(spread) + tiny)
        self.products = 0.5

    def times(self, direction: Array, shift: Array) -> tuple[Array, Array]:
        """H (V, v), with a little damping; without an intercept v stays zero, since nothing pulls at it."""
        self.products += 1
        image, image_shift = self.part.curvature(self.p, self.w, direction, shift)
        image += self.damping * direction
        return image, image_shift if self.fit_intercept else np.zeros_like(image_shift)

    def minimise(self, weights: Array, gradient: Array, accuracy: float) -> tuple[Array, Array]:
        none, no_shift = np.zeros_like(weights), np.zeros(weights.shape[1], weights.dtype)
        here = _Point(none, no_shift, none, no_shift, self.penalty.value(weights))
        first, rough, careful, brake = 0.0, ROUGH, False, 0.0
        for _ in range(ROUNDS):
            at = weights + here.moved
            norms = self.penalty.of_rows(self.penalty.norms(at), np.inf).astype(at.dtype)
            bend = self.penalty.group / np.where(norms > 0, norms, np.inf)
            slope = _steepest(gradient + here.image + bend * at, at, self.penalty.l1) * self.alive
            diagonal = self.diagonal + bend + self.damping
            size = _dot(slope, slope / diagonal) + _dot(here.image_shift, here.image_shift / self.shift_diagonal)
            first = max(first, size)
            if size <= accuracy**2 * first or self.products > PRODUCTS:
                break
            free = (at != 0) | ((slope != 0) & (not careful))
            system = _System(self, at, norms, bend, diagonal, free, at.dtype.type(brake))
            course = system.solve(slope, here.image_shift, max(rough, accuracy / 2))
            side = _side(at, slope, self.penalty.l1)
            there, crossed = self._search(weights, gradient, here, course, side)
            rough = rough if crossed else rough * ROUGH
            careful = careful or there is None
            if careful:
                brake = max(3 * brake, BRAKE) if crossed else brake / 10
                there = self._prox_step(weights, gradient, there or here, diagonal) or there
            if there is None:
                break
            here = there
        return here.moved, here.shift

    def _prox_step(self, weights: Array, gradient: Array, here: _Point, diagonal: Array) -> _Point | None:
        """A scaled proximal gradient step for the ℓ₁ part with the best length: it finds out what should be zero."""
        at = weights + here.moved
        norms = self.penalty.of_rows(self.penalty.norms(at), np.inf).astype(at.dtype)
        smooth = gradient + here.image + self.penalty.group / np.where(norms > 0, norms, np.inf) * at
        course = (soft_by(at - smooth / diagonal, self.penalty.l1 / diagonal) - at) * self.alive
        turn = -here.image_shift / self.shift_diagonal
        image, image_turn = self.times(course, turn)
        slope = _dot(gradient + here.image, course) + _dot(here.image_shift, turn)
        slope += self.penalty.value(at + course) - self.penalty.value(at)
        bending = _dot(course, image) + _dot(turn, image_turn)
        length = at.dtype.type(min(1.0, -slope / max(bending, 1e-30)))
        moved, shift = here.moved + length * course, here.shift + length * turn
        return self._better(
            weights, gradient, here, moved, shift, here.image + length * image, here.image_shift + length * image_turn
        )

    def _better(
        self,
        weights: Array,
        gradient: Array,
        here: _Point,
        moved: Array,
        shift: Array,
        image: Array,
        image_shift: Array,
    ) -> _Point | None:
        value = _dot(gradient, moved) + 0.5 * (_dot(moved, image) + _dot(shift, image_shift))
        value += self.penalty.value(weights + moved)
        return _Point(moved, shift, image, image_shift, value) if value < here.value else None

    def _search(
        self, weights: Array, gradient: Array, here: _Point, course: _Point, side: Array
    ) -> tuple[_Point | None, bool]:
        """A point along the course, bent where it crosses zero, with a lower value; whether it crossed."""
        length, any_crossed = weights.dtype.type(1), False
        while length > 0.01:
            moved, shift = here.moved + length * course.moved, here.shift + length * course.shift
            crossed = (weights + moved) * side < 0
            if crossed.any():
                any_crossed = True
                moved = np.where(crossed, -weights, moved)
                image, image_shift = self.times(moved, shift)
            else:
                image, image_shift = here.image + length * course.image, here.image_shift + length * course.image_shift
            there = self._better(weights, gradient, here, moved, shift, image, image_shift)
            if there is not None:
                return there, any_crossed
            length /= 4
        return None, True


class _System:
    """H plus the second derivative of the group norms at a point, and a brake, on its free coordinates:

    S(x) = H x + bend (x − u⟨u, x⟩) + brake · x
    """

    def __init__(
        self, model: _Model, at: Array, norms: Array, bend: Array, diagonal: Array, free: Array, brake: np.floating[Any]
    ):
        self.model, self.bend, self.free = model, bend, free
        self.brake, self.diagonal = brake * diagonal, (1 + brake) * diagonal
        self.unit = at / np.where(norms > 0, norms, np.inf)
        places, along = model.penalty.places, np.zeros(model.penalty.groups + 1)
        self._terms = free.astype(at.dtype), (bend + self.brake) * free, bend * self.unit * free, self.unit, places, along

    def solve(self, slope: Array, slope_shift: Array, accuracy: float) -> _Point:
        """x with (H + …) x ≈ −slope by conjugate gradients, and its image under H.

        Where those take long and few coordinates are free, the system is written out and solved directly.
        """
        model = self.model
        patience = model.products + (SLOW if self._is_small() else PRODUCTS)
        r = -slope * self.free
        d = r / self.diagonal
        x, hx = np.zeros_like(r), np.zeros_like(r)
        shifts = np.zeros((6, r.shape[1]), r.dtype)  # x, its image, r, d and the image of d, for the intercept; diagonal
        shifts[2], shifts[5] = -slope_shift, model.shift_diagonal
        shifts[3] = shifts[2] / shifts[5]
        size = begun = _dot(r, d) + _dot(shifts[2], shifts[3])
        while size > (accuracy / 2) ** 2 * begun and model.products < PRODUCTS:
            if model.products > patience:
                return self._solve_directly(slope, slope_shift)
            h, shifts[4] = model.times(d, shifts[3])
            size = conjugate_step(x, hx, r, d, h, *self._terms, self.diagonal, shifts, size)
            if not 0 <= size < np.inf:  # float32 has run out; what was found so far is kept and judged by the search
                break
        return _Point(x, shifts[0], hx, shifts[1], 0.0)

    def _is_small(self) -> bool:
        size = int(np.count_nonzero(self.free)) + self.free.shape[1]
        return size <= DIRECT_SIZE and len(self.model.p) * size**2 <= DIRECT_WORK

    def _solve_directly(self, slope: Array, slope_shift: Array) -> _Point:
        """With E = columns of F of the free coordinates (ones for the intercept) and p their classes' probabilities,

            H = Eᵀ diag(w) (p ∘ E) where classes agree  −  (p ∘ E)ᵀ diag(w) (p ∘ E),      plus bend (I − uuᵀ) and damping.
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
            unit, bend = self.unit[row, kind].astype(np.float64), np.broadcast_to(self.bend, self.free.shape)[row, kind]
            group = model.penalty.group_of[row]
            same = (group[:, None] == group) & (group[:, None] >= 0)
            hessian[: len(row), : len(row)] -= np.where(same, bend[:, None] * np.outer(unit, unit), 0.0)
            held = bend + self.brake[row, kind] + float(model.damping)
            diagonal = np.append(held, np.full(ends, float(model.shift_diagonal.max())))
            hessian[np.diag_indices(len(kinds))] += diagonal
            hessian[len(row) :, len(row) :] += float(model.shift_diagonal.max()) * (1.0 / c - np.eye(ends))
            target = -np.append(slope[row, kind], slope_shift[:ends]).astype(np.float64)
            hessian[np.diag_indices(len(kinds))] += 1e-10 * hessian.diagonal().max()  # twin columns make it singular
            x = np.linalg.solve(hessian, target)
        moved, shift = np.zeros_like(slope), np.zeros_like(slope_shift)
        moved[row, kind], shift[:ends] = x[: len(row)], x[len(row) :]
        return _Point(moved, shift, *model.times(moved, shift), 0.0)


def _steepest(smooth: Array, at: Array, l1: float) -> Array:
    """The shortest subgradient of a smooth part plus λ₁‖·‖₁."""
    return np.where(at != 0, smooth + l1 * np.sign(at), soft(smooth, l1))


def _side(at: Array, slope: Array, l1: float) -> Array:
    """The sign that a coordinate must keep for λ₁‖·‖₁ to stay smooth; without an ℓ₁ part there is no kink to heed."""
    return np.where(at != 0, np.sign(at), -np.sign(slope)) if l1 > 0 else np.zeros_like(at)


def soft_by(values: Array, thresholds: Array) -> Array:
    """`soft` with one threshold per entry."""
    return np.sign(values) * np.maximum(np.abs(values) - thresholds, 0)


def _dot(a: Array, b: Array) -> float:
    return float(np.vdot(a, b))
