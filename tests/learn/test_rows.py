"""Products of the labelled rows against dense numpy in float64, and their bits against the number of threads."""

import numpy as np
import pytest

from slimg.engine.memory import MemoryEngine
from slimg.learn.rows import BLOCK_WORK, TASK_WORK, Rows

ONE_TASK = [(1, 1, 2), (7, 3, 2), (300, 40, 3), (70, 4212, 7)]
SEVERAL_TASKS = [(30_000, 120, 7), (9_000, 900, 6)]
SHAPES = ONE_TASK + SEVERAL_TASKS


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
def test_curvature_equals_one_block_per_row(shape, dtype):
    f, v, _, p, w = drawn(*shape, dtype)
    shift = np.linspace(-1, 1, shape[2]).astype(dtype)
    out, summed = Rows(f, MemoryEngine(2)).curvature(p, w, v, shift)
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
        return [part.tobytes() for part in (*parts, *rows.curvature(p, w, v, shift))]

    assert bits(1) == bits(2)


def test_select_copies_the_chosen_columns():
    f = drawn(50, 12, 2)[0]
    part = Rows(f, MemoryEngine(1)).select(np.array([7, 2, 3]))
    np.testing.assert_array_equal(part.matrix, f[:, [7, 2, 3]])
    assert part.matrix.flags.c_contiguous and not np.shares_memory(part.matrix, f)
