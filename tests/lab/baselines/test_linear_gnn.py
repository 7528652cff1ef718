"""LinearGNN: protocol, selection, scikit-learn's conventions."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from slimg.components.estimate import choose_engine
from slimg.engine import MemoryEngine
from slimg.engine.mapped import MappedEngine
from slimg.errors import InputError
from slimg.graph import Graph
from slimg.graph.splits import REAL, stratified
from slimg.lab.baselines.linear_gnn import LinearGNN
from slimg.lab.propagators import get, names, register, registry
from slimg.lab.propagators.expressions import A_row, identity
from slimg.learn.early_stopping import fit_stopped


def community_graph(n=200, d=12, seed=0, classes=("red", "green", "blue")):
    """Classes that edges and features both tell, up to noise."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % len(classes)
    a = np.triu(rng.random((n, n)) < np.where(y[:, None] == y, 0.08, 0.01), 1)
    x = rng.random((n, d)) + 0.6 * (np.arange(d) % len(classes) == y[:, None])
    return Graph.from_arrays(sp.csr_matrix(a + a.T), x, np.array(classes)[y])


GRAPH = community_graph()
SPLIT = stratified(GRAPH, (0.3, 0.3, 0.4), 0)


def fitted(*arguments, graph=GRAPH, **options):
    return LinearGNN(*arguments, **options).fit(graph, train=SPLIT.train, val=SPLIT.val)


@pytest.mark.parametrize("name", names())
def test_every_propagator_is_a_classifier(name):
    quick = {"gcnii": {"K": 2}, "dgc": {"T": 5}, "g2cn": {"T": 10}}
    model = fitted(name, **quick.get(name, {}))
    assert model.predict().shape == (GRAPH.n,) and set(model.predict()) <= set(GRAPH.classes)
    assert list(model.classes_) == ["blue", "green", "red"]
    np.testing.assert_allclose(model.predict_proba().sum(1), 1, atol=1e-9)
    accuracy = np.mean((model.predict() == GRAPH.labels)[SPLIT.test])
    assert accuracy > (0.4 if name in ("gat", "dagnn") else 0.7)


def test_it_is_the_propagator_with_early_stopping():
    model = fitted("sgc", weight_decay=0.0)
    p = get("sgc")(GRAPH).blocks["Ã_sym^2 X"]
    direct = fit_stopped(p[SPLIT.train], GRAPH.codes[SPLIT.train], 3, 0.0, (p[SPLIT.val], GRAPH.codes[SPLIT.val]))
    np.testing.assert_array_equal(model.coef_["Ã_sym^2 X"], direct.weights)
    assert model.selection_[0]["epoch"] == direct.epoch
    np.testing.assert_allclose(model.decision_function(), p @ direct.weights + direct.intercept, atol=1e-5)


def test_with_time_enough_it_is_scikit_learns_optimum():
    wd = 1e-2
    model = LinearGNN("lr", weight_decay=wd, normalize_features=None, patience=1000, epochs=1000)
    model.fit(GRAPH, train=SPLIT.train, val=SPLIT.val)
    x = np.hstack([GRAPH.features, np.ones((GRAPH.n, 1))])
    theirs = LogisticRegression(C=1 / (wd * len(SPLIT.train)), fit_intercept=False, tol=1e-10, max_iter=10_000)
    theirs.fit(x[SPLIT.train], GRAPH.labels[SPLIT.train])
    agree = np.mean(model.predict() == theirs.predict(x))
    assert agree > 0.95


def test_the_papers_grid_is_searched_where_nothing_is_fixed():
    open_settings = [(each.K, each.T) for each in LinearGNN("dgc").propagators()]
    assert open_settings == [(200, 3), (200, 4), (200, 5), (200, 6)]
    assert [(each.K, each.T) for each in LinearGNN("dgc", K=200, T=5).propagators()] == [(200, 5)]
    assert len(LinearGNN("gcnii").settings()) == 24 and len(LinearGNN("gcnii", K=8).settings()) == 6
    model = fitted("s2gc")
    assert len(model.selection_) == 5 * 2
    assert {(r["alpha"], r["weight_decay"]) for r in model.selection_} == {
        (alpha, wd) for alpha in (0.01, 0.03, 0.05, 0.07, 0.09) for wd in (0.0, 5e-4)
    }


def test_the_best_on_validation_is_chosen_and_ties_go_to_the_lower_loss():
    model = fitted("s2gc")
    best = max(model.selection_, key=lambda r: (r["val_accuracy"], -r["val_loss"]))
    assert (model.propagator_.alpha, model.weight_decay_) == (best["alpha"], best["weight_decay"])
    assert np.mean((model.predict() == GRAPH.labels)[SPLIT.val]) == pytest.approx(best["val_accuracy"], abs=0.02)


def test_propagations_can_be_shared_between_splits():
    model = LinearGNN("dgc", K=20)
    shared = model.propagate(GRAPH)
    for seed in (0, 1):
        split = stratified(GRAPH, (0.3, 0.3, 0.4), seed)
        once = clone(model).fit(GRAPH, train=split.train, val=split.val)
        again = clone(model).fit(GRAPH, train=split.train, val=split.val, propagated=shared)
        assert np.array_equal(once.predict(), again.predict())
        assert once.propagator_ == again.propagator_


def test_propagations_of_other_hyperparameters_are_refused():
    shared = LinearGNN("sgc", K=2).propagate(GRAPH)
    with pytest.raises(InputError, match=r"propagated is of other hyperparameters than {'K': 3}"):
        LinearGNN("sgc", K=3).fit(GRAPH, train=SPLIT.train, val=SPLIT.val, propagated=shared)


