"""Every way to hand over a model."""

import numpy as np
import pytest
from sanity_reports import Majority
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression

from slimg.errors import InputError
from slimg.lab.sanity import from_sklearn, make, scaled
from slimg.lab.sanity.contender import Contender, as_contender, as_contenders

CASE = make("semantic", "uniform", **scaled(120))
SPLIT = CASE.split(0)
SEEN = CASE.graph.mask_labels(np.concatenate([SPLIT.train, SPLIT.val]))


def answers(model, seed=3, name=None):
    contender = as_contender(model, name)
    return contender.begin(CASE.graph)(SEEN, SPLIT.train, SPLIT.val, seed)


class Recorder(BaseEstimator):
    """Writes down what it is given."""

    def __init__(self, random_state=None, bias=0):
        self.random_state, self.bias = random_state, bias

    def fit(self, graph, train=None, val=None):
        self.given = train, val, graph, self.random_state
        return self

    def predict(self, graph):
        return self.given, graph


class WithKeywords:
    def fit(self, graph, **rows):
        self.rows = rows

    def predict(self):
        return sorted(self.rows)


def test_rows_graph_and_seed_reach_those_who_ask():
    (train, val, graph, seed), at_predict = answers(Recorder())
    assert train is SPLIT.train and val is SPLIT.val and graph is SEEN and at_predict is SEEN and seed == 3
    assert answers(WithKeywords) == ["train", "val"]


def test_a_seed_that_is_set_stays():
    assert answers(Recorder(random_state=11))[0][3] == 11
    assert answers(Recorder)[0][3] == 3
    assert answers(lambda: Recorder(random_state=5))[0][3] == 5


def test_objects_are_copied_and_stay_unfitted():
    plain, sklearn_like = Majority(), Recorder(bias=2)
    assert len(answers(plain)) == 120 and not hasattr(plain, "answer")
    answers(sklearn_like)
    assert not hasattr(sklearn_like, "given")


def test_a_maker_of_contenders_works():
    made = answers(lambda: from_sklearn(LogisticRegression(max_iter=500)))
    assert np.mean(made[SPLIT.train] == CASE.graph.labels[SPLIT.train]) > 0.8


def test_names():
    def mine():
        return Majority()

    assert as_contender(Majority).name == "Majority" == as_contender(Majority()).name
    assert as_contender(mine).name == "mine" and as_contender(mine, "best").name == "best"
    two = as_contenders([mine, mine, Majority()])
    assert [each.name for each in two] == ["mine", "mine (2)", "Majority"]
    named = as_contenders({"first": from_sklearn(LogisticRegression()), "second": mine})
    assert [each.name for each in named] == ["first", "second"]
    assert all(isinstance(each, Contender) for each in two + named)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (LogisticRegression(), "from_sklearn"),
        (7, "fit and predict"),
        ([], "no model"),
        ("slimmg", "choose one of"),
    ],
)
def test_what_is_no_model_is_refused_before_anything_runs(model, said):
    with pytest.raises(InputError, match=said):
        as_contenders(model)


def test_propagation_is_shared_by_the_splits():
    class Propagating(Majority):
        calls = 0

        def propagate(self, graph):
            Propagating.calls += 1
            return graph

        def fit(self, graph, propagated=None):
            super().fit(graph)
            self.given = propagated

        def predict(self):
            return self.given

    answer = as_contender(Propagating).begin(CASE.graph)
    assert [answer(SEEN, SPLIT.train, SPLIT.val, seed) for seed in (0, 1)] == [CASE.graph] * 2
    assert Propagating.calls == 1


def test_a_maker_of_nonsense_is_named():
    with pytest.raises(InputError, match="nonsense made an object of type dict"):
        answers(dict, name="nonsense")
