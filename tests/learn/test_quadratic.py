"""A proximal Newton step against its quadratic model, dense and minimised by FISTA; conjugate gradients against numpy."""

import numpy as np
import pytest
from scipy.special import softmax

from oracles import random_task
from slimg.engine.memory import MemoryEngine
from slimg.learn import solver
from slimg.learn.objective import Rows, SparseGroup
from slimg.learn.solver import conjugate_step, newton_step


class Model:
    """q(V, v) around a random W, its Hessian a dense matrix over (V, v) with the classes running fastest."""

    def __init__(self, seed, l1, group, dead=None, **options):
        self.task = random_task(seed, l1, group, **options)
        rng = np.random.default_rng(seed + 1)
        p, c = self.task.matrix.shape[1], self.task.classes
        self.weights = 0.4 * rng.standard_normal((p, c)) * (rng.random((p, c)) < 0.7)
        # as the solver has it: a constant over classes is not seen by the loss, and the median has the least ℓ₁ norm
        self.weights -= np.median(self.weights, axis=1, keepdims=True)
        if dead is not None:
            self.weights[self.task.group_of == dead] = 0
        self.alive = (self.task.group_of != dead) | (dead is None)
        scores = self.task.matrix @ self.weights
        # the best intercept: the model has no slope in it
        for _ in range(3000):
            scores = scores - 2 * self.task.residual(scores).sum(axis=0)
        self.probabilities = softmax(scores, axis=1)
        self.gradient = self.task.matrix.T @ self.task.residual(scores)
        self.hessian = self._hessian()

    def _hessian(self):
        wide = np.column_stack([self.task.matrix, np.ones(len(self.task.matrix))])
        c = self.task.classes
        total = np.zeros((wide.shape[1] * c,) * 2)
        for row, w, p in zip(wide, self.task.row_weights, self.probabilities, strict=True):
            total += w * np.kron(np.outer(row, row), np.diag(p) - np.outer(p, p))
        return total

    def value(self, moved, shift):
        flat = np.vstack([moved, shift]).ravel()
        return np.vdot(self.gradient, moved) + 0.5 * flat @ self.hessian @ flat + self.task.penalty(self.weights + moved)

    def minimum(self, steps=60_000):
        """The least value by FISTA, with groups that are zero held there."""
        step = 1 / np.linalg.eigvalsh(self.hessian)[-1]
        p, c = self.weights.shape
        here, ahead, pace = np.vstack([self.weights, np.zeros(c)]), np.vstack([self.weights, np.zeros(c)]), 1.0
        start = here.copy()
        for _ in range(steps):
            slope = (self.hessian @ (ahead - start).ravel()).reshape(p + 1, c)
            slope[:-1] += self.gradient
            there = ahead - step * slope
            there[:-1] = self.task.prox(there[:-1], step) * self.alive[:, None]
            if np.vdot(ahead - there, there - here) > 0:
                pace = 1.0
            faster = (1 + np.sqrt(1 + 4 * pace * pace)) / 2
            here, ahead, pace, moved = there, there + (pace - 1) / faster * (there - here), faster, there - here
            if np.abs(moved).max() < 1e-15:
                break
        return self.value(here[:-1] - self.weights, here[-1]), here[:-1]

    def step(self, accuracy, dtype=np.float64):
        task = self.task
        omega = SparseGroup(task.l1, task.group, task.group_of, len(task.members))
        arrays = self.weights, self.probabilities, task.row_weights, self.gradient
        weights, *others = (array.astype(dtype) for array in arrays)
        rows = Rows(task.matrix.astype(dtype), MemoryEngine(1))
        return newton_step(rows, omega, weights, *others, accuracy)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("l1", "group"), [(0.0, 0.05), (0.02, 0.0), (0.01, 0.02), (0.05, 0.1)])
@pytest.mark.parametrize("accuracy", [0.5, 0.1, 1e-3])
def test_a_step_lowers_the_model(l1, group, accuracy, dtype):
    model = Model(1, l1, group, loose=2 if l1 else 0)
    step = model.step(accuracy, dtype)
    before, least = model.value(np.zeros_like(model.weights), 0 * model.gradient[0]), model.minimum()[0]
    after = model.value(step.weights, step.intercept)
    assert least <= after + 1e-9
    assert after - least <= 4 * accuracy * (before - least)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("l1", "group"), [(0.0, 0.05), (0.02, 0.0), (0.01, 0.02)])
def test_worked_out_to_the_end_a_step_is_the_minimiser(seed, l1, group, monkeypatch):
    monkeypatch.setattr(solver, "PRODUCTS", 1000)
    model = Model(seed, l1, group, m=60, loose=2 if l1 else 0)
    step = model.step(1e-7)
    least, there = model.minimum()
    assert model.value(step.weights, step.intercept) == pytest.approx(least, abs=1e-7)
    # the intercept is only known up to the null space, the weights up to a constant over classes where λ₁ = 0
    np.testing.assert_allclose(model.weights + step.weights, there, atol=2e-3)