def test_only_the_labels_of_the_given_rows_are_read():
    known = np.concatenate([SPLIT.train, SPLIT.val])
    hidden = GRAPH.mask_labels(known)
    assert np.array_equal(fitted("sgc").predict(), fitted("sgc", graph=hidden).predict())


def test_without_validation_rows_folds_choose_and_all_labels_are_learned_from():
    model = LinearGNN("s2gc", cv=3).fit(GRAPH, train=SPLIT.train)
    assert len(model.selection_) == 10
    best = max(model.selection_, key=lambda r: (r["val_accuracy"], -r["val_loss"]))
    p = model.components_.labelled_rows(SPLIT.train)
    refit = fit_stopped(p, GRAPH.codes[SPLIT.train], 3, model.weight_decay_, epochs=best["epoch"])
    np.testing.assert_allclose(model.coef_["P"], refit.weights, atol=1e-5 * np.abs(refit.weights).max())
    assert np.mean((model.predict() == GRAPH.labels)[SPLIT.test]) > 0.7


def test_classes_without_training_rows_are_not_predicted():
    rows = SPLIT.train[GRAPH.labels[SPLIT.train] != "red"]
    model = LinearGNN("sgc").fit(GRAPH, train=rows, val=SPLIT.val)
    assert list(model.classes_) == ["blue", "green"]
    assert model.selection_[0]["val_accuracy"] <= np.mean(GRAPH.labels[SPLIT.val] != "red")


def test_scikit_learn_conventions():
    model = LinearGNN("dgc", K=50, T=5, weight_decay=0.0, random_state=3)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert copy.get_params()["T"] == 5 and copy.get_params()["propagator"] == "dgc"
    copy.set_params(T=3, patience=2)
    assert (copy.hyperparameters["T"], copy.patience, model.hyperparameters["T"]) == (3, 2, 5)
    assert repr(copy).startswith("LinearGNN(") and "T=3" in repr(copy)
    assert vars(model).keys() == {*model.get_params().keys() - {"K", "T"}, "hyperparameters"}


def test_a_propagator_object_and_one_of_the_users_own(monkeypatch):
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._registry()))
    register("lazy")(lambda K=2, alpha=0.5: (alpha * identity + (1 - alpha) * A_row) ** K)
    by_name, by_object = fitted("lazy", alpha=0.3), fitted(get("lazy", alpha=0.3))
    assert np.array_equal(by_name.predict(), by_object.predict())


def test_threads_do_not_change_a_bit():
    one, two = (fitted("s2gc", engine=MemoryEngine(threads=threads)) for threads in (1, 2))
    assert np.array_equal(one.decision_function(), two.decision_function())


def test_an_engine_by_name_is_the_same_to_the_bit(monkeypatch):
    expected = fitted("s2gc").decision_function()
    made = []
    monkeypatch.setattr("slimg.lab.baselines.linear_gnn.choose_engine", lambda *a: made.append(choose_engine(*a)) or made[-1])
    model = fitted("s2gc", engine="mapped", memory="8GB")
    assert isinstance(model.components_.engine, MappedEngine) and len(made) == 1
    assert np.array_equal(model.decision_function(), expected)
    with pytest.raises(InputError, match="memory must be a size"):
        fitted("s2gc", engine="mapped", memory="much")


def test_notes_tell_of_random_attention():
    assert any("weight vectors w were not given" in note for note in fitted("gat").notes_)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"propagator": "gnc"}, "unknown propagator 'gnc': choose one of"),
        ({"propagator": "sgc", "T": 3}, "unknown hyperparameter of sgc 'T': choose one of K"),
        ({"propagator": "sgc", "K": -2}, "sgc: K must be a whole number of at least 0, not -2"),
        ({"propagator": get("sgc"), "K": 3}, "sgc is given with its hyperparameters: K cannot be set again"),
        ({"weight_decay": -1.0}, "weight_decay must be None, a number of at least 0, or several of them, not -1.0"),
        ({"weight_decay": ()}, "weight_decay must be None"),
        ({"cv": 1}, "cv must be a whole number of at least 2, not 1"),
        ({"epochs": 0}, "epochs must be a whole number of at least 1, not 0"),
        ({"engine": "gpu"}, "unknown engine 'gpu'"),
    ],
)
def test_wrong_parameters_are_told_by_fit(options, said):
    with pytest.raises(InputError, match=said):
        LinearGNN(**options).fit(GRAPH)


def test_wrong_input_of_fit():
    with pytest.raises(InputError, match=r"slimg\.Graph.*ndarray"):
        LinearGNN().fit(np.eye(3))
    with pytest.raises(InputError, match="labels belong to the graph"):
        LinearGNN().fit(GRAPH, GRAPH.labels)


def test_on_cora_the_models_keep_their_order(load_real):
    """The paper's table: LR < Reg. Kernel < SGC < S²GC, far apart enough for one split."""
    graph = load_real("cora")
    split = stratified(graph, REAL, 0)
    accuracies = []
    for name in ("lr", "reg_kernel", "sgc", "s2gc"):
        model = LinearGNN(name).fit(graph, train=split.train, val=split.val)
        accuracies.append(np.mean((model.predict() == graph.labels)[split.test]))
    assert accuracies == sorted(accuracies)
    assert accuracies[0] < 0.55 and accuracies[-1] > 0.75
