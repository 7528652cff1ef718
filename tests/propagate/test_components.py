"""P(A, X) against dense numpy and scikit-learn."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA as SklearnPCA

from slimg.engine import MemoryEngine
from slimg.errors import InputError
from slimg.graph import Graph
from slimg.propagate import compute_components


def random_graph(n=60, d=9, seed=0, weighted=False, isolated=2, sparse_features=False):
    rng = np.random.default_rng(seed)
    a = np.triu(rng.random((n, n)) < 0.12, 1).astype(np.float32)
    if weighted:
        a *= rng.random((n, n)).astype(np.float32) + 0.5
    a = a + a.T
    a[:isolated] = a[:, :isolated] = 0
    x = rng.random((n, d)).astype(np.float32) * (rng.random((n, d)) < 0.6)
    x[3] = 0
    return a, x, Graph.from_arrays(sp.csr_matrix(a), features=sp.csr_matrix(x) if sparse_features else x)


def oracle(a, x, energy=0.9):
    """The formula of the paper, dense, in float64."""
    a, x = a.astype(np.float64), x.astype(np.float64)
    n, d = x.shape
    unit = lambda m: m / np.maximum(np.linalg.norm(m, axis=1, keepdims=True), 1e-300)  # noqa: E731
    total = x.sum(axis=1, keepdims=True)
    x = np.divide(x, total, out=np.zeros_like(x), where=total > 0)
    u, s, _ = np.linalg.svd(a)
    held = np.cumsum(s**2) / np.square(a).sum()
    r = min(max(int((held < energy).sum()), 1), n, d)
    degree = a.sum(axis=1)
    row = np.divide(a, degree[:, None], out=np.zeros_like(a), where=degree[:, None] > 0)
    loops = a + np.eye(n)
    tilde = loops / np.sqrt(np.outer(loops.sum(axis=1), loops.sum(axis=1)))
    g = lambda b: unit(SklearnPCA(r, svd_solver="full").fit_transform(b))  # noqa: E731
    return r, {"U": unit(u[:, :r] * s[:r]), "X": g(x), "A_row^2 X": g(row @ row @ x), "A_sym^2 X": g(tilde @ tilde @ x)}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse_features", [False, True])
def test_components_equal_the_dense_formula(weighted, sparse_features):
    a, x, graph = random_graph(weighted=weighted, sparse_features=sparse_features)
    rank, expected = oracle(a, x)
    result = compute_components(graph, MemoryEngine())
    assert result.rank == rank
    assert result.names == tuple(expected)
    for name, block in expected.items():
        mine = result.blocks[name].astype(np.float64)
        np.testing.assert_allclose(mine @ mine.T, block @ block.T, atol=2e-4)


def test_no_edges_leaves_the_features_and_says_so():
    result = compute_components(Graph.from_arrays(sp.csr_matrix((5, 5)), features=np.eye(5)))
    assert result.names == ("X",)
    assert "No edges" in result.notes[0]


def test_unknown_component_lists_the_choices():
    _, _, graph = random_graph()
    with pytest.raises(InputError, match=r"U, X, row, sym"):
        compute_components(graph, components=["V"])
