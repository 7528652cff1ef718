"""Truncated SVD of A against numpy.linalg.svd: both ways, weights, isolated nodes, real graphs."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from slimg.engine import MemoryEngine
from slimg.graph.adjacency import Adjacency
from slimg.linalg import krylov, plan_svd, svd
from slimg.linalg.krylov import RankRule

ENGINE = MemoryEngine(threads=2)


def truncated_svd(*arguments, **options):
    plan = plan_svd(*arguments, **options)
    plan.prepare()
    return plan.solve()


def from_networkx(graph):
    return Adjacency.from_scipy(sp.csr_matrix(nx.to_scipy_sparse_array(graph, dtype=np.float32)))[0]


def check(adjacency, spectrum, energy, cap, tolerance):
    """Rank and singular values are numpy's; U Σ Vᵀ is its truncation; columns are orthonormal."""
    a = adjacency.to_scipy().toarray().astype(np.float64)
    _, s, _ = np.linalg.svd(a)
    targets = energy * np.square(a).sum() * np.array([1 - 1e-9, 1 + 1e-9])  # rounding decides where the energy is met exactly
    assert spectrum.rank in [RankRule(target, cap).rank(s) for target in targets]
    np.testing.assert_allclose(spectrum.singular_values, s[: spectrum.rank], rtol=tolerance, atol=tolerance)
    u = spectrum.vectors.astype(np.float64)
    np.testing.assert_allclose(u.T @ u, np.eye(spectrum.rank), atol=1e-5)
    residuals = np.linalg.norm(a @ u - u * spectrum.eigenvalues, axis=0)
    assert residuals.max() <= 10 * tolerance * s[0]


@given(st.integers(2, 30), st.sampled_from([0.05, 0.2, 0.7]), st.integers(0, 10**6), st.booleans())
@settings(max_examples=40, deadline=None)
def test_small_graphs_are_exact(n, density, seed, weighted):
    graph = nx.gnp_random_graph(n, density, seed=seed)
    graph.add_edge(0, 1)
    if weighted:
        nx.set_edge_attributes(graph, {edge: 0.5 + (sum(edge) % 4) for edge in graph.edges}, "weight")
    adjacency = from_networkx(graph)
    check(adjacency, truncated_svd(ENGINE, adjacency), 0.9, n, 1e-5)


@pytest.fixture
def only_krylov(monkeypatch):
    monkeypatch.setattr(svd, "DENSE_ALWAYS", 0)
    monkeypatch.setattr(svd, "DENSE_AT_MOST", 0)


@pytest.mark.parametrize("reduced", [True, False])
def test_krylov_equals_the_dense_way(only_krylov, monkeypatch, reduced):
    if not reduced:
        monkeypatch.setattr(svd, "REDUCE_AT_MOST", 0)
    adjacency = from_networkx(nx.barabasi_albert_graph(400, 2, seed=0))
    spectrum = truncated_svd(ENGINE, adjacency, tolerance=1e-4)
    check(adjacency, spectrum, 0.9, 400, 1e-4)


def test_krylov_with_many_equal_parts(only_krylov):
    parts = nx.disjoint_union_all([nx.path_graph(2)] * 90 + [nx.complete_graph(6)])
    adjacency = from_networkx(parts)
    spectrum = truncated_svd(ENGINE, adjacency)
    check(adjacency, spectrum, 0.9, adjacency.n, 1e-4)


def test_the_cap_holds_and_at_least_one_column_is_kept():
    adjacency = from_networkx(nx.gnp_random_graph(60, 0.2, seed=0))
    assert truncated_svd(ENGINE, adjacency, max_rank=7).rank == 7
    assert truncated_svd(ENGINE, adjacency, energy=1e-6).rank == 1
    assert truncated_svd(ENGINE, from_networkx(nx.path_graph(2))).rank == 1


