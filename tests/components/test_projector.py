"""Nodes placed through fitted states: the fitted rows again, and dense formulas for a changed graph."""

import numpy as np
import pytest
import scipy.sparse as sp

from slimg import Graph
from slimg.components.components import compute_components
from slimg.components.projector import Projector, Walk


def planted(sparse=False, shift=0.0, n=120, d=10, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    draw = np.triu(rng.random((n, n)) < np.where(labels[:, None] == labels, 0.12, 0.03), 1)
    x = (rng.random((n, d)) < 0.4) * rng.random((n, d)) + 0.3 * np.eye(3, d)[labels] - shift
    features = x.astype(np.float32)
    return Graph.from_arrays(sp.csr_array(draw | draw.T), sp.csr_array(features) if sparse else features, labels)


@pytest.mark.parametrize("options", [{}, {"pca": False}, {"k_row": {1, 3}, "k_sym": 4}, {"normalize": None}], ids=str)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("shift", [0.0, 0.2], ids=["positive", "negative"])
def test_the_fitted_graph_is_placed_where_it_was(options, sparse, shift):
    graph = planted(sparse, shift)
    parts = compute_components(graph, **options)
    projector = Projector.of(parts)
    for rows in (np.array([5]), np.arange(graph.n)[::-1]):  # one row is gathered before it is projected, many after
        for name in parts.names:
            placed, length = projector.rows(name, graph, rows)
            np.testing.assert_allclose(placed, parts.blocks[name][rows], atol=2e-5)
            assert (length > 0).all()


def test_a_node_without_known_vectors_gives_nothing():
    graph = planted()
    parts = compute_components(graph)
    projector, known = Projector.of(parts), np.arange(graph.n)
    stranger = int(graph.adjacency.neighbours(0)[0])
    known[stranger] = -1
    spectrum = parts.states["U"]
    right = spectrum.vectors * np.sign(spectrum.eigenvalues)
    others = [node for node in graph.adjacency.neighbours(0) if node != stranger]
    expected = right[others].sum(axis=0)
    placed, length = projector.rows("U", graph, np.array([0]), known)
    np.testing.assert_allclose(placed[0] * length[0], expected, atol=1e-6)


def test_walks_by_name():
    assert Walk.of("U") is None and Walk.of("X") == Walk("", 0)
    assert Walk.of("A_row^2 X") == Walk("A_row", 2) and Walk.of("A_sym^13 X") == Walk("Ã_sym", 13)
