"""Conjugate gradients against a dense solve, and what is said when they fail."""

import numpy as np
import pytest
from propagate_oracles import OpaqueEngine

from slimg.engine import MemoryEngine
from slimg.errors import InputError
from slimg.lab.propagators.inverse import solve

engine = MemoryEngine(threads=1)


def positive_definite(n, condition, seed=0):
    rng = np.random.default_rng(seed)
    q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    return (q * np.geomspace(1, condition, n)) @ q.T


@pytest.mark.parametrize("condition", [1, 10, 300])
def test_it_equals_a_dense_solve(condition):
    matrix = positive_definite(50, condition)
    right = np.random.default_rng(1).standard_normal((50, 7)).astype(np.float32)
    x = solve(engine, lambda row_matrix: (matrix @ row_matrix).astype(np.float32), right)
    np.testing.assert_allclose(x, np.linalg.solve(matrix, right), atol=3e-5)


def test_columns_of_any_scale_and_of_zeros_are_solved_side_by_side():
    matrix = positive_definite(40, 20)
    right = np.random.default_rng(1).standard_normal((40, 4)) * np.array([1e-12, 0, 1, 1e12])
    right = right.astype(np.float32)
    x = solve(engine, lambda row_matrix: (matrix @ row_matrix).astype(np.float32), right)
    assert not x[:, 1].any()
    expected = np.linalg.solve(matrix, right.astype(float))
    for mine, dense in zip(x.T[[0, 2, 3]], expected.T[[0, 2, 3]], strict=True):
        np.testing.assert_allclose(mine, dense, rtol=1e-4, atol=1e-5 * np.abs(dense).max())


def test_a_right_hand_side_of_zeros_needs_no_step():
    opaque = OpaqueEngine()
    zeros = opaque.row_matrix(np.zeros((5, 2)))
    assert not opaque.to_array(solve(opaque, lambda row_matrix: pytest.fail("applied"), zeros)).any()


def test_too_few_iterations_are_told_with_the_residual():
    matrix = positive_definite(50, 1e4)
    right = np.ones((50, 1), np.float32)
    with pytest.raises(InputError, match=r"did not converge: relative residual \d\.\de[-+]\d+ after 3 of at most 3"):
        solve(engine, lambda row_matrix: (matrix @ row_matrix).astype(np.float32), right, most_iterations=3)


def test_a_matrix_that_is_not_definite_is_refused_by_its_residual():
    matrix = np.diag(np.linspace(-1, 1, 50))
    right = np.ones((50, 1), np.float32)
    with pytest.raises(InputError, match="conjugate gradients did not converge"):
        solve(engine, lambda row_matrix: (matrix @ row_matrix).astype(np.float32), right)
