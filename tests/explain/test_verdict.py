"""Sentences of a diagnosis, for each verdict and each kind of unusual node."""

import re

import pytest

from slimg.explain.diagnosis import format_numbers, format_recommendations, format_verdict
from slimg.explain.evidence import Agreement, Evidence, Score, SuspectLabel
from slimg.explain.held_out import Gain, LearningCurve, Point

CLASSES = {"a": 60, "b": 40}
TITLES = {"U": "its place in the network", "X": "its own features"}


def accuracy(value, p=0.01, chance=0.5):
    return Score(value, (value - 0.05, value + 0.05), chance, p)


def curve(rise=0.03, error=0.01, end=0.9):
    heights = {25: end - 2.5 * rise, 50: end - rise, 100: end}
    points = tuple(Point(labels, height, 0.01 if labels == 100 else 0.02, height) for labels, height in heights.items())
    return LearningCurve(points, Gain(rise, error))


def evidence(u=0.8, x=0.8, both=0.9, graph=0.1, features=0.1, **more):
    alone = {"U": accuracy(u, 0.01 if u > 0.52 else 0.5), "X": accuracy(x, 0.01 if x > 0.52 else 0.5)}
    given = {
        "titles": TITLES, "examined": 100, "scoring": "accuracy", "majority": 0.6, "baseline": 0.6,
        "alone": alone, "all": accuracy(both, min(each.p for each in alone.values())),
        "without": {"U": alone["X"]}, "sources": {"features": ("X",), "network": ("U",)},
        "by_source": {"features": alone["X"], "network": alone["U"]},
        "gains": {"graph": Gain(graph, 0.01), "features": Gain(features, 0.01)},
        "restated": 0.02, "curve": curve(end=both), "isolated": (), "duplicates": (), "suspicious": (),
    }  # fmt: skip
    return Evidence(**{**given, **more})


UNSETTLED = evidence(gains={"graph": Gain(0.04, 0.03), "features": Gain(0.1, 0.01)})


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
        ("uniform", edges(0.5, p_more=0.5, p_less=0.5), "about as often as by chance.*50%.*The graph helps"),
        ("unknown", edges(0.5, 0.5, 0.5, 0.5, count=7), "[Oo]nly 7 edges"),
        ("unknown", None, "No edges join labelled nodes.*unknown.*network alone does predict.*80%"),
    ],
)
def test_relations(relation, agreed, words):
    assert re.search(words, verdict(relation, "semantic", evidence(), agreed))


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (evidence(), r"The graph helps: 90% .*80% .*\+10.0 points, 95% interval \+8.0 to \+12.0.*Features help: 90%"),
        (evidence(features=0.0), "The graph helps: .*Features make no measurable difference"),
        (evidence(graph=0.0), "The graph makes no measurable difference: .*Features help: "),
        (evidence(graph=-0.1), "The graph adds nothing: .*−10.0 points"),
        (evidence(gains={"graph": Gain(0.003, 0.001)}), "The graph helps little: "),
        (UNSETTLED, "The graph makes no measurable difference: .*−2.0 to"),
        (evidence(u=0.5, x=0.5, both=0.6), "Still, predictions are no better than chance .*60%.*50%"),
        (evidence(u=0.5, x=0.5, all=accuracy(0.7, None)), "give 70%.*permutation"),
        (evidence(all=Score(0.51, (0.45, 0.57), 0.5)), "give 51%.*too little to rely on"),
    ],
)
def test_what_helps(found, words):
    assert re.search(words, verdict("homophily", "semantic", found, edges()))


def test_nothing_predicts_and_no_sentence_says_otherwise():
    useless, even = evidence(u=0.5, x=0.5, both=0.6), edges(0.5, p_more=0.5, p_less=0.5)
    assert "Neither the features nor the edges predict" in verdict("uniform", "random", useless, even)
    few = evidence(u=0.5, x=0.5, all=accuracy(0.7, None))
    for found in (useless, few, evidence(u=0.5, x=0.5, both=0.7, scoring="average_precision")):
        advice = " ".join(format_recommendations("uniform", "random", found, CLASSES))
        assert "Do not" in advice and "Use SlimG" not in advice
        assert not re.search("help|add", verdict("uniform", "random", found, even))


@pytest.mark.parametrize(
    ("kind", "found", "words"),
    [
        ("semantic", evidence(), "features alone predict the classes: 80% right, 50%"),
        ("random", evidence(x=0.5), "features alone do not predict.*50%"),
        ("random", evidence(by_source={"features": accuracy(0.53, p=0.05), "network": accuracy(0.8)}),
         "features alone hardly predict"),
        ("structural", evidence(restated=0.7), "restate the graph.*70%.*alone they predict"),
        ("absent", evidence(), "no features"),
    ],
)
def test_features(kind, found, words):
    assert re.search(words, verdict("homophily", kind, found, edges()))


def test_odd_nodes():
    found = evidence(isolated=("x", "y"), duplicates=(("p", "q", "r"),))
    text = verdict("homophily", "semantic", found, edges())
    assert "2 nodes have no edge ('x', 'y')" in text and "only features" in text and "2 nodes are copies of others" in text
    bare = evidence(isolated=("x",), by_source={"network": accuracy(0.8)}, gains={})
    assert "no edge" in verdict("homophily", "absent", bare, edges()) and "only features" not in verdict(
        "homophily", "absent", bare, edges()
    )


@pytest.mark.parametrize(
    ("relation", "kind", "found", "words"),
    [
        ("homophily", "semantic", evidence(), "Use SlimG as it is."),
        ("heterophily", "semantic", evidence(), "avoid methods that assume that neighbours are alike"),
        ("uniform", "semantic", evidence(u=0.5, graph=0.0), "A classifier on the features alone will do"),
        ("uniform", "semantic", evidence(u=0.5), "Use SlimG as it is."),
        ("homophily", "semantic", evidence(graph=-0.1), "on the features alone will do"),
        ("homophily", "semantic", evidence(gains={"trees": Gain(-0.1, 0.02)}), "Boosted trees .* do better"),
        ("uniform", "random", evidence(u=0.5, x=0.5, both=0.6), "Do not use predictions from this graph"),
        ("homophily", "structural", evidence(features=0.0), "these repeat the graph"),
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
        ("average_precision", "average precision 0.80", "+0.100,"),
        ("balanced_accuracy", "balanced accuracy 80%", "+10.0 points"),
        ("f1_macro", "macro F1 0.80", "+0.100,"),
        ("roc_auc", "ROC AUC 0.80", "+0.100,"),
        ("log_loss", "log loss -0.80", "+0.100,"),
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


def test_trees_that_do_better_than_a_useless_line():
    found = evidence(u=0.5, x=0.5, all=Score(0.5, (0.4, 0.6), 0.5), gains={"graph": Gain(0, 0.1), "trees": Gain(-0.4, 0.1)})
    assert re.search("linear .*trees do better .*−40.0", verdict("uniform", "random", found, edges(0.5, p_more=0.5, p_less=0.5)))
    advice = format_recommendations("uniform", "random", found, CLASSES)
    assert "boosted trees" in advice[0] and "find features" not in " ".join(advice)


def test_six_labels_cannot_say_that_predictions_are_chance():
    above, below = Score(0.67, (0.3, 0.9), 0.33, 0.5), Score(0.33, (0.1, 0.6), 0.33, 0.5)
    few = [evidence(0.5, 0.5, all=each, examined=n) for each, n in ((above, 6), (below, 6), (above, 200))]
    assert [each.trust for each in few] == ["unclear", "no", "no"]
