"""Propagated features against dense powers of the operators, also as sparse chains."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from slimg.components import Features, PropagatedFeatures, Target, compute_components
from slimg.components.features import AsIs
from slimg.components.row_scaling import unit_rows
from slimg.engine import MemoryEngine
from slimg.graph import Graph
from slimg.linalg import Chain, operator

ENGINE = MemoryEngine(threads=2)


def dense_operator(kind, matrix):
    full = matrix + (np.eye(len(matrix)) if kind == "sym" else 0)
    degree = full.sum(axis=1)
    inverse = np.divide(1, degree, out=np.zeros_like(degree), where=degree > 0)
    return inverse[:, None] * full if kind == "row" else np.sqrt(inverse)[:, None] * full * np.sqrt(inverse)


@pytest.mark.parametrize("kind", ["row", "sym"])
@pytest.mark.parametrize("steps", [1, 3])
def test_rows_are_powers_of_the_operator(kind, steps):
    matrix = nx.to_numpy_array(nx.barabasi_albert_graph(30, 2, seed=1))
    x = np.random.default_rng(0).random((30, 4)).astype(np.float32)
    component = PropagatedFeatures(kind=kind, steps=steps, pca=False, normalize=None)
    graph = Graph.from_arrays(sp.csr_array(matrix), features=x)
    parts = compute_components(graph, components=[component])
    truth = np.linalg.matrix_power(dense_operator(kind, matrix), steps) @ x
    np.testing.assert_allclose(parts.blocks[component.name], unit_rows(truth), atol=1e-5)
    raw = component.project(parts.fitted[component.name].state, Target(graph, np.array([3, 17])))
    np.testing.assert_allclose(raw, truth[[3, 17]], atol=1e-5)


def test_without_pca_rows_of_matrices_and_chains_are_kept():
    graph = Graph.from_arrays(sp.csr_array(nx.to_scipy_sparse_array(nx.path_graph(6), dtype=np.float32)))
    x = np.random.default_rng(0).random((6, 3), dtype=np.float32)
    state, block = AsIs(ENGINE, x, 2).solve(2, unit_rows)
    assert state is None
    np.testing.assert_allclose(block, unit_rows(x))
    it = operator("A_row", graph.adjacency)
    _, block = AsIs(ENGINE, Chain(ENGINE.row_matrix(sp.csr_matrix(x)), it, 2), 2).solve(2, lambda rows: rows)
    np.testing.assert_allclose(block, it.power(ENGINE, x, 2), atol=1e-6)


def test_features_alone_need_no_edges():
    assert not Features().needs_edges and PropagatedFeatures().needs_edges
