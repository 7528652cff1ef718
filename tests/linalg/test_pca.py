"""PCA against scikit-learn with the limits of rank and precision; the reduction of X against the exact directions."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA as SklearnPCA

from slimg.engine import MemoryEngine
from slimg.graph.adjacency import Adjacency
from slimg.linalg import leading_directions, operator, principal_components, reduced_width, svd

ENGINE = MemoryEngine(threads=2)


def oracle(b, rank):
    """Scores of scikit-learn with our signs."""
    fitted = SklearnPCA(rank, svd_solver="full").fit(b.astype(np.float64))
    largest = np.abs(fitted.components_).argmax(axis=1)
    sign = np.sign(fitted.components_[np.arange(rank), largest])
    return fitted, (fitted.transform(b.astype(np.float64)) * sign), fitted.components_ * sign[:, None]


def separated(n, d, seed=0, rate=0.8):
    """A matrix with a mean and distinct singular values."""
    rng = np.random.default_rng(seed)
    k = min(n, d)
    u, _ = np.linalg.qr(rng.standard_normal((n, k)))
    v, _ = np.linalg.qr(rng.standard_normal((d, k)))
    return ((u * rate ** np.arange(k)) @ v.T * np.sqrt(n) + rng.standard_normal(d)).astype(np.float32)


@pytest.mark.parametrize("n, d, rank", [(80, 12, 5), (80, 12, 12), (12, 80, 5), (30, 30, 7), (50, 1, 1), (2, 5, 1)])
def test_scores_are_those_of_scikit_learn(n, d, rank):
    b = separated(n, d)
    fitted, truth, components = oracle(b, rank)
    state, scores = principal_components(ENGINE, b, rank)
    np.testing.assert_allclose(scores, truth, atol=2e-3)
    np.testing.assert_allclose(state.components, components, atol=2e-3)
    np.testing.assert_allclose(state.mean, fitted.mean_, atol=1e-5)
    np.testing.assert_allclose(state.singular_values, fitted.singular_values_, rtol=1e-3)
    np.testing.assert_allclose((b[:3] - state.mean) @ state.components.T, truth[:3], atol=2e-3)


def test_then_is_applied_to_rows_in_the_same_pass():
    b = separated(60, 8)
    _, plain = principal_components(ENGINE, b, 4)
    _, halved = principal_components(ENGINE, b, 4, lambda block, length: block / 2)
    np.testing.assert_array_equal(halved, plain / 2)


@given(st.integers(2, 40), st.integers(1, 40), st.integers(1, 12), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_directions_that_are_rounding_are_dropped(n, d, rank, seed):
    rng = np.random.default_rng(seed)
    b = (rng.standard_normal((n, min(rank, d))) @ rng.standard_normal((min(rank, d), d))).astype(np.float32)
    true_rank = min(np.linalg.matrix_rank(b - b.mean(axis=0), tol=1e-4 * np.linalg.norm(b)), n - 1)
    state, scores = principal_components(ENGINE, b, min(n, d))
    assert scores.shape[1] == len(state.singular_values) == len(state.components)
    assert true_rank <= scores.shape[1] <= min(rank, d, n - 1)
    centred = b - b.mean(axis=0)
    np.testing.assert_allclose(scores @ scores.T, centred @ centred.T, atol=2e-3 * max(np.square(centred).sum(), 1e-3))


def test_constant_rows_have_no_direction():
    state, scores = principal_components(ENGINE, np.ones((10, 4), np.float32), 3)
    assert scores.shape == (10, 0) and state.components.shape == (0, 4)


def test_large_gram_matrices_are_taken_in_float32_when_that_is_enough(monkeypatch):
    monkeypatch.setattr(svd, "SINGLE_FROM", 64)
    types = []
    monkeypatch.setattr(svd, "tridiagonalise", lambda matrix: types.append(matrix.dtype) or original(matrix))
    from slimg.engine.blas import tridiagonalise as original

    b = separated(300, 120, rate=0.97)
    _, truth, _ = oracle(b, 40)
    np.testing.assert_allclose(principal_components(ENGINE, b, 40)[1], truth, atol=5e-3)
    assert types == [np.float32]


def test_float64_takes_over_when_the_spectrum_falls_too_far(monkeypatch):
    monkeypatch.setattr(svd, "SINGLE_FROM", 16)
    b = separated(200, 40, rate=0.7)
    _, truth, _ = oracle(b, 25)
    state, scores = principal_components(ENGINE, b, 25)
    assert state.singular_values[-1] < 1e-3 * state.singular_values[0]
    np.testing.assert_allclose(scores, truth, atol=2e-3)


def test_few_directions_of_a_large_gram_matrix_come_from_block_lanczos(monkeypatch):
    monkeypatch.setattr(svd, "SINGLE_FROM", 64)
    called = []
    monkeypatch.setattr(svd, "leading_eigenpairs", lambda *a, **k: called.append(1) or original(*a, **k))
    from slimg.linalg.krylov import leading_eigenpairs as original

    b = separated(400, 160, rate=0.9)
    _, truth, _ = oracle(b, 8)
    np.testing.assert_allclose(principal_components(ENGINE, b, 8)[1], truth, atol=5e-3)
    assert called


def wide(n=150, d=90, sparse=False):
    rng = np.random.default_rng(0)
    a = np.triu(rng.random((n, n)) < 0.05, 1).astype(np.float32)
    adjacency = Adjacency.from_scipy(sp.csr_matrix(a + a.T))[0]
    x = separated(n, d, rate=0.9) * (rng.random((n, d)) < 0.5)
    return adjacency, x.astype(np.float32), ENGINE.row_matrix(sp.csr_matrix(x) if sparse else x)


def held(basis, gram):
    return np.trace(basis.T @ gram @ basis)


@pytest.mark.parametrize("sparse", [False, True])
def test_directions_hold_what_the_exact_ones_hold(sparse):
    adjacency, x, row_matrix = wide(sparse=sparse)
    gram = x.T.astype(np.float64) @ x
    basis = leading_directions(ENGINE, row_matrix, 20).astype(np.float64)
    np.testing.assert_allclose(basis.T @ basis, np.eye(20), atol=1e-5)
    assert held(basis, gram) > 0.98 * np.linalg.eigvalsh(gram)[-20:].sum()
    joint = leading_directions(ENGINE, row_matrix, 20, operator("Ã_sym", adjacency)).astype(np.float64)
    full = adjacency.to_scipy().toarray() + np.eye(150)
    smooth = full / np.sqrt(np.outer(full.sum(axis=1), full.sum(axis=1))) @ x
    assert held(joint, smooth.T @ smooth) > held(basis, smooth.T @ smooth)
    both = gram / np.trace(gram) + smooth.T @ smooth / np.square(smooth).sum()
    assert held(joint, both) > 0.98 * np.linalg.eigvalsh(both)[-20:].sum()


def test_all_directions_are_an_orthonormal_basis_and_fewer_are_returned_where_x_has_fewer():
    _, _, row_matrix = wide(d=30)
    basis = leading_directions(ENGINE, row_matrix, 30).astype(np.float64)
    np.testing.assert_allclose(basis @ basis.T, np.eye(30), atol=1e-4)
    rng = np.random.default_rng(0)
    low = (rng.standard_normal((60, 3)) @ rng.standard_normal((3, 40))).astype(np.float32)
    basis = leading_directions(ENGINE, low, 10)
    assert basis.shape[1] <= 10
    np.testing.assert_allclose(low @ basis @ basis.T, low, atol=1e-3)
    assert np.isfinite(leading_directions(ENGINE, np.zeros((60, 40), np.float32), 10)).all()


def test_a_dense_and_a_sparse_x_have_the_same_directions():
    dense, sparse = (leading_directions(ENGINE, wide(sparse=each)[2], 12) for each in (False, True))
    np.testing.assert_allclose(dense, sparse, atol=1e-3)


def test_a_narrow_x_is_not_reduced():
    assert reduced_width(1000, 80, 16) is None or reduced_width(1000, 80, 16) == 80
    assert reduced_width(1000, 101, 16) == 80 and reduced_width(50, 1000, 16) == 50
