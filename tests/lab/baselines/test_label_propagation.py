"""Label propagation against its dense closed form, and as an estimator."""

import numpy as np
import pytest
from baseline_graphs import communities, dense, graph_with_isolated

from slimg.errors import InputError
from slimg.graph import splits
from slimg.lab.baselines.label_propagation import LabelPropagation


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
