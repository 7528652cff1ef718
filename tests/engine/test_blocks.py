"""Layouts hold every row once, in order, and are balanced; the pool gives results in order and errors that come out."""

import threading
import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slimg.engine import base as blocks
from slimg.engine.base import Threads
from slimg.progress import Progress


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


@pytest.mark.parametrize("count", [1, 2, 5])
def test_results_come_in_order_whatever_takes_longest(count):
    def work(which):
        time.sleep(0.002 * (7 - which % 7))
        return which

    assert list(Threads(count).in_order(work, [(which,) for which in range(20)])) == list(range(20))


def test_few_results_wait_to_be_taken():
    begun = []
    results = Threads(2).in_order(lambda which: begun.append(which), [(which,) for which in range(50)])
    next(results)
    time.sleep(0.05)
    assert len(begun) <= 5
    assert len(list(results)) == 49


@pytest.mark.parametrize("count", [1, 3])
def test_an_error_comes_out_and_the_rest_is_not_begun(count):
    begun = []

    def work(which):
        begun.append(which)
        if which == 3:
            raise ValueError("third")
        time.sleep(0.005)

    threads = Threads(count)
    with pytest.raises(ValueError, match="third"):
        threads.for_each(work, [(which,) for which in range(100)])
    after = len(begun)
    time.sleep(0.05)
    assert len(begun) == after < 100
    assert threads.concurrently(lambda: 1, lambda: 2) == [1, 2]


def test_tasks_inside_tasks_do_not_wait_for_the_pool():
    threads = Threads(2)
    inner = lambda: threads.concurrently(*[lambda which=which: which for which in range(4)])  # noqa: E731
    assert threads.concurrently(*[inner] * 6) == [[0, 1, 2, 3]] * 6


def test_tasks_run_side_by_side():
    meeting = threading.Barrier(2, timeout=20)
    assert Threads(2).concurrently(lambda: meeting.wait() >= 0, lambda: meeting.wait() >= 0) == [True, True]


def test_blocks_advance_the_progress_by_their_worth():
    class Kept(Progress):
        total = 0.0

        def advance(self, amount):
            self.total += amount

    threads = Threads(2)
    threads.progress = Kept()
    threads.for_each(lambda which: None, [(which,) for which in range(8)], worth=4.0)
    assert threads.progress.total == pytest.approx(4.0)
