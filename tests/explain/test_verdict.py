"""Sentences of a diagnosis, for each verdict and each kind of unusual node."""

import re

import pytest

from slimg.explain.diagnosis import format_numbers, format_recommendations, format_verdict
from slimg.explain.evidence import Evidence, Score, SuspectLabel
from slimg.explain.leave_one_out import Agreement, Gain, LearningCurve, Point

CLASSES = {"a": 60, "b": 40}
TITLES = {"U": "its place in the network", "X": "its own features"}


def accuracy(value, p=0.01, chance=0.5):
    return Score(value, (value - 0.05, value + 0.05), chance, p)


def curve(rise=0.03, error=0.01, end=0.9):
    heights = {25: end - 2.5 * rise, 50: end - rise, 100: end}
    points = tuple(Point(labels, height, 0.01 if labels == 100 else 0.02, height) for labels, height in heights.items())
    return LearningCurve(points, Gain(rise, error))


def evidence(u=0.8, x=0.8, both=0.9, graph=0.1, features=0.1, hops=0.05, **more):
    alone = {"U": accuracy(u, 0.01 if u > 0.52 else 0.5), "X": accuracy(x, 0.01 if x > 0.52 else 0.5)}
    given = {
        "titles": TITLES, "examined": 100, "scoring": "accuracy", "majority": 0.6, "baseline": 0.6,
        "alone": alone, "all": accuracy(both, None),
        "without": {"U": alone["X"]},
        "gains": {"graph": Gain(graph, 0.01), "features": Gain(features, 0.01), "hops": Gain(hops, 0.01)},
        "restated": 0.02, "curve": curve(end=both), "isolated": (), "duplicates": (), "suspicious": (),
    }  # fmt: skip
    return Evidence(**{**given, **more})


UNSETTLED = evidence(gains={"graph": Gain(0.04, 0.03), "features": Gain(0.1, 0.01), "hops": Gain(0.0, 0.01)})


def edges(share=0.8, chance=0.5, p_more=0.005, p_less=1.0, count=300):
    adjusted = (share - chance) / (1 - chance)
    tested = adjusted, (0.0, 1.0), p_more, p_less, 0.2, 0.005
    return Agreement(count, share, (share - 0.03, share + 0.03), chance, *tested, count, "b", 0.5, 0.4)


def verdict(relation, features, found, agreed):
    return " ".join(format_verdict(relation, features, agreed, found))


@pytest.mark.parametrize(
    ("relation", "agreed", "words"),
    [
        ("homophily", edges(), "Homophily.*80%.*50%"),
        ("heterophily", edges(0.3, p_more=1.0, p_less=0.005), "Heterophily.*different classes.*30%"),
        ("heterophily", edges(0.52, p_more=0.3, p_less=0.7), "Heterophily.*52%.*network alone: 80%"),
        ("uniform", edges(0.5, p_more=0.5, p_less=0.5), "edges do not predict.*50%"),
        ("unknown", edges(0.5, 0.5, 0.5, 0.5, count=7), "[Oo]nly 7 edges"),
        ("unknown", None, "No edges join labelled nodes.*unknown.*network alone does predict.*80%"),
    ],
)
def test_relations(relation, agreed, words):
    assert re.search(words, verdict(relation, "semantic", evidence(), agreed))


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (evidence(), "Both help: 90%.*10.0 points more than features alone"),
        (evidence(features=0.0), "network alone suffices.*80%"),
        (evidence(graph=0.0), "Features alone suffice.*80%"),
        (UNSETTLED, "too few to decide"),
        (evidence(graph=0.0, features=0.0), "do as well as the network alone"),
        (evidence(u=0.5, x=0.5, both=0.6), "Still, no component alone predicts the classes"),
    ],
)
def test_what_helps(found, words):
    assert re.search(words, verdict("homophily", "semantic", found, edges()))


def test_nothing_predicts_and_no_sentence_says_otherwise():
    useless, even = evidence(u=0.5, x=0.5, both=0.6), edges(0.5, p_more=0.5, p_less=0.5)
    assert "Neither the features nor the edges predict" in verdict("uniform", "random", useless, even)
    few = evidence(u=0.5, x=0.5, both=0.7)
    for found in (useless, few, evidence(u=0.5, x=0.5, both=0.7, scoring="average_precision")):
        advice = " ".join(format_recommendations("uniform", "random", found, CLASSES))
        assert "Do not" in advice and "Use SlimG" not in advice
        assert "add" not in verdict("uniform", "random", found, even)


