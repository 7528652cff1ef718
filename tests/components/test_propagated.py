"""Propagated features against dense powers of the operators, and placed in a reduced X."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from slimg.components import Features, PropagatedFeatures, Target, compute_components
from slimg.components.row_scaling import unit_rows
from slimg.graph import Graph


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


@pytest.mark.parametrize("component", [Features(soft=True), PropagatedFeatures(steps=1, soft=True)], ids=str)
def test_soft_rows_are_those_of_the_formula(component):
    """A constant column says nothing, a row that equals the mean stays zero, and rows of like length stay alike."""
    matrix, rng = nx.to_numpy_array(nx.barabasi_albert_graph(30, 2, seed=1)), np.random.default_rng(0)
    matrix[:, 7] = matrix[7] = 0
    x = np.column_stack([rng.standard_normal((30, 3)), np.full(30, 5.0)])
    x[3, :3] = x[np.arange(30) != 3, :3].mean(axis=0)
    graph = Graph.from_arrays(sp.csr_array(matrix), features=x)
    parts = compute_components(graph, components=[component])
    fitted, block = parts.fitted[component.name], parts.blocks[component.name]
    truth = np.divide(x - x.mean(axis=0), x.std(axis=0), out=np.zeros_like(x), where=x.std(axis=0) > 1e-9)
    truth = dense_operator("row", matrix) @ truth if component.hops else truth
    truth -= truth.mean(axis=0)
    squares = np.square(truth).sum(axis=1)
    truth /= np.sqrt(0.2 * squares + 0.8 * squares.mean())[:, None]
    np.testing.assert_allclose(block @ block.T, truth @ truth.T, atol=1e-5)
    np.testing.assert_allclose(fitted.rows(Target(graph, np.arange(30)))[0], block, atol=1e-5)
    if not component.hops:
        assert not block[3].any()


def test_features_alone_need_no_edges():
    assert not Features().needs_edges and PropagatedFeatures().needs_edges
