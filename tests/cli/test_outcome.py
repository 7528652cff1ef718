"""The record after a fit: what it judges, explains and says is what the model itself says."""

import argparse
import json

import numpy as np
import pytest

from slimg import SlimG
from slimg.cli.console import Progress
from slimg.cli.options import add_input_options, options_of
from slimg.cli.outcome import diagnosis_of, outcome, plain
from slimg.io.inputs import read_inputs


@pytest.fixture
def inputs(folder):
    parser = argparse.ArgumentParser()
    add_input_options(parser)
    words = ["--edges", "follows.csv", "--nodes", "users.csv", "--label", "team", "--id", "user"]
    return read_inputs(options_of(parser.parse_args(words)))


def test_what_is_told_is_what_the_model_says(inputs):
    model = SlimG().fit(inputs.graph)
    progress = Progress(quiet=True)
    record = outcome(model, inputs, {"title": "Teams"}, [7], progress)
    json.dumps(record, allow_nan=False)
    assert record["read"]["title"] == "Teams" and set(progress.seconds) == {"diagnosing", "explaining"}
    best = max(each["val_accuracy"] for each in model.selection_)
    assert record["model"]["chosen"]["val_accuracy"] == model.chosen_["val_accuracy"] == best
    right = model.held_out_scores_.argmax(axis=1) == inputs.graph.codes[model.trained_on_]
    assert record["held_out"]["accuracy"] == pytest.approx(right.mean())
    assert record["held_out"]["nodes"] == len(inputs.graph.labelled)
    told = record["explained"]["7"]
    assert told["id"] == "0007"
    scores = model.decision_function()[7]
    assert told["score"] == pytest.approx(scores.max() - scores.mean(), abs=1e-3)
    assert told["probabilities"] == pytest.approx(model.predict_proba()[7], abs=1e-3)


def test_components_are_computed_once(inputs, monkeypatch):
    """Fit, judging, diagnosis and explanation share them."""
    import slimg.classifier
    import slimg.explain.diagnosis

    calls = []
    whole = slimg.classifier.compute_components

    def counted(*args, **kwargs):
        calls.append(args)
        return whole(*args, **kwargs)

    monkeypatch.setattr(slimg.classifier, "compute_components", counted)
    monkeypatch.setattr(slimg.explain.diagnosis, "compute_components", counted)
    model = SlimG(grid=[(0.0, 0.01)]).fit(inputs.graph)
    outcome(model, inputs, {}, (), Progress(quiet=True))
    assert len(calls) == 1


def test_too_few_labels_have_no_diagnosis(inputs):
    labelled = inputs.graph.labelled
    codes = inputs.graph.codes[labelled]
    few = np.concatenate([labelled[codes == 0][:6], labelled[codes == 1][:1]])
    graph = inputs.graph.mask_labels(few)
    model = SlimG(grid=[(0.0, 0.1)]).fit(inputs.graph)
    assert diagnosis_of(graph, model) is None


def test_plain_values():
    given = {1: np.float64(0.5), "a": (np.arange(2), float("nan"), None, True), "b": object}
    assert plain(given) == {"1": 0.5, "a": [[0, 1], None, None, True], "b": str(object)}
