"""What candidates are compared by: scikit-learn's metrics by hand, the default, and a search that follows the score."""

import numpy as np
import pytest
from sklearn import metrics
from sklearn.preprocessing import label_binarize

from slimg import Graph, SlimG
from slimg.engine.memory import MemoryEngine
from slimg.errors import InputError
from slimg.learn.objective import METRICS, Labelled, default_scoring
from slimg.learn.path import ranked
from slimg.learn.search import SearchConfig, search


def drawn(classes, rows=200, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, classes, rows)
    scores = rng.standard_normal((rows, classes)) + np.eye(classes)[codes]
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return codes, scores, chances


def test_several_classes_are_scored_as_scikit_learn_does():
    codes, scores, chances = drawn(4)
    one_hot, found = label_binarize(codes, classes=range(4)), scores.argmax(axis=1)
    expected = {
        "accuracy": metrics.accuracy_score(codes, found),
        "balanced_accuracy": metrics.balanced_accuracy_score(codes, found),
        "f1_macro": metrics.f1_score(codes, found, average="macro"),
        "average_precision": metrics.average_precision_score(one_hot, chances, average="macro"),
        "roc_auc": metrics.roc_auc_score(codes, chances, multi_class="ovr"),
        "log_loss": -metrics.log_loss(codes, chances),
    }
    assert set(expected) == set(METRICS)
    for name, value in expected.items():
        assert METRICS[name](codes, scores) == pytest.approx(value, rel=1e-6), name
        shifted = scores + np.arange(len(scores))[:, None]  # a constant of the row is no information
        assert METRICS[name](codes, shifted) == pytest.approx(value, rel=1e-6), name


@pytest.mark.parametrize("rare", [0, 1])
def test_of_two_classes_the_rarer_one_is_ranked(rare):
    _, scores, chances = drawn(2)
    codes = np.where(np.arange(200) % 9 == 0, rare, 1 - rare)
    expected = metrics.average_precision_score(codes == rare, chances[:, rare])
    assert METRICS["average_precision"](codes, scores) == pytest.approx(expected)


def test_classes_without_a_score_are_wrong_and_ranks_take_the_classes_present():
    codes, scores, chances = drawn(3)
    codes[codes == 2] = -1
    assert METRICS["accuracy"](codes, scores) == pytest.approx((scores.argmax(axis=1) == codes).mean())
    two = [metrics.roc_auc_score(codes == which, chances[:, which]) for which in (0, 1)]
    assert METRICS["roc_auc"](codes, scores) == pytest.approx(np.mean(two))
    assert np.isnan(METRICS["roc_auc"](np.zeros(200, int), scores))


def test_the_default_is_average_precision_for_a_rare_class_of_two():
    assert default_scoring(np.arange(100) % 2) == "accuracy"
    assert default_scoring(np.array([0] * 91 + [1] * 9)) == "average_precision"
    assert default_scoring(np.array([0] * 90 + [1] * 10)) == "accuracy"
    assert default_scoring(np.array([0] * 91 + [1] * 8 + [2])) == "accuracy"


def imbalanced(rows=600):
    rng = np.random.default_rng(1)
    codes = (np.arange(rows) % 30 == 0).astype(int)
    matrix = (rng.standard_normal((rows, 10)) + 2.0 * codes[:, None] * np.eye(1, 10)).astype(np.float32)
    return Labelled(matrix, codes, 2, np.ones(rows), {"a": 6, "b": 4}, MemoryEngine(1))


def test_the_score_is_of_all_held_out_rows_together_and_decides():
    labelled = imbalanced()
    found = search(SearchConfig(average=1), labelled, None)
    assert found.scoring == "average_precision"
    record = found.records[found.chosen]
    chances = np.exp(found.held_out_scores) / np.exp(found.held_out_scores).sum(axis=1, keepdims=True)
    assert record.val_score == pytest.approx(metrics.average_precision_score(labelled.codes, chances[:, 1]), abs=1e-6)
    complete = [each for each in found.records if each.folds == record.folds]
    assert record.val_score == max(each.val_score for each in complete) and ranked(complete)[0] == complete.index(record)
    by_loss = search(SearchConfig(average=1, scoring="log_loss"), labelled, None)
    least = min(each.val_loss for each in by_loss.records)
    assert by_loss.records[by_loss.chosen].val_loss == pytest.approx(least, rel=0.05)


def fitted(labels, **options):
    features = np.random.default_rng(0).standard_normal((len(labels), 4)) + 2.0 * (np.asarray(labels) == "b")[:, None]
    return SlimG(grid=[(0.0, 0.01), (0.0, 0.1)], **options).fit(Graph.from_arrays(None, features, labels))


def test_a_model_says_when_it_is_judged_by_average_precision_and_when_a_class_cannot_be_held_out():
    model = fitted(["b" if k % 20 == 0 else "a" for k in range(200)])
    assert model.scoring_ == "average_precision" and any("average precision" in n and "5.0%" in n for n in model.notes_)
    asked = fitted(["b" if k % 20 == 0 else "a" for k in range(200)], scoring="accuracy")
    assert asked.scoring_ == "accuracy" and not any("precision" in note for note in asked.notes_)
    single = fitted(["a", "b"] * 20 + ["c"])
    assert any("'c'" in note and "one labelled node" in note for note in single.notes_)
    assert single.classes_.tolist() == ["a", "b", "c"] and np.isnan(single.held_out_scores_[-1]).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"scoring": "auc"}, "'auc': choose one of accuracy, average_precision"),
        ({"scoring": 3}, "unknown scoring 3"),
        ({"average": 0}, "average must be a whole number of at least 1"),
        ({"average": 1.5}, "average"),
    ],
)
def test_wrong_options_are_named(options, words):
    with pytest.raises(InputError, match=words):
        fitted(["a", "b"] * 10, **options)