def test_signs_do_not_depend_on_the_way(monkeypatch):
    adjacency = from_networkx(nx.barabasi_albert_graph(300, 2, seed=3))
    dense = truncated_svd(ENGINE, adjacency, max_rank=10)
    monkeypatch.setattr(svd, "DENSE_ALWAYS", 0)
    krylov = truncated_svd(ENGINE, adjacency, max_rank=10, tolerance=1e-5)
    apart = np.abs(np.diff(np.concatenate([dense.singular_values, [0]]))) > 0.02
    apart &= np.abs(np.diff(np.concatenate([[1e9], dense.singular_values]))) > 0.02
    assert apart.sum() >= 5
    np.testing.assert_allclose(dense.vectors[:, apart], krylov.vectors[:, apart], atol=2e-3)


def test_a_row_of_edges_folds_in_where_its_twin_is():
    adjacency = from_networkx(nx.barabasi_albert_graph(80, 3, seed=0))
    spectrum = truncated_svd(ENGINE, adjacency)
    row = adjacency.to_scipy().toarray()[5]
    v = spectrum.vectors * np.sign(spectrum.eigenvalues)
    np.testing.assert_allclose(row @ v, spectrum.vectors[5] * spectrum.singular_values, atol=1e-4)


@pytest.mark.parametrize("way", ["dense", "krylov", "sketched"])
def test_threads_do_not_change_a_bit(way, monkeypatch):
    if way != "dense":
        monkeypatch.setattr(svd, "DENSE_ALWAYS", 0)
    if way == "sketched":
        monkeypatch.setattr(krylov, "SKETCHED_BEYOND", 0)
    adjacency = from_networkx(nx.barabasi_albert_graph(500, 3, seed=0))
    one, two = (truncated_svd(MemoryEngine(threads=t), adjacency, max_rank=40) for t in (1, 2))
    assert one.vectors.tobytes() == two.vectors.tobytes()
    assert one.eigenvalues.tobytes() == two.eigenvalues.tobytes()


RANKS = {"chameleon": 126, "squirrel": 210, "cora": 1052}


@pytest.mark.parametrize("name", ["chameleon", "squirrel", "cora"])
def test_ranks_of_real_graphs(name, load_real):
    graph = load_real(name)
    plan = svd.plan_svd(ENGINE, graph.adjacency, max_rank=min(graph.features.shape))
    plan.prepare()
    assert plan.rank == RANKS[name]


def test_large_parts_are_dense_in_float32(monkeypatch):
    monkeypatch.setattr(svd, "SINGLE_BEYOND", 50)
    adjacency = from_networkx(nx.random_regular_graph(5, 300, seed=1))
    plan = svd.plan_svd(ENGINE, adjacency)
    plan.prepare()
    assert isinstance(plan, svd.DenseSVD) and plan._parts[0].values.dtype == np.float32
    spectrum, exact = plan.solve(), np.linalg.eigvalsh(adjacency.to_scipy().toarray().astype(np.float64))
    largest = exact[np.argsort(-np.abs(exact))][: spectrum.rank]
    np.testing.assert_allclose(spectrum.singular_values, np.abs(largest), atol=1e-4)
    rest = adjacency.to_scipy() @ spectrum.vectors - spectrum.vectors * spectrum.eigenvalues
    assert np.abs(rest).max() < 1e-4


def test_vectors_of_a_large_graph_are_made_from_the_rows_when_asked_for(monkeypatch):
    adjacency = from_networkx(nx.barabasi_albert_graph(2_000, 4, seed=1))
    monkeypatch.setattr(krylov, "SKETCHED_BEYOND", 0)
    plain = truncated_svd(ENGINE, adjacency, max_rank=20)
    plan = svd.plan_svd(ENGINE, adjacency, max_rank=20)
    plan.prepare()
    lazy, rows = plan.solve_rows(lambda block, sigma: block / np.linalg.norm(block, axis=1, keepdims=True))
    assert "vectors" not in vars(lazy) and isinstance(lazy, svd.Spectrum)
    np.testing.assert_array_equal(lazy.eigenvalues, plain.eigenvalues)
    np.testing.assert_allclose(lazy.vectors, plain.vectors, atol=1e-7)
    us = plain.vectors * plain.singular_values
    np.testing.assert_allclose(rows, us / np.linalg.norm(us, axis=1, keepdims=True), atol=1e-5)
    assert lazy.vectors is lazy.vectors
