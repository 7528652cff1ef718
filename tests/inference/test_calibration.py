"""Temperature and prediction sets, against direct search, exchangeable draws, and the command line."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from explain_graphs import planted
from slimg import SlimG
from slimg.errors import InputError
from slimg.inference.predictions import abstention_curve, calibrate, calibration_error, quantile
from slimg.lab import sanity
from slimg.learn.objective import softmax


def drawn(m, scale=1.0, seed=0, classes=4):
    rng = np.random.default_rng(seed)
    scores = 2 * rng.normal(size=(m, classes))
    codes = (softmax(scores).cumsum(axis=1) < rng.random((m, 1))).sum(axis=1).clip(max=classes - 1)
    return scale * scores, codes


@pytest.mark.parametrize("scale", [0.2, 1.0, 6.0])
def test_the_temperature_undoes_a_scale(scale):
    scores, codes = drawn(8000, scale)
    found = calibrate(scores, codes)
    assert found.temperature == pytest.approx(scale, rel=0.05)
    assert found.error_after < 0.02 and (scale == 1 or found.error_before > 0.1)
    grid = np.exp(np.linspace(-3, 3, 2001))
    losses = [-np.log(softmax(scores / t)[np.arange(8000), codes]).sum() + np.log(t) ** 2 / 2 for t in grid[400:1601:12]]
    assert found.temperature == pytest.approx(grid[400:1601:12][np.argmin(losses)], rel=0.07)


def test_few_and_perfect_rows_stay_within_bounds():
    found = calibrate(np.array([[5.0, 0.0], [0.0, 5.0]]), np.array([0, 1]))
    assert 0.05 <= found.temperature <= 1
    assert calibrate(None, np.zeros(0, int)) is None and calibrate(np.full((3, 2), np.nan), np.zeros(3, int)) is None


def test_rows_that_were_never_held_out_do_not_count():
    scores, codes = drawn(500)
    padded = np.concatenate([scores, np.full((100, 4), np.nan)])
    found = calibrate(padded, np.concatenate([codes, np.zeros(100, int)]))
    assert len(found.codes) == 500 and found.temperature == calibrate(scores, codes).temperature


def test_the_calibration_error_in_a_case_by_hand():
    chances = np.array([[0.95, 0.05]] * 4 + [[0.35, 0.65]] * 4)
    codes = np.array([0, 0, 0, 1, 1, 1, 0, 0])
    assert calibration_error(chances, codes) == pytest.approx(0.5 * abs(0.75 - 0.95) + 0.5 * abs(0.5 - 0.65))


def test_the_reliability_of_each_class_against_a_direct_count():
    """Scores of class 0 are too low by 1 in all rows: its curve lies above the diagonal, and it has the largest error."""
    scores, codes = drawn(20000)
    scores[:, 0] -= 1
    found = calibrate(scores, codes)
    chances = softmax(scores / found.temperature)
    for code, bins in enumerate(found.reliability()):
        inside = (chances[:, code] >= 0.3) & (chances[:, code] < 0.4)
        assert bins["nodes"].sum() == 20000 and bins["nodes"][3] == inside.sum()
        assert bins["share"][3] == pytest.approx((codes[inside] == code).mean())
        assert bins["probability"][3] == pytest.approx(chances[inside, code].mean(), abs=1e-5)
    first = found.reliability()[0]
    assert found.class_errors.argmax() == 0 and (first["share"][2:8] > first["probability"][2:8]).all()
    exact = calibrate(*drawn(20000))
    assert exact.class_errors.max() < 0.02 < found.class_errors[0]


def test_the_summary_is_plain_values():
    found = calibrate(*drawn(500)).summary()
    assert json.loads(json.dumps(found)) == found
    assert found["nodes"] == 500 and len(found["reliability"]) == len(found["class_errors"]) == 4
    assert found["abstention"]["coverage"][-1] == 1


@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("conditional", [False, True])
def test_sets_of_exchangeable_rows_cover(coverage, conditional):
    """Also when the scores are wrong: here they belong to other classes in a third of the rows."""
    scores, codes = drawn(20000, 3.0)
    codes = np.where(np.random.default_rng(1).random(20000) < 0.33, 0, codes)
    found = calibrate(scores[:10000], codes[:10000])
    sets = found.accepted(softmax(scores[10000:] / found.temperature), coverage, conditional)
    held = sets[np.arange(10000), codes[10000:]]
    assert held.mean() == pytest.approx(coverage, abs=0.015)
    if conditional:
        assert all(held[codes[10000:] == k].mean() == pytest.approx(coverage, abs=0.06) for k in range(4))


def test_a_class_with_too_few_rows_is_in_every_set():
    found = replace(calibrate(*drawn(300)), codes=np.array([0] * 295 + [1] * 5))
    assert found.accepted(np.full((7, 4), 0.25), 0.9, True)[:, 1].all()
    assert quantile(np.zeros(5), 0.9) == np.inf


def test_accuracy_rises_when_nodes_are_left_out():
    scores, codes = drawn(5000)
    found = abstention_curve(softmax(scores), codes)
    assert found["accuracy"][0] > found["accuracy"][9] + 0.2 and found["coverage"][9] == 1
    assert np.all(np.diff(found["probability"]) <= 0)


@pytest.fixture(scope="module")
def fitted():
    graph = sanity.make("semantic", "homophily", n=1500, d=20, seed=0, density=0.01).graph
    return SlimG(grid=[(0, 1e-3)]).fit(graph, train=np.arange(0, 1500, 4)), graph


def test_probabilities_are_those_of_the_temperature_and_explanations_add_up(fitted):
    model, graph = fitted
    np.testing.assert_allclose(model.predict_proba(), softmax(model.decision_function().astype(float) / model.temperature_))
    assert model.temperature_ != 1 and (model.predict() == model.classes_[model.predict_proba().argmax(axis=1)]).all()
    explanation = model.explain(graph.ids[3])
    np.testing.assert_allclose(explanation.probabilities, model.predict_proba()[3], atol=1e-5)
    total = explanation.bias + explanation.rounding + sum(part.scores for part in explanation.parts)
    np.testing.assert_allclose(total, explanation.scores, atol=1e-4)
    np.testing.assert_allclose(model.predict_proba(graph), model.predict_proba())


def test_sets_of_unlabelled_nodes_cover(fitted):
    model, graph = fitted
    rest = np.setdiff1d(np.arange(1500), model.trained_on_)
    for coverage in (0.8, 0.95):
        held = model.predict_set(coverage)[rest, graph.codes[rest]].mean()
        assert held == pytest.approx(coverage, abs=0.05)


def test_a_loaded_model_has_the_same_sets(fitted, tmp_path):
    model, _ = fitted
    loaded = SlimG.load(model.save(tmp_path / "m.slimg"))
    np.testing.assert_array_equal(loaded.predict_proba(), model.predict_proba())
    np.testing.assert_array_equal(loaded.predict_set(0.8), model.predict_set(0.8))
    np.testing.assert_array_equal(loaded.predict_set(class_conditional=True), model.predict_set(class_conditional=True))


def test_what_cannot_be_asked():
    graph = planted()
    model = SlimG(grid=[(1e-4, 1e-3)]).fit(graph, train=range(100), val=range(100, 150))
    assert model.calibration_ is None and model.temperature_ == 1
    with pytest.raises(InputError, match="validation rows"):
        model.predict_set()
    with pytest.raises(InputError, match="coverage"):
        SlimG(grid=[(1e-4, 1e-3)]).fit(graph).predict_set(1.5)


def test_the_parquet_folder_has_the_same_probabilities(fitted, tmp_path):
    model, _ = fitted
    table = pd.read_parquet(model.write_predictions(tmp_path / "out"))
    np.testing.assert_allclose(table["probability"], model.predict_proba().max(axis=1), atol=1e-6)
