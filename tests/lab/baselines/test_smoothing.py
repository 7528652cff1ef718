"""Label propagation, Correct & Smooth and scikit-network's classifiers against their formulas in dense float64."""

import sys

import numpy as np
import pytest
from baseline_graphs import communities, dense, graph_with_isolated
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from slimg import Graph
from slimg.engine import MemoryEngine
from slimg.errors import InputError, MissingExtra
from slimg.graph import splits
from slimg.lab.baselines.classical import (
    CLASSIFIERS,
    CorrectAndSmooth,
    LabelPropagation,
    ScikitNetwork,
    log_probabilities,
    one_hot,
    spread,
)
from slimg.lab.baselines.linear_gnn import LinearGNN

ENGINE = MemoryEngine(1)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.floats(0, 0.95), st.booleans())
def test_spread_is_the_closed_form(seed, alpha, weighted):
    graph = graph_with_isolated(seed, weighted=weighted)
    values = np.random.default_rng(seed).normal(size=(graph.n, 3))
    expected = (1 - alpha) * np.linalg.solve(np.eye(graph.n) - alpha * dense(graph)["A_sym"], values)
    np.testing.assert_allclose(spread(ENGINE, graph.adjacency, values, alpha), expected, rtol=1e-3, atol=2e-5)


def test_isolated_nodes_keep_a_share_of_their_own_value():
    graph = graph_with_isolated()
    found = spread(ENGINE, graph.adjacency, np.ones((graph.n, 1)), 0.8)
    np.testing.assert_allclose(found[-2:], 0.2, rtol=1e-6)


def test_a_share_too_near_to_one_is_said():
    graph = graph_with_isolated()
    with pytest.raises(InputError, match=r"α = 0\.9999999 is too near to 1 for this graph, choose a smaller one"):
        spread(ENGINE, graph.adjacency, np.ones((graph.n, 1)), 0.9999999)


def test_probabilities_of_rows_with_and_without_mass():
    found = np.exp(log_probabilities(np.array([[1.0, 3.0], [0.0, 0.0], [-1.0, 2.0]]), np.array([0.3, 0.7])))
    np.testing.assert_allclose(found, [[0.25, 0.75], [0.3, 0.7], [0, 1]], atol=1e-6)


def test_one_hot():
    np.testing.assert_array_equal(one_hot(np.array([1, -1, 0]), np.array([0, 2]), 2), [[0, 1], [0, 0], [1, 0]])


@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.95])
def test_probabilities_are_the_closed_form(alpha):
    graph = graph_with_isolated()
    train = np.arange(6)
    model = LabelPropagation(alpha=alpha).fit(graph, train=train, val=np.arange(6, 9))
    labels = np.zeros((graph.n, 3))
    labels[train, train % 3] = 1
    found = np.linalg.solve(np.eye(graph.n) - alpha * dense(graph)["A_sym"], labels)
    total = found.sum(axis=1, keepdims=True)
    expected = np.where(total > 1e-9, found / np.where(total > 1e-9, total, 1), labels.sum(axis=0) / 6)
    np.testing.assert_allclose(model.predict_proba(), expected, atol=1e-4)
    assert model.classes_.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(model.predict_proba()[-1], 1 / 3, atol=1e-6)  # nothing reaches an isolated node


def test_communities_are_found_from_few_labels_and_alpha_is_chosen_on_validation():
    graph = communities()
    split = splits.stratified(graph, (0.1, 0.2, 0.7))
    model = LabelPropagation().fit(graph, train=split.train, val=split.val)
    assert np.mean(model.predict()[split.test] == graph.labels[split.test]) > 0.9
    assert [each["alpha"] for each in model.selection_] == [0.5, 0.8, 0.9, 0.95]
    best = min(model.selection_, key=lambda each: (-each["val_accuracy"], each["val_loss"]))
    assert model.setting_ == {"alpha": best["alpha"]}


