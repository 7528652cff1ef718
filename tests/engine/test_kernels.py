"""Sparse products against scipy, for every width and every combination of scalings."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from slimg.engine import kernels

N = 40


def matrix(index=np.int32, seed=0):
    a = sp.random(N, N, 0.15, format="csr", dtype=np.float32, random_state=seed)
    return a, (a.indptr.astype(np.int64), a.indices.astype(index), a.data)


def expected(a, weights, row_matrix, before, after, loop):
    values = a.data if weights is not None else np.ones_like(a.data)
    dense = sp.csr_matrix((values, a.indices, a.indptr), a.shape).toarray().astype(np.float64) + loop * np.eye(N)
    left = np.ones(N) if after is None else after
    right = np.ones(N) if before is None else before
    return left[:, None] * (dense @ (right[:, None] * row_matrix))


def scales(seed):
    return np.random.default_rng(seed).random(N, dtype=np.float32)


@pytest.mark.parametrize("k", [1, 2, 3, 5, 8, 15, 16, 17, 31, 33, 64, 65, 100, 127, 128, 129, 200, 300])
def test_gather_at_every_width(k):
    a, (indptr, indices, weights) = matrix()
    row_matrix = np.random.default_rng(k).standard_normal((N, k), dtype=np.float32)
    out = np.full((N, k), np.nan, np.float32)
    kernels.gather(kernels.lanes_for(k))(indptr, indices, weights, row_matrix, None, scales(1), 0.0, out, 0, N)
    np.testing.assert_allclose(out, expected(a, weights, row_matrix, None, scales(1), 0.0), atol=1e-4)


@pytest.mark.parametrize(
    "weighted, before, after, loop", list(itertools.product([False, True], [False, True], [False, True], [0.0, 1.0]))
)
def test_gather_with_every_scaling(weighted, before, after, loop):
    a, (indptr, indices, weights) = matrix()
    weights = weights if weighted else None
    before, after = scales(2) if before else None, scales(3) if after else None
    row_matrix = np.random.default_rng(0).standard_normal((N, 20), dtype=np.float32)
    out = np.empty((N, 20), np.float32)
    kernels.gather(16)(indptr, indices, weights, row_matrix, before, after, loop, out, 0, N)
    np.testing.assert_allclose(out, expected(a, weights, row_matrix, before, after, loop), atol=1e-4)


def test_gather_takes_wide_indices_and_only_its_rows():
    a, (indptr, indices, weights) = matrix(np.int64)
    row_matrix = np.random.default_rng(0).standard_normal((N, 4), dtype=np.float32)
    out = np.zeros((N, 4), np.float32)
    kernels.gather(2)(indptr, indices, weights, row_matrix, None, None, 0.0, out, 10, 25)
    np.testing.assert_allclose(out[10:25], (a @ row_matrix)[10:25], atol=1e-5)
    assert not out[:10].any() and not out[25:].any()


@pytest.mark.parametrize("k, before", [(1, False), (7, True), (100, False), (300, True)])
def test_two_scalings_in_one_pass_are_those_of_two_passes_to_the_bit(k, before):
    _, (indptr, indices, weights) = matrix()
    row_matrix = np.random.default_rng(k).standard_normal((N, k), dtype=np.float32)
    first, second = (scales(1) if before else None, scales(2), 0.0), (scales(3), scales(3), 1.0)
    alone, fused = np.empty((2, N, k), np.float32), np.empty((2, N, k), np.float32)
    lanes = kernels.lanes_for(k)
    for scaling, out in zip((first, second), alone, strict=True):
        kernels.gather(lanes)(indptr, indices, weights, row_matrix, *scaling, out, 0, N)
    kernels.gather(lanes)(indptr, indices, weights, row_matrix, *second, fused[1], 0, N, 0, *first, fused[0])
    np.testing.assert_array_equal(alone, fused)


def test_rows_of_a_block_are_those_of_the_whole_to_the_bit():
    _, (indptr, indices, weights) = matrix()
    row_matrix = np.random.default_rng(0).standard_normal((N, 20), dtype=np.float32)
    scalings = [(scales(1), scales(2), 1.0), (None, scales(3), 0.5), (scales(4), None, 0.0)]
    whole, block = np.empty((3, N, 20), np.float32), np.empty((3, 15, 20), np.float32)
    kernels.gather_rows(indptr, indices, weights, row_matrix, scalings, whole, 0, N)
    begin, end = indptr[10], indptr[25]
    part = indptr[10:26] - begin, indices[begin:end], weights[begin:end]
    kernels.gather_rows(*part, row_matrix, scalings, block, 0, 15, shift=10)
    np.testing.assert_array_equal(block, whole[:, 10:25])


def test_two_vectors_cover_every_tile():
    for k in range(1, 400):
        lanes = kernels.lanes_for(k)
        assert lanes & (lanes - 1) == 0 and lanes <= k
        assert 2 * lanes >= k or lanes == kernels.MOST_LANES


def test_an_infinite_row_does_not_leak_into_nodes_without_its_loop():
    _, (indptr, indices, weights) = matrix()
    row_matrix = np.zeros((N, 8), np.float32)
    row_matrix[5] = np.inf
    lonely = [i for i in range(N) if 5 not in indices[indptr[i] : indptr[i + 1]]]
    out = np.empty((N, 8), np.float32)
    kernels.gather(8)(indptr, indices, weights, row_matrix, None, None, 0.0, out, 0, N)
    assert np.isfinite(out[lonely]).all()


def test_scatter_is_the_transposed_product():
    a, (indptr, indices, weights) = matrix()
    row_matrix = np.random.default_rng(0).standard_normal((N, 20), dtype=np.float32)
    out = np.zeros((N, 20))
    kernels.scatter(indptr, indices, weights, row_matrix, out, 0, 16)
    np.testing.assert_allclose(out[:, :16], a.T.toarray().astype(np.float64) @ row_matrix[:, :16], atol=1e-6)
    assert not out[:, 16:].any()


def test_scatter_self_is_the_gram_matrix():
    a, _ = matrix()
    a.sort_indices()
    out = np.zeros((N, N))
    kernels.scatter_self(a.indptr, a.indices, a.data, out, 0, 30)
    dense = a.toarray().astype(np.float64)
    np.testing.assert_allclose(out[:30], (dense.T @ dense)[:30], atol=1e-6)
    assert not out[30:].any()
