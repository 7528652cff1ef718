"""A model's file remembers how its tables were read."""

import argparse
from pathlib import Path

import pytest

from slimg import SlimG
from slimg.cli.model import add_model_option, load_with_graph
from slimg.cli.options import add_input_options
from slimg.errors import InputError


def typed(*words):
    parser = argparse.ArgumentParser()
    add_model_option(parser)
    add_input_options(parser)
    return parser.parse_args(words)


def test_files_and_options_of_the_fit_are_those_of_later(fitted):
    model, inputs, options = load_with_graph(typed())
    assert str(options.edges.path) == "follows.csv" and options.id == "user" and options.label is None
    assert inputs.graph.n == 120 and len(inputs.graph.labelled) == 0, "labels are not needed to predict"
    assert model.predict(inputs.graph).tolist() == SlimG.load("slimg-out/model.slimg").predict(inputs.graph).tolist()
    assert model.data_["reading"]["label"] == "team"


def test_features_are_encoded_as_they_were(fitted):
    """A table in which every word and city is another keeps the columns of the fit."""
    _, before, _ = load_with_graph(typed())
    fitted.users.assign(city="lima", bio="never seen").to_csv("other.csv", index=False)
    _, after, _ = load_with_graph(typed("--nodes", "other.csv"))
    assert after.graph.feature_names == before.graph.feature_names
    names = list(before.graph.feature_names)
    age = [k for k, name in enumerate(names) if "age" in name]
    assert (after.graph.features.toarray()[:, age] == before.graph.features.toarray()[:, age]).all()


def test_a_model_without_files_asks_for_them(fitted):
    _, inputs, _ = load_with_graph(typed())
    labels = fitted.users["team"].replace("", None).to_numpy(object)
    SlimG(grid=[(0.0, 0.1)]).fit(inputs.graph.with_labels(labels)).save("bare.slimg")
    with pytest.raises(InputError, match=r"bare\.slimg does not say which files it was fitted on"):
        load_with_graph(typed("--model", "bare.slimg"))


def test_a_model_that_is_not_there(folder):
    with pytest.raises(InputError, match=r"there is no model slimg-out/model\.slimg: make one with slimg fit"):
        load_with_graph(typed())
    assert typed().model == Path("slimg-out/model.slimg")
