"""Adjacency against dense numpy."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from slimg.errors import InputError
from slimg.graph import Adjacency


@st.composite
def edge_lists(draw):
    n = draw(st.integers(1, 8))
    node = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(node, node, st.integers(0, 4)), max_size=30))
    u, v, w = (np.array([e[k] for e in edges], dtype=np.int64) for k in range(3))
    return n, u, v, w.astype(float)


def dense_directed(n, u, v, w, rule):
    D = np.zeros((n, n))
    for a, b, x in zip(u, v, w, strict=True):
        if a != b:
            D[a, b] = D[a, b] + x if rule == "sum" else max(D[a, b], x)
    return D


def assert_invariants(a: Adjacency):
    assert a.indptr.dtype == np.int64 and a.indices.dtype == np.int32
    for i in range(a.n):
        row = a.neighbours(i)
        assert np.all(np.diff(row) > 0) and i not in row
    dense = a.to_scipy().toarray()
    assert np.array_equal(dense, dense.T)
    assert a.weights is None or (a.weights.dtype == np.float32 and (a.weights > 0).all())


@settings(max_examples=150, deadline=None)
@given(edge_lists(), st.sampled_from(["max", "sum"]), st.sampled_from(["max", "sum"]))
def test_weighted_equals_dense(edges, duplicates, symmetrise):
    n, u, v, w = edges
    a, counts = Adjacency.from_edges(u, v, n, w, duplicates=duplicates, symmetrise=symmetrise)
    D = dense_directed(n, u, v, w, duplicates)
    A = np.maximum(D, D.T) if symmetrise == "max" else D + D.T
    assert_invariants(a)
    assert np.array_equal(a.to_scipy().toarray(), A.astype(np.float32))
    assert np.allclose(a.degree(), A.sum(1)) and a.degree().dtype == np.float64
    kept = [(x, y) for x, y, z in zip(u, v, w, strict=True) if x != y and z != 0]
    pairs = set(kept)
    assert counts.loops == np.sum(u == v)
    assert counts.zeros == np.sum((u != v) & (w == 0))
    assert counts.repeated == len(kept) - len(pairs)
    assert counts.one_way == sum((y, x) not in pairs for x, y in pairs)
    assert counts.edges == a.edges == len({frozenset(p) for p in pairs})
    assert counts.given == counts.loops + counts.zeros + counts.repeated + len(pairs)


@settings(max_examples=80, deadline=None)
@given(edge_lists())
def test_binary_equals_dense_whatever_the_repetitions(edges):
    n, u, v, _ = edges
    a, _ = Adjacency.from_edges(u, v, n)
    A = dense_directed(n, u, v, np.ones(len(u)), "max")
    A = np.maximum(A, A.T)
    assert_invariants(a)
    assert a.weights is None
    assert np.array_equal(a.to_scipy().toarray(), A)
    assert np.array_equal(a.degree(), A.sum(1))


@settings(max_examples=50, deadline=None)
@given(edge_lists())
def test_rebuilding_changes_nothing(edges):
    n, u, v, w = edges
    a, _ = Adjacency.from_edges(u, v, n, w)
    b, counts = Adjacency.from_scipy(a.to_scipy())
    assert np.array_equal(a.indptr, b.indptr) and np.array_equal(a.indices, b.indices)
    assert (a.weights is None and b.weights is None) or np.array_equal(a.weights, b.weights)
    assert counts.notes() == ()


def test_notes_say_each_thing_once():
    _, counts = Adjacency.from_edges([0, 0, 0, 1, 2, 2], [0, 1, 1, 0, 1, 0], 3, [1, 2, 3, 4, 0, 1.0])
    assert counts.notes() == (
        "1 self-loop dropped.",
        "1 edge of weight 0 dropped.",
        "1 repeated edge merged (weights added).",
        "Edges are taken as undirected (given in one direction: 1, in both: 1; larger weight of the two kept).",
    )


def test_unit_weights_and_ones_are_binary():
    for values in (np.ones(2), np.ones(2, bool), np.ones(2, np.int8)):
        a, _ = Adjacency.from_scipy(sp.coo_matrix((values, ([0, 1], [1, 2])), shape=(3, 3)))
        assert a.weights is None


def test_stored_false_is_no_edge():
    a, counts = Adjacency.from_scipy(sp.coo_matrix((np.array([True, False]), ([0, 1], [1, 2])), shape=(3, 3)))
    assert a.edges == 1 and counts.zeros == 1


def test_duplicates_far_beyond_a_byte():
    u, v = np.zeros(1024, int), np.ones(1024, int)
    a, counts = Adjacency.from_edges(u, v, 2)
    assert a.edges == 1 and counts.repeated == 1023
    weighted, _ = Adjacency.from_edges(u, v, 2, np.ones(1024))
    assert weighted.weights.tolist() == [1024, 1024]


def test_no_nodes_and_no_edges():
    a, _ = Adjacency.from_edges(np.array([], int), np.array([], int), 4)
    assert (a.n, a.nnz, a.edges) == (4, 0, 0) and a.degree().tolist() == [0] * 4
    empty, _ = Adjacency.from_edges(np.array([], int), np.array([], int), 0)
    assert empty.n == 0 and empty.to_scipy().shape == (0, 0)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Adjacency.from_edges([0, 5], [1, 1], 3), "edge 1 has source 5, but the 3 nodes"),
        (lambda: Adjacency.from_edges([0], [-1], 3), "target -1"),
        (lambda: Adjacency.from_edges([0.5], [1], 3), "node numbers"),
        (lambda: Adjacency.from_edges([0, 1], [1], 3), "one source and one target"),
        (lambda: Adjacency.from_edges([0, 1], [1, 2], 3, [1, -2]), r"edge 1 \(1 → 2\) has weight -2"),
        (lambda: Adjacency.from_edges([0, 1], [1, 2], 3, [np.nan, 1]), "edge 0 .* has weight nan"),
        (lambda: Adjacency.from_edges([0, 1], [1, 2], 3, [1]), "one weight each"),
        (lambda: Adjacency.from_edges([0, 1], [1, 2], 3, ["a", "b"]), "must be numbers"),
        (lambda: Adjacency.from_edges([0], [1], 2, [1e-60]), "rescale"),
        (lambda: Adjacency.from_edges([0], [1], 2, duplicates="mean"), "choose one of max, sum"),
        (lambda: Adjacency.from_scipy(sp.csr_matrix((2, 3))), "square, not 2 × 3"),
        (lambda: Adjacency.from_scipy(sp.csr_matrix(np.eye(2) * 1j)), "complex"),
        (lambda: Adjacency(np.zeros(3, np.int32), np.zeros(0, np.int32)), "int64"),
        (lambda: Adjacency(np.array([0, 2]), np.zeros(1, np.int32)), "2 indices"),
        (lambda: Adjacency(np.array([0, 1, 2]), np.array([1, 0], np.int32), np.ones(2)), "float32"),
    ],
)
def test_bad_input_is_named(build, words):
    with pytest.raises(InputError, match=words):
        build()


@pytest.mark.parametrize(
    ("attempt", "facts"),
    [
        (lambda: Adjacency(5, np.zeros(0, np.int32)), "indptr.*int"),
        (lambda: Adjacency(np.array([0, 1]), [0]), "indices.*int32.*list"),
        (lambda: Adjacency(np.array([0, 1]), np.zeros(1, np.int32), [1.0]), "weights.*float32.*list"),
        (lambda: Adjacency.from_scipy(np.eye(2)), "sparse matrix, not ndarray"),
        (lambda: Adjacency.from_edges(0, 1, 2), "shapes"),
        (lambda: Adjacency.from_edges(["a"], ["b"], 2), "node numbers"),
    ],
)
def test_wrong_types_are_named(attempt, facts):
    with pytest.raises(InputError, match=facts):
        attempt()
