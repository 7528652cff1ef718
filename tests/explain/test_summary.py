"""A model at a glance: weights of components, features and classes."""

import json

import numpy as np
import pytest

from explain_graphs import planted
from slimg import SlimG
from slimg.components import default_components
from slimg.errors import InputError


@pytest.fixture(scope="module")
def model():
    return SlimG(grid=[(0, 0.08)], components=default_components()).fit(planted(outside=0.1))


def test_weights_are_those_of_the_model(model):
    summary = model.summary()
    assert summary.components == pytest.approx(model.component_weights())
    assert summary.removed == model.zero_components_ and summary.removed
    assert sum(summary.share(name) for name in summary.components) == pytest.approx(1)
    for name, beta in summary.features.items():
        state = model.components_.fitted[name].state.pca
        expected = state.components.T @ model.coef_[name]
        np.testing.assert_allclose(beta, expected - expected.mean(axis=1, keepdims=True), atol=1e-5)


def test_the_planted_words_speak_for_their_class(model):
    """Class k was given more of feature k."""
    summary = model.summary()
    for code, label in enumerate(("ash", "elm", "oak")):
        terms = summary.top_features("X", label, 3)
        assert terms[0].name == f"word{code}" and terms[0].contribution > terms[1].contribution > 0


def test_it_is_told_and_written(model):
    summary = model.summary()
    text = summary.text()
    assert "removed by the penalty" in text and "for oak" in text and "word2" in text
    record = json.loads(json.dumps(summary.to_dict()))
    assert {each["name"] for each in record["components"] if each["removed"]} == set(model.zero_components_)
    assert record["features"]["X"]["ash"][0][0] == "word0"


def test_unknown_names_are_told(model):
    with pytest.raises(InputError, match="no weights of features for 'U'"):
        model.summary().top_features("U", "ash")
    with pytest.raises(InputError, match="no class 'yew'"):
        model.summary().top_features("X", "yew")
