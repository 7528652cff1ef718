"""Counterfactuals are recomputations: a dense one agrees, and what the search finds is verified and cannot be spared."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explain_graphs import dense_scores, planted
from slimg import SlimG
from slimg.errors import InputError

PAIR = [(1e-4, 1e-3)]


@pytest.fixture(scope="module", params=[False, True], ids=["binary", "weighted"])
def graph(request):
    return planted(weighted=request.param)


@pytest.fixture(scope="module")
def model(graph):
    return SlimG(grid=PAIR).fit(graph)


def dense_without(model, graph, pairs):
    matrix = graph.adjacency.to_scipy().toarray().astype(float)
    for u, v in pairs:
        matrix[u, v] = matrix[v, u] = 0
    return dense_scores(model, matrix, graph.features.astype(float))


@given(st.data())
@settings(max_examples=15, deadline=None)
def test_any_edges_left_out_equal_a_dense_recomputation(graph, model, data):
    matrix = graph.adjacency.to_scipy().tocoo()
    upper = np.flatnonzero(matrix.row < matrix.col)
    chosen = data.draw(st.lists(st.sampled_from(upper.tolist()), min_size=1, max_size=6, unique=True))
    pairs = [(int(matrix.row[k]), int(matrix.col[k])) for k in chosen]
    row = data.draw(st.sampled_from([pairs[0][0], 5, 60]))
    edges = [(graph.ids[u], graph.ids[v]) for u, v in pairs]
    found = model.counterfactual(graph.ids[row], without_edges=edges)
    np.testing.assert_allclose(found.after, dense_without(model, graph, pairs)[row], atol=2e-4)
    np.testing.assert_allclose(found.before, model.decision_function()[row], atol=1e-6)
    assert found.removed == tuple(edges) and found.changes == (found.was != found.becomes)


def test_neighbours_left_out_are_edges_of_the_node(graph, model):
    neighbours = graph.adjacency.neighbours(9)
    found = model.counterfactual("n9", without_neighbours=graph.ids[neighbours])
    expected = dense_without(model, graph, [(9, v) for v in neighbours])[9]
    np.testing.assert_allclose(found.after, expected, atol=2e-4)
    assert len(found.removed) == len(neighbours) and f"Without {len(neighbours)} edges" in found.text() == repr(found)


def test_what_the_search_finds_changes_the_class_and_needs_every_edge(graph, model):
    found = [model.find_counterfactual(node, at_most=6) for node in graph.ids[1:16]]
    changing = [each for each in found if each is not None]
    assert changing
    for each in changing:
        again = model.counterfactual(each.node, without_edges=each.removed)
        np.testing.assert_allclose(again.after, each.after, atol=1e-9)
        assert again.changes and each.becomes != each.was and "instead of" in each.text()
        for spared in each.removed if len(each.removed) > 1 else ():
            fewer = [edge for edge in each.removed if edge != spared]
            assert not model.counterfactual(each.node, without_edges=fewer).changes


def test_the_search_may_be_given_a_class(graph, model):
    for node in graph.ids[1:6]:
        for label in ("ash", "elm"):
            found = model.find_counterfactual(node, to=label)
            assert found is None or found.becomes == label


def test_a_lone_node_has_no_counterfactual(model):
    assert model.find_counterfactual("lone") is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"without_edges": [("n1", "lone")]}, "no edge between 'n1' and 'lone'"),
        ({"without_edges": [("n1", "stranger")]}, "that no node has: 'stranger'"),
        ({"without_edges": ["n1 n2 n3"]}, "needs pairs of ids"),
        ({}, "name at least one edge"),
    ],
)
def test_bad_input_gets_one_sentence(model, options, words):
    with pytest.raises(InputError, match=words):
        model.counterfactual("n1", **options)


def test_an_unknown_class_or_node(model):
    with pytest.raises(InputError, match="no class 'yew'"):
        model.find_counterfactual("n1", to="yew")
    with pytest.raises(InputError, match="that no node has: 'nobody'"):
        model.explain("nobody")
