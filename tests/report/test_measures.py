"""Measures against scikit-learn and scipy; held-out probabilities come from models without the labels."""

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support
from sklearn.model_selection import StratifiedKFold

from explain_graphs import planted
from slimg import Graph, SlimG
from slimg.errors import InputError
from slimg.explain.held_out import HeldOut, wilson
from slimg.learn.objective import softmax
from slimg.report import scores
from slimg.report.scores import confusion, held_out, per_class, reliability, summary


@pytest.mark.parametrize(("correct", "total"), [(0, 5), (5, 5), (7, 10), (384, 500)])
def test_wilson(correct, total):
    expected = binomtest(correct, total).proportion_ci(method="wilson")
    assert np.allclose(wilson(correct, total), expected, atol=1e-9)


def test_wilson_of_nothing():
    assert wilson(0, 0) == (0.0, 1.0)


def test_classes_and_confusion():
    rng = np.random.default_rng(0)
    truth, found = rng.integers(0, 4, 200), rng.integers(0, 4, 200)
    counts = confusion(truth, found, 4)
    assert np.array_equal(counts, confusion_matrix(truth, found))
    expected = precision_recall_fscore_support(truth, found)
    for code, row in enumerate(per_class(counts)):
        assert np.allclose([row["precision"], row["recall"], row["f1"], row["nodes"]], [part[code] for part in expected])


def test_a_class_that_is_never_predicted():
    assert per_class(np.array([[2, 0], [0, 0]]))[1] == {"precision": None, "recall": None, "f1": None, "nodes": 0}


def test_probabilities_that_are_right_are_on_the_line():
    rng = np.random.default_rng(0)
    chances = rng.uniform(0.5, 1, 200_000)
    bins, error = reliability(chances, rng.random(200_000) < chances)
    assert error < 0.01
    assert all(abs(entry["probability"] - entry["correct"]) < 0.02 for entry in bins)
    assert sum(entry["nodes"] for entry in bins) == 200_000
    _, error = reliability(np.full(100, 0.9), np.arange(100) < 60)
    assert np.isclose(error, 0.3)


def test_summary_of_certain_predictions():
    found = summary(HeldOut(np.array([[1.0, 0], [1, 0], [1, 0]]), np.array([0, 0, 1])))
    assert found["accuracy"] == pytest.approx(2 / 3)
    assert found["majority"] == pytest.approx(2 / 3)
    assert found["confusion"] == [[2, 0], [1, 0]]


def test_random_labels_stay_at_chance():
    rng = np.random.default_rng(0)
    x = rng.random((200, 60)).astype(np.float32)
    graph = Graph.from_arrays(None, x, rng.integers(0, 2, 200))
    model = SlimG(grid=[(0.0, 1e-4)]).fit(graph)
    assert (model.predict() == graph.labels).mean() > 0.7, "seen labels are learned by heart"
    rows, chances = held_out(model)
    assert np.array_equal(rows, graph.labelled)
    assert np.allclose(chances.sum(axis=1), 1, atol=1e-5)
    right = (chances.argmax(axis=1) == graph.codes[rows]).mean()
    assert abs(right - 0.5) < 0.15


def three_classes():
    rng = np.random.default_rng(1)
    y = np.arange(60) % 3
    return Graph.from_arrays(None, (np.eye(3)[y] + 0.7 * rng.random((60, 3))).astype(np.float32), y)


@pytest.mark.parametrize("how", [{"grid": [(0.0, 1e-2)]}, {"grid": [(0.0, 1e-1), (0.0, 1e-2), (1e-3, 1e-3)]}])
def test_each_fold_is_the_prediction_of_a_fit_without_it(how):
    graph = three_classes()
    model = SlimG(cv=3, average=1, **how).fit(graph)
    rows, chances = held_out(model)
    pair = [(model.l1_, model.group_)]
    for fit, check in StratifiedKFold(3, shuffle=True, random_state=0).split(rows, graph.codes):
        alone = SlimG(grid=pair).fit(graph, train=rows[fit], val=rows[check], propagated=model.components_)
        expected = softmax(alone.decision_function()[check] / model.temperature_)
        assert np.allclose(chances[check], expected, atol=1e-2), "equal up to the gap: starts differ"


def test_without_penalties_too():
    graph = three_classes()
    model = SlimG(grid="unpenalized", cv=3).fit(graph)
    rows, chances = held_out(model)
    accuracy = (chances.argmax(axis=1) == graph.codes[rows]).mean()
    assert accuracy == pytest.approx(model.selection_[0]["val_accuracy"])


def test_validation_rows_hold_out_nothing():
    graph = three_classes()
    model = SlimG(grid=[(0.0, 1e-2)]).fit(graph, train=np.arange(40), val=np.arange(40, 60))
    with pytest.raises(InputError, match="fit without val"):
        held_out(model)


@pytest.mark.parametrize("d", [12, 80])
def test_trees_are_grown_on_features_means_over_neighbours_and_degrees(d):
    """Of few features; of more on the leading columns of each component. A node without neighbours has a mean below all."""
    graph = planted(d=d)
    model = SlimG(grid=[(0, 1e-3)]).fit(graph)
    rows = model.components_.labelled_rows(model.trained_on_)
    table, told = scores._table(model, rows)
    a, x = graph.adjacency.to_scipy().toarray(), np.asarray(graph.features)
    np.testing.assert_array_equal(table[:, 0], a.sum(axis=1)[model.trained_on_])
    if d == 12:
        means = np.where(a.any(axis=1)[:, None], a @ x / np.maximum(a.sum(axis=1), 1)[:, None], -1e9)
        np.testing.assert_allclose(table[:, 1 : 1 + 2 * d], np.hstack([means, x])[model.trained_on_], rtol=1e-5)
        assert "means over neighbours" in told and table.shape[1] > 1 + 2 * d
    else:
        np.testing.assert_array_equal(table[:, 1:5], rows[:, :4])
        assert "columns of the components" in told
