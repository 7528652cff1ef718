"""The runner: accuracies are those of the splits, failures stay in their cells, no test label is given away."""

import copy
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from sanity_reports import Majority
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score

from slimg.errors import InputError
from slimg.graph import Graph
from slimg.lab.sanity import CASES, EMPTY, assert_passes, check, from_sklearn, make, scaled
from slimg.lab.sanity.runner import accuracy

SMALL = [make(*pair, **scaled(240)) for pair in (("semantic", "uniform"), ("random", "homophily"))]


class LabelHoarder(Majority):
    """Cheats: stores every label it can find, anywhere in what it is given, and answers with them."""

    found: ClassVar[list] = []

    def fit(self, graph, train=None, val=None):
        super().fit(graph)
        self.labels = np.where(graph.codes >= 0, graph.codes, self.answer)
        LabelHoarder.found.append((graph, set(train) | set(val)))

    def predict(self):
        return self.labels


class Vandal(Majority):
    def fit(self, graph, train=None, val=None):
        graph.features[:] = 0
        graph.adjacency.indices[:] = 0
        train[:] = 0
        super().fit(graph)


class Failing(Majority):
    """Fails from its second split on."""

    made = 0

    def __init__(self):
        Failing.made += 1

    def fit(self, graph):
        if Failing.made > 2:  # the first is looked at, the second fits the first split
            raise RuntimeError("out of luck\nand a second line")
        super().fit(graph)


class Wrong(Majority):
    def predict(self):
        return super().predict()[:-1]


def test_accuracy_is_that_of_the_splits():
    report = check(from_sklearn(LogisticRegression(max_iter=500)), SMALL, seeds=3)
    case = SMALL[0]
    for seed, found in enumerate(report.cell("LogisticRegression", case.name).accuracies):
        split = case.split(seed)
        model = LogisticRegression(max_iter=500).fit(case.graph.features[split.train], case.graph.labels[split.train])
        said = model.predict(case.graph.features[split.test])
        assert found == accuracy_score(case.graph.labels[split.test], said)


def test_a_hoarder_of_labels_finds_none_to_answer_with():
    LabelHoarder.found = []
    report = check(LabelHoarder, SMALL, seeds=2)
    for case in SMALL:
        assert report.cell("LabelHoarder", case.name).mean == pytest.approx(0.25, abs=0.02)
    for graph, allowed in LabelHoarder.found:
        labelled = {row for row, label in enumerate(graph.labels) if label is not None}
        assert labelled == allowed == set(graph.labelled)
        assert len(allowed) == 192 and not graph.masks


def test_what_a_model_does_to_its_graph_harms_no_other():
    before = copy.deepcopy([(case.graph.features, case.graph.adjacency.indices) for case in SMALL])
    lr = from_sklearn(LogisticRegression(max_iter=500))
    report, alone = check([Vandal, lr], SMALL, seeds=2), check([lr], SMALL, seeds=2)
    for case, (features, indices) in zip(SMALL, before, strict=True):
        assert np.array_equal(case.graph.features, features)
        assert np.array_equal(case.graph.adjacency.indices, indices)
        name = "LogisticRegression"
        assert report.cell(name, case.name).accuracies == alone.cell(name, case.name).accuracies


def test_failures_stay_in_their_cells():
    Failing.made = 0
    told = []
    report = check([Failing, Wrong, Majority], SMALL, seeds=2, progress=lambda *told_now: told.append(told_now))
    assert report.cell("Failing", "semantic-uniform").error == "RuntimeError: out of luck (split 1)"
    assert report.cell("Failing", "random-homophily").error == "RuntimeError: out of luck"
    assert "239 classes for 240 nodes" in report.cell("Wrong", "semantic-uniform").error
    assert report.cell("Majority", "random-homophily").accuracies == (0.25, 0.25)
    assert [(model, case) for model, case, _ in told] == [
        (model, case.name) for case in SMALL for model in ("Failing", "Wrong", "Majority")
    ]


def test_an_interrupt_is_not_a_failure():
    class Interrupted(Majority):
        def fit(self, graph):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check(Interrupted, SMALL, seeds=1)


def test_all_nine_cases_are_drawn_by_default_and_honest_models_stay_at_chance_where_nothing_helps():
    report = check(from_sklearn(LogisticRegression(max_iter=200)), n=240, seeds=1)
    assert tuple(case.name for case in report.cases) == CASES + EMPTY
    assert all(report.passed("LogisticRegression", name) for name in EMPTY)


def test_cases_by_name_by_object_and_twice():
    report = check(Majority, [SMALL[0], "random-uniform", SMALL[0]], n=60, seeds=1)
    assert [case.name for case in report.cases] == ["semantic-uniform", "random-uniform", "semantic-uniform (2)"]
    assert [case.settings["n"] for case in report.cases] == [240, 60, 240]


@pytest.mark.parametrize(
    ("options", "said"),
    [({"seeds": 0}, "seeds"), ({"n": 3}, "at least 12"), ({"cases": "x"}, "choose"), ({"at_least": 80}, "at_least")],
)
def test_bad_options(options, said):
    with pytest.raises(InputError, match=said):
        check(Majority, **({"cases": "empty"} | options))


NUMBERS = Graph.from_arrays(np.ones((4, 4)) - np.eye(4), labels=[0, 1, 2, 1])
TEXT = Graph.from_arrays(np.ones((4, 4)) - np.eye(4), labels=["a", "b", "c", "b"])
TEST = np.array([1, 2, 3])


@pytest.mark.parametrize("as_type", [list, np.array, np.float32, pd.Series, lambda v: np.array(v)[:, None]])
def test_share_of_right_answers_on_the_test_rows(as_type):
    assert accuracy(as_type([2, 1, 2, 0]), NUMBERS, TEST) == pytest.approx(2 / 3)


def test_classes_of_any_type():
    assert accuracy(["c", "b", "c", "b"], TEXT, TEST) == 1
    assert accuracy(pd.array(["c", "b", "a", "a"]), TEXT, TEST) == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ([1, 2, 1], "3 .* 4 nodes"),
        (np.zeros((4, 3)), "not probabilities"),
        (np.zeros((4, 3, 2)), r"\(4, 3, 2\)"),
        ([0, np.nan, 1, 1], "1 node without a class"),
        ([0, None, None, 1], "2 nodes without a class"),
        ([0, 7, 1, 1], "do not exist: 7"),
        (["0", "1", "1", "1"], "do not exist"),
        (None, "sequence"),
        (3, "sequence"),
        ([[0], [1, 2], [1], [1]], "hashable|shape|sequence"),
    ],
)
def test_answers_that_are_none(answers, said):
    with pytest.raises(InputError, match=said):
        accuracy(answers, NUMBERS, TEST)


LR = from_sklearn(LogisticRegression(C=0.1, max_iter=500), name="lr")


def test_a_model_that_passes_gives_its_report():
    report = assert_passes(LR, ["semantic-uniform", "random-uniform"])
    assert report.passes("lr")


def test_a_model_that_fails_is_shown_its_matrix_and_its_verdict():
    with pytest.raises(AssertionError, match=r"failed by Majority(.|\n)*✗(.|\n)*Majority passes 0 of the 1 checks"):
        assert_passes([LR, Majority], ["semantic-uniform"])
