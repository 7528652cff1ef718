"""U against a dense SVD, parts that no column reaches, and nodes whose vectors are not known."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from explain_graphs import planted
from slimg import Graph, SlimG
from slimg.components import EnergyRank, NeighbourRanges, Structure, Target, compute_components, default_components
from slimg.components.row_scaling import unit_rows
from slimg.engine import memory
from slimg.engine.memory import Recomputed
from slimg.linalg import svd


def graph_of(graph):
    return Graph.from_arrays(sp.csr_matrix(nx.to_scipy_sparse_array(graph, dtype=np.float32)))


def test_structure_is_u_times_sigma_with_unit_rows():
    graph = graph_of(nx.barabasi_albert_graph(40, 2, seed=0))
    parts = compute_components(graph, components=[Structure()])
    u, s, _ = np.linalg.svd(graph.adjacency.to_scipy().toarray().astype(np.float64))
    truth = unit_rows(u[:, : parts.rank] * s[: parts.rank])
    np.testing.assert_allclose(parts.blocks["U"] @ parts.blocks["U"].T, truth @ truth.T, atol=1e-4)


def test_normalized_structure_has_the_leading_eigenvectors_of_the_normalized_matrix():
    graph = graph_of(nx.barabasi_albert_graph(40, 2, seed=0))
    matrix = graph.adjacency.to_scipy().toarray().astype(np.float64) + np.eye(graph.n)
    scale = 1 / np.sqrt(matrix.sum(axis=1))
    values, vectors = np.linalg.eigh(scale[:, None] * matrix * scale)
    order = np.argsort(-np.abs(values))[:7]
    truth = unit_rows(vectors[:, order] * values[order])
    block = compute_components(graph, components=[Structure(rank=7, normalize=True)]).blocks["U_sym"]
    np.testing.assert_allclose(block @ block.T, truth @ truth.T, atol=1e-3)


def test_parts_that_no_column_reaches_are_zero():
    graph = graph_of(nx.disjoint_union(nx.complete_graph(12), nx.path_graph(2)))
    for rank in (1, EnergyRank(max_rank=1)):
        block = compute_components(graph, components=[Structure(rank=rank)]).blocks["U"]
        np.testing.assert_allclose(np.abs(block[:12, 0]), 1, atol=1e-6)
        np.testing.assert_array_equal(block[12:], 0)


def test_a_node_without_known_vectors_gives_nothing():
    graph = planted()
    fitted = compute_components(graph, components=[Structure()]).fitted["U"]
    known = np.arange(graph.n)
    unknown = int(graph.adjacency.neighbours(5)[0])
    known[unknown] = -1
    spectrum = fitted.state.spectrum
    right = spectrum.vectors * np.sign(spectrum.eigenvalues)
    expected = right[[node for node in graph.adjacency.neighbours(5) if node != unknown]].sum(axis=0)
    placed, length = fitted.rows(Target(graph, np.array([5]), known))
    np.testing.assert_allclose(placed[0] * length[0], expected, atol=1e-6)


def test_rows_of_a_large_graph_are_computed_again_and_are_the_same(monkeypatch):
    for name in ("DENSE_FIXED", "DENSE_ALWAYS", "DENSE_AT_MOST"):
        monkeypatch.setattr(svd, name, 0)
    graph, listed = planted(), [*default_components(features=1), NeighbourRanges()]
    held = SlimG(components=listed, grid=[(0, 0.001)]).fit(graph)
    monkeypatch.setattr(memory, "HELD", 0)
    again = SlimG(components=listed, grid=[(0, 0.001)]).fit(graph)
    blocks = again.components_.blocks
    assert {name for name, each in blocks.items() if isinstance(each, Recomputed)} == {"U", "U_sym", "bins(A_row X)"}
    for name, block in held.components_.blocks.items():
        np.testing.assert_allclose(np.asarray(blocks[name]), block, atol=2e-6, err_msg=name)
    np.testing.assert_allclose(again.decision_function(), held.decision_function(), atol=2e-3)


@pytest.mark.parametrize("features", [1, 2, 3, 8])
def test_a_few_features_never_cost_what_the_structure_knows(features):
    """U is not capped at one column beside one feature, nor is a number divided by itself."""
    rng = np.random.default_rng(features)
    n, labels = 600, np.arange(600) % 3
    ends = rng.integers(0, n, (2, 4 * n))
    near = rng.random(4 * n) < 0.8
    ends[1, near] = (ends[0, near] + 3 * rng.integers(1, n // 3, near.sum())) % n  # the same class
    edges = sp.coo_array((np.ones(4 * n, np.float32), tuple(ends)), (n, n))
    x = rng.standard_normal((n, features)).astype(np.float32)
    x[:, 0] += 1.5 * (labels - 1)
    known = rng.choice(n, 90, replace=False)
    rest = np.setdiff1d(np.arange(n), known)
    right = []
    for given in (None, x):
        graph = Graph.from_arrays(edges, features=given, labels=labels, duplicates="max")
        right.append((SlimG().fit(graph, train=known).predict() == labels)[rest].mean())
    assert right[1] >= right[0] - 0.03 and right[1] > 0.85
