"""SlimG: the estimator's contract, its options, and what it says of wrong input."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from slimg import Graph, SlimG
from slimg.errors import InputError
from slimg.graph.splits import REAL, stratified


def make_graph(n=240, classes=3, seed=0, labels=None):
    """Homophilous graph with informative features."""
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % classes
    near = np.where(codes[:, None] == codes, 0.08, 0.01)
    upper = np.triu(rng.random((n, n)) < near, 1)
    features = rng.random((n, 12)) + 0.5 * np.eye(classes, 12)[codes]
    labels = codes if labels is None else np.asarray(labels, object)[codes]
    return Graph.from_arrays(sp.csr_matrix(upper | upper.T), features=features, labels=labels)


TRAIN, VAL, TEST = np.arange(0, 60), np.arange(60, 120), np.arange(120, 240)


@pytest.fixture(scope="module")
def graph():
    return make_graph()


@pytest.fixture(scope="module")
def model(graph):
    return SlimG().fit(graph, train=TRAIN, val=VAL)


def test_the_api(graph, model):
    assert list(model.coef_) == ["U", "X", "A_row^2 X", "A_sym^2 X"]
    assert all(weights.shape[1] == 3 and weights.shape[0] <= model.rank_ for weights in model.coef_.values())
    assert model.dual_gap_ <= 1e-4 and abs(model.intercept_.sum()) < 1e-4
    assert model.predict().shape == (240,) and model.predict_proba().shape == (240, 3)
    np.testing.assert_allclose(model.predict_proba().sum(axis=1), 1)
    keys = {"l1", "group", "val_accuracy", "dual_gap", "zero_components", "seconds"}
    assert all(keys <= set(record) for record in model.selection_)
    top = max(record["val_accuracy"] for record in model.selection_)
    chosen = [r for r in model.selection_ if (r["l1"], r["group"], r["joint"]) == (model.l1_, model.group_, model.joint_)]
    assert len(chosen) == 1 and chosen[0]["val_accuracy"] == top
    assert (model.predict() == graph.labels)[TEST].mean() > 0.8


def test_scores_are_the_sum_of_components(graph, model):
    rows = model.components_.labelled_rows(np.arange(graph.n))
    scores = rows @ np.vstack(list(model.coef_.values())) + model.intercept_
    np.testing.assert_allclose(model.decision_function(), scores, atol=1e-3)


def test_labels_of_other_rows_are_not_read(graph, model):
    wrong = graph.labels.copy()
    wrong[TEST] = np.random.default_rng(1).permutation(wrong[TEST])
    again = SlimG().fit(graph.with_labels(wrong), train=TRAIN, val=VAL)
    assert all((again.coef_[name] == model.coef_[name]).all() for name in model.coef_)


@pytest.mark.parametrize("labels", [["ash", "elm", "oak"], [10, 20, 30], [True, False]])
def test_labels_come_back_in_their_own_type(labels):
    graph = make_graph(classes=len(labels), labels=labels)
    found = SlimG(grid=[(1e-4, 1e-2)]).fit(graph, train=TRAIN, val=VAL).predict()
    assert set(found.tolist()) <= set(labels) and type(found.tolist()[0]) is type(labels[0])


def test_folds_choose_without_validation_rows(graph):
    known = graph.keeping_labels(np.arange(120))
    model = SlimG().fit(known)
    assert (model.predict() == graph.labels)[TEST].mean() > 0.8
    assert (SlimG().fit(known).decision_function() == model.decision_function()).all()


@pytest.mark.parametrize(
    "options",
    [
        {"components": ["U"]}, {"components": ["X", "row"]}, {"pca": False}, {"k_row": {2, 4}, "k_sym": {2, 3}},
        {"grid": "paper"}, {"grid": [(0.0, 1e-2)]}, {"early_stopping": 1}, {"sparsity": False}, {"class_weight": "balanced"},
        {"max_rank": 3}, {"normalize_features": None},
    ],
)  # fmt: skip
def test_options(graph, options):
    model = clone(SlimG(**options)).fit(graph, train=TRAIN, val=VAL)
    assert (model.predict() == graph.labels)[TEST].mean() > 0.45
    if options.get("sparsity", True):
        assert model.dual_gap_ <= 1e-4
    if "k_row" in options:
        assert list(model.coef_)[2:] == ["A_row^2 X", "A_row^4 X", "A_sym^2 X", "A_sym^3 X"]


def test_early_stopping_leaves_pairs_out(graph, model):
    assert len(SlimG(early_stopping=1).fit(graph, train=TRAIN, val=VAL).selection_) < len(model.selection_)


def test_propagated_components_are_used(graph, model):
    again = SlimG().fit(graph, train=TRAIN, val=VAL, propagated=model.components_)
    assert (again.predict_proba() == model.predict_proba()).all()


def test_structure_alone_and_features_alone(graph):
    bare = Graph.from_arrays(graph.adjacency, labels=graph.labels)
    model = SlimG().fit(bare, train=TRAIN, val=VAL)
    assert list(model.coef_) == ["U"] and any("structure alone" in note for note in model.notes_)
    loose = Graph.from_arrays(sp.csr_matrix((240, 240)), features=graph.features, labels=graph.labels)
    model = SlimG().fit(loose, train=TRAIN, val=VAL)
    assert list(model.coef_) == ["X"] and any("features alone" in note for note in model.notes_)


def test_balanced_weights_find_the_minority():
    rng = np.random.default_rng(0)
    codes = (np.arange(400) % 20 == 0).astype(int)
    features = rng.random((400, 6)) + 0.35 * codes[:, None] * np.array([1, 1, 0, 0, 0, 0])
    graph = Graph.from_arrays(sp.csr_matrix((400, 400)), features=features, labels=codes)
    recall = {}
    for weight in (None, "balanced"):
        model = SlimG(class_weight=weight, grid=[(0.0, 1e-2)])
        found = model.fit(graph, train=np.arange(200), val=np.arange(200, 300)).predict()
        recall[weight] = found[300:][codes[300:] == 1].mean()
    assert recall["balanced"] > recall[None]


def test_cora(load_real):
    graph = load_real("cora")
    split = stratified(graph, REAL, 0)
    model = SlimG(grid=[(1e-4, 1e-3)]).fit(graph, train=split.train, val=split.val)
    assert model.rank_ == 1052 and model.zero_components_ == ("U", "X")
    assert (model.predict() == graph.labels)[split.test].mean() > 0.77
    assert model.component_weights()["U"] == 0.0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cv": 1}, "cv"), ({"engine": "gpu"}, "engine"), ({"early_stopping": 0}, "early_stopping"), ({"tol": -1}, "tol"),
        ({"max_iter": 0}, "max_iter"), ({"max_rank": 0}, "max_rank"), ({"grid": "all"}, "grid"),
        ({"components": ["Z"]}, "Z"),
        ({"k_row": 0}, "k_row"), ({"energy": 0}, "energy"), ({"normalize_features": "l2"}, "l2"),
        ({"class_weight": {9: 1.0}}, "class_weight"),
    ],
)  # fmt: skip
def test_wrong_options(graph, options, words):
    with pytest.raises(InputError, match=words):
        SlimG(**options).fit(graph, train=TRAIN, val=VAL)


def test_wrong_rows_and_labels(graph):
    with pytest.raises(InputError, match="overlap"):
        SlimG().fit(graph, train=TRAIN, val=TRAIN[:9])
    with pytest.raises(InputError, match="no labels"):
        SlimG().fit(Graph.from_arrays(graph.adjacency, features=graph.features))
    with pytest.raises(InputError, match="two classes"):
        SlimG().fit(graph.keeping_labels(np.arange(0, 60, 3)))
    with pytest.raises(InputError, match=r"slimg\.Graph"):
        SlimG().fit(np.zeros((3, 3)))
    with pytest.raises(InputError, match="labels belong to the graph"):
        SlimG().fit(graph, graph.labels)
    with pytest.raises(NotFittedError):
        SlimG().predict()
