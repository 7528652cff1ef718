"""What is planned before the rank is known."""

import networkx as nx
import numpy as np
import scipy.sparse as sp

from slimg.components.features import unit_rows
from slimg.components.plans import AsItIs, Structure
from slimg.engine import MemoryEngine
from slimg.graph.adjacency import Adjacency
from slimg.linalg import Chain, operator, plan_svd

ENGINE = MemoryEngine(threads=2)


def adjacency(graph):
    return Adjacency.from_scipy(sp.csr_matrix(nx.to_scipy_sparse_array(graph, dtype=np.float32)))[0]


def test_structure_is_u_times_sigma_with_unit_rows():
    a = adjacency(nx.barabasi_albert_graph(40, 2, seed=0))
    structure = Structure(ENGINE, plan_svd(ENGINE, a), a.n, wanted=True)
    rank = structure.prepare()
    _, block = structure.solve(rank, unit_rows)
    u, s, _ = np.linalg.svd(a.to_scipy().toarray().astype(np.float64))
    truth = unit_rows(u[:, :rank] * s[:rank])
    np.testing.assert_allclose(block @ block.T, truth @ truth.T, atol=1e-4)


def test_parts_that_no_column_reaches_are_zero():
    a = adjacency(nx.disjoint_union(nx.complete_graph(12), nx.path_graph(2)))
    structure = Structure(ENGINE, plan_svd(ENGINE, a, max_rank=1), a.n, wanted=True)
    _, block = structure.solve(structure.prepare(), unit_rows)
    np.testing.assert_allclose(np.abs(block[:12, 0]), 1, atol=1e-6)
    np.testing.assert_array_equal(block[12:], 0)


def test_as_it_is_keeps_rows_of_talls_and_chains():
    a = adjacency(nx.path_graph(6))
    x = np.random.default_rng(0).random((6, 3), dtype=np.float32)
    state, block = AsItIs(ENGINE, x, 2).solve(2, unit_rows)
    assert state is None
    np.testing.assert_allclose(block, unit_rows(x))
    it = operator("A_row", a)
    _, block = AsItIs(ENGINE, Chain(ENGINE.row_matrix(sp.csr_matrix(x)), it, 2), 2).solve(2, lambda rows: rows)
    np.testing.assert_allclose(block, it.power(ENGINE, x, 2), atol=1e-6)
