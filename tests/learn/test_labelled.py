"""The labelled rows: groups are where they are said to be, shares are by weight, folds hold every class."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slimg.engine.memory import MemoryEngine
from slimg.learn.labelled import Labelled, stratified_folds


def rows(widths, n=12, weights=None):
    matrix = np.arange(n * sum(widths.values()), dtype=np.float32).reshape(n, -1)
    return Labelled(matrix, np.arange(n) % 3, 3, np.ones(n) if weights is None else weights, widths, MemoryEngine(1))


@given(st.lists(st.integers(1, 5), min_size=1, max_size=5))
def test_columns_of_a_group_are_those_group_of_says(sizes):
    labelled = rows({f"g{place}": width for place, width in enumerate(sizes)})
    for place, name in enumerate(labelled.widths):
        mine = np.flatnonzero(labelled.group_of == place)
        assert np.arange(sum(sizes))[labelled.columns(name)].tolist() == mine.tolist()
        only = labelled.only(name)
        np.testing.assert_array_equal(only.matrix, labelled.matrix[:, mine])
        assert only.matrix.flags.c_contiguous and only.group_of.tolist() == [0] * len(mine)


def test_shares_of_the_classes_are_by_weight():
    weights = np.where(np.arange(12) % 3 == 0, 2.0, 1.0)
    labelled = rows({"a": 2}, weights=weights)
    np.testing.assert_allclose(np.exp(labelled.log_shares()), [0.5, 0.25, 0.25])
    np.testing.assert_allclose(np.exp(labelled.log_shares(np.array([0, 1, 4, 2]))), [0.4, 0.4, 0.2])


def test_every_row_is_checked_once_and_every_class_is_learned():
    labelled = rows({"a": 2})
    folds = stratified_folds(labelled.codes, 10, 0)
    assert len(folds) == 4  # as many as the smallest class has rows
    assert sorted(np.concatenate([check for _, check in folds]).tolist()) == list(range(12))
    assert all(set(labelled.codes[fit]) == {0, 1, 2} for fit, _ in folds)


@pytest.mark.parametrize("limit", [0, 1 << 27])
def test_tasks_give_their_results_in_order_side_by_side_or_not(limit, monkeypatch):
    monkeypatch.setattr("slimg.learn.labelled.SHARED_WORK", limit)
    assert rows({"a": 2}).each([lambda which=which: which for which in range(5)]) == list(range(5))
