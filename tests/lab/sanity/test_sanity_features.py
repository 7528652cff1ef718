"""Features: the promise of each kind, and a dense oracle for structural ones."""

import numpy as np
import pytest
from scipy.stats import kstest

from slimg.engine import MemoryEngine
from slimg.errors import InputError
from slimg.graph import Adjacency
from slimg.lab.sanity import make
from slimg.lab.sanity.features import random_features, replace_rows, semantic_features, structural_features


def rng(seed=0):
    return np.random.default_rng(seed)


def test_random_features_are_uniform():
    assert kstest(random_features(500, 100, rng()).ravel().astype(float), "uniform").pvalue > 1e-3


@pytest.mark.parametrize("sizes", [[300, 300, 300, 300], [900, 200, 60, 40]])
def test_semantic_features_satisfy_the_argmax(sizes):
    labels = rng().permutation(np.repeat(np.arange(4), sizes))
    features, vectors = semantic_features(labels, 60, rng(1))
    assert np.array_equal((features.astype(np.float64) @ vectors.T).argmax(axis=1), labels)
    assert np.allclose(vectors.sum(axis=1), 1)
    assert features.min() >= 0 and features.max() < 1


def test_semantic_features_have_the_distribution_of_redrawing_node_by_node():
    """One product x·(v_0 − v_1) of the class 0, against plain rejection."""
    features, vectors = semantic_features(np.repeat([0, 1, 2], 400), 30, rng(2))
    source, expected = rng(3), []
    while len(expected) < 4000:
        x = source.random(30)
        if (vectors @ x).argmax() == 0:
            expected.append(x @ (vectors[0] - vectors[1]))
    got = features[:400].astype(float) @ (vectors[0] - vectors[1])
    from scipy.stats import ks_2samp

    assert ks_2samp(got, expected).pvalue > 1e-3


def test_two_features_cannot_tell_four_classes():
    with pytest.raises(InputError, match="raise d"):
        semantic_features(np.repeat(np.arange(4), 50), 2, rng())


@pytest.mark.parametrize("threads", [1, 2])
def test_structural_features_are_those_of_a_dense_svd(threads):
    """ReLU of singular vectors up to their sign, then standardised; columns of distinct singular values."""
    graph = make("random", "homophily", n=240, d=5, density=0.2).graph
    ours = structural_features(graph.adjacency, 20, MemoryEngine(threads))
    left = np.linalg.svd(graph.adjacency.to_scipy().toarray().astype(float))[0][:, :20]

    def finished(columns):
        positive = np.maximum(columns, 0)
        spread = positive.std(axis=0)
        return (positive - positive.mean(axis=0)) / np.where(spread > 1e-12, spread, 1)

    plus, minus = finished(left), finished(-left)
    distance = np.minimum(np.abs(ours - plus).max(axis=0), np.abs(ours - minus).max(axis=0))
    assert distance.max() < 1e-3
    live = ours.std(axis=0) > 0
    assert live.sum() >= 19  # the Perron vector may have been cut off whole
    assert np.allclose(ours.mean(axis=0), 0, atol=1e-5) and np.allclose(ours.std(axis=0)[live], 1, atol=1e-5)


def test_structural_features_of_full_rank_keep_every_column():
    graph = make("random", "homophily", n=60, d=5, density=0.3).graph
    assert structural_features(graph.adjacency, 60).shape == (60, 60)


def test_structural_features_need_edges_and_no_more_columns_than_nodes():
    empty, _ = Adjacency.from_edges(np.empty(0, int), np.empty(0, int), 5)
    with pytest.raises(InputError, match="edges"):
        structural_features(empty, 3)
    with pytest.raises(InputError, match="between 1 and"):
        structural_features(empty, 6)


def test_replaced_rows_have_the_share_and_the_scale_and_nothing_else():
    features = rng().random((1000, 3), dtype=np.float32) * [1, 10, 100]
    noisy = replace_rows(features, 0.3, rng(1))
    changed = np.flatnonzero((noisy != features).any(axis=1))
    assert len(changed) == 300
    assert all(np.isin(noisy[changed, j], features[:, j]).all() for j in range(3))
    assert abs(np.corrcoef(noisy[changed, 1], features[changed, 1])[0, 1]) < 0.2
    assert np.array_equal(replace_rows(features, 0.0, rng(1)), features)
