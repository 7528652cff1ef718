"""The step of the proximal Newton method: a quadratic model of the loss with the exact penalty, minimised by projected
conjugate gradients.

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

from typing import Any, NamedTuple

import numpy as np

from slimg.engine.base import Array
from slimg.engine.blas import one_thread
from slimg.engine.kernels import SUMS, compiled
from slimg.learn.labelled import Rows
from slimg.learn.objective import SparseGroup, soft

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
    group of each row, the last for rows in none. Compiled, as `slimg.learn.labelled.add_hessian_product` is.
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
