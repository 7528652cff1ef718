"""Removing copies: by brute force over pairs, and only once."""

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from slimg import Graph
from slimg.lab.datasets.duplicates import distinct_rows, without_duplicates


@settings(max_examples=80, deadline=None)
@given(st.integers(2, 12), st.floats(0.05, 0.6), st.integers(0, 10_000), st.booleans(), st.booleans())
def test_against_all_pairs_and_idempotent(n, density, seed, features, sparse):
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((n, n)) < density, 1)
    A = A | A.T
    y = rng.integers(0, 2, n)
    X = rng.integers(0, 2, (n, 2)).astype(float)
    graph = Graph.from_arrays(A, sp.csr_array(X) if sparse else X, labels=y)

    def copies(u, v):
        return y[u] == y[v] and np.array_equal(A[u], A[v]) and (not features or np.array_equal(X[u], X[v]))

    kept = [v for v in range(n) if not any(copies(u, v) for u in range(v))]
    assert distinct_rows(graph, features).tolist() == kept
    once = without_duplicates(graph, features)
    assert np.array_equal(once.adjacency.to_scipy().toarray(), A[np.ix_(kept, kept)])
    assert distinct_rows(once, features).tolist() == list(range(once.n)), "one pass leaves no copies"


def test_zeros_are_zeros_however_stored():
    A = np.array([[0, 0, 1], [0, 0, 1], [1, 1, 0]])
    stored = sp.csr_array((np.array([1.0, 0.0, 1.0]), np.array([0, 1, 0]), np.array([0, 2, 3, 3])), shape=(3, 2))
    for X in (stored, np.array([[1, -0.0], [1, 0.0], [0, 0]])):
        assert distinct_rows(Graph.from_arrays(A, X, labels=[0, 0, 1])).tolist() == [0, 2]


def test_unlabelled_nodes_stay():
    graph = Graph.from_edges([(0, 1), (0, 2), (0, 3)], label=["a", None, None, "b"])
    assert distinct_rows(graph).tolist() == [0, 1, 2, 3]
