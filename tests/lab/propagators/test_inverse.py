"""Conjugate gradients, sparse PageRank, and the refusal of what does not fit."""

import numpy as np
import pytest
from propagate_oracles import GRAPHS, OpaqueEngine, dense_a, tilde_sym

from slimg.engine import MemoryEngine
from slimg.errors import InputError, TooLarge
from slimg.lab.propagators import evaluation, get
from slimg.lab.propagators.evaluation import check_size, diffused, solve
from slimg.lab.propagators.expressions import Diffused

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


def page_rank(graph, alpha):
    return alpha * np.linalg.inv(np.eye(graph.n) - (1 - alpha) * tilde_sym(dense_a(graph)))


@pytest.mark.parametrize("graph", GRAPHS[:3], ids=range(3))
@pytest.mark.parametrize(("alpha", "threshold"), [(0.15, 1e-2), (0.05, 1e-3)])
def test_it_keeps_the_entries_from_the_threshold_on(graph, alpha, threshold):
    s = diffused(MemoryEngine(), graph.adjacency, Diffused(alpha, threshold).base, threshold)
    dense = page_rank(graph, alpha)
    np.testing.assert_allclose(s.to_scipy().toarray(), np.where(dense >= threshold, dense, 0), atol=1e-6)


def test_blocks_of_columns_do_not_show(monkeypatch):
    adjacency, base = GRAPHS[3].adjacency, Diffused(0.15, 1e-3).base
    whole = diffused(MemoryEngine(), adjacency, base, 1e-3)
    monkeypatch.setattr(evaluation, "COLUMNS", 7)
    parts = diffused(MemoryEngine(), adjacency, base, 1e-3)
    assert np.array_equal(whole.indptr, parts.indptr) and np.array_equal(whole.indices, parts.indices)


def test_its_size_is_said_before_the_work_begins(monkeypatch):
    monkeypatch.setattr("slimg.lab.propagators.evaluation.available_memory", lambda: 1000)
    with pytest.raises(InputError, match=r"a diffusion with about \d+ entries per node needs 0\.0 GiB of memory"):
        diffused(MemoryEngine(), GRAPHS[0].adjacency, Diffused(0.15, 1e-4).base, 1e-4)


def test_sizes_are_said(monkeypatch):
    monkeypatch.setattr(evaluation, "available_memory", lambda: 3 << 30)
    check_size(MemoryEngine(), 3 << 30, "P")
    with pytest.raises(TooLarge, match=r"P needs 4\.0 GiB of memory and 3\.0 GiB are free: ask for fewer hops"):
        check_size(MemoryEngine(), 4 << 30, "P")
    check_size(OpaqueEngine(), 4 << 30, "P")
    assert issubclass(TooLarge, InputError) and issubclass(TooLarge, MemoryError)


def test_a_propagator_refuses_before_it_starts(monkeypatch):
    monkeypatch.setattr(evaluation, "available_memory", lambda: 1 << 20)
    with pytest.raises(InputError, match=r"P\(A, X\) with 60,006 columns for 40 nodes needs 0\.0 GiB"):
        get("gprgnn", K=10_000)(GRAPHS[0])
