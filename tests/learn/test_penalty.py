"""The sparse-group penalty: its value, λ_max by the oracle's prox, its dual constraint by bisection."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from oracles import Task
from slimg.learn.objective import SparseGroup, soft

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


def prox(v, l1, group, group_of=GROUP_OF):
    """The oracle's proximal operator of Ω."""
    none = np.zeros(0, int)
    return Task(np.zeros((0, len(v))), none, group_of, none, l1, group).prox(v, 1.0)


@given(seed=seeds, l1=strengths, group=strengths)
@settings(max_examples=100, deadline=None)
def test_the_prox_of_the_oracle_minimises(seed, l1, group):
    """v − x ∈ ∂Ω(x), which by convexity says that x is the minimiser of ½‖x − v‖² + Ω(x): no point near it is lower."""
    v, omega = drawn(seed), penalty(l1, group)
    x = prox(v, l1, group)
    least = 0.5 * np.square(x - v).sum() + omega.value(x)
    for k in range(20):
        other = x + np.random.default_rng(k).standard_normal(x.shape) * 10.0 ** -(k % 4)
        assert least <= 0.5 * np.square(other - v).sum() + omega.value(other) + 1e-12


@given(seed=seeds, l1=st.sampled_from([0.0, 0.1, 0.5, 5.0]))
@settings(max_examples=50, deadline=None)
def test_lambda_max_is_where_zero_stops_being_a_fixed_point(seed, l1):
    """With every row in a group, W = 0 is optimal ⇔ prox(−Z) = 0."""
    group_of = np.where(GROUP_OF < 0, 2, GROUP_OF)
    gradient = drawn(seed)
    largest = penalty(l1, 0.0, group_of).lambda_max(gradient)
    assert not prox(-gradient, l1, largest * (1 + 1e-12), group_of).any()
    if largest > 0:
        assert prox(-gradient, l1, largest * (1 - 1e-9), group_of).any()


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
    np.testing.assert_allclose(omega.norms(np.sqrt(np.arange(8.0))[:, None]) ** 2, [1, 9, 6])
    np.testing.assert_array_equal(omega.of_rows(np.array([5.0, 6, 7]), -1)[:, 0], [5, 5, 6, 6, 6, -1, 7, -1])
