"""The ways to the leading part of A: precision of large parts, vectors from rows (the ways against numpy: test_svd)."""

import networkx as nx
import numpy as np
import scipy.sparse as sp

from slimg.engine import MemoryEngine
from slimg.graph.adjacency import Adjacency
from slimg.linalg import krylov, plan_svd, svd_plans, truncated_svd

ENGINE = MemoryEngine(threads=2)


def from_networkx(graph):
    return Adjacency.from_scipy(sp.csr_matrix(nx.to_scipy_sparse_array(graph, dtype=np.float32)))[0]


def test_large_parts_are_dense_in_float32(monkeypatch):
    monkeypatch.setattr(svd_plans, "SINGLE_BEYOND", 50)
    adjacency = from_networkx(nx.random_regular_graph(5, 300, seed=1))
    plan = plan_svd(ENGINE, adjacency)
    plan.prepare()
    assert isinstance(plan, svd_plans.DenseSVD) and plan._forms[0].diagonal.dtype == np.float32
    spectrum, exact = plan.solve(), np.linalg.eigvalsh(adjacency.to_scipy().toarray().astype(np.float64))
    largest = exact[np.argsort(-np.abs(exact))][: spectrum.rank]
    np.testing.assert_allclose(spectrum.singular_values, np.abs(largest), atol=1e-4)
    rest = adjacency.to_scipy() @ spectrum.vectors - spectrum.vectors * spectrum.eigenvalues
    assert np.abs(rest).max() < 1e-4


def test_vectors_of_a_large_graph_are_made_from_the_rows_when_asked_for(monkeypatch):
    adjacency = from_networkx(nx.barabasi_albert_graph(2_000, 4, seed=1))
    monkeypatch.setattr(krylov, "SKETCHED_BEYOND", 0)
    plain = truncated_svd(ENGINE, adjacency, max_rank=20)
    plan = plan_svd(ENGINE, adjacency, max_rank=20)
    plan.prepare()
    lazy, rows = plan.solve_rows(lambda block, sigma: block / np.linalg.norm(block, axis=1, keepdims=True))
    assert "vectors" not in vars(lazy) and isinstance(lazy, svd_plans.Spectrum)
    np.testing.assert_array_equal(lazy.eigenvalues, plain.eigenvalues)
    np.testing.assert_allclose(lazy.vectors, plain.vectors, atol=1e-7)
    us = plain.vectors * plain.singular_values
    np.testing.assert_allclose(rows, us / np.linalg.norm(us, axis=1, keepdims=True), atol=1e-5)
    assert lazy.vectors is lazy.vectors
