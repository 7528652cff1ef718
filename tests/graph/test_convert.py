"""Graphs of networkx, against its own matrices (those of PyTorch Geometric: test_convert_pyg.py)."""

import networkx as nx
import numpy as np
import pytest

from slimg import Graph
from slimg.errors import InputError


def test_karate_club():
    club = nx.karate_club_graph()
    graph = Graph.from_networkx(club, label="club")
    assert np.array_equal(graph.adjacency.to_scipy().toarray(), nx.to_numpy_array(club))
    assert graph.classes.tolist() == ["Mr. Hi", "Officer"] and graph.ids.tolist() == list(club.nodes)
    assert graph.notes == ("The graph has no features: structure alone can be used.",)
    binary = Graph.from_networkx(club, weight=None)
    assert np.array_equal(binary.adjacency.to_scipy().toarray(), nx.to_numpy_array(club, weight=None))


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_every_kind_of_networkx_graph(kind):
    rng = np.random.default_rng(1)
    source = kind()
    source.add_nodes_from("abcdefg")
    for u, v, w in rng.integers((0, 0, 1), (6, 6, 9), (30, 3)).tolist():
        source.add_edge("abcdef"[u], "abcdef"[v], weight=w)
    D = nx.to_numpy_array(source)
    np.fill_diagonal(D, 0)
    graph = Graph.from_networkx(source)
    assert np.array_equal(graph.adjacency.to_scipy().toarray(), np.maximum(D, D.T))
    assert graph.ids.tolist() == list(source.nodes)
    undirected = any("undirected" in note for note in graph.notes)
    assert undirected == source.is_directed()


def test_networkx_attributes():
    g = nx.path_graph(["a", "b", "c"])
    nx.set_node_attributes(g, {"a": [1, 2], "b": [3, 4], "c": [5, 6]}, "vector")
    nx.set_node_attributes(g, {"a": 1, "b": 2, "c": 3}, "age")
    nx.set_node_attributes(g, {"a": "x", "c": "y"}, "team")
    g.edges["a", "b"]["weight"] = 4
    graph = Graph.from_networkx(g, features="vector", label="team")
    assert graph.features.tolist() == [[1, 2], [3, 4], [5, 6]] and graph.codes.tolist() == [0, -1, 1]
    assert graph.adjacency.weights.tolist() == [4, 4, 1, 1] and "1 edge without 'weight' weigh 1." in graph.notes
    assert Graph.from_networkx(g, features=["age"]).feature_names == ("age",)
    with pytest.raises(InputError, match="1 node lacks the attribute 'team' for features"):
        Graph.from_networkx(g, features=["team"])
    with pytest.raises(InputError, match=r"no node has the attribute 'club' .* have 'age', 'team', 'vector'"):
        Graph.from_networkx(g, label="club")
    with pytest.raises(InputError, match="networkx graph, not int"):
        Graph.from_networkx(3)
