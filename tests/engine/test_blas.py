"""Products through SciPy's BLAS against numpy, and the one-thread setting."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info

from slimg.engine.blas import matmul, mirror_upper, one_thread, routine, self_gram

sizes = st.integers(0, 9)


@given(sizes, sizes, sizes, st.booleans(), st.booleans(), st.sampled_from([np.float32, np.float64]), st.integers(0, 99))
@settings(max_examples=80, deadline=None)
def test_matmul_takes_any_layout(m, k, n, flip_a, flip_b, dtype, seed):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((k, m)).astype(dtype).T if flip_a else rng.standard_normal((m, k)).astype(dtype)
    b = rng.standard_normal((n, k)).astype(dtype).T if flip_b else rng.standard_normal((k, n)).astype(dtype)
    np.testing.assert_allclose(matmul(a, b), a @ b, atol=1e-5)


def test_matmul_of_views_that_are_not_contiguous():
    a = np.random.default_rng(0).standard_normal((8, 12))
    np.testing.assert_allclose(matmul(a[::2, ::3], a[:4, 1:6]), a[::2, ::3] @ a[:4, 1:6])
    np.testing.assert_allclose(matmul(a[:, 2:7], a[1:6]), a[:, 2:7] @ a[1:6])
    np.testing.assert_allclose(matmul(a[::8, ::12], np.broadcast_to(a[0], (1, 12))), a[:1, :1] @ a[:1])


def test_matmul_adds_to_a_part_of_an_array():
    rng = np.random.default_rng(1)
    a, b, whole = rng.standard_normal((3, 4)), rng.standard_normal((4, 5)), rng.standard_normal((7, 5))
    expected = whole.copy()
    expected[2:5] = 0.5 * expected[2:5] - a @ b
    assert matmul(a, b, out=whole[2:5], alpha=-1.0, beta=0.5).base is whole
    np.testing.assert_allclose(whole, expected)


def test_matmul_without_inner_columns_only_scales():
    out = np.ones((2, 3))
    np.testing.assert_array_equal(matmul(np.ones((2, 0)), np.ones((0, 3)), out=out, beta=2.0), 2 * np.ones((2, 3)))


@pytest.mark.parametrize("shape", [(5, 3), (3, 700), (0, 4), (4, 0)])
def test_self_gram_fills_both_triangles(shape):
    a = np.random.default_rng(0).standard_normal(shape)
    np.testing.assert_allclose(self_gram(a), a.T @ a, atol=1e-12)


def test_mirror_copies_above_to_below():
    a = np.random.default_rng(0).standard_normal((600, 600))
    expected = np.triu(a) + np.triu(a, 1).T
    mirror_upper(a)
    np.testing.assert_array_equal(a, expected)


def blas_threads() -> set[int]:
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


def test_one_thread_inside_and_the_old_setting_after():
    before = blas_threads()
    with one_thread():
        assert blas_threads() == {1}
        with one_thread():
            pass
        assert blas_threads() == {1}
    assert blas_threads() == before


def test_one_thread_stays_until_the_last_thread_has_left():
    before, inside, leave = blas_threads(), threading.Event(), threading.Event()

    def hold() -> None:
        with one_thread():
            inside.set()
            leave.wait(10)

    other = threading.Thread(target=hold)
    with one_thread():
        other.start()
        inside.wait(10)
    assert blas_threads() == {1}
    leave.set()
    other.join()
    assert blas_threads() == before


def test_one_thread_leaves_on_an_error():
    before = blas_threads()
    with pytest.raises(ZeroDivisionError), one_thread():
        _ = 1 / 0
    assert blas_threads() == before


def test_a_routine_is_looked_up_once():
    assert routine("blas", "sgemm") is routine("blas", "sgemm")
