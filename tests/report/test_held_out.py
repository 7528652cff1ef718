"""Labels that are judged by have not been seen."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from slimg import Graph, SlimG
from slimg.errors import InputError
from slimg.report.held_out import held_out


def test_random_labels_stay_at_chance():
    rng = np.random.default_rng(0)
    x = rng.random((200, 60)).astype(np.float32)
    graph = Graph.from_arrays(None, x, rng.integers(0, 2, 200))
    model = SlimG(grid=[(0.0, 1e-4)]).fit(graph)
    assert (model.predict() == graph.labels).mean() > 0.75, "seen labels are learned by heart"
    rows, chances = held_out(model)
    assert np.array_equal(rows, graph.labelled)
    assert np.allclose(chances.sum(axis=1), 1, atol=1e-5)
    right = (chances.argmax(axis=1) == graph.codes[rows]).mean()
    assert abs(right - 0.5) < 0.15


def three_classes():
    rng = np.random.default_rng(1)
    y = np.arange(60) % 3
    return Graph.from_arrays(None, (np.eye(3)[y] + 0.7 * rng.random((60, 3))).astype(np.float32), y)


@pytest.mark.parametrize("how", [{"grid": [(0.0, 1e-2)]}, {"grid": [(0.0, 1e-1), (0.0, 1e-2), (1e-3, 1e-3)]}])
def test_each_fold_is_the_prediction_of_a_fit_without_it(how):
    graph = three_classes()
    model = SlimG(cv=3, **how).fit(graph)
    rows, chances = held_out(model)
    pair = [(model.l1_, model.group_)]
    for fit, check in StratifiedKFold(3, shuffle=True, random_state=0).split(rows, graph.codes):
        alone = SlimG(grid=pair).fit(graph, train=rows[fit], val=rows[check], propagated=model.components_)
        assert np.allclose(chances[check], alone.predict_proba()[check], atol=1e-2), "equal up to the gap: starts differ"


def test_without_penalties_too():
    graph = three_classes()
    model = SlimG(sparsity=False, cv=3).fit(graph)
    rows, chances = held_out(model)
    accuracy = (chances.argmax(axis=1) == graph.codes[rows]).mean()
    assert accuracy == pytest.approx(model.selection_[0]["val_accuracy"])


def test_validation_rows_hold_out_nothing():
    graph = three_classes()
    model = SlimG(grid=[(0.0, 1e-2)]).fit(graph, train=np.arange(40), val=np.arange(40, 60))
    with pytest.raises(InputError, match="fit without val"):
        held_out(model)
