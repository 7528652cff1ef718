"""Random graphs with isolated nodes, for the tests of gnnexp."""

import numpy as np
import scipy.sparse as sp

D = 3


def random_graph(n, mean_degree=6, weighted=False, seed=0, isolated=2):
    """Symmetric A (float64 CSR) whose last nodes are isolated, and X (n × D)."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((n, n)) < mean_degree / n, 1).astype(float)
    if weighted:
        upper *= rng.uniform(0.5, 2.0, (n, n))
    upper[:, n - isolated :] = 0
    return sp.csr_array(upper + upper.T), rng.standard_normal((n, D))


def two_hop(a):
    """Pairs at distance exactly two, dense."""
    near = a.toarray() != 0
    reached = (near.astype(float) @ near.astype(float) > 0) & ~near
    np.fill_diagonal(reached, False)
    return sp.csr_array(reached.astype(float))