@pytest.mark.parametrize(
    ("kind", "found", "words"),
    [
        ("semantic", evidence(), "features predict the classes.*80%.*50%"),
        ("random", evidence(x=0.5), "features do not predict.*50%"),
        ("random", evidence(alone={"U": accuracy(0.8), "X": accuracy(0.53, p=0.05)}), "features hardly predict"),
        ("structural", evidence(restated=0.7), "restate the graph.*70%"),
        ("absent", evidence(), "no features"),
    ],
)
def test_features(kind, found, words):
    assert re.search(words, verdict("homophily", kind, found, edges()))


def test_hops_and_odd_nodes():
    found = evidence(isolated=("x", "y"), duplicates=(("p", "q", "r"),), hops=0.0)
    text = verdict("homophily", "semantic", found, edges())
    assert "2 nodes have no edge ('x', 'y')" in text and "2 nodes are copies of others" in text and "add nothing" in text
    assert "two steps away add 5.0 points" in verdict("homophily", "semantic", evidence(), edges())


@pytest.mark.parametrize(
    ("relation", "kind", "found", "words"),
    [
        ("homophily", "semantic", evidence(), "Use SlimG as it is."),
        ("heterophily", "semantic", evidence(), "avoid methods that assume that neighbours are alike"),
        ("uniform", "semantic", evidence(u=0.5), "A classifier on the features alone will do"),
        ("uniform", "random", evidence(u=0.5, x=0.5, both=0.6), "Do not use predictions from this graph"),
        ("homophily", "structural", evidence(), "these repeat the graph"),
        ("homophily", "semantic", evidence(), "3.0 points.*standard error 1.0.*4.5 points"),
        ("homophily", "semantic", evidence(), "Label more nodes: "),
        ("homophily", "semantic", evidence(curve=curve(0.026, 0.017)), "not clear.*2.6 points"),
        ("homophily", "semantic", evidence(curve=curve(0.0, 0.005)), "More labels of the same kind would change little"),
        ("homophily", "semantic", evidence(curve=LearningCurve((), None)), "not clear from so few"),
        ("homophily", "semantic", evidence(suspicious=(SuspectLabel("n", "a", "b", 0.9),)), "1 label .*'n'"),
    ],
)
def test_recommendations(relation, kind, found, words):
    assert re.search(words, " ".join(format_recommendations(relation, kind, found, CLASSES)))


def test_rare_classes_are_named():
    advice = format_recommendations("homophily", "semantic", evidence(), {**CLASSES, "c": 3})
    assert "Label more nodes of 'c'" in " ".join(advice)


@pytest.mark.parametrize(
    ("scoring", "words", "others"),
    [
        ("average_precision", "average precision 0.80", "0.100 more"),
        ("balanced_accuracy", "balanced accuracy 80%", "10.0 points"),
        ("f1_macro", "macro F1 0.80", "0.100 more"),
        ("roc_auc", "ROC AUC 0.80", "0.100 more"),
        ("log_loss", "log loss -0.80", "0.100 more"),
    ],
)
def test_every_sentence_names_the_measure(scoring, words, others):
    found = evidence(scoring=scoring)
    text = verdict("homophily", "semantic", found, edges())
    numbers = "\n".join(format_numbers(edges(), found))
    assert words in text and others in text and "right" not in text
    named = words.split(" 0")[0].split(" -")[0].split(" 8")[0]
    assert numbers.lower().startswith(named.lower())
    assert ("%]" in numbers.split("With")[0]) == (scoring == "balanced_accuracy")


def test_the_neighbours_of_a_rare_class_are_told():
    found = evidence(scoring="average_precision", majority=0.98)
    text = verdict("homophily", "semantic", found, edges())
    assert "50% of the neighbours of b nodes are b, 40% would be by chance" in text


def test_the_numbers_behind():
    text = "\n".join(format_numbers(edges(), evidence()))
    assert "80.0% [75.0%, 85.0%]" in text and "by chance 50.0%, p = 0.01" in text
    assert "50: 87.0% ± 2.0, 100: 90.0% ± 1.0" in text
    assert "of one class 80.0% [77.0%, 83.0%]" in text and "adjusted homophily 0.60" in text
