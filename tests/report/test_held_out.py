"""Labels that are judged by have not been seen."""

import numpy as np

from slimg import Graph, SlimG
from slimg.report.held_out import held_out


def test_random_labels_stay_at_chance():
    rng = np.random.default_rng(0)
    x = rng.random((200, 60)).astype(np.float32)
    graph = Graph.from_arrays(None, x, rng.integers(0, 2, 200))
    model = SlimG(grid=[(0.0, 1e-4)]).fit(graph)
    assert (model.predict() == graph.labels).mean() > 0.75, "seen labels are learned by heart"
    rows, chances = held_out(model, graph)
    assert np.array_equal(rows, graph.labelled)
    assert np.allclose(chances.sum(axis=1), 1, atol=1e-5)
    right = (chances.argmax(axis=1) == graph.codes[rows]).mean()
    assert abs(right - 0.5) < 0.15


def test_each_fold_is_the_prediction_of_a_fit_without_it():
    rng = np.random.default_rng(1)
    y = np.arange(60) % 3
    x = (np.eye(3)[y] + 0.7 * rng.random((60, 3))).astype(np.float32)
    graph = Graph.from_arrays(None, x, y)
    model = SlimG(grid=[(0.0, 1e-2)], cv=3).fit(graph)
    rows, chances = held_out(model, graph)
    from sklearn.model_selection import StratifiedKFold

    fit, check = next(iter(StratifiedKFold(3, shuffle=True, random_state=0).split(rows, y)))
    alone = SlimG(grid=[(0.0, 1e-2)]).fit(graph, train=rows[fit], val=rows[check], propagated=model.components_)
    assert np.allclose(chances[check], alone.predict_proba()[check], atol=1e-6)