def test_features_and_other_labels_play_no_part():
    graph = communities()
    split = splits.stratified(graph, (0.1, 0.2, 0.7))
    bare = graph.mask_labels(np.concatenate([split.train, split.val]))
    bare = type(graph)(bare.adjacency, labels=bare.labels)
    first, second = (LabelPropagation().fit(each, train=split.train, val=split.val) for each in (graph, bare))
    np.testing.assert_array_equal(first.scores_, second.scores_)


def test_without_validation_rows_folds_decide():
    graph = communities()
    model = LabelPropagation(alpha=[0.0, 0.9]).fit(graph, train=np.arange(30))
    assert model.setting_ == {"alpha": 0.9} and model.selection_[0]["val_accuracy"] < model.selection_[1]["val_accuracy"]


@pytest.mark.parametrize("alpha", [1, -0.1, "half", []])
def test_shares_are_checked(alpha):
    with pytest.raises(InputError, match="alpha must be a share from 0 to below 1, or several of them, not"):
        LabelPropagation(alpha=alpha).fit(communities(40))


def expected(graph, base, codes, train, correct, smooth):
    s, n = dense(graph)["A_sym"], graph.n
    labels = np.zeros_like(base)
    labels[train, codes[train]] = 1
    errors = np.zeros_like(base)
    errors[train] = labels[train] - base[train]
    spread = (1 - correct) * np.linalg.solve(np.eye(n) - correct * s, errors)
    fixed = base.copy()
    for node in range(n):
        length = np.abs(spread[node]).sum()
        if length > 1e-9:
            fixed[node] += np.abs(errors[train]).sum(axis=1).mean() * spread[node] / length
    fixed[train] = labels[train]
    found = np.maximum((1 - smooth) * np.linalg.solve(np.eye(n) - smooth * s, fixed), 0)
    return found / found.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(("correct", "smooth"), [(0.5, 0.8), (0.9, 0.0)])
def test_probabilities_are_those_of_the_formula(correct, smooth):
    graph, train, val = graph_with_isolated(), np.arange(6), np.arange(6, 9)
    base = LinearGNN("lr").fit(graph, train=train, val=val).predict_proba().astype(float)
    model = CorrectAndSmooth("lr", correct=correct, smooth=smooth).fit(graph, train=train, val=val)
    truth = expected(graph, base, np.arange(graph.n) % 3, train, correct, smooth)
    np.testing.assert_allclose(model.predict_proba(), truth, atol=2e-3)
    own = CorrectAndSmooth(LinearGNN("lr"), correct=correct, smooth=smooth)
    given = own.fit(graph, train=train, val=val)
    np.testing.assert_array_equal(given.scores_, model.scores_)


def test_it_improves_a_model_that_knows_features_alone():
    graph = communities()
    split = splits.stratified(graph, (0.2, 0.2, 0.6))

    def accuracy(model):
        return np.mean(model.fit(graph, train=split.train, val=split.val).predict()[split.test] == graph.labels[split.test])

    assert accuracy(CorrectAndSmooth("lr")) > accuracy(LinearGNN("lr")) + 0.05
    assert len(CorrectAndSmooth("lr").settings()) == 9


def test_folds_learn_the_base_from_their_own_rows():
    graph = communities()
    model = CorrectAndSmooth("lr", correct=0.5, smooth=[0.5, 0.9], cv=3).fit(graph, train=np.arange(40))
    assert len(model.selection_) == 2 and all(each["val_accuracy"] < 1 for each in model.selection_)


def test_what_cannot_be_used_is_named():
    graph = communities(40)
    with pytest.raises(InputError, match="unknown model 'no-such': choose one of"):
        CorrectAndSmooth("no-such").fit(graph)
    with pytest.raises(InputError, match="smooth must be a share from 0 to below 1"):
        CorrectAndSmooth(smooth=1.5).fit(graph)


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
    with pytest.raises(InputError, match="pagerank needs edges"):
        ScikitNetwork("pagerank").fit(Graph.from_arrays(None, np.eye(4), [0, 0, 1, 1]))
    monkeypatch.setitem(sys.modules, "sknetwork.classification", None)
    with pytest.raises(MissingExtra, match=r"pagerank needs sknetwork.classification: .*slimg\[compare\]"):
        ScikitNetwork("pagerank").fit(GRAPH)
