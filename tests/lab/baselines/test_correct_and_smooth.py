"""Correct & Smooth against its formula in dense float64, and on base models."""

import numpy as np
import pytest
from baseline_graphs import communities, dense, graph_with_isolated

from slimg import LinearGNN
from slimg.errors import InputError
from slimg.graph import splits
from slimg.lab.baselines.correct_and_smooth import CorrectAndSmooth


def expected(graph, base, codes, train, correct, smooth):
    s, n = dense(graph)["A_sym"], graph.n
    labels = np.zeros_like(base)
    labels[train, codes[train]] = 1
    errors = np.zeros_like(base)
    errors[train] = labels[train] - base[train]
    spread = (1 - correct) * np.linalg.solve(np.eye(n) - correct * s, errors)
    fixed = base.copy()
    for node in range(n):
        length = np.abs(spread[node]).sum()
        if length > 1e-9:
            fixed[node] += np.abs(errors[train]).sum(axis=1).mean() * spread[node] / length
    fixed[train] = labels[train]
    found = np.maximum((1 - smooth) * np.linalg.solve(np.eye(n) - smooth * s, fixed), 0)
    return found / found.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(("correct", "smooth"), [(0.5, 0.8), (0.9, 0.0)])
def test_probabilities_are_those_of_the_formula(correct, smooth):
    graph, train, val = graph_with_isolated(), np.arange(6), np.arange(6, 9)
    base = LinearGNN("lr", wd=5e-4).fit(graph, train=train, val=val).predict_proba().astype(float)
    options = {"base_params": {"wd": 5e-4}, "correct": correct, "smooth": smooth}
    model = CorrectAndSmooth("lr", **options).fit(graph, train=train, val=val)
    truth = expected(graph, base, np.arange(graph.n) % 3, train, correct, smooth)
    np.testing.assert_allclose(model.predict_proba(), truth, atol=2e-3)
    given = CorrectAndSmooth(LinearGNN("lr", wd=5e-4), correct=correct, smooth=smooth).fit(graph, train=train, val=val)
    np.testing.assert_array_equal(given.scores_, model.scores_)


def test_it_improves_a_model_that_knows_features_alone():
    graph = communities()
    split = splits.stratified(graph, (0.2, 0.2, 0.6))

    def accuracy(model):
        return np.mean(model.fit(graph, train=split.train, val=split.val).predict()[split.test] == graph.labels[split.test])

    assert accuracy(CorrectAndSmooth("lr")) > accuracy(LinearGNN("lr")) + 0.05
    assert len(CorrectAndSmooth("lr").settings()) == 9


def test_folds_learn_the_base_from_their_own_rows():
    graph = communities()
    model = CorrectAndSmooth("lr", correct=0.5, smooth=[0.5, 0.9], cv=3).fit(graph, train=np.arange(40))
    assert len(model.selection_) == 2 and all(each["val_accuracy"] < 1 for each in model.selection_)


def test_what_cannot_be_used_is_named():
    graph = communities(40)
    with pytest.raises(InputError, match="unknown model 'no-such': choose one of"):
        CorrectAndSmooth("no-such").fit(graph)
    with pytest.raises(InputError, match="lr has no parameter 'depth': choose one of"):
        CorrectAndSmooth("lr", base_params={"depth": 2}).fit(graph)
    with pytest.raises(InputError, match="base_params are for a base given by name"):
        CorrectAndSmooth(LinearGNN("lr"), base_params={"wd": 0.0}).fit(graph)
    with pytest.raises(InputError, match="smooth must be a share from 0 to below 1"):
        CorrectAndSmooth(smooth=1.5).fit(graph)
