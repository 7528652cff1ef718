"""Digests of rows: equal rows are equal, others are not, and the place of a node does not matter."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from slimg import Graph
from slimg.inference.fold_in import feature_digests, fingerprint, id_digests, node_digests


def random_graph(seed=0, n=40, weighted=False, sparse=False, ids=None):
    rng = np.random.default_rng(seed)
    values = rng.random((n, n)).round(2) + 0.01 if weighted else 1.0
    matrix = np.triu((rng.random((n, n)) < 0.15) * values, 1)
    features = rng.integers(0, 3, (n, 5)).astype(np.float32)
    return Graph.from_arrays(matrix + matrix.T, sp.csr_array(features) if sparse else features, ids=ids)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_node_has_the_same_bits_wherever_it_stands(weighted):
    graph = random_graph(weighted=weighted, ids=[f"n{k}" for k in range(40)])
    order = np.random.default_rng(1).permutation(40)
    matrix = graph.adjacency.to_scipy()[order][:, order]
    moved = Graph.from_arrays(matrix, graph.features[order], ids=graph.ids[order])
    np.testing.assert_array_equal(node_digests(moved), node_digests(graph)[order])
    assert fingerprint(node_digests(moved)) == fingerprint(node_digests(graph))


def test_exactly_the_nodes_that_changed_have_other_bits():
    graph = random_graph()
    before = node_digests(graph)
    features = graph.features.copy()
    features[3, 2] += 1
    changed = node_digests(Graph(graph.adjacency, features)) != before
    assert np.flatnonzero(changed).tolist() == [3]
    matrix = graph.adjacency.to_scipy().tolil()
    u, v = 0, int(graph.adjacency.neighbours(0)[0])
    matrix[u, v] = matrix[v, u] = 0
    changed = node_digests(Graph.from_arrays(matrix.tocsr(), graph.features)) != before
    assert sorted(np.flatnonzero(changed)) == sorted([u, v])


def test_sparse_and_dense_features_have_the_same_bits():
    dense, sparse = random_graph().features, random_graph(sparse=True).features
    np.testing.assert_array_equal(feature_digests(dense, 40), feature_digests(sparse, 40))
    signed = dense.copy()
    signed[signed == 0] = -0.0
    np.testing.assert_array_equal(feature_digests(signed, 40), feature_digests(dense, 40))


def test_blocks_do_not_matter(monkeypatch):
    whole = feature_digests(random_graph().features, 40)
    monkeypatch.setattr("slimg.inference.fold_in.BLOCK_ENTRIES", 7)
    np.testing.assert_array_equal(feature_digests(random_graph().features, 40), whole)


def test_a_number_among_texts_is_the_same_id_as_among_numbers():
    mixed = id_digests(np.array([5, "5", (5,), 5.5], object))
    assert len(set(mixed.tolist())) == 4
    assert mixed[0] == id_digests(np.array([5, 6]))[0] == id_digests(np.array([5], np.int32))[0]


@given(st.lists(st.one_of(st.integers(), st.text(max_size=4), st.booleans()), max_size=30))
def test_distinct_ids_have_distinct_bits(values):
    distinct = {(type(value), value) for value in values}
    column = np.empty(len(values), object)
    column[:] = values
    assert len(set(id_digests(column).tolist())) == len(distinct)
