"""Edge homophily against networkx's assortativity counts and by hand."""

import math

import networkx as nx
import numpy as np
import pytest

from slimg import Graph
from slimg.graph.homophily import edge_homophily


def test_against_networkx_mixing_matrix():
    source = nx.gnp_random_graph(60, 0.1, seed=3)
    labels = np.random.default_rng(0).integers(0, 3, 60)
    nx.set_node_attributes(source, dict(enumerate(labels.tolist())), "y")
    mixing = nx.attribute_mixing_matrix(source, "y")
    assert edge_homophily(Graph.from_networkx(source, label="y")) == pytest.approx(np.trace(mixing))


def test_unlabelled_ends_do_not_count():
    graph = Graph.from_edges([(0, 1), (1, 2), (2, 3)], label=["a", "a", None, "b"])
    assert edge_homophily(graph) == 1.0
    assert edge_homophily(graph.with_labels(["a", "b", "a", "a"])) == pytest.approx(1 / 3)
    assert math.isnan(edge_homophily(graph.with_labels(None)))
