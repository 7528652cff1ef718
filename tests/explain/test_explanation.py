"""Reading an explanation: contrasts, and the largest terms with the rest summed."""

import numpy as np
import pytest

from explain_graphs import planted
from slimg import SlimG
from slimg.errors import InputError
from slimg.explain.explanation import largest, top_terms


@pytest.fixture(scope="module")
def model():
    return SlimG(grid=[(1e-4, 1e-3)]).fit(planted())


@pytest.fixture(scope="module")
def explanation(model):
    return model.explain("n7")


def test_it_agrees_with_the_prediction(model, explanation):
    row = 7
    assert explanation.prediction == model.predict()[row]
    np.testing.assert_allclose(explanation.probabilities, model.predict_proba()[row], atol=1e-12)
    order = np.argsort(-model.decision_function()[row])
    assert explanation.runner_up == model.classes_[order[1]]


@pytest.mark.parametrize("against", [None, "mean", "ash"])
@pytest.mark.parametrize("label", [None, "oak"])
def test_components_add_up_in_every_contrast(explanation, label, against):
    place = explanation.classes.tolist().index(label or explanation.prediction)
    expected = explanation.scores[place]
    if against == "mean":
        expected -= explanation.scores.mean()
    elif against:
        expected -= explanation.scores[explanation.classes.tolist().index(against)]
    assert explanation.score(label, against) == pytest.approx(expected)
    assert sum(explanation.components(label, against).values()) == pytest.approx(expected)


@pytest.mark.parametrize("k", [0, 1, 3, 100])
def test_the_largest_terms_and_the_rest_are_the_whole(explanation, k):
    for part in explanation.parts:
        whole = explanation.components(against="mean")[part.name]
        if part.features is not None:
            terms = explanation.top_features(part.name, k, against="mean")
            assert sum(term.contribution for term in terms) == pytest.approx(whole, abs=1e-9)
            named = [abs(term.contribution) for term in terms if term.stands_for == 1 and "other" not in term.name]
            assert named == sorted(named, reverse=True)
        terms = explanation.top_sources(part.name, k, against="mean")
        assert sum(term.contribution for term in terms) == pytest.approx(whole, abs=1e-8)


def test_features_of_all_components_together(explanation):
    terms = explanation.top_features(k=4, label="elm")
    parts = [part for part in explanation.parts if part.features is not None]
    whole = sum(explanation.components("elm")[part.name] for part in parts)
    assert sum(term.contribution for term in terms) == pytest.approx(whole)
    assert terms[0].name.startswith("word")


def test_unknown_names_are_told(explanation):
    with pytest.raises(InputError, match=r"no component 'Z': there are 'U', .*'X'"):
        explanation.part("Z")
    with pytest.raises(InputError, match="no class 'yew': the model knows"):
        explanation.score("yew")


def test_terms_of_nothing():
    assert top_terms(np.zeros(3), [], 2, "other") == [("3 others", 0.0, 3)]
    assert top_terms(np.zeros(0), [], 2, "other") == []
    assert top_terms(np.array([3.0, 0.0]), ["a"], 1, "other node")[-1] == ("1 other node", 0.0, 1)


@pytest.mark.parametrize("k", [0, 1, 5, 40, 99])
def test_the_largest_are_the_first_of_a_stable_order(k):
    values = np.round(np.random.default_rng(k).standard_normal(40), 1)
    order = np.argsort(-np.abs(values), kind="stable")[:k]
    np.testing.assert_array_equal(largest(values, k), order[values[order] != 0])
