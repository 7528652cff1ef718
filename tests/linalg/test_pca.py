"""PCA against scikit-learn, by both Gram matrices and implicitly, with the limits of rank and precision."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA as SklearnPCA

from slimg.engine import MemoryEngine
from slimg.graph.adjacency import Adjacency
from slimg.linalg import Chain, operator, pca, plan_pca, principal_components

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
@pytest.mark.parametrize("sparse", [False, True])
def test_scores_are_those_of_scikit_learn(n, d, rank, sparse):
    b = separated(n, d)
    fitted, truth, components = oracle(b, rank)
    state, scores = principal_components(ENGINE, ENGINE.row_matrix(sp.csr_matrix(b)) if sparse else b, rank)
    np.testing.assert_allclose(scores, truth, atol=2e-3)
    np.testing.assert_allclose(state.components, components, atol=2e-3)
    np.testing.assert_allclose(state.mean, fitted.mean_, atol=1e-5)
    np.testing.assert_allclose(state.singular_values, fitted.singular_values_, rtol=1e-3)
    np.testing.assert_allclose(state.project(b[:3]), truth[:3], atol=2e-3)


def test_then_is_applied_to_rows_in_the_same_pass():
    b = separated(60, 8)
    _, plain = principal_components(ENGINE, b, 4)
    _, halved = principal_components(ENGINE, b, 4, lambda block: block / 2)
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


@pytest.mark.parametrize("n, d", [(300, 120), (120, 300)])
def test_large_gram_matrices_are_taken_in_float32_when_that_is_enough(n, d, monkeypatch):
    monkeypatch.setattr(pca, "SINGLE_FROM", 64)
    b = separated(n, d, rate=0.97)
    _, truth, _ = oracle(b, 40)
    plan = plan_pca(ENGINE, b, expected_rank=40)
    assert plan._top._form.diagonal.dtype == np.float32
    np.testing.assert_allclose(plan.solve(40)[1], truth, atol=5e-3)


def test_float64_takes_over_when_the_spectrum_falls_too_far(monkeypatch):
    monkeypatch.setattr(pca, "SINGLE_FROM", 16)
    b = separated(200, 40, rate=0.7)
    _, truth, _ = oracle(b, 25)
    state, scores = principal_components(ENGINE, b, 25)
    assert state.singular_values[-1] < 1e-3 * state.singular_values[0]
    np.testing.assert_allclose(scores, truth, atol=2e-3)


def test_few_directions_of_a_large_gram_matrix_come_from_block_lanczos(monkeypatch):
    monkeypatch.setattr(pca, "SINGLE_FROM", 64)
    called = []
    monkeypatch.setattr(pca, "leading_eigenpairs", lambda *a, **k: called.append(1) or original(*a, **k))
    from slimg.linalg.krylov import leading_eigenpairs as original

    b = separated(400, 160, rate=0.9)
    _, truth, _ = oracle(b, 8)
    np.testing.assert_allclose(principal_components(ENGINE, b, 8)[1], truth, atol=5e-3)
    assert called


def chain(n=150, d=60, hops=2, sparse=True, name="A_row"):
    rng = np.random.default_rng(0)
    a = np.triu(rng.random((n, n)) < 0.1, 1).astype(np.float32)
    adjacency = Adjacency.from_scipy(sp.csr_matrix(a + a.T))[0]
    x = separated(n, d, rate=0.9) * (rng.random((n, d)) < 0.5)
    it = operator(name, adjacency)
    features = ENGINE.row_matrix(sp.csr_matrix(x)) if sparse else x
    return Chain(features, it, hops), it.power(ENGINE, x, hops)


@pytest.mark.parametrize("name", ["A_row", "Ã_sym"])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_chain_of_hops_is_never_formed_and_gives_the_same_scores(name, sparse):
    implicit, b = chain(name=name, sparse=sparse)
    _, truth, _ = oracle(b, 6)
    state, scores = principal_components(ENGINE, implicit, 6)
    np.testing.assert_allclose(np.abs(scores), np.abs(truth), atol=2e-2 * np.abs(truth).max())
    np.testing.assert_allclose(state.mean, b.mean(axis=0), atol=1e-5)
    formed, scores_formed = principal_components(ENGINE, b, 6)
    np.testing.assert_allclose(state.singular_values, formed.singular_values, rtol=1e-3)
    np.testing.assert_allclose(scores[:, :3], scores_formed[:, :3], atol=1e-2 * np.abs(scores).max())


def test_products_of_a_chain_equal_those_of_the_formed_matrix():
    implicit, b = chain()
    small, row_matrix = np.eye(60, 5, dtype=np.float32), np.eye(150, 4, dtype=np.float32)
    np.testing.assert_allclose(implicit.times(ENGINE, small), b @ small, atol=1e-5)
    np.testing.assert_allclose(implicit.transposed_times(ENGINE, row_matrix), b.T @ row_matrix, atol=1e-5)


def test_both_large_means_implicit(monkeypatch):
    monkeypatch.setattr(pca, "GRAM_AT_MOST", 20)
    b = separated(90, 50, rate=0.7)
    _, truth, _ = oracle(b, 4)
    np.testing.assert_allclose(principal_components(ENGINE, b, 4)[1], truth, atol=1e-2 * np.abs(truth).max())
