"""GLR, the GraphAny basis and boosted trees against their formulas in dense float64, and where the answer is known."""

import sys

import numpy as np
import pytest
from baseline_graphs import communities, dense, graph_with_isolated
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from sklearn.ensemble import HistGradientBoostingClassifier

from slimg import Graph
from slimg.errors import InputError, MissingExtra
from slimg.graph import splits
from slimg.lab import baselines
from slimg.lab.baselines.classical import BASIS, BoostedTrees, GraphAnyBasis, GraphLogisticRegression

TRAIN, VAL = np.arange(9), np.arange(9, 12)
MODELS = {"glr": GraphLogisticRegression, "graphany": GraphAnyBasis, "trees": BoostedTrees}
SMALL = {"trees": {"min_samples_leaf": 1, "iterations": 5}}


def unit(matrix):
    length = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.divide(matrix, length, out=np.zeros_like(matrix), where=length > 0)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("with_x", [True, False], ids=["A and X", "A alone"])
def test_glr_is_the_minimum_of_its_objective(with_x, weighted):
    graph = graph_with_isolated(weighted=weighted)
    m, codes, C = dense(graph), np.arange(graph.n) % 3, 2.0
    given = graph if with_x else Graph(graph.adjacency, None, graph.labels)
    model = GraphLogisticRegression(C=C).fit(given, train=TRAIN, val=VAL)
    parts = [m["A"], m["X"]] if with_x else [m["A"]]
    table = np.hstack([unit(part) if model.setting_["unit"] else part for part in parts])
    x = np.hstack([table, np.ones((graph.n, 1))])

    def objective(flat):
        w = flat.reshape(x.shape[1], 3)
        scores = x[TRAIN] @ w
        return C * (logsumexp(scores, axis=1) - scores[TRAIN, codes[TRAIN]]).sum() + 0.5 * (w[:-1] ** 2).sum()

    best = minimize(objective, np.zeros(3 * x.shape[1]), options={"gtol": 1e-8, "maxiter": 3000}).x.reshape(-1, 3)
    np.testing.assert_allclose(model.predict_proba(), softmax(x @ best, axis=1), atol=2e-3)
    assert [each["unit"] for each in model.selection_] == [False, True]


def regressions(graph, train):
    """F_j W_j by the pseudo-inverse of matrices that are formed whole."""
    m, codes = dense(graph), np.arange(graph.n) % 3
    a, x, i = m["A_row"], m["X"], np.eye(graph.n)
    features = [x, a @ x, a @ a @ x, (i - a) @ x, (i - a) @ (i - a) @ x]
    return [f @ np.linalg.pinv(f[train], rcond=1e-12) @ np.eye(3)[codes[train]] for f in features]


@pytest.mark.parametrize("sparse_features", [True, False], ids=["sparse X", "dense X"])
def test_graphany_is_the_weighted_sum_of_pseudo_inverses(sparse_features):
    graph = graph_with_isolated(sparse_features=sparse_features)
    model = GraphAnyBasis().fit(graph, train=TRAIN, val=VAL)
    weights = [model.setting_[name] for name in BASIS]
    expected = sum(w * each for w, each in zip(weights, regressions(graph, TRAIN), strict=True))
    np.testing.assert_allclose(model.scores_, expected, atol=2e-3 * np.abs(expected).max())


def test_graphany_weighs_by_quarters_and_takes_the_best_on_validation():
    settings = GraphAnyBasis().settings()
    table = np.array([list(each.values()) for each in settings])
    assert table.shape == (70, 5) and len(np.unique(table, axis=0)) == 70
    np.testing.assert_array_equal(table.sum(axis=1), 1)
    assert set(np.unique(table)) == {0, 0.25, 0.5, 0.75, 1}
    graph = graph_with_isolated()
    model, answers = GraphAnyBasis().fit(graph, train=TRAIN, val=VAL), regressions(graph, TRAIN)
    right = [np.mean(sum(w * each for w, each in zip(row, answers, strict=True))[VAL].argmax(1) == VAL % 3) for row in table]
    assert max(each["val_accuracy"] for each in model.selection_) == pytest.approx(max(right))


def test_without_edges_graphany_is_least_squares_on_x():
    """A_row is zero: three of the five are X, the others answer nothing."""
    graph = graph_with_isolated()
    bare = Graph.from_arrays(None, graph.features, graph.labels)
    model, x = GraphAnyBasis().fit(bare, train=TRAIN, val=VAL), dense(graph)["X"]
    answer = x @ np.linalg.pinv(x[TRAIN]) @ np.eye(3)[TRAIN % 3]
    share = 1 - model.setting_["A X"] - model.setting_["A^2 X"]
    np.testing.assert_allclose(model.scores_, share * answer, atol=1e-4)


