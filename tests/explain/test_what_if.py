"""A changed graph is the one that the changed files give, and its scores are those of the fitted model on it."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from slimg import Graph, SlimG
from slimg.components.component import Target
from slimg.errors import InputError
from slimg.explain.what_if import entry, with_edge, with_features

PAIR = [(1e-4, 1e-3)]


def tables(seed=0, n=40):
    rng = np.random.default_rng(seed)
    nodes = pd.DataFrame({"id": [f"n{k}" for k in range(n)], "x": rng.normal(size=n), "z": rng.integers(0, 3, n)})
    edges = {}
    for name in ("cites", "pays", "knows"):
        pairs = pd.DataFrame(rng.integers(0, n, (90, 2)), columns=["source", "target"]).drop_duplicates()
        pairs = pairs[pairs["source"] != pairs["target"]]
        edges[name] = pairs.map(lambda k: f"n{k}").reset_index(drop=True)
    edges["pays"]["weight"] = rng.integers(1, 5, len(edges["pays"])).astype(float)
    edges["cited"] = edges["cites"].rename(columns={"source": "target", "target": "source"})
    return nodes, edges, np.where(np.arange(n) % 2, "a", "b")


def build(nodes, edges, labels, relations=True):
    if not relations:
        return Graph.from_edges(edges["pays"], nodes, labels=labels, weight="weight")
    return Graph.from_edges(edges, nodes, labels=labels, weight="weight", directed=["cites", "pays", "cited"])


def same(one, other):
    np.testing.assert_array_equal(one.adjacency.to_scipy().toarray(), other.adjacency.to_scipy().toarray())
    for mine, theirs in zip(one.relations, other.relations, strict=True):
        for key, matrix in theirs.directions.items():
            np.testing.assert_array_equal(mine.directions[key].to_scipy().toarray(), matrix.to_scipy().toarray())


@pytest.mark.parametrize("name", ["cites", "pays", "knows"])
def test_an_edge_less_is_the_graph_read_without_it(name):
    nodes, edges, labels = tables()
    graph = build(nodes, edges, labels)
    u, v = graph.positions(edges[name].iloc[0][["source", "target"]].tolist())
    both = edges[name]["source"].isin(graph.ids[[u, v]]) & edges[name]["target"].isin(graph.ids[[u, v]])
    gone = both if name == "knows" else both & (edges[name]["source"] == graph.ids[u])
    fewer = {**edges, name: edges[name][~gone]}
    if name == "cites":  # the relation that repeats it has the same edge
        fewer["cited"] = edges["cited"][~gone]
    expected = build(nodes, fewer, labels)
    same(with_edge(graph, u, v, 0.0, name if name == "knows" else f"{name} →"), expected)
    if name != "knows":
        same(with_edge(graph, v, u, 0.0, f"{name} ←"), expected)


def test_an_edge_more_is_the_graph_read_with_it_and_taking_it_away_gives_the_first():
    nodes, edges, labels = tables()
    graph = build(nodes, edges, labels)
    u, v = next((u, v) for u in range(5) for v in range(9, 20) if not entry(graph.adjacency, u, v))
    row = pd.DataFrame({"source": [graph.ids[u]], "target": [graph.ids[v]], "weight": [2.5]})
    more = {**edges, "pays": pd.concat([edges["pays"], row])}
    changed = with_edge(graph, u, v, 2.5, "pays →")
    same(changed, build(nodes, more, labels))
    same(with_edge(changed, u, v, 0.0, "pays →"), graph)
    same(with_edge(changed, v, u, 0.0), graph)


def test_edges_of_all_relations_are_removed_together():
    nodes, edges, labels = tables()
    graph = build(nodes, edges, labels)
    u, v = graph.positions(edges["cites"].iloc[3][["source", "target"]].tolist())
    cut = with_edge(graph, u, v, 0.0)
    dense = graph.adjacency.to_scipy().toarray()
    dense[u, v] = dense[v, u] = 0
    np.testing.assert_array_equal(cut.adjacency.to_scipy().toarray(), dense)
    assert all(not entry(matrix, u, v) for matrix in cut.directions().values())


@pytest.mark.parametrize("sparse", [False, True])
def test_scores_are_those_of_the_model_on_the_changed_graph(sparse):
    nodes, edges, labels = tables()
    graph = build(nodes, edges, labels, relations=False)
    if sparse:
        graph = Graph.from_arrays(graph.adjacency, sp.csr_array(graph.features), graph.labels, graph.ids)
    model = SlimG(grid=PAIR).fit(graph)
    u, v = 3, int(graph.adjacency.neighbours(3)[0])
    changed = with_features(with_edge(graph, u, v, 0.0), u, 1, sp.csr_array([[2.0]]))
    features = graph.features.toarray() if sparse else graph.features.copy()
    features[u, 1] = 2
    matrix = graph.adjacency.to_scipy().tolil()
    matrix[u, v] = matrix[v, u] = 0
    again = Graph.from_arrays(matrix.tocsr(), sp.csr_array(features) if sparse else features, graph.labels, graph.ids)
    found = model.scorer_.scores(Target(changed, np.array([u])))[0]
    np.testing.assert_allclose(found, model.decision_function(again)[u], atol=1e-5)
    assert np.abs(found - model.decision_function()[u]).max() > 1e-3, "the change is felt"
    parts = model.scorer_.parts(Target(changed, np.array([u])))
    np.testing.assert_allclose(sum(parts.values())[0], found, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ((3, 3, 1.0, "pays →"), "'n3' was named twice"),
        ((0, 1, 1.0, "likes →"), "unknown relation 'likes →'"),
        ((0, 1, 1.0, ""), "unknown relation ''"),
        ((0, 1, 2.0, "knows"), "have no weights, and 2 was given"),
    ],
)
def test_a_change_that_makes_no_sense(change, words):
    with pytest.raises(InputError, match=words):
        with_edge(build(*tables()), *change)


def test_an_edge_that_is_there_or_not():
    nodes, edges, labels = tables()
    graph = build(nodes, edges, labels, relations=False)
    v = int(graph.adjacency.neighbours(0)[0])
    w = next(w for w in range(1, 40) if not entry(graph.adjacency, 0, w))
    with pytest.raises(InputError, match=f"already an edge between 'n0' and 'n{v}'"):
        with_edge(graph, 0, v, 1.0)
    with pytest.raises(InputError, match=f"no edge between 'n0' and 'n{w}'"):
        with_edge(graph, 0, w, 0.0)