def test_zero_coordinates_of_the_minimiser_are_exactly_zero(monkeypatch):
    monkeypatch.setattr(solver, "PRODUCTS", 1000)
    model = Model(0, 0.03, 0.01, m=60)
    step, (_, there) = model.step(1e-7), model.minimum()
    reached = model.weights + step.weights
    assert (there == 0).sum() > 5
    np.testing.assert_array_equal(reached == 0, there == 0)
    crossed = (model.weights != 0) & (there == 0)
    assert crossed.any()


def test_a_group_that_is_zero_stays_so(monkeypatch):
    monkeypatch.setattr(solver, "PRODUCTS", 1000)
    model = Model(2, 0.005, 0.01, dead=1, m=60)
    step = model.step(1e-6)
    assert not step.weights[model.task.group_of == 1].any()
    assert model.value(step.weights, step.intercept) == pytest.approx(model.minimum()[0], abs=1e-7)


def test_scores_are_those_of_the_displacement_and_products_are_counted():
    model = Model(3, 0.01, 0.02)
    rough, fine = model.step(0.5), model.step(1e-6)
    np.testing.assert_allclose(fine.scores, model.task.matrix @ fine.weights, atol=1e-12)
    assert 1 <= rough.products < fine.products


def system(k=9, c=3, groups=2, seed=0):
    """S(d) = free ∘ (H d) + stiffness ∘ d − pull ∘ ⟨u, d⟩_g as arrays, and as one dense matrix over the free coordinates."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((k * c, k * c))
    hessian = root @ root.T + np.eye(k * c)
    places = np.append(np.arange(k - 1) % groups, groups)  # the last row is in no group
    curvature = np.where(places == groups, 0.0, 0.3)[:, None]
    unit = rng.standard_normal((k, c)) * (places < groups)[:, None]
    for g in range(groups):
        unit[places == g] /= np.linalg.norm(unit[places == g])
    free = rng.random((k, c)) < 0.7
    mask = free.astype(float)
    terms = mask, (curvature + 0.1) * free, curvature * unit * free, unit, places
    dense = hessian + np.diag(np.repeat(curvature[:, 0] + 0.1, c))
    for g in range(groups):
        flat = (unit * (places == g)[:, None]).ravel()
        dense -= 0.3 * np.outer(flat, flat)
    return hessian, terms, free, dense


def test_as_many_steps_as_unknowns_solve_the_system():
    hessian, terms, free, dense = system()
    k, c = free.shape
    rng = np.random.default_rng(1)
    slope, intercept_slope, diagonal = rng.standard_normal((k, c)) * free, rng.standard_normal(c), np.ones((k, c))
    x, hx, r = np.zeros((k, c)), np.zeros((k, c)), -slope
    d, none = r / diagonal, np.zeros((k, c))
    intercept = np.zeros((6, c))
    intercept[2], intercept[5] = -intercept_slope, 2.0
    intercept[3] = intercept[2] / intercept[5]
    size = np.vdot(r, d) + np.vdot(intercept[2], intercept[3])
    for _ in range(free.sum() + c):
        h = (hessian @ d.ravel()).reshape(k, c)
        intercept[4] = 5 * intercept[3]
        size = conjugate_step(x, hx, r, d, h, *terms, np.zeros((2, 3)), none, np.zeros(3), diagonal, intercept, size)
    places = np.flatnonzero(free)
    expected = np.linalg.solve(dense[np.ix_(places, places)], -slope.ravel()[places])
    np.testing.assert_allclose(x.ravel()[places], expected, rtol=1e-8)
    assert not x[~free].any()
    np.testing.assert_allclose(hx.ravel(), hessian @ x.ravel(), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(intercept[0], -intercept_slope / 5, rtol=1e-8)
    assert size < 1e-15


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0])
def test_a_direction_that_does_not_curve_upwards_moves_nothing(bad):
    k, c = 4, 2
    x, hx, r, d = np.zeros((k, c)), np.zeros((k, c)), np.ones((k, c)), np.ones((k, c))
    ones, none = np.ones((k, c)), np.zeros((k, c))
    size = conjugate_step(
        *(x, hx, r, d, np.full((k, c), bad), ones, none, none, none, np.zeros(k, int), np.zeros((2, 2))),
        *(none, np.zeros(2), ones, np.zeros((6, c)), 1.0),
    )
    assert size == -1
    assert not x.any() and not hx.any() and (r == 1).all() and (d == 1).all()
