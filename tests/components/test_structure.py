"""U against a dense SVD, parts that no column reaches, and nodes whose vectors are not known."""

import networkx as nx
import numpy as np
import scipy.sparse as sp

from explain_graphs import planted
from slimg import Graph
from slimg.components import EnergyRank, Structure, Target, compute_components
from slimg.components.row_scaling import unit_rows


def graph_of(graph):
    return Graph.from_arrays(sp.csr_matrix(nx.to_scipy_sparse_array(graph, dtype=np.float32)))


def test_structure_is_u_times_sigma_with_unit_rows():
    graph = graph_of(nx.barabasi_albert_graph(40, 2, seed=0))
    parts = compute_components(graph, components=[Structure()])
    u, s, _ = np.linalg.svd(graph.adjacency.to_scipy().toarray().astype(np.float64))
    truth = unit_rows(u[:, : parts.rank] * s[: parts.rank])
    np.testing.assert_allclose(parts.blocks["U"] @ parts.blocks["U"].T, truth @ truth.T, atol=1e-4)


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
