"""Merging twins keeps every non-zero eigenvalue; parts are the connected components."""

import os
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from slimg.errors import InputError
from slimg.graph.adjacency import Adjacency
from slimg.linalg import operators
from slimg.linalg.operators import reduced, twins
from slimg.system import map_npy


def build(graph, weights=None):
    a = nx.to_scipy_sparse_array(graph, dtype=np.float32, format="csr")
    return Adjacency.from_scipy(sp.csr_matrix(a))[0]


graphs = st.builds(
    lambda n, p, seed, leaves: nx.disjoint_union(nx.gnp_random_graph(n, p, seed=seed), nx.star_graph(leaves)),
    st.integers(1, 14),
    st.sampled_from([0.1, 0.3, 0.8]),
    st.integers(0, 10**6),
    st.integers(0, 5),
)


@given(graphs, st.booleans())
@settings(max_examples=60, deadline=None)
def test_non_zero_eigenvalues_and_vectors_are_those_of_a(graph, weighted):
    if weighted:
        nx.set_edge_attributes(graph, {edge: 1.0 + (sum(edge) % 3) for edge in graph.edges}, "weight")
    adjacency = build(graph)
    a = adjacency.to_scipy().toarray().astype(np.float64)
    reduction = reduced(adjacency)
    found = []
    for part in reduction.parts:
        values, vectors = np.linalg.eigh(reduction.dense(part))
        nodes, rows = reduction.expand(part, vectors)
        x = np.zeros((len(a), len(values)))
        x[nodes] = rows
        keep = np.abs(values) > 1e-9
        np.testing.assert_allclose(a @ x[:, keep], (x * values)[:, keep], atol=1e-6)
        np.testing.assert_allclose(np.square(x[:, keep]).sum(axis=0), 1, atol=1e-6)
        found += values[keep].tolist()
    truth = np.linalg.eigvalsh(a)
    np.testing.assert_allclose(np.sort(found), truth[np.abs(truth) > 1e-9], atol=1e-6)


@given(graphs)
@settings(max_examples=40, deadline=None)
def test_twins_are_the_first_nodes_with_the_same_neighbours(graph):
    adjacency = build(graph)
    neighbours = [tuple(adjacency.neighbours(i)) for i in range(adjacency.n)]
    assert twins(adjacency).tolist() == [neighbours.index(each) for each in neighbours]


def test_twins_need_the_same_weights():
    star = nx.star_graph(4)
    nx.set_edge_attributes(star, {(0, 1): 1.0, (0, 2): 1.0, (0, 3): 2.0, (0, 4): 2.0}, "weight")
    assert twins(build(star)).tolist() == [0, 1, 1, 3, 3]


def test_a_star_and_isolated_nodes_become_small():
    adjacency = build(nx.disjoint_union(nx.star_graph(50), nx.empty_graph(7)))
    reduction = reduced(adjacency)
    assert [len(part) for part in reduction.parts] == [2, 1]
    np.testing.assert_allclose(np.abs(np.linalg.eigvalsh(reduction.dense(reduction.parts[0]))), np.sqrt(50))


def test_a_mapped_graph_that_is_cut_off_meanwhile_does_not_end_the_process(tmp_path, monkeypatch):
    adjacency, file = build(nx.karate_club_graph()), tmp_path / "indices.npy"
    np.save(file, adjacency.indices)
    mapped = replace(adjacency, indices=map_npy(file))

    def cut_off(matrix):
        os.truncate(file, 0)  # a page that is touched after this ends the process with SIGBUS
        return twins(matrix)

    monkeypatch.setattr(operators, "twins", cut_off)
    assert (reduced(mapped).matrix != reduced(adjacency).matrix).nnz == 0
    with pytest.raises(InputError, match="changed"):
        reduced(mapped)
