"""Edges and features are drawn from the distributions that the formulas state."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest

from slimg.engine import MemoryEngine
from slimg.errors import InputError
from slimg.graph import Adjacency
from slimg.lab.sanity import case as generators
from slimg.lab.sanity.case import (
    block_densities,
    draw_clusters,
    draw_edges,
    random_features,
    replace_rows,
    rewire,
    semantic_features,
    structural_features,
)


def rng(seed=0):
    return np.random.default_rng(seed)


def counts_by_block(clusters, edges, c):
    """Edges and pairs between clusters, both directions: c × c."""
    ends = clusters[edges]
    found = np.zeros((c, c))
    np.add.at(found, (ends[:, 0], ends[:, 1]), 1)
    sizes = np.bincount(clusters, minlength=c)
    pairs = np.outer(sizes, sizes).astype(float)
    np.fill_diagonal(pairs, sizes * (sizes - 1) / 2)
    found = np.where(np.eye(c, dtype=bool), found, found + found.T)
    return found, pairs


@pytest.mark.parametrize("kind", ["homophily", "heterophily", "uniform"])
def test_edges_per_block_are_binomial(kind):
    clusters = draw_clusters(6000, 4, 1.0, rng(1))
    blocks = block_densities(kind, np.bincount(clusters), 0.01)
    edges = draw_edges(clusters, blocks, rng(2))
    found, pairs = counts_by_block(clusters, edges, 4)
    deviation = np.abs(found - pairs * blocks) / np.sqrt(pairs * blocks * (1 - blocks))
    assert deviation.max() < 4.5
    assert len(edges) == pytest.approx(0.0055 * 6000 * 5999 / 2, rel=0.02)


def test_chosen_blocks():
    sizes = np.full(4, 10)
    homophily = block_densities("homophily", sizes, 0.1)
    assert np.allclose(homophily, 0.04 + 0.06 * np.eye(4))
    paired = block_densities("heterophily", sizes, 0.1)
    assert [tuple(np.flatnonzero(row == 0.1)) for row in paired] == [(1,), (0,), (3,), (2,)]
    assert np.count_nonzero(np.isclose(paired, 0.04)) == 12
    uniform = block_densities("uniform", sizes, 0.1)
    assert np.allclose(uniform, 0.1 * (1 + 3 * 0.4) / 4)
    assert homophily.sum() == pytest.approx(uniform.sum()) == pytest.approx(paired.sum())


def test_probability_zero_and_one():
    clusters = draw_clusters(40, 2, 1.0, rng())
    blocks = np.array([[1.0, 0.0], [0.0, 1.0]])
    edges = draw_edges(clusters, blocks, rng())
    expected = {(i, j) for i in range(40) for j in range(i + 1, 40) if clusters[i] == clusters[j]}
    assert len(edges) == len(expected) and set(map(tuple, edges)) == expected


def test_every_pair_is_equally_likely_and_independent():
    """Over many small draws, each of the 45 pairs appears as often as a Bernoulli of its probability does."""
    clusters, source, draws = np.zeros(10, np.int64), rng(5), 4000
    seen, sizes = np.zeros((10, 10)), []
    for _ in range(draws):
        edges = draw_edges(clusters, np.array([[0.2]]), source)
        seen[edges[:, 0], edges[:, 1]] += 1
        sizes.append(len(edges))
    frequency = seen[np.triu_indices(10, 1)] / draws
    assert np.abs(frequency - 0.2).max() < 4 * np.sqrt(0.16 / draws)
    assert np.var(sizes) == pytest.approx(45 * 0.16, rel=0.1)


@settings(max_examples=25, deadline=None)
@given(n=st.integers(4, 80), c=st.integers(2, 4), p=st.floats(0.01, 0.5), seed=st.integers(0, 1000))
def test_edges_are_distinct_ordered_and_without_loops(n, c, p, seed):
    clusters = draw_clusters(n, c, 1.0, rng(seed))
    edges = draw_edges(clusters, np.full((c, c), p), rng(seed))
    assert np.all(edges[:, 0] < edges[:, 1])
    assert len(np.unique(edges, axis=0)) == len(edges)


def test_triangle_places_survive_sizes_beyond_float_precision():
    """The place just before and at the start of row k of the triangle, for rows whose square needs all 53 bits."""

    class Fixed:
        def geometric(self, probability, size):
            starts = np.array([k * (k - 1) // 2 for k in (2, 3, 90_000_001, 94_906_265)])
            places = np.unique(np.concatenate([starts - 1, starts]))
            return np.diff(np.concatenate([[-1], places, [places[-1] + 2**60]]))

    columns, rows = generators._block_pairs(94_906_266, 94_906_266, True, 1e-15, Fixed())
    assert np.all((columns >= 0) & (columns < rows))
    assert set(rows) == {1, 2, 3, 90_000_000, 90_000_001, 94_906_264, 94_906_265}


def test_cluster_sizes_follow_the_imbalance():
    equal = np.bincount(draw_clusters(6000, 4, 1.0, rng()))
    assert equal.tolist() == [1500] * 4
    skewed = np.bincount(draw_clusters(10_000, 3, 9.0, rng()))
    assert skewed.sum() == 10_000
    assert np.allclose(skewed / skewed[-1], [9, 3, 1], rtol=0.01)


def test_row_numbers_tell_nothing():
    clusters = draw_clusters(6000, 4, 1.0, rng())
    first = np.bincount(clusters[:3000], minlength=4)
    assert np.abs(first - 750).max() < 5 * np.sqrt(3000 * 0.25 * 0.75 / 2)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_rewiring_keeps_the_number_of_edges_and_the_share(share):
    clusters = draw_clusters(600, 2, 1.0, rng())
    edges = draw_edges(clusters, block_densities("homophily", np.bincount(clusters), 0.05), rng())
    moved = rewire(edges, 600, share, rng(3))
    assert len(np.unique(moved, axis=0)) == len(edges) and np.all(moved[:, 0] < moved[:, 1])
    kept = len(set(map(tuple, edges)) & set(map(tuple, moved)))
    assert kept >= len(edges) - round(share * len(edges))
    assert kept == pytest.approx((1 - share + share * 0.035) * len(edges), abs=0.02 * len(edges))


def test_rewired_edges_are_uniform():
    """All moved: the share inside clusters falls from 0.71 to the ½ of random pairs, and no row number is favoured."""
    clusters = draw_clusters(600, 2, 1.0, rng())
    edges = draw_edges(clusters, block_densities("homophily", np.bincount(clusters), 0.05), rng())
    moved = rewire(edges, 600, 1.0, rng(3))
    inside = np.mean(clusters[edges[:, 0]] == clusters[edges[:, 1]])
    after = np.mean(clusters[moved[:, 0]] == clusters[moved[:, 1]])
    assert inside == pytest.approx(1 / 1.4, abs=0.02) and after == pytest.approx(0.5, abs=0.02)
    assert moved.mean() == pytest.approx(299.5, abs=5)


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
    graph = generators.make("random", "homophily", n=240, d=5, density=0.2).graph
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
    graph = generators.make("random", "homophily", n=60, d=5, density=0.3).graph
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
