"""Generated graphs: their sizes, skewed degrees, homophily and classes are those of the description."""

import numpy as np
import pytest

from slimg.errors import InputError
from slimg.lab.bench.recipe import make_synthetic


def test_sizes_homophily_skew_and_features_are_as_asked_for():
    graph = make_synthetic(3000, 30000, 40, 5, homophily=0.6, strength=0.5, imbalance=3.0)
    assert (graph.n, graph.edges, graph.d, len(graph.classes)) == (3000, 30000, 40, 5)
    assert graph.edge_homophily() == pytest.approx(0.58, abs=0.02)
    degrees = np.sort(graph.adjacency.degree())
    assert degrees[-1] > 5 * np.median(degrees)
    sizes = np.bincount(graph.codes)
    assert sizes.max() / sizes.min() == pytest.approx(3, abs=0.1)
    centres = np.stack([graph.features[graph.codes == k].mean(axis=0) for k in range(5)])
    nearest = np.square(graph.features[:, None] - centres).sum(axis=2).argmin(axis=1)
    assert (nearest == graph.codes).mean() > 0.8
    assert "generated" in graph.notes[-1]


def test_the_same_seed_is_the_same_graph_and_another_is_another():
    one, two, other = (make_synthetic(500, 2000, 8, 4, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.adjacency.indices, two.adjacency.indices) and np.array_equal(one.features, two.features)
    assert not np.array_equal(one.adjacency.indices, other.adjacency.indices)


def test_too_dense_is_refused():
    with pytest.raises(InputError, match="too dense"):
        make_synthetic(100, 4000, 8, 4)