def test_trees_are_those_of_scikit_learn_on_the_whole_table():
    graph = communities()
    split = splits.stratified(graph, (0.3, 0.2, 0.5))
    model = BoostedTrees(min_samples_leaf=5, iterations=10).fit(graph, train=split.train, val=split.val)
    m = dense(graph)
    x, means = m["X"].astype(np.float32), m["A_row"] @ m["X"].astype(np.float32)
    table = np.hstack([x, means])
    expected = HistGradientBoostingClassifier(max_iter=10, min_samples_leaf=5, early_stopping=False, random_state=0)
    truth = expected.fit(table[split.train], graph.labels[split.train]).predict_proba(table)
    assert np.mean(np.abs(model.predict_proba() - truth).max(axis=1) < 1e-3) > 0.98  # rounding may cross a threshold
    assert np.mean(model.predict()[split.test] == graph.labels[split.test]) > 0.8


def test_a_threshold_is_found_by_trees_and_not_by_a_line():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (300, 1))
    graph = Graph.from_arrays(None, x, (np.abs(x[:, 0]) < 0.5).astype(int))
    split = splits.stratified(graph, (0.4, 0.2, 0.4))

    def accuracy(name):
        model = baselines.get(name, normalize_features=None).fit(graph, train=split.train, val=split.val)
        return np.mean(model.predict()[split.test] == graph.labels[split.test])

    assert accuracy("trees") > 0.95 and accuracy("glr") < 0.7


def test_constant_columns_change_no_tree():
    graph = communities()
    wide = Graph(graph.adjacency, np.hstack([graph.features, np.zeros((graph.n, 30))]), graph.labels)
    rows = {"train": np.arange(60), "val": np.arange(60, 100)}
    first, second = (BoostedTrees(iterations=5).fit(each, **rows) for each in (graph, wide))
    np.testing.assert_array_equal(first.scores_, second.scores_)


def test_lightgbm_grows_trees_too_or_is_named(monkeypatch):
    graph, rows = communities(), {"train": np.arange(60), "val": np.arange(60, 100)}
    model = BoostedTrees(library="lightgbm", iterations=20, min_samples_leaf=5)
    try:
        import lightgbm  # noqa: F401
    except ImportError:
        pass
    else:
        assert np.mean(model.fit(graph, **rows).predict()[100:] == graph.labels[100:]) > 0.8
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(MissingExtra, match=r"lightgbm.*slimg\[compare\]"):
        model.fit(graph, **rows)


@pytest.mark.parametrize("name", MODELS)
def test_seeds_and_threads_repeat_and_other_labels_play_no_part(name):
    graph = graph_with_isolated()
    hidden = graph.mask_labels(np.concatenate([TRAIN, VAL]))
    first, again = (MODELS[name](**SMALL.get(name, {})).fit(each, train=TRAIN, val=VAL) for each in (graph, hidden))
    np.testing.assert_array_equal(first.scores_, again.scores_)
    folds = MODELS[name](**SMALL.get(name, {}), cv=3).fit(graph, train=np.arange(12))
    assert np.isfinite(folds.scores_).all() and 0 <= folds.selection_[0]["val_accuracy"] <= 1


@pytest.mark.parametrize(
    ("name", "params", "said"),
    [
        ("glr", {"C": 0}, r"C must be a number above 0, or several of them, not 0"),
        ("trees", {"min_samples_leaf": 0.5}, r"min_samples_leaf must be a whole number of at least 1"),
        ("trees", {"learning_rate": -1}, r"learning_rate must be a number above 0"),
        ("trees", {"library": "xgboost"}, r"unknown library 'xgboost': choose one of lightgbm, scikit-learn"),
        ("graphany", {"normalize_features": "unit"}, r"unknown normalize_features 'unit'"),
    ],
)
def test_what_cannot_be_used_is_named(name, params, said):
    with pytest.raises(InputError, match=said):
        baselines.get(name, **params).fit(graph_with_isolated())


@pytest.mark.parametrize("name", ["graphany", "trees"])
def test_features_are_needed(name):
    graph = graph_with_isolated()
    with pytest.raises(InputError, match=f"{name} needs features, but the graph has none"):
        baselines.get(name).fit(Graph(graph.adjacency, None, graph.labels))
