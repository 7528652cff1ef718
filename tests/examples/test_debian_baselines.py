"""Each baseline where its answer is known, and the smoothing against its dense formula."""

import numpy as np
import pytest
import scipy.sparse as sp

from examples.debian import baselines
from slimg import Graph


@pytest.fixture
def cliques():
    """Two cliques of 20 nodes, each a class whose features point its way; six labels known in each."""
    n = 40
    side = np.arange(n) // 20
    adjacency = (side[:, None] == side[None, :]) & ~np.eye(n, dtype=bool)
    features = sp.csr_array(np.eye(2)[side] + 0.1)
    labels = np.where(np.arange(n) % 20 < 6, np.array(["a", "b"], object)[side], None)
    return Graph.from_arrays(adjacency, features=features, labels=labels), side


@pytest.mark.parametrize("name", [name for name in baselines.BASELINES if name != "majority class"])
def test_baselines_solve_what_both_features_and_edges_tell(cliques, name):
    graph, side = cliques
    assert (baselines.BASELINES[name](graph, 0) == side).all()


def test_majority_reads_only_the_known_labels(cliques):
    graph, _ = cliques
    labels = graph.labels.copy()
    labels[0] = "b"
    assert (baselines.majority(graph.with_labels(labels), 0) == 1).all()


def test_label_propagation_does_not_read_features(cliques):
    graph, side = cliques
    shuffled = graph.features[np.random.default_rng(0).permutation(graph.n)]
    misled = Graph.from_arrays(graph.adjacency, features=shuffled, labels=graph.labels)
    assert (baselines.label_propagation(misled, 0) == side).all()
    assert not (baselines.features_alone(misled, 0) == side).all()


def test_smoothing_is_two_symmetric_hops_with_loops():
    rng = np.random.default_rng(0)
    adjacency = np.triu(rng.random((12, 12)) < 0.3, 1)
    adjacency = (adjacency | adjacency.T).astype(float)
    adjacency[3] = adjacency[:, 3] = 0
    features = rng.random((12, 5))
    looped = adjacency + np.eye(12)
    hop = looped / np.sqrt(np.outer(looped.sum(1), looped.sum(1)))
    expected = hop @ hop @ features
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    graph = Graph.from_arrays(adjacency, features=sp.csr_array(features))
    np.testing.assert_allclose(baselines._smoothed(graph).toarray(), expected, rtol=1e-5)
