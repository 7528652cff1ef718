"""Models by name: each runs, and the propagation shared by the splits changes nothing."""

import numpy as np
import pytest

from slimg import SlimG
from slimg.errors import InputError
from slimg.lab.linear_gnn import LinearGNN
from slimg.lab.sanity import check, make, models, scaled

CASE = make("semantic", "homophily", **scaled(360))


def expected(estimator, seed):
    split = CASE.split(seed)
    seen = CASE.graph.mask_labels(np.concatenate([split.train, split.val]))
    answers = estimator.fit(seen, train=split.train, val=split.val).predict()
    return np.mean(answers[split.test] == CASE.graph.labels[split.test])


@pytest.mark.parametrize(
    ("name", "estimator"),
    [
        ("slimg", SlimG(normalize_features=None)),
        ("s2gc", LinearGNN("s2gc", normalize_features=None)),
        ("linear-gcn", LinearGNN("gcn", normalize_features=None)),
    ],
)
def test_accuracy_is_that_of_the_estimator_fitted_alone(name, estimator):
    found = check(name, [CASE], seeds=2).cell(name, CASE.name)
    assert found.error is None
    assert found.accuracies == tuple(expected(estimator, seed) for seed in (0, 1))


def test_every_linear_model_of_the_paper_answers():
    report = check(models.LINEAR, [make("semantic", "homophily", **scaled(240))], seeds=1)
    assert report.models == models.LINEAR and not any(cell.error for cell in report.cells.values())
    assert report.cell("sgc", "semantic-homophily").mean > 0.6


def test_names_lead_to_models_and_others_are_answered_with_the_choices():
    assert all(models.get(name).name == name for name in models.names())
    with pytest.raises(InputError, match="linear-gcn"):
        models.get("gnc")
