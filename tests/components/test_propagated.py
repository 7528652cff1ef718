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


def test_features_alone_need_no_edges():
    assert not Features().needs_edges and PropagatedFeatures().needs_edges
