"""Small graphs for the baselines' tests, and their matrices in dense float64."""

import numpy as np
from scipy import sparse

from slimg import Graph


def graph_with_isolated(seed=0, n=14, d=9, sparse_features=True, weighted=False):
    """Random graph whose last two nodes have no edge; classes a, b, c."""
    rng = np.random.default_rng(seed)
    pattern = np.triu(rng.random((n, n)) < 0.3, 1).astype(float)
    pattern[-2:] = pattern[:, -2:] = 0
    if weighted:
        pattern *= rng.uniform(0.5, 2, (n, n))
    x = rng.random((n, d)) * (rng.random((n, d)) < 0.1)
    x[:, 0] = 1
    labels = np.array(list("abc"))[np.arange(n) % 3]
    return Graph.from_arrays(pattern + pattern.T, sparse.csr_array(x) if sparse_features else x, labels)


def communities(n=200, seed=0):
    """Two communities of equal size, features that tell them a little."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 2
    chance = np.where(labels[:, None] == labels[None], 0.08, 0.01)
    pattern = np.triu(rng.random((n, n)) < chance, 1).astype(float)
    x = rng.random((n, 12)) + 0.4 * labels[:, None] * (np.arange(12) < 6)
    return Graph.from_arrays(pattern + pattern.T, x, labels)


def dense(graph):
    """A, A_row, A_sym, Ã_sym, strict two-hop A_sym, and X with rows of sum one."""
    a = graph.adjacency.to_scipy().toarray().astype(float)
    n = len(a)
    degree = a.sum(axis=1)
    inverse = np.array([1 / v if v else 0.0 for v in degree])
    looped = a + np.eye(n)
    half = np.diag(looped.sum(axis=1) ** -0.5)
    two = ((a > 0).astype(float) @ (a > 0) > 0) & (a == 0) & ~np.eye(n, dtype=bool)
    two_half = np.diag([1 / np.sqrt(v) if v else 0.0 for v in two.sum(axis=1)])
    x = graph.features.toarray() if sparse.issparse(graph.features) else graph.features
    x = x.astype(float)
    return {
        "A": a,
        "A_row": np.diag(inverse) @ a,
        "A_sym": np.diag(np.sqrt(inverse)) @ a @ np.diag(np.sqrt(inverse)),
        "Ã_sym": half @ looped @ half,
        "A2_sym": two_half @ two @ two_half,
        "X": x / x.sum(axis=1, keepdims=True),
    }
