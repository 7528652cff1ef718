"""Compiled loops against dense numpy: the curvature in blocks, and conjugate gradients that end in the exact solution."""

import numpy as np
import pytest

from slimg.learn.kernels import add_curvature, conjugate_step


def system(k=9, c=3, groups=2, seed=0):
    """S(d) = kept ∘ (H d) + stiffness ∘ d − pull ∘ ⟨u, d⟩_g as arrays, and as one dense matrix over the free coordinates."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((k * c, k * c))
    hessian = root @ root.T + np.eye(k * c)
    places = np.append(np.arange(k - 1) % groups, groups)  # the last row is in no group
    bend = np.where(places == groups, 0.0, 0.3)[:, None]
    unit = rng.standard_normal((k, c)) * (places < groups)[:, None]
    for g in range(groups):
        unit[places == g] /= np.linalg.norm(unit[places == g])
    free = rng.random((k, c)) < 0.7
    kept = free.astype(float)
    terms = kept, (bend + 0.1) * free, bend * unit * free, unit, places
    dense = hessian + np.diag(np.repeat(bend[:, 0] + 0.1, c))
    for g in range(groups):
        flat = (unit * (places == g)[:, None]).ravel()
        dense -= 0.3 * np.outer(flat, flat)
    return hessian, terms, free, dense


def test_as_many_steps_as_unknowns_solve_the_system():
    hessian, terms, free, dense = system()
    k, c = free.shape
    rng = np.random.default_rng(1)
    slope, slope_shift, diagonal = rng.standard_normal((k, c)) * free, rng.standard_normal(c), np.ones((k, c))
    x, hx, r = np.zeros((k, c)), np.zeros((k, c)), -slope
    d = r / diagonal
    shifts = np.zeros((6, c))
    shifts[2], shifts[5] = -slope_shift, 2.0
    shifts[3] = shifts[2] / shifts[5]
    size = np.vdot(r, d) + np.vdot(shifts[2], shifts[3])
    for _ in range(free.sum() + c):
        h = (hessian @ d.ravel()).reshape(k, c)
        shifts[4] = 5 * shifts[3]
        size = conjugate_step(x, hx, r, d, h, *terms, np.zeros(3), diagonal, shifts, size)
    places = np.flatnonzero(free)
    expected = np.linalg.solve(dense[np.ix_(places, places)], -slope.ravel()[places])
    np.testing.assert_allclose(x.ravel()[places], expected, rtol=1e-8)
    assert not x[~free].any()
    np.testing.assert_allclose(hx.ravel(), hessian @ x.ravel(), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(shifts[0], -slope_shift / 5, rtol=1e-8)
    assert size < 1e-15


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0])
def test_a_direction_that_does_not_bend_upwards_moves_nothing(bad):
    k, c = 4, 2
    x, hx, r, d = np.zeros((k, c)), np.zeros((k, c)), np.ones((k, c)), np.ones((k, c))
    ones, none = np.ones((k, c)), np.zeros((k, c))
    size = conjugate_step(
        x, hx, r, d, np.full((k, c), bad), ones, none, none, none, np.zeros(k, int), np.zeros(2), ones, np.zeros((6, c)), 1.0
    )
    assert size == -1
    assert not x.any() and not hx.any() and (r == 1).all() and (d == 1).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("step", [1, 7, 50, 1000])
def test_curvature_is_added_up_over_blocks_and_runs(dtype, step):
    rng = np.random.default_rng(0)
    m, k, c = 53, 11, 4
    f, v, shift, w = (rng.standard_normal(s).astype(dtype) for s in ((m, k), (k, c), (c,), (m,)))
    p = rng.dirichlet(np.ones(c), m).astype(dtype)
    out = np.zeros((k + 1, c), dtype)
    for start, stop in ((0, 20), (20, 53)):
        add_curvature(f, p, w, v, shift, out, start, stop, step)
    scores = f.astype(float) @ v + shift
    q = w[:, None] * p * (scores - (p * scores).sum(axis=1, keepdims=True))
    bound = 1e-4 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(out, np.vstack([f.T @ q, q.sum(axis=0)]), rtol=bound, atol=bound)
