"""Memory is used again when nobody holds it, and never before."""

import numpy as np
import pytest

from slimg.engine import MemoryEngine, memory
from slimg.engine.memory import Buffers


@pytest.fixture
def pool(monkeypatch):
    monkeypatch.setattr(memory, "LARGE", 1)
    return Buffers()


def address(array):
    return array.__array_interface__["data"][0]


def test_a_dropped_array_gives_its_place_to_the_next(pool):
    first = pool.take(100, 10)
    place = address(first)
    del first
    assert address(pool.take(99, 10)) == place


def test_an_array_in_use_keeps_its_place(pool):
    first = pool.take(100, 10)
    first[:] = 1
    second = pool.take(100, 10)
    second[:] = 2
    assert (first == 1).all()


@pytest.mark.parametrize("view", [lambda a: a[3:5], lambda a: a.T, lambda a: a[:, ::2].reshape(-1, 5)[:2], memoryview])
def test_any_view_keeps_the_place(pool, view):
    first = pool.take(100, 10)
    first[:] = 1
    kept = view(first)
    before = np.array(kept)
    del first
    pool.take(100, 10)[:] = 2
    np.testing.assert_array_equal(np.array(kept), before)


def test_a_place_much_too_large_or_too_small_is_not_taken(pool):
    first = pool.take(100, 10)
    del first
    assert pool.take(10, 10).base.nbytes == 400 + memory.LINE
    assert pool.take(200, 10).base.nbytes == 8000 + memory.LINE


@pytest.mark.parametrize("large", [1, 1 << 25])
@pytest.mark.parametrize("rows", [1, 3, 1000, 99_999])
def test_arrays_begin_with_a_cache_line(monkeypatch, large, rows):
    monkeypatch.setattr(memory, "LARGE", large)
    pool = Buffers()
    arrays = [pool.take(rows, columns) for columns in (1, 16, 17, 32)]
    assert [address(each) % 64 for each in arrays] == [0, 0, 0, 0]
    assert [each.shape for each in arrays] == [(rows, 1), (rows, 16), (rows, 17), (rows, 32)]


def test_places_wait_until_another_size_is_asked_for_and_trim_gives_them_back(pool):
    arrays = [pool.take(100, 10) for _ in range(5)]
    del arrays
    again = [pool.take(100, 10) for _ in range(5)]
    assert len(pool._places) == 5
    del again
    other = pool.take(300, 10)
    assert len(pool._places) == 1 and pool._places[0] is other.base
    del other
    pool.release_unused()
    assert pool._places == []


def test_trim_keeps_what_is_held(pool):
    held = pool.take(100, 10)
    pool.release_unused()
    assert len(pool._places) == 1 and held.base is not None


def test_small_arrays_are_not_tracked():
    pool = Buffers()
    pool.take(10, 10)
    assert pool._places == []


def test_an_engine_that_uses_memory_again_gives_the_same_results(monkeypatch):
    row_matrix = np.random.default_rng(0).standard_normal((500, 8), dtype=np.float32)
    small = np.eye(8, dtype=np.float32)

    def chain(engine):
        result = row_matrix
        for _ in range(5):
            result = engine.map_rows(lambda block: block + 1, engine.combine(result, small))
        return result

    plain = chain(MemoryEngine(threads=2))
    monkeypatch.setattr(memory, "LARGE", 1)
    engine = MemoryEngine(threads=2)
    np.testing.assert_array_equal(chain(engine), plain)
    engine.release_unused()
    assert len(engine._buffers._places) == 0


def test_an_input_is_overwritten_and_the_users_own_array_is_not(monkeypatch):
    monkeypatch.setattr(memory, "LARGE", 1)
    engine, given = MemoryEngine(threads=2), np.ones((500, 20), np.float32)
    first = engine.map_rows(lambda block: block + 1, engine.row_matrix(given), overwrite_input=True)
    assert (given == 1).all() and (first == 2).all()
    place = address(first)
    assert address(engine.map_rows(lambda block: block + 1, first, overwrite_input=True)) == place
    assert address(engine.map_rows(lambda block: np.hstack([block, block]), first, overwrite_input=True)) != place
    little = engine.map_rows(lambda block: block[:, 4:] + 1, first, overwrite_input=True)
    assert address(little) != place and little.shape == (500, 16), "it would hold on to a wide array"
    narrower = engine.map_rows(lambda block: block[:, 1:] + 1, first, overwrite_input=True)
    assert address(narrower) == place and (narrower == 4).all() and narrower.shape == (500, 19)
