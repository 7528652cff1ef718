"""The sparse-group penalty: its prox by optimality conditions and brute force, its dual constraint by bisection."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from slimg.learn.penalty import SparseGroup, soft

GROUP_OF = np.array([0, 0, 1, 1, 1, -1, 2, -1])
"""Three groups of two, three and one rows, and two rows in no group."""

strengths = st.sampled_from([0.0, 1e-3, 0.1, 0.5, 2.0])
seeds = st.integers(0, 100_000)


def penalty(l1, group, group_of=GROUP_OF):
    return SparseGroup(l1, group, group_of, int(group_of.max()) + 1)


def drawn(seed, c=3, scale=1.0, dtype=np.float64):
    return (scale * np.random.default_rng(seed).standard_normal((len(GROUP_OF), c))).astype(dtype)


def written_out(weights, l1, group):
    return l1 * np.abs(weights).sum() + group * sum(np.sqrt((weights[g == GROUP_OF] ** 2).sum()) for g in range(3))


@given(seed=seeds, l1=strengths, group=strengths)
@settings(max_examples=30, deadline=None)
def test_value_is_the_formula(seed, l1, group):
    weights = drawn(seed)
    assert penalty(l1, group).value(weights) == pytest.approx(written_out(weights, l1, group), rel=1e-12)


@given(seed=seeds, l1=strengths, group=strengths, step=st.floats(0.01, 3), dtype=st.sampled_from([np.float32, np.float64]))
@settings(max_examples=150, deadline=None)
def test_prox_satisfies_the_optimality_conditions(seed, l1, group, step, dtype):
    """(v − x)/t ∈ ∂Ω(x), which by convexity says that x is the minimiser of ½‖x − v‖² + tΩ(x)."""
    v = drawn(seed, dtype=dtype)
    x = penalty(l1, group).prox(v, step).astype(np.float64)
    slope, near = (v - x) / step, 5e-6 / min(step, 1) if dtype == np.float32 else 1e-11
    for which in (0, 1, 2, -1):
        mine = which == GROUP_OF
        here, pull = x[mine], slope[mine]
        if which >= 0 and not here.any():
            assert np.linalg.norm(soft(pull, l1)) <= group + near
            continue
        bend = group * here / np.linalg.norm(here) if which >= 0 else np.zeros_like(here)
        live = here != 0
        np.testing.assert_allclose(pull[live], (l1 * np.sign(here) + bend)[live], atol=10 * near)
        assert (np.abs(pull[~live]) <= l1 + near).all()


def test_no_point_of_a_grid_is_below_the_prox():
    """Brute force: two weights in one group, every point of a grid of 401 × 401."""
    alone = SparseGroup(0.4, 0.7, np.array([0, 0]), 1)
    axis = np.linspace(-2, 2, 401)
    a, b = np.meshgrid(axis, axis)
    for v in ([1.5, -0.3], [0.5, 0.5], [-1.9, 1.2], [1.2, 0.0]):
        value = 0.5 * ((a - v[0]) ** 2 + (b - v[1]) ** 2) + 0.4 * (np.abs(a) + np.abs(b)) + 0.7 * np.hypot(a, b)
        x = alone.prox(np.array(v)[:, None], 1.0)[:, 0]
        assert 0.5 * ((x - v) ** 2).sum() + alone.value(x[:, None]) <= value.min() + 1e-15
        best = np.unravel_index(value.argmin(), value.shape)
        np.testing.assert_allclose(x, [a[best], b[best]], atol=0.01)


@given(seed=seeds, l1=st.sampled_from([0.0, 0.1, 0.5, 5.0]))
@settings(max_examples=50, deadline=None)
def test_lambda_max_is_where_zero_stops_being_a_fixed_point(seed, l1):
    """With every row in a group, W = 0 is optimal ⇔ prox(−Z) = 0."""
    group_of = np.where(GROUP_OF < 0, 2, GROUP_OF)
    gradient = drawn(seed)
    largest = penalty(l1, 0.0, group_of).lambda_max(gradient)
    assert not penalty(l1, largest * (1 + 1e-12), group_of).prox(-gradient, 1.0).any()
    if largest > 0:
        assert penalty(l1, largest * (1 - 1e-9), group_of).prox(-gradient, 1.0).any()


def satisfied(scale, gradient, l1, group):
    """How far s·Z is inside the constraints: positive when every one holds."""
    shrunk = soft(scale * gradient, l1)
    inside = [group - np.linalg.norm(shrunk[g == GROUP_OF]) for g in range(3)]
    return min([*inside, l1 - scale * np.abs(gradient[GROUP_OF < 0]).max()])


@given(seed=seeds, l1=st.floats(1e-4, 1.0), group=st.floats(1e-4, 2.0), scale=st.floats(0.01, 10))
@settings(max_examples=150, deadline=None)
def test_feasible_scale_is_the_largest(seed, l1, group, scale):
    gradient = drawn(seed, scale=scale)
    found = penalty(l1, group).feasible_scale(gradient)
    assert satisfied(found, gradient, l1, group) >= 0
    if found < 1 - 1e-10:
        assert satisfied(found * (1 + 1e-6), gradient, l1, group) < 0
        root = brentq(satisfied, 0, 1, args=(gradient, l1, group), xtol=1e-15)
        assert found == pytest.approx(root, rel=1e-9)


@pytest.mark.parametrize(("l1", "group"), [(0.3, 0.0), (0.0, 0.3)])
def test_feasible_scale_with_one_penalty_is_a_dual_norm(l1, group):
    gradient, every = drawn(5), np.zeros(len(GROUP_OF), int)
    found = SparseGroup(l1, group, every, 1).feasible_scale(gradient)
    norm = np.abs(gradient).max() if l1 else np.linalg.norm(gradient)
    assert found == pytest.approx(0.3 / norm, rel=1e-10)
    assert SparseGroup(l1, group, every, 1).feasible_scale(0.01 * gradient) == pytest.approx(1)


def test_group_values_and_rows_correspond():
    omega = penalty(0.1, 0.2)
    np.testing.assert_array_equal(omega.per_group(np.arange(8.0)), [1, 9, 6])
    np.testing.assert_array_equal(omega.of_rows(np.array([5.0, 6, 7]), -1)[:, 0], [5, 5, 6, 6, 6, -1, 7, -1])
