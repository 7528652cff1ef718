"""Chosen eigenpairs against numpy."""

import numpy as np
import pytest

from slimg.engine.blas import PANEL, tridiagonalise


def symmetric(n, seed=0):
    a = np.random.default_rng(seed).standard_normal((n, n))
    return a + a.T


@pytest.mark.parametrize("n", [1, 2, 3, 50, PANEL, PANEL + 1, 300])
@pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-11), (np.float32, 2e-5)])
def test_eigenpairs(n, dtype, tolerance):
    a = symmetric(n)
    form = tridiagonalise(a.astype(dtype))
    scale = np.abs(a).sum(axis=0).max()
    truth = np.linalg.eigvalsh(a)
    np.testing.assert_allclose(form.eigenvalues(), truth, atol=tolerance * scale)
    chosen = np.unique([n - 1, 0, n // 2])[::-1]
    values, vectors = form.eigenpairs(chosen)
    np.testing.assert_allclose(values, truth[chosen], atol=tolerance * scale)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(chosen)), atol=10 * tolerance)
    np.testing.assert_allclose(a @ vectors, vectors * values, atol=10 * tolerance * scale)


def test_only_one_triangle_is_read():
    a = symmetric(20)
    broken = a.copy()
    broken[np.tril_indices(20, -1)] = np.nan
    np.testing.assert_allclose(tridiagonalise(broken).eigenvalues(), np.linalg.eigvalsh(a), atol=1e-12)


def test_columns_in_fortran_order_are_taken_too():
    a = np.asfortranarray(symmetric(40))
    values, vectors = tridiagonalise(a.copy(order="F")).eigenpairs(np.arange(40))
    np.testing.assert_allclose(vectors * values @ vectors.T, a, atol=1e-11)


def test_repeated_eigenvalues_have_orthonormal_vectors():
    q, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((60, 60)))
    a = q * np.repeat([3.0, 1.0, -2.0], 20) @ q.T
    values, vectors = tridiagonalise((a + a.T) / 2).eigenpairs(np.arange(60))
    np.testing.assert_allclose(values, np.repeat([-2.0, 1.0, 3.0], 20), atol=1e-12)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(60), atol=1e-12)


def test_a_diagonal_matrix():
    values, vectors = tridiagonalise(np.diag([3.0, 1.0, 2.0])).eigenpairs(np.array([2]))
    np.testing.assert_allclose(values, [3.0])
    np.testing.assert_allclose(np.abs(vectors[:, 0]), [1, 0, 0], atol=1e-15)
