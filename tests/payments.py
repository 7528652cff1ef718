"""A table of accounts and payments in which one account in fifty is fraudulent, informative or useless."""

import numpy as np

from slimg import Graph

NAMES = np.array(["normal", "fraud"])


def payments(seed, informative, n=2000, labelled=0.5, one_in=50, shift=2.0):
    """Frauds have higher amounts and pay one another; or, useless, the same table with its labels permuted."""
    rng = np.random.default_rng(seed)
    fraud = np.arange(n) % one_in == 0
    features = rng.standard_normal((n, 8)) + shift * fraud[:, None] * (np.arange(8) < 3)
    source = rng.integers(n, size=4 * n)
    target = rng.integers(n, size=4 * n)
    ring = fraud[source] & (rng.random(4 * n) < 0.4)
    target[ring] = rng.choice(np.flatnonzero(fraud), ring.sum())
    codes = fraud.astype(int) if informative else rng.permutation(fraud).astype(int)
    labels = NAMES[codes].astype(object)
    labels[rng.random(n) >= labelled] = None
    edges = np.column_stack([source, target])[source != target]
    return Graph.from_edges(edges.tolist(), nodes=range(n), features=features, label=labels)
