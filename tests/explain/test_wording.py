"""Sentences of a diagnosis, for each verdict and each oddity."""

import pytest

from slimg.explain.agreement import Agreement
from slimg.explain.evidence import Accuracy, Evidence, Suspicion
from slimg.explain.learning_curve import LearningCurve, Point
from slimg.explain.ridge import Gain
from slimg.explain.wording import advise, judge, numbers

COUNT = {"nodes": 500, "labelled": 100, "edges": 900}
CLASSES = {"a": 60, "b": 40}


def accuracy(value, p=0.01, chance=0.5):
    return Accuracy(value, (value - 0.05, value + 0.05), chance, p)


def curve(rise=0.03, error=0.01, end=0.9):
    heights = {25: end - 2.5 * rise, 50: end - rise, 100: end}
    points = tuple(Point(labels, height, 0.01 if labels == 100 else 0.02, height) for labels, height in heights.items())
    return LearningCurve(points, Gain(rise, error))


def evidence(u=0.8, x=0.8, both=0.9, graph=0.1, features=0.1, hops=0.05, **more):
    alone = {"U": accuracy(u, 0.01 if u > 0.52 else 0.5), "X": accuracy(x, 0.01 if x > 0.52 else 0.5)}
    given = {
        "examined": 100, "majority": 0.6, "alone": alone, "all": accuracy(both, None), "without": {"U": alone["X"]},
        "gains": {"graph": Gain(graph, 0.01), "features": Gain(features, 0.01), "hops": Gain(hops, 0.01)},
        "restated": 0.02, "curve": curve(end=both), "isolated": (), "duplicates": (), "suspicious": (),
    }  # fmt: skip
    return Evidence(**{**given, **more})


UNSETTLED = evidence(gains={"graph": Gain(0.04, 0.03), "features": Gain(0.1, 0.01), "hops": Gain(0.0, 0.01)})


def edges(share=0.8, chance=0.5, p_more=0.005, p_less=1.0, count=300):
    adjusted = (share - chance) / (1 - chance)
    return Agreement(count, share, (share - 0.03, share + 0.03), chance, adjusted, (0.0, 1.0), p_more, p_less, 0.2, 0.005)


def verdict(relation, features, found, agreed):
    return " ".join(judge(relation, features, agreed, found, COUNT))


@pytest.mark.parametrize(
    ("relation", "agreed", "words"),
    [
        ("homophily", edges(), "Homophily: neighbours tend to be of the same class (80% of the edges"),
        ("heterophily", edges(0.3, p_more=1.0, p_less=0.005), "Heterophily: neighbours tend to be of different classes"),
        ("heterophily", edges(0.52, p_more=0.3, p_less=0.7), "who is linked to whom tells the classes (the network alone"),
        ("uniform", edges(0.5, p_more=0.5, p_less=0.5), "The edges say nothing about the classes"),
        ("unknown", edges(0.5, 0.5, 0.5, 0.5, count=7), "Only 7 edges join labelled nodes"),
        ("unknown", None, "No edges join labelled nodes, so whether neighbours are alike cannot be said; the network"),
    ],
)
def test_relations(relation, agreed, words):
    assert words in verdict(relation, "semantic", evidence(), agreed)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (evidence(), "Both help: 90% together, 10.0 points more than features alone"),
        (evidence(features=0.0), "The network alone suffices (80%)"),
        (evidence(graph=0.0), "Features alone suffice (80%)"),
        (UNSETTLED, "these labels do not settle whether it helps"),
        (evidence(graph=0.0, features=0.0), "do as well as the network alone"),
        (evidence(u=0.5, x=0.5, both=0.6), "Neither features nor edges tell the classes."),
    ],
)
def test_what_helps(found, words):
    assert words in verdict("homophily", "semantic", found, edges())


@pytest.mark.parametrize(
    ("kind", "found", "words"),
    [
        ("semantic", evidence(), "The features tell the classes: 80% right"),
        ("random", evidence(x=0.5), "The features do not tell the classes: 50% right"),
        ("random", evidence(alone={"U": accuracy(0.8), "X": accuracy(0.53, p=0.05)}), "The features hardly tell"),
        ("structural", evidence(restated=0.7), "The features restate the graph (70% of their variance"),
        ("absent", evidence(), "The nodes have no features."),
    ],
)
def test_features(kind, found, words):
    assert words in verdict("homophily", kind, found, edges())


def test_hops_and_odd_nodes():
    found = evidence(isolated=("x", "y"), duplicates=(("p", "q", "r"),), hops=0.0)
    text = verdict("homophily", "semantic", found, edges())
    assert "2 nodes have no edge ('x', 'y')" in text and "2 nodes are copies of others" in text and "adds nothing" in text
    assert "two steps away are like adds 5.0 points" in verdict("homophily", "semantic", evidence(), edges())


@pytest.mark.parametrize(
    ("relation", "kind", "found", "words"),
    [
        ("homophily", "semantic", evidence(), "Use SlimG as it is."),
        ("heterophily", "semantic", evidence(), "avoid methods that assume that neighbours are alike"),
        ("uniform", "semantic", evidence(u=0.5), "A classifier on the features alone will do"),
        ("uniform", "random", evidence(u=0.5, x=0.5, both=0.6), "Do not use predictions from this graph"),
        ("homophily", "structural", evidence(), "these repeat the graph"),
        ("homophily", "semantic", evidence(), "gave 3.0 points (standard error 1.0), the one before 4.5 points."),
        ("homophily", "semantic", evidence(), "Label more nodes: "),
        ("homophily", "semantic", evidence(curve=curve(0.026, 0.017)), "not clear from these labels: the last doubling"),
        ("homophily", "semantic", evidence(curve=curve(0.0, 0.005)), "More labels of the same kind would change little"),
        ("homophily", "semantic", evidence(curve=LearningCurve((), None)), "not clear from so few"),
        ("homophily", "semantic", evidence(suspicious=(Suspicion("n", "a", "b", 0.9),)), "Look at 1 label"),
    ],
)
def test_advice(relation, kind, found, words):
    assert words in " ".join(advise(relation, kind, found, COUNT, CLASSES))


def test_rare_classes_are_named():
    assert "Label more nodes of 'c'" in " ".join(advise("homophily", "semantic", evidence(), COUNT, {**CLASSES, "c": 3}))


def test_the_numbers_behind():
    text = "\n".join(numbers(edges(), evidence(), COUNT))
    assert "80.0% [75.0%, 85.0%]" in text and "by chance 50.0%, p = 0.01" in text
    assert "50: 87.0% ± 2.0, 100: 90.0% ± 1.0" in text
    assert "of one class 80.0% [77.0%, 83.0%]" in text and "adjusted homophily 0.60" in text
