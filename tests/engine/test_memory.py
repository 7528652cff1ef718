"""What is particular to the engine in memory: views, bits on any number of threads, copies; `test_engines` has the rest."""

import copy
import pickle
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from slimg.engine import MemoryEngine, Scaling, memory
from slimg.engine.memory import Recomputed
from slimg.errors import InputError

ENGINES = [MemoryEngine(threads=1), MemoryEngine(threads=2), MemoryEngine(threads=5)]


class Rows(NamedTuple):
    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray | None


@pytest.fixture(params=ENGINES, ids=lambda engine: f"threads={engine.threads}")
def engine(request):
    return request.param


def numbers(n, k, seed=0):
    return np.random.default_rng(seed).standard_normal((n, k), dtype=np.float32)


def adjacency(n=300, seed=0):
    a = sp.random(n, n, 0.03, format="csr", dtype=np.float32, random_state=seed)
    return a, Rows(a.indptr.astype(np.int64), a.indices, a.data)


def test_products_of_views_and_memory_maps(engine, tmp_path):
    a, rows = adjacency()
    mapped = []
    for name, array in zip(Rows._fields, rows, strict=True):
        np.save(tmp_path / f"{name}.npy", array)
        mapped.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    for view in (numbers(300, 14)[:, ::2], numbers(7, 300).T, numbers(300, 9)[:, 1:8]):
        (out,) = engine.products(Rows(*mapped), view, [Scaling()])
        np.testing.assert_allclose(out, a @ view, atol=1e-4)


def test_row_matrix_leaves_its_input_alone(engine):
    unsorted = sp.csr_matrix((np.array([1.0, 2.0]), np.array([1, 0]), np.array([0, 2])), shape=(1, 2))
    before = unsorted.indices.copy()
    np.testing.assert_array_equal(engine.row_matrix(unsorted).indices, [0, 1])
    np.testing.assert_array_equal(unsorted.indices, before)


def test_random_is_normal_and_the_same_on_every_number_of_threads(engine):
    drawn = engine.random(10_000, 3, random_state=7)
    np.testing.assert_array_equal(drawn, ENGINES[0].random(10_000, 3, random_state=7))
    assert abs(drawn.mean()) < 0.03 and abs(drawn.std() - 1) < 0.03
    assert not np.array_equal(drawn, engine.random(10_000, 3, random_state=8))
    np.testing.assert_array_equal(drawn[:4096], engine.random(4096, 3, random_state=7))


@given(st.integers(1, 700), st.integers(1, 40), st.integers(0, 5))
@settings(max_examples=15, deadline=None)
def test_threads_never_change_a_bit(n, k, seed):
    row_matrix = numbers(n, k, seed)
    a, rows = adjacency(n, seed)
    sparse = a[:, : min(n, 30)]
    results = []
    for engine in ENGINES:
        results.append(
            [
                *engine.products(rows, row_matrix, [Scaling(), Scaling(loop=1.0)]),
                engine.gram(row_matrix),
                engine.combine(row_matrix, numbers(k, 3)),
                engine.gram(engine.row_matrix(sparse), row_matrix),
                engine.gram(engine.row_matrix(sparse)),
                engine.sum_rows(lambda block: block.sum(axis=0), row_matrix),
            ]
        )
    for other in results[1:]:
        for mine, theirs in zip(results[0], other, strict=True):
            assert mine.tobytes() == theirs.tobytes()


def test_operations_inside_a_block_or_task_do_not_wait_for_the_pool(engine, small_blocks):
    inner = lambda block: engine.combine(np.repeat(block, 50, axis=0), np.eye(5, dtype=np.float32))[::50]  # noqa: E731
    np.testing.assert_allclose(engine.map_rows(inner, numbers(300, 5)), numbers(300, 5), atol=1e-6)
    tasks = [lambda: engine.gram(numbers(300, 5)) for _ in range(8)]
    for result in engine.concurrently(*tasks):
        np.testing.assert_array_equal(result, engine.gram(numbers(300, 5)))


def test_an_engine_can_be_copied_and_pickled():
    engine = MemoryEngine(threads=2)
    engine.gram(numbers(5000, 50))
    assert copy.deepcopy(engine).threads == 2
    assert pickle.loads(pickle.dumps(engine)).threads == 2


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "two"])
def test_threads_must_be_a_positive_integer(threads):
    with pytest.raises(InputError, match="threads must be a whole number"):
        MemoryEngine(threads=threads)


def test_rows_that_are_computed_again(engine, monkeypatch):
    monkeypatch.setattr(memory, "RECOMPUTED", 7)
    x, asked = numbers(100, 3), []
    again = Recomputed(x.shape, lambda rows: asked.append(len(rows)) or 2 * x[rows])
    for index in (slice(10, 40), np.array([5, 99, 5]), np.arange(100) % 3 == 0, np.zeros(0, int)):
        np.testing.assert_array_equal(engine.rows(again, index) if not isinstance(index, slice) else again[index], 2 * x[index])
    assert max(asked) == 7
    np.testing.assert_array_equal(engine.to_array(again), 2 * x)
    np.testing.assert_array_equal(np.asarray(again), 2 * x)
    np.testing.assert_array_equal(engine.map_rows(lambda a, b: a + b, again, x), 3 * x)
    np.testing.assert_array_equal(engine.gram(again, x), engine.gram(2 * x, x))
    copied = pickle.loads(pickle.dumps(again))
    assert isinstance(copied, np.ndarray) and (copied == 2 * x).all()
