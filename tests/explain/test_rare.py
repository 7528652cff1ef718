"""A class of one in fifty: the measures, permutation tests that hold, the verdict, and labels that are not doubted."""

import numpy as np
import pytest
from sklearn import metrics

import slimg
from payments import NAMES, payments
from slimg.engine.memory import MemoryEngine
from slimg.errors import InputError
from slimg.explain import evidence
from slimg.explain.evidence import _p_of_any, _sample, gather
from slimg.explain.held_out import Ridge, draws, interval, learning_curve, measure
from slimg.learn.objective import METRICS, softmax


def drawn(classes, rows=300, seed=0, ties=False):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, classes, rows) if classes > 2 else (np.arange(rows) % 20 == 0).astype(int)
    scores = rng.standard_normal((rows, classes)) + np.eye(classes)[codes]
    return codes, np.round(scores) if ties else scores


@pytest.mark.parametrize("scoring", METRICS)
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("ties", [False, True])
def test_measures_are_scikit_learns(scoring, classes, ties):
    codes, scores = drawn(classes, ties=ties)
    chances = softmax(scores)  # with the ties that the metrics see
    assert measure(scoring, codes, chances) == pytest.approx(METRICS[scoring](codes, scores), rel=1e-6)


@pytest.mark.parametrize("scoring", METRICS)
def test_a_weight_is_a_repetition(scoring):
    codes, scores = drawn(3)
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    weights = np.random.default_rng(1).integers(0, 4, (5, len(codes)))
    found = measure(scoring, codes, chances, weights)
    for each, value in zip(weights, found, strict=True):
        rows = np.repeat(np.arange(len(codes)), each)
        assert value == pytest.approx(float(measure(scoring, codes[rows], chances[rows])), rel=1e-9)


def test_draws_keep_the_classes_and_their_interval_holds_the_truth():
    """AUC of two normal distributions one apart is Φ(1/√2) = 0.760: intervals of 100 samples hold it."""
    held, codes = 0, (np.arange(400) % 10 == 0).astype(int)
    for seed in range(100):
        rng = np.random.default_rng(seed)
        values = rng.standard_normal(400) + codes
        weights = np.concatenate(list(draws(codes, rng, number=99)))
        assert (weights[:, codes == 1].sum(axis=1) == 40).all() and (weights.sum(axis=1) == 400).all()
        low, high = interval(measure("roc_auc", codes, np.column_stack([-values, values]), weights))
        held += low <= 0.760 <= high
    assert held >= 87


def test_permutations_hold_the_level_where_a_class_is_rare():
    """Four useless components of 200 rows, six of them rare: p ≤ 0.05 of any in about one of twenty."""
    found, codes = [], (np.arange(200) < 6).astype(int)
    for seed in range(60):
        rng = np.random.default_rng(seed)
        ridges = [Ridge(rows @ rows.T) for rows in rng.standard_normal((4, 200, 5))]
        null = np.array([
            each.by_chance(codes, 2, np.random.default_rng(seed), 39, "average_precision") for each in ridges
        ])  # fmt: skip
        values = np.array([each.held_out(codes, 2, "average_precision").score for each in ridges])
        found.append(min(_p_of_any(null, values)))
    assert sum(p <= 0.05 for p in found) <= 7


@pytest.mark.parametrize("informative", [True, False])
def test_the_verdict_is_the_truth(informative):
    """One seed; benchmarks/rare.py has twenty."""
    found = slimg.diagnose(payments(0, informative))
    text = found.text()
    assert found.evidence.scoring == "average_precision" and "verage precision" in text and "ccuracy" not in text
    assert found.scenario == ("semantic-homophily" if informative else "random-uniform")
    assert ("Do not use predictions" in text) != informative
    assert ("Neither the features nor the edges" in text) != informative
    assert not [each for each in found.evidence.suspicious if each.label == "fraud"], "all labels are right"


@pytest.mark.parametrize("scoring", METRICS)
def test_rare_labels_are_not_doubted_by_any_measure(scoring):
    graph = payments(3, True, n=1000, shift=1.0)
    found = slimg.diagnose(graph, scoring=scoring).evidence
    assert found.scoring == scoring and not [each for each in found.suspicious if each.label == "fraud"]


def test_a_rare_label_is_doubted_where_all_others_are_recognised():
    rng = np.random.default_rng(0)
    codes = (np.arange(1000) % 40 == 0).astype(int)
    features = rng.standard_normal((1000, 6)) * 0.1 + np.eye(2, 6)[codes]
    codes[7] = 1
    found = slimg.diagnose(slimg.Graph.from_arrays(None, features, NAMES[codes].astype(object))).evidence
    assert [(each.node, each.label, each.looks_like) for each in found.suspicious] == [(7, "fraud", "normal")]


def test_a_sample_keeps_the_rare_class_and_its_weight(monkeypatch):
    monkeypatch.setattr(evidence, "ROWS_AT_MOST", 200)
    graph = payments(0, True, n=800, labelled=1.0, one_in=20)
    rows, weights = _sample(graph, np.random.default_rng(0), "average_precision")
    fraud = graph.labels[rows] == "fraud"
    assert fraud.sum() == 40 and 195 <= len(rows) <= 200 and weights.sum() == pytest.approx(800)
    assert weights[fraud].sum() == pytest.approx(40)
    sampled = gather(graph, slimg.SlimG().propagate(graph), 0, "average_precision")
    assert sampled.baseline == pytest.approx(0.05) and sampled.majority == pytest.approx(0.95)
    monkeypatch.undo()
    whole = gather(graph, slimg.SlimG().propagate(graph), 0, "average_precision")
    low, high = sampled.alone["X"].interval
    assert low < whole.alone["X"].value < high


def test_the_curve_of_average_precision_rises_with_labels():
    rng = np.random.default_rng(0)
    codes = (np.arange(1200) % 20 == 0).astype(int)
    rows = rng.standard_normal((1200, 60)) / 4 + 0.5 * np.eye(2, 60)[codes]
    kernel = rows @ rows.T
    whole = Ridge(kernel).held_out(codes, 2, "average_precision")
    curve = learning_curve(kernel, whole, 2, rng, MemoryEngine())
    assert curve.points[-1].score == pytest.approx(metrics.average_precision_score(codes, whole.chances[:, 1]))
    assert [point.labels for point in curve.points] == [150, 300, 600, 1200]
    assert curve.points[0].score < curve.points[-1].score and curve.doubling.error > 0


def test_an_unknown_measure_is_refused():
    with pytest.raises(InputError, match=r"'auc'.*average_precision"):
        slimg.diagnose(payments(0, True, n=400), scoring="auc")


def test_labels_of_a_class_that_is_mostly_missed_are_not_doubted():
    rng = np.random.default_rng(0)
    codes = (rng.random(1500) < 0.13).astype(int)
    features = rng.standard_normal((1500, 3)) + 0.8 * codes[:, None] * np.eye(3)[0]
    graph = slimg.Graph.from_arrays(None, features, NAMES[codes].astype(object))
    found = slimg.diagnose(graph, scoring="average_precision").evidence
    assert 0.13 < found.all.value < 0.4 and not found.suspicious
