"""Community order: a permutation in which planted communities are together, the same on every run."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slimg.engine.ordering import community_order, places_of
from slimg.graph.adjacency import Adjacency


def planted(communities=40, size=25, seed=0):
    """Shuffled numbers; nine of ten edges stay in their community."""
    rng = np.random.default_rng(seed)
    n = communities * size
    member = rng.permutation(np.arange(n) % communities)
    nodes = [np.flatnonzero(member == which) for which in range(communities)]
    source = np.repeat(np.arange(n), 8)
    near = np.array([rng.choice(nodes[member[u]]) for u in source])
    target = np.where(rng.random(len(source)) < 0.9, near, rng.integers(0, n, len(source)))
    return Adjacency.from_edges(source, target, n)[0], member


def test_planted_communities_come_out_together():
    matrix, member = planted()
    ordered = member[community_order(matrix)]
    assert np.mean(ordered[1:] == ordered[:-1]) > 0.7  # 1 in 40 as they were given
    assert np.mean(member[1:] == member[:-1]) < 0.1


def test_neighbours_lie_closer_together():
    matrix, _ = planted()
    places = places_of(community_order(matrix))
    rows = np.repeat(np.arange(matrix.n), np.diff(matrix.indptr))
    distance = [np.median(np.abs(place[rows] - place[matrix.indices])) for place in (places, np.arange(matrix.n))]
    assert distance[0] < distance[1] / 4


@given(st.integers(1, 30), st.lists(st.tuples(st.integers(0, 29), st.integers(0, 29)), max_size=90), st.integers(0, 4))
@settings(max_examples=40, deadline=None)
def test_any_graph_gets_a_permutation(n, pairs, sweeps):
    u, v = np.array([(a % n, b % n) for a, b in pairs], np.int64).reshape(-1, 2).T
    matrix = Adjacency.from_edges(u, v, n)[0]
    order = community_order(matrix, sweeps)
    np.testing.assert_array_equal(np.sort(order), np.arange(n))
    np.testing.assert_array_equal(order[places_of(order)], np.arange(n))
    np.testing.assert_array_equal(order, community_order(matrix, sweeps))
    if sweeps == 0:
        np.testing.assert_array_equal(order, np.arange(n))


@pytest.mark.parametrize("n", [1, 5])
def test_without_edges_nothing_moves(n):
    np.testing.assert_array_equal(community_order(Adjacency(np.zeros(n + 1, np.int64), np.zeros(0, np.int32))), np.arange(n))
