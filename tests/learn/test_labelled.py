"""The labelled rows: products against dense numpy and threads, groups, shares by weight, folds that hold every class."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slimg.engine.memory import MemoryEngine
from slimg.learn.objective import BLOCK_WORK, TASK_WORK, Labelled, Rows, add_hessian_product, stratified_folds

ONE_TASK = [(1, 1, 2), (7, 3, 2), (300, 40, 3), (70, 4212, 7)]
SEVERAL_TASKS = [(30_000, 120, 7), (9_000, 900, 6)]
SHAPES = ONE_TASK + SEVERAL_TASKS


def labelled_rows(widths, n=12, weights=None):
    matrix = np.arange(n * sum(widths.values()), dtype=np.float32).reshape(n, -1)
    return Labelled(matrix, np.arange(n) % 3, 3, np.ones(n) if weights is None else weights, widths, MemoryEngine(1))


@given(st.lists(st.integers(1, 5), min_size=1, max_size=5))
def test_columns_of_a_group_are_those_group_of_says(sizes):
    labelled = labelled_rows({f"g{place}": width for place, width in enumerate(sizes)})
    for place, name in enumerate(labelled.widths):
        mine = np.flatnonzero(labelled.group_of == place)
        assert np.arange(sum(sizes))[labelled.columns(name)].tolist() == mine.tolist()
        only = labelled.only(name)
        np.testing.assert_array_equal(only.matrix, labelled.matrix[:, mine])
        assert only.matrix.flags.c_contiguous and only.group_of.tolist() == [0] * len(mine)


def test_shares_of_the_classes_are_by_weight():
    weights = np.where(np.arange(12) % 3 == 0, 2.0, 1.0)
    labelled = labelled_rows({"a": 2}, weights=weights)
    np.testing.assert_allclose(np.exp(labelled.log_shares()), [0.5, 0.25, 0.25])
    np.testing.assert_allclose(np.exp(labelled.log_shares(np.array([0, 1, 4, 2]))), [0.4, 0.4, 0.2])


def test_every_row_is_checked_once_and_every_class_is_learned():
    labelled = labelled_rows({"a": 2})
    folds = stratified_folds(labelled.codes, 10, 0)
    assert len(folds) == 4  # as many as the largest class has rows
    assert sorted(np.concatenate([check for _, check in folds]).tolist()) == list(range(12))
    assert all(set(labelled.codes[fit]) == {0, 1, 2} for fit, _ in folds)


@pytest.mark.parametrize("limit", [0, 1 << 27])
def test_tasks_give_their_results_in_order_side_by_side_or_not(limit, monkeypatch):
    monkeypatch.setattr("slimg.learn.objective.SHARED_WORK", limit)
    assert labelled_rows({"a": 2}).each([lambda which=which: which for which in range(5)]) == list(range(5))


def drawn(m, p, c, dtype=np.float64, seed=0):
    """F, V, R, softmax probabilities and positive row weights that sum to one."""
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((m, c))
    probabilities = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    weights = rng.random(m) + 0.1
    parts = rng.standard_normal((m, p)), rng.standard_normal((p, c)), scores, probabilities, weights / weights.sum()
    return tuple(np.ascontiguousarray(part, dtype) for part in parts)


def assert_near(mine, exact, size, dtype):
    """Each entry within a few roundings of the sum of the magnitudes (``size``) that made it."""
    bound = 30 * np.finfo(dtype).eps * size
    assert mine.dtype == dtype and mine.shape == exact.shape
    assert (np.abs(mine - exact) <= bound).all()


def test_the_shapes_make_one_and_several_tasks_and_blocks():
    assert all(m * p * c // TASK_WORK <= 1 for m, p, c in ONE_TASK)
    assert all(m * p * c // TASK_WORK >= 2 and m * p * c > 2 * BLOCK_WORK for m, p, c in SEVERAL_TASKS)
    assert len({len(Rows(np.empty((m, p)), None)._tasks(c)) for m, p, c in SHAPES}) >= 3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_products_equal_dense_numpy(shape, dtype):
    f, v, r, _, _ = drawn(*shape, dtype)
    rows = Rows(f, MemoryEngine(2))
    wide = [part.astype(np.float64) for part in (f, v, r)]
    size = [np.abs(part) for part in wide]
    assert_near(rows.times(v), wide[0] @ wide[1], size[0] @ size[1], dtype)
    assert_near(rows.transposed_times(r), wide[0].T @ wide[2], size[0].T @ size[2], dtype)
    assert_near(rows.squared_transposed_times(r), (wide[0] ** 2).T @ wide[2], (wide[0] ** 2).T @ size[2], dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_hessian_product_equals_one_block_per_row(shape, dtype):
    f, v, _, p, w = drawn(*shape, dtype)
    shift = np.linspace(-1, 1, shape[2]).astype(dtype)
    out, summed = Rows(f, MemoryEngine(2)).hessian_product(p, w, v, shift)
    f, v, p, w = (part.astype(np.float64) for part in (f, v, p, w))
    blocks = w[:, None, None] * (np.eye(shape[2]) * p[:, :, None] - p[:, :, None] * p[:, None, :])
    scores = f @ v + shift
    q = np.einsum("ikl,il->ik", blocks, scores)
    size = np.einsum("ikl,il->ik", np.abs(blocks), np.abs(f) @ np.abs(v) + np.abs(shift))
    assert_near(out, f.T @ q, np.abs(f).T @ size, dtype)
    assert_near(summed, q.sum(axis=0), size.sum(axis=0), dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SEVERAL_TASKS)
def test_threads_do_not_change_a_bit(shape, dtype):
    f, v, r, p, w = drawn(*shape, dtype)

    def bits(threads):
        rows = Rows(f, MemoryEngine(threads))
        shift = np.ones(shape[2], dtype)
        parts = rows.times(v), rows.transposed_times(r), rows.squared_transposed_times(r)
        return [part.tobytes() for part in (*parts, *rows.hessian_product(p, w, v, shift))]

    assert bits(1) == bits(2)


def test_select_copies_the_chosen_columns():
    f = drawn(50, 12, 2)[0]
    part = Rows(f, MemoryEngine(1)).select(np.array([7, 2, 3]))
    np.testing.assert_array_equal(part.matrix, f[:, [7, 2, 3]])
    assert part.matrix.flags.c_contiguous and not np.shares_memory(part.matrix, f)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("step", [1, 7, 50, 1000])
def test_hessian_product_is_added_up_over_blocks_and_runs(dtype, step):
    rng = np.random.default_rng(0)
    m, k, c = 53, 11, 4
    f, v, shift, w = (rng.standard_normal(s).astype(dtype) for s in ((m, k), (k, c), (c,), (m,)))
    p = rng.dirichlet(np.ones(c), m).astype(dtype)
    out = np.zeros((k + 1, c), dtype)
    for start, stop in ((0, 20), (20, 53)):
        add_hessian_product(f, p, w, v, shift, out, start, stop, step)
    scores = f.astype(float) @ v + shift
    q = w[:, None] * p * (scores - (p * scores).sum(axis=1, keepdims=True))
    bound = 1e-4 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(out, np.vstack([f.T @ q, q.sum(axis=0)]), rtol=bound, atol=bound)
