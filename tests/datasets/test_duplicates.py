"""Removing copies: by brute force over pairs, and only once."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from slimg import Graph
from slimg.datasets.duplicates import distinct_rows, without_duplicates


@settings(max_examples=80, deadline=None)
@given(st.integers(2, 12), st.floats(0.05, 0.6), st.integers(0, 10_000))
def test_against_all_pairs_and_idempotent(n, density, seed):
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((n, n)) < density, 1)
    A = A | A.T
    y = rng.integers(0, 2, n)
    graph = Graph.from_arrays(A, labels=y)
    kept = [v for v in range(n) if not any(y[u] == y[v] and np.array_equal(A[u], A[v]) for u in range(v))]
    assert distinct_rows(graph).tolist() == kept
    once = without_duplicates(graph)
    assert np.array_equal(once.adjacency.to_scipy().toarray(), A[np.ix_(kept, kept)])
    assert distinct_rows(once).tolist() == list(range(once.n)), "one pass leaves no copies"


def test_unlabelled_nodes_stay():
    graph = Graph.from_edges([(0, 1), (0, 2), (0, 3)], label=["a", None, None, "b"])
    assert distinct_rows(graph).tolist() == [0, 1, 2, 3]
