"""Spreading against its closed form and its series."""

import numpy as np
import pytest
from baseline_graphs import dense, graph_with_isolated
from hypothesis import given, settings
from hypothesis import strategies as st

from slimg.engine import MemoryEngine
from slimg.errors import InputError
from slimg.lab.baselines.smoothing import log_probabilities, one_hot, spread

ENGINE = MemoryEngine(1)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.floats(0, 0.95), st.booleans())
def test_spread_is_the_closed_form(seed, alpha, weighted):
    graph = graph_with_isolated(seed, weighted=weighted)
    values = np.random.default_rng(seed).normal(size=(graph.n, 3))
    expected = (1 - alpha) * np.linalg.solve(np.eye(graph.n) - alpha * dense(graph)["A_sym"], values)
    np.testing.assert_allclose(spread(ENGINE, graph.adjacency, values, alpha), expected, rtol=1e-3, atol=2e-5)


def test_isolated_nodes_keep_a_share_of_their_own_value():
    graph = graph_with_isolated()
    found = spread(ENGINE, graph.adjacency, np.ones((graph.n, 1)), 0.8)
    np.testing.assert_allclose(found[-2:], 0.2, rtol=1e-6)


def test_a_share_too_near_to_one_is_said():
    graph = graph_with_isolated()
    with pytest.raises(InputError, match=r"α = 0\.9999999 is too near to 1 for this graph, choose a smaller one"):
        spread(ENGINE, graph.adjacency, np.ones((graph.n, 1)), 0.9999999)


def test_probabilities_of_rows_with_and_without_mass():
    found = np.exp(log_probabilities(np.array([[1.0, 3.0], [0.0, 0.0], [-1.0, 2.0]]), np.array([0.3, 0.7])))
    np.testing.assert_allclose(found, [[0.25, 0.75], [0.3, 0.7], [0, 1]], atol=1e-6)


def test_one_hot():
    np.testing.assert_array_equal(one_hot(np.array([1, -1, 0]), np.array([0, 2]), 2), [[0, 1], [0, 0], [1, 0]])
