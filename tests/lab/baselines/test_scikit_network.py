"""scikit-network's classifiers give what they give by themselves."""

import sys

import numpy as np
import pytest
from baseline_graphs import communities, graph_with_isolated
from scipy import sparse

from slimg import Graph
from slimg.errors import InputError, MissingExtra
from slimg.graph import splits
from slimg.lab.baselines.scikit_network import CLASSIFIERS, ScikitNetwork

GRAPH = communities()
SPLIT = splits.stratified(GRAPH, (0.2, 0.2, 0.6))


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_communities_are_found_and_seeds_repeat(name):
    pytest.importorskip("sknetwork")
    first, again = (ScikitNetwork(name).fit(GRAPH, train=SPLIT.train, val=SPLIT.val) for _ in range(2))
    assert np.mean(first.predict()[SPLIT.test] == GRAPH.labels[SPLIT.test]) > 0.7
    np.testing.assert_array_equal(first.scores_, again.scores_)


def test_answers_are_those_of_the_library_and_options_arrive():
    classification = pytest.importorskip("sknetwork.classification")
    labels = np.full(GRAPH.n, -1)
    labels[SPLIT.train] = GRAPH.labels[SPLIT.train]
    matrix = sparse.csr_matrix(GRAPH.adjacency.to_scipy())
    expected = classification.PageRankClassifier(damping_factor=0.5).fit_predict_proba(matrix, labels)
    model = ScikitNetwork("pagerank", damping_factor=0.5).fit(GRAPH, train=SPLIT.train, val=SPLIT.val)
    np.testing.assert_allclose(model.predict_proba(), expected, atol=1e-5)


def test_isolated_nodes_have_probabilities():
    pytest.importorskip("sknetwork")
    for name in CLASSIFIERS:
        found = ScikitNetwork(name).fit(graph_with_isolated(), train=np.arange(9), val=np.arange(9, 12)).predict_proba()
        np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-5)


def test_what_lacks_is_named(monkeypatch):
    with pytest.raises(InputError, match="unknown classifier 'rank': choose one of diffusion, nearest_neighbours, pagerank"):
        ScikitNetwork("rank").fit(GRAPH)
    with pytest.raises(InputError, match="pagerank needs edges, which the graph has not"):
        ScikitNetwork("pagerank").fit(Graph.from_arrays(None, np.eye(4), [0, 0, 1, 1]))
    monkeypatch.setitem(sys.modules, "sknetwork.classification", None)
    with pytest.raises(MissingExtra, match=r"pagerank needs sknetwork.classification: .*slimg\[compare\]"):
        ScikitNetwork("pagerank").fit(GRAPH)
