"""Layouts hold every row once, in order, and are balanced."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from slimg.engine import blocks


@given(st.integers(1, 5000), st.integers(1, 400), st.integers(1, 900))
@settings(max_examples=60, deadline=None)
def test_blocks_hold_every_row_once_and_in_order(n, width, least):
    cut = blocks.row_blocks([np.empty((n, width), np.float32)], least)
    assert cut[0][0] == 0 and cut[-1][1] == n
    assert all(before[1] == after[0] for before, after in pairwise(cut))
    assert all(stop - start >= least for start, stop in cut[:-1])


@given(st.lists(st.integers(0, 3000), min_size=1, max_size=300))
@settings(max_examples=60, deadline=None)
def test_product_blocks_are_balanced_by_entries(degrees):
    indptr = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
    cut = blocks.balanced_blocks(indptr)
    assert [row for block in cut for row in range(*block)] == list(range(len(degrees)))
    for start, stop in cut:
        work = indptr[stop] - indptr[start] + 8 * (stop - start)
        assert work <= blocks.PRODUCT_WORK + max(degrees) + 8
