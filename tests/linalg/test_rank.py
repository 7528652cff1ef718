"""The energy rule, by hand."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from slimg.linalg.rank import RankRule


def test_rank_is_the_largest_that_holds_less():
    values = np.sqrt([5.0, 3.0, 1.0, 1.0])
    assert RankRule(8.5, 10).rank(values) == 2
    assert RankRule(8.0, 10).rank(values) == 1, "exactly the target is not less than it"
    assert RankRule(10.5, 10).rank(values) == 4
    assert RankRule(8.5, 1).rank(values) == 1


def test_at_least_one():
    assert RankRule(1.0, 5).rank(np.array([10.0, 1.0])) == 1


def test_no_target_is_a_fixed_rank():
    rule = RankRule(np.inf, 3)
    assert rule.rank(np.ones(10)) == 3
    assert not rule.is_decided(2, 1e9) and rule.is_decided(3, 0.0)


def test_decided_once_the_target_is_held():
    assert RankRule(5.0, 100).is_decided(1, 5.0)
    assert not RankRule(5.0, 100).is_decided(99, 4.9)


@given(st.lists(st.floats(0.01, 10), min_size=1, max_size=30), st.floats(0.05, 0.99), st.integers(1, 40))
def test_rank_equals_the_definition(values, energy, cap):
    falling = np.sort(values)[::-1]
    held = np.cumsum(np.square(falling))
    target = energy * held[-1]
    assert RankRule(target, cap).rank(falling) == min(max(int((held < target).sum()), 1), cap)
