"""Hops over a neighbourhood against dense powers of the operator."""

import numpy as np
import pytest
import scipy.sparse as sp

from slimg import Graph
from slimg.linalg.operators import _distinct, around, gathered, operator, steps


def dense_operator(name, matrix):
    loops = np.eye(len(matrix)) if name.startswith("Ã") else 0
    full = matrix + loops
    degree = full.sum(axis=1)
    with np.errstate(divide="ignore"):
        inverse = np.where(degree > 0, 1 / degree, 0)
    root = np.sqrt(inverse)
    return inverse[:, None] * full if name.endswith("row") else root[:, None] * full * root


@pytest.fixture(params=[False, True], ids=["binary", "weighted"])
def graph(request):
    rng = np.random.default_rng(0)
    values = rng.random((30, 30)).astype(np.float32) + 0.1 if request.param else 1.0
    matrix = np.triu((rng.random((30, 30)) < 0.1) * values, 1)
    matrix[:, 7] = matrix[7] = 0  # an isolated node
    return Graph.from_arrays(sp.csr_array(matrix + matrix.T))


@pytest.mark.parametrize("name", ["A_row", "Ã_sym"])
@pytest.mark.parametrize("hops", [1, 2, 3])
def test_steps_are_rows_of_the_operators_power(graph, name, hops):
    matrix = graph.adjacency.to_scipy().toarray().astype(float)
    power = np.linalg.matrix_power(dense_operator(name, matrix), hops)
    rows = np.array([4, 7, 0])
    way = steps([operator(name, graph.adjacency)] * hops, rows, (*[0.0] * hops, 1.0))
    row_matrix = np.random.default_rng(1).standard_normal((30, 4))
    np.testing.assert_allclose(way.apply(row_matrix[way.reached]), (power @ row_matrix)[rows], atol=1e-6)
    paths = np.zeros((3, 30))
    paths[:, way.reached] = way.paths().toarray()
    np.testing.assert_allclose(paths, power[rows], atol=1e-6)


@pytest.mark.parametrize("hops", [1, 2, 6])
def test_steps_of_a_sum_of_powers(graph, hops):
    """With few hops from one node only its neighbourhood is touched; with many, all nodes are, by one matrix."""
    matrix = dense_operator("Ã_sym", graph.adjacency.to_scipy().toarray().astype(float))
    coefficients = np.random.default_rng(2).random(hops + 1)
    total = sum(c * np.linalg.matrix_power(matrix, k) for k, c in enumerate(coefficients))
    row_matrix = np.random.default_rng(1).standard_normal((30, 4))
    for rows in (np.array([4]), np.array([4, 7, 0]), np.arange(30)[::-1]):
        way = steps([operator("Ã_sym", graph.adjacency)] * hops, rows, coefficients)
        np.testing.assert_allclose(way.apply(row_matrix[way.reached]), (total @ row_matrix)[rows], atol=1e-6)
        paths = np.zeros((len(rows), 30))
        paths[:, way.reached] = way.paths().toarray()
        np.testing.assert_allclose(paths, total[rows], atol=1e-6)
    if hops == 6:
        assert way.matrices[-1] is way.matrices[-2]


def test_paths_from_one_row_are_those_from_several(graph):
    operators, coefficients = [operator("Ã_sym", graph.adjacency)] * 4, (0.4, 0.3, 0.0, 0.2, 0.1)
    several = steps(operators, np.arange(30), coefficients).paths().toarray()
    for row in range(30):
        way = steps(operators, np.array([row]), coefficients)
        alone = np.zeros(30)
        alone[way.reached] = way.paths().toarray()[0]
        np.testing.assert_allclose(alone, several[row], rtol=1e-14)
    few, all_of = _distinct(np.array([5, 2, 5]), 1_000), _distinct(np.array([5, 2, 5]), 7)
    for found, place in (few, all_of):
        assert found.tolist() == [2, 5] and place.tolist() == [1, 0, 1]


def test_gathered_rows(graph):
    matrix = graph.adjacency.to_scipy().toarray()
    np.testing.assert_allclose(gathered(graph.adjacency, np.array([3, 3, 7, 29])).toarray(), matrix[[3, 3, 7, 29]])


@pytest.mark.parametrize("hops", [0, 1, 2, 5])
def test_around_is_where_walks_lead(graph, hops):
    matrix = graph.adjacency.to_scipy().toarray() + np.eye(30)
    there = np.linalg.matrix_power(matrix, hops)[[2, 11]].sum(axis=0) > 0
    np.testing.assert_array_equal(around(graph.adjacency, np.array([2, 11]), hops), np.flatnonzero(there))
