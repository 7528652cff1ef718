"""Measures against scikit-learn and scipy."""

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from slimg.report.measures import confusion, per_class, reliability, summary, wilson


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
    found = summary(np.array([0, 0, 1]), np.array([[1.0, 0], [1, 0], [1, 0]]))
    assert found["accuracy"] == pytest.approx(2 / 3)
    assert found["majority"] == pytest.approx(2 / 3)
    assert found["confusion"] == [[2, 0], [1, 0]]
