"""Model adapters: every kind of model is run as it is meant, and what is no model is refused."""

import numpy as np
import pytest
from sanity_reports import Majority
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression

from slimg import SlimG
from slimg.components import paper_components
from slimg.errors import InputError
from slimg.lab import baselines
from slimg.lab.baselines import LINEAR
from slimg.lab.baselines.linear_gnn import LinearGNN
from slimg.lab.sanity import check, from_sklearn, make, scaled
from slimg.lab.sanity.runner import ModelAdapter, as_adapter, as_adapters

CASE = make("semantic", "uniform", **scaled(120))
SPLIT = CASE.split(0)
SEEN = CASE.graph.mask_labels(np.concatenate([SPLIT.train, SPLIT.val]))


def run(model, seed=3, name=None):
    return as_adapter(model, name).prepare(CASE.graph)(SEEN, SPLIT.train, SPLIT.val, seed)


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
    (train, val, graph, seed), at_predict = run(Recorder())
    assert train is SPLIT.train and val is SPLIT.val and graph is SEEN and at_predict is SEEN and seed == 3
    assert run(WithKeywords) == ["train", "val"]


def test_a_seed_that_is_set_stays():
    assert run(Recorder(random_state=11))[0][3] == 11
    assert run(Recorder)[0][3] == 3
    assert run(lambda: Recorder(random_state=5))[0][3] == 5


def test_objects_are_copied_and_stay_unfitted():
    plain, sklearn_like = Majority(), Recorder(bias=2)
    assert len(run(plain)) == 120 and not hasattr(plain, "answer")
    run(sklearn_like)
    assert not hasattr(sklearn_like, "given")


def test_a_function_that_makes_an_adapter_works():
    made = run(lambda: from_sklearn(LogisticRegression(max_iter=500)))
    assert np.mean(made[SPLIT.train] == CASE.graph.labels[SPLIT.train]) > 0.8


def test_names():
    def mine():
        return Majority()

    assert as_adapter(Majority).name == "Majority" == as_adapter(Majority()).name
    assert as_adapter(mine).name == "mine" and as_adapter(mine, "best").name == "best"
    two = as_adapters([mine, mine, Majority()])
    assert [each.name for each in two] == ["mine", "mine (2)", "Majority"]
    named = as_adapters({"first": from_sklearn(LogisticRegression()), "second": mine})
    assert [each.name for each in named] == ["first", "second"]
    assert all(isinstance(each, ModelAdapter) for each in two + named)


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
        as_adapters(model)


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

    predict = as_adapter(Propagating).prepare(CASE.graph)
    assert [predict(SEEN, SPLIT.train, SPLIT.val, seed) for seed in (0, 1)] == [CASE.graph] * 2
    assert Propagating.calls == 1


def test_a_maker_of_nonsense_is_named():
    with pytest.raises(InputError, match="nonsense made an object of type dict"):
        run(dict, name="nonsense")


def test_sklearn_is_the_classifier_on_the_training_rows():
    model = LogisticRegression(max_iter=500)
    expected = model.fit(CASE.graph.features[SPLIT.train], CASE.graph.labels[SPLIT.train]).predict(CASE.graph.features)
    assert np.array_equal(run(from_sklearn(LogisticRegression(max_iter=500))), expected)


DRAWN = make("semantic", "homophily", **scaled(360))


def expected(estimator, seed):
    split = DRAWN.split(seed)
    seen = DRAWN.graph.mask_labels(np.concatenate([split.train, split.val]))
    predicted = estimator.fit(seen, train=split.train, val=split.val).predict()
    return np.mean(predicted[split.test] == DRAWN.graph.labels[split.test])


@pytest.mark.parametrize(
    ("name", "estimator"),
    [
        ("slimg", SlimG(components=list(paper_components(normalize=None)))),
        ("s2gc", LinearGNN("s2gc", normalize_features=None)),
        ("linear-gcn", LinearGNN("gcn", normalize_features=None)),
    ],
)
def test_accuracy_is_that_of_the_estimator_fitted_alone(name, estimator):
    found = check(name, [DRAWN], seeds=2).cell(name, DRAWN.name)
    assert found.error is None
    assert found.accuracies == tuple(expected(estimator, seed) for seed in (0, 1))


def test_every_linear_model_of_the_paper_predicted():
    report = check(LINEAR, [make("semantic", "homophily", **scaled(240))], seeds=1)
    assert report.models == LINEAR and not any(cell.error for cell in report.cells.values())
    assert report.cell("sgc", "semantic-homophily").mean > 0.6


def test_names_lead_to_models_and_others_are_answered_with_the_choices():
    assert all(as_adapter(name).name == name for name in baselines.names(quick=True))
    with pytest.raises(InputError, match="linear-gcn"):
        as_adapter("gnc")
