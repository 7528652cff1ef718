"""SlimG: the estimator's account of itself, what it may read, its options, and what it says about bad input."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import recall_score

from slimg import Graph, SlimG
from slimg.components import EnergyRank, Features, PropagatedFeatures, Structure, paper_components
from slimg.errors import InputError
from slimg.graph.splits import REAL, stratified
from slimg.lab.baselines.ablations import slimg_components, slimg_params
from slimg.learn import SparseGroupLogisticRegression
from slimg.learn.path import Record, best

PAPER_NAMES = ("U", "X", "A_row^2 X", "A_sym^2 X")
NAMES = ("U", "U_sym", *PAPER_NAMES[1:], "PPR^10 X")


def planted(n=240, c=3, d=12, shares=None, inside=0.12, outside=0.02, noise=1.0, seed=0):
    """Adjacency, features and labels of a graph whose nodes prefer their own class and whose features carry it too."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % c if shares is None else rng.choice(c, n, p=shares)
    draw = np.triu(rng.random((n, n)) < np.where(y[:, None] == y, inside, outside), 1)
    x = rng.random((c, d))[y] + noise * rng.random((n, d))
    return sp.csr_array((draw | draw.T).astype(np.float32)), x.astype(np.float32), y


@pytest.fixture(scope="module")
def parts():
    return planted()


@pytest.fixture(scope="module")
def graph(parts):
    return Graph.from_arrays(parts[0], features=parts[1], labels=parts[2])


@pytest.fixture(scope="module")
def split(graph):
    return stratified(graph, (0.2, 0.2, 0.6), 0)


@pytest.fixture(scope="module")
def fitted(graph, split):
    return SlimG(random_state=0).fit(graph, train=split.train, val=split.val)


def bits(model):
    weights = b"".join(weights.tobytes() for weights in model.coef_.values())
    return weights + model.intercept_.tobytes() + model.predict_proba().tobytes() + str(model.predict().tolist()).encode()


# what it says of itself -------------------------------------------------------------------------------------------------


def test_attributes_agree_with_one_another(fitted, graph, split):
    names = tuple(fitted.components_.widths)
    assert names[: len(NAMES)] == NAMES, "and others if labels call for them"
    assert tuple(fitted.coef_) == names
    assert all(weights.shape == (fitted.components_.widths[name], 3) for name, weights in fitted.coef_.items())
    assert max(weights.shape[0] for weights in fitted.coef_.values()) == fitted.rank_
    assert fitted.intercept_.shape == (3,) and fitted.intercept_.sum() == pytest.approx(0, abs=1e-5)
    assert 0 <= fitted.dual_gap_ <= 1e-4 and fitted.converged_
    assert fitted.zero_components_ == tuple(name for name in names if not fitted.coef_[name].any())
    norms = {name: np.linalg.norm(weights) for name, weights in fitted.coef_.items()}
    assert fitted.component_weights() == pytest.approx(norms)
    assert fitted.seconds_["learning"] > 0


def test_one_record_per_pair_and_the_rule_chooses(fitted, graph, split):
    keys = {"l1", "group", "joint", "val_accuracy", "val_loss", "dual_gap", "zero_components", "nonzero", "seconds"}
    assert all(keys <= set(record) for record in fitted.selection_)
    assert all(record["dual_gap"] <= (1e-4 if record["weight"] else 1e-3) for record in fitted.selection_)
    told = [(record["l1"], record["group"], record["joint"], str(record["separate"])) for record in fitted.selection_]
    assert len(set(told)) == len(told) > 5 and 0.0 in {each[0] for each in told}
    chosen = best([Record(**record) for record in fitted.selection_])
    assert fitted.chosen_ is fitted.selection_[chosen]
    assert told[chosen] == (fitted.l1_, fitted.group_, fitted.joint_, str(fitted.separate_penalties_))
    alone = SlimG(average=1).fit(graph, train=split.train, val=split.val, propagated=fitted.components_)
    accuracy = (alone.predict() == graph.labels)[split.val].mean()
    assert alone.chosen_ | {"seconds": 0} == fitted.chosen_ | {"seconds": 0} and alone.members_ == [alone.chosen_]
    assert fitted.chosen_["val_accuracy"] == pytest.approx(accuracy)
    zero = [set(record["zero_components"]) for record in fitted.members_]
    assert set.intersection(*zero) == set(fitted.zero_components_)
    assert max(record["dual_gap"] for record in fitted.members_) == fitted.dual_gap_


def test_predictions_are_the_components_times_the_weights(fitted, graph):
    blocks = fitted.components_.blocks
    scores = sum(blocks[name].astype(float) @ weights for name, weights in fitted.coef_.items()) + fitted.intercept_
    np.testing.assert_allclose(fitted.decision_function(), scores, atol=1e-4)
    proba = fitted.predict_proba()
    np.testing.assert_allclose(proba, np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True), atol=1e-4)
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(fitted.predict(), fitted.classes_[proba.argmax(axis=1)])


def test_it_learns_more_than_the_majority_and_the_features(fitted, graph, split):
    right = (fitted.predict() == graph.labels)[split.test].mean()
    alone = SlimG(components=[Features()]).fit(graph, train=split.train, val=split.val)
    assert right > max(0.8, (alone.predict() == graph.labels)[split.test].mean() - 0.02)


def test_one_component_is_the_plain_classifier_on_it(graph, split):
    """The whole way through the estimator ends where `SparseGroupLogisticRegression` does on the same rows."""
    model = SlimG(components=[PropagatedFeatures(kind="sym")], grid=[(1e-3, 1e-2)], tol=1e-7)
    model.fit(graph, train=split.train, val=split.val)
    rows = model.components_.blocks["A_sym^2 X"]
    plain = SparseGroupLogisticRegression(1e-3, 1e-2, tol=1e-7).fit(rows[split.train], graph.labels[split.train])
    np.testing.assert_allclose(model.predict_proba(), plain.predict_proba(rows), atol=2e-3)


def test_numbers_of_nodes_do_not_matter(parts, split):
    """Nodes in another order: the same probabilities, in that order."""
    adjacency, features, labels = parts
    order = np.random.default_rng(0).permutation(len(labels))
    place = np.argsort(order)
    options = {"grid": [(1e-3, 1e-2)], "tol": 1e-7}
    before = SlimG(**options).fit(Graph.from_arrays(adjacency, features, labels), train=split.train, val=split.val)
    moved = Graph.from_arrays(adjacency[order][:, order], features[order], labels[order])
    after = SlimG(**options).fit(moved, train=place[split.train], val=place[split.val])
    np.testing.assert_allclose(after.predict_proba()[place], before.predict_proba(), atol=0.02)


# what it may read -------------------------------------------------------------------------------------------------------


def test_labels_of_other_rows_are_not_read(parts, split, fitted):
    adjacency, features, labels = parts
    shuffled = labels.copy()
    shuffled[split.test] = np.random.default_rng(1).permutation(shuffled[split.test])
    assert (shuffled != labels).any()
    foreign = labels + 0
    foreign[split.test] = -7
    hidden = labels.astype(object)
    hidden[split.test] = None
    for other in (shuffled, foreign, hidden):
        graph = Graph.from_arrays(adjacency, features=features, labels=other)
        assert bits(SlimG(random_state=0).fit(graph, train=split.train, val=split.val)) == bits(fitted)


def test_missing_labels_are_predicted(parts, split):
    adjacency, features, labels = parts
    hidden = labels.astype(object)
    hidden[split.test] = None
    model = SlimG(grid=[(1e-4, 1e-2)]).fit(Graph.from_arrays(adjacency, features=features, labels=hidden))
    assert (model.predict() == labels)[split.test].mean() > 0.8


@pytest.mark.parametrize(
    "names",
    [["ash", "elm", "oak"], [7, -3, 200], [("a", 1), ("b", 2), ("c", 3)], [True, False, None], [1.0, 2.0, 5.0]],
    ids=["text", "numbers", "tuples", "truth", "whole floats"],
)
def test_labels_come_back_in_their_own_type(parts, split, names):
    adjacency, features, codes = parts
    labels = np.empty(len(codes), object)
    labels[:] = [names[code] for code in codes]
    if isinstance(names[0], (str, float)) or names[0] == 7:
        labels = np.array(labels.tolist())
    rows = [np.array([row for row in part if labels[row] is not None]) for part in (split.train, split.val)]
    graph = Graph.from_arrays(adjacency, features=features, labels=labels)
    model = SlimG(grid=[(1e-4, 1e-2)]).fit(graph, train=rows[0], val=rows[1])
    predicted = model.predict()
    known = [name for name in names if name is not None]
    assert len(predicted) == graph.n and {type(label) for label in predicted.tolist()} == {type(known[0])}
    assert set(predicted.tolist()) == set(known) == set(model.classes_.tolist())
    seen = np.flatnonzero([label is not None for label in labels])
    assert np.mean([predicted[row] == labels[row] for row in seen]) > 0.8


def test_a_class_that_only_validation_has_counts_as_wrong(graph, split):
    train = split.train[graph.labels[split.train] < 2]
    model = SlimG(grid=[(1e-4, 1e-2)]).fit(graph, train=train, val=split.val)
    assert model.classes_.tolist() == [0, 1]
    assert model.selection_[0]["val_accuracy"] <= (graph.labels[split.val] < 2).mean()


# options ----------------------------------------------------------------------------------------------------------------


def test_without_edges_the_features_alone(parts, split):
    graph = Graph.from_arrays(None, features=parts[1], labels=parts[2])
    model = SlimG().fit(graph, train=split.train, val=split.val)
    assert tuple(model.coef_) == ("X",) and any("edges" in note for note in model.notes_)
    assert (model.predict() == parts[2])[split.test].mean() > 0.6


def test_without_features_the_structure_alone(parts, split):
    graph = Graph.from_arrays(parts[0], labels=parts[2])
    model = SlimG().fit(graph, train=split.train, val=split.val)
    assert tuple(model.coef_) == ("U", "U_sym") and any("features" in note for note in model.notes_)
    assert (model.predict() == parts[2])[split.test].mean() > 0.6


@pytest.mark.parametrize(("labels", "columns", "near"), [(99, 64, False), (100, 200, True), (150, 300, True)])
def test_many_labels_widen_the_default_list(labels, columns, near):
    adjacency, _, y = planted(420)
    features = np.random.default_rng(0).poisson(0.2, (420, 80))
    parts = SlimG().propagate(Graph.from_arrays(adjacency, features=features, labels=y), np.arange(labels))
    assert parts.widths["U"] == columns
    assert ("A_row^1 X" in parts.names) == near and "U_sym" not in parts.names


@pytest.mark.parametrize(("labels", "columns", "near"), [(255, 64, False), (256, 128, True), (400, 200, True)])
def test_beside_few_features_the_structure_is_wider_from_more_labels_on(labels, columns, near):
    adjacency, features, y = planted(420)
    assert features.shape[1] < 64
    parts = SlimG().propagate(Graph.from_arrays(adjacency, features=features, labels=y), np.arange(labels))
    assert parts.widths["U"] == parts.widths["U_sym"] == columns
    assert ("A_row^1 X" in parts.names) == near


def test_folds_choose_when_no_validation_rows_are_given(graph, split):
    labelled = np.concatenate([split.train, split.val])
    model = SlimG(random_state=3, cv=4).fit(graph, train=labelled)
    assert bits(SlimG(random_state=3, cv=4).fit(graph, train=labelled)) == bits(model)
    fixed = SlimG(grid=model.chosen_grid(), random_state=3, cv=4).fit(graph, train=labelled)
    assert len(fixed.members_) == len(model.members_) and fixed.zero_components_ == model.zero_components_
    np.testing.assert_allclose(fixed.predict_proba(), model.predict_proba(), atol=2e-2)  # equal up to the gap: starts differ
    assert max(record["dual_gap"] for record in model.members_) == model.dual_gap_ <= 1e-4
    np.testing.assert_allclose(fixed.temperature_, model.temperature_, rtol=0.1)  # folds of a path begin elsewhere
    assert (model.predict() == graph.labels)[split.test].mean() > 0.8


def test_a_class_with_two_labelled_nodes_still_has_folds(graph, split):
    rare = split.train[graph.labels[split.train] == 2][:2]
    train = np.concatenate([split.train[graph.labels[split.train] < 2], rare])
    assert SlimG(cv=5, grid=[(0, 1e-2)]).fit(graph, train=train).classes_.tolist() == [0, 1, 2]


def test_patience_leaves_a_series_after_pairs_without_gain(graph, split):
    everything = SlimG(grid="paper").fit(graph, train=split.train, val=split.val)
    patient = SlimG(grid="paper", early_stopping=100).fit(graph, train=split.train, val=split.val)
    assert bits(patient) == bits(everything) and len(everything.selection_) == 12
    hasty = SlimG(grid="paper", early_stopping=1).fit(graph, train=split.train, val=split.val)
    assert len(hasty.selection_) < 12
    for l1 in {record["l1"] for record in hasty.selection_}:
        accuracies = [record["val_accuracy"] for record in hasty.selection_ if record["l1"] == l1]
        assert accuracies[:-1] == sorted(set(accuracies[:-1])), "each but the last was a gain"


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"components": ("X", "row", "sym")}, PAPER_NAMES[1:]),
        ({"components": ("U",)}, PAPER_NAMES[:1]),
        ({"k_row": {2, 4}, "k_sym": {2, 3}}, ("U", "X", "A_row^2 X", "A_row^4 X", "A_sym^2 X", "A_sym^3 X")),
        ({"k_row": 1, "k_sym": 1}, ("U", "X", "A_row^1 X", "A_sym^1 X")),
        ({"pca": False}, PAPER_NAMES),
        ({"max_rank": 3}, PAPER_NAMES),
        ({"normalize": None}, PAPER_NAMES),
        ({"energy": 0.5}, PAPER_NAMES),
    ],
)
def test_ablations(graph, split, options, names):
    model = SlimG(**slimg_params(options)).fit(graph, train=split.train, val=split.val)
    assert tuple(model.coef_) == names
    assert (model.predict() == graph.labels)[split.test].mean() > 0.6
    if options.get("pca") is False:
        assert [len(model.coef_[name]) for name in PAPER_NAMES[1:]] == [graph.d] * 3
    if "max_rank" in options:
        assert model.rank_ == 3 and {len(weights) for weights in model.coef_.values()} == {3}


def test_no_sparsity_stops_early_without_a_certificate(graph, split):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SlimG(grid="unpenalized").fit(graph, train=split.train, val=split.val)
        folded = SlimG(grid="unpenalized", cv=3).fit(graph, train=split.train)
    assert np.isnan(model.dual_gap_) and not model.converged_ and model.zero_components_ == ()
    assert len(model.selection_) == 1 and model.selection_[0]["l1"] == model.selection_[0]["group"] == 0
    accuracy = (model.predict() == graph.labels)[split.val].mean()
    assert model.selection_[0]["val_accuracy"] == pytest.approx(accuracy)
    for each in (model, folded):
        assert (each.predict() == graph.labels)[split.test].mean() > 0.8


def test_balanced_weights_help_the_rare_class():
    """Nineteen in twenty of one class, features that say little: the rare class is found more often."""
    adjacency, features, labels = planted(800, 2, 10, shares=[0.95, 0.05], inside=0.02, outside=0.01, noise=3.0, seed=4)
    graph = Graph.from_arrays(adjacency, features=features, labels=labels)
    split = stratified(graph, (0.3, 0.2, 0.5), 0)
    grid = [(0, 1e-2)]
    recalls = {}
    for weight in (None, "balanced", {1: 30.0}):
        model = SlimG(components=paper_components(normalize="row"), grid=grid, class_weight=weight)
        model.fit(graph, train=split.train, val=split.val)
        recalls[str(weight)] = recall_score(labels[split.test], model.predict()[split.test])
    assert recalls["balanced"] >= recalls["None"] + 0.2
    assert recalls["{1: 30.0}"] >= recalls["None"] + 0.2


def test_components_are_computed_once_for_many_splits(graph, split, fitted):
    again = SlimG(random_state=0).fit(graph, train=split.train, val=split.val, propagated=fitted.components_)
    assert bits(again) == bits(fitted) and again.components_ is fitted.components_


def test_clone_and_pickle(fitted, graph, split):
    listed = slimg_components(["X", "row"], k_row={2, 4}, max_rank=10)
    options = {"grid": "paper", "components": listed, "tol": 1e-3, "random_state": 5}
    model = SlimG(**options)
    twin = clone(model)
    assert twin.get_params() == model.get_params() and twin is not model
    assert all(twin.get_params()[key] == value for key, value in options.items())
    before = dict(model.get_params())
    model.fit(graph, train=split.train, val=split.val)
    assert model.get_params() == before, "fit never rewrites a parameter"
    assert not hasattr(clone(model), "coef_")
    assert bits(pickle.loads(pickle.dumps(fitted))) == bits(fitted)


def test_a_gap_that_is_not_reached_is_told(graph, split):
    with pytest.warns(ConvergenceWarning, match="duality gap is .* after 1 Newton steps, not yet 1.0e-06"):
        model = SlimG(grid=[(1e-6, 1e-6)], tol=1e-6, max_iter=1).fit(graph, train=split.train, val=split.val)
    assert not model.converged_ and model.dual_gap_ > 1e-6


# real graphs ------------------------------------------------------------------------------------------------------------


def test_cora(load_real):
    graph = load_real("cora")
    split, accuracies = stratified(graph, REAL, 0), []
    model = SlimG(random_state=0).fit(graph, train=split.train, val=split.val)
    for each in (stratified(graph, REAL, seed) for seed in range(5)):
        again = SlimG(random_state=0).fit(graph, train=each.train, val=each.val, propagated=model.components_)
        accuracies.append(100 * (again.predict() == graph.labels)[each.test].mean())
    assert np.mean(accuracies) >= 77
    weights = model.component_weights()
    assert tuple(weights) == (*PAPER_NAMES, "PPR^10 X", "S_0.01^100 X") and min(weights.values()) >= 0
    assert weights["A_row^2 X"] + weights["A_sym^2 X"] > 0
    # the paper reads a graph from these: on Cora neighbours tell more than a node's own words or place
    assert max(weights["U"], weights["X"]) < max(weights["A_row^2 X"], weights["A_sym^2 X"])
    strong = SlimG(grid=[(0, 0.06)], tol=1e-6)  # a gap of 1e-4 may be reached before a component is gone
    strong.fit(graph, train=split.train, val=split.val, propagated=model.components_)
    assert strong.zero_components_ == ("U", "X", "A_row^2 X", "A_sym^2 X") and not strong.coef_["U"].any()
    assert model.rank_ == 256
    pair = SlimG(grid=[(1e-4, 1e-3)], components=paper_components()).fit(graph, train=split.train, val=split.val)
    assert pair.rank_ == 1052 and pair.zero_components_ == ("U", "X") and pair.component_weights()["U"] == 0.0
    assert 100 * (pair.predict() == graph.labels)[split.test].mean() > 77


# bad input --------------------------------------------------------------------------------------------------------------


def changed(array, place, value):
    array = array.copy()
    array[place] = value
    return array


def graph_of(parts, **changes):
    given = {"adjacency": parts[0], "features": parts[1], "labels": parts[2], **changes}
    return Graph.from_arrays(**given)


def fit(parts, options=None, rows=None, **changes):
    return SlimG(**(options or {})).fit(graph_of(parts, **changes), **(rows or {}))


ONE_OF_CLASS_2 = [code if code < 2 or place == 2 else None for place, code in enumerate(np.arange(240) % 3)]
BAD = {
    "features with NaN": (lambda p: graph_of(p, features=changed(p[1], [3, 17], np.nan)), "rows 3, 17"),
    "features with inf": (lambda p: graph_of(p, features=changed(p[1], 5, np.inf)), "rows? 5"),
    "fewer rows than nodes": (lambda p: graph_of(p, features=p[1][:-2]), "238 rows were given for 240 nodes"),
    "negative weights": (lambda p: graph_of(p, adjacency=-1 * p[0]), "not negative.*weight -1"),
    "one labelled node in one of two classes": (
        lambda p: fit(p, labels=[None if code == 1 else code for code in ONE_OF_CLASS_2]),
        "only one of each of 2 .such as id 2.",
    ),
    "one class only": (lambda p: fit(p, labels=np.full(240, "oak")), "every labelled node is 'oak'"),
    "no labels": (lambda p: fit(p, labels=None), "no labels to learn from"),
    "all labels missing": (lambda p: fit(p, labels=[None] * 240), "no labels to learn from"),
    "an empty graph": (lambda p: Graph.from_arrays(sp.csr_array((0, 0))), "empty"),
    "neither edges nor features": (lambda p: fit(p, adjacency=sp.csr_array((240, 240)), features=None), "neither"),
    "labels for unknown ids": (lambda p: graph_of(p, labels={0: 1, 999: 2}), "no node has: 999"),
    "unhashable ids": (lambda p: graph_of(p, ids=[[i] for i in range(240)]), "ids must be hashable"),
    "float labels": (lambda p: graph_of(p, labels=np.linspace(0, 1, 240)), "look like measurements"),
    "overlap": (lambda p: fit(p, rows={"train": np.arange(30), "val": np.arange(29, 60)}), "share 1 row: 29"),
    "unlabelled train": (lambda p: fit(p, labels=ONE_OF_CLASS_2, rows={"train": [0, 1, 5]}), "1 row without a label"),
    "rows that are not there": (lambda p: fit(p, rows={"train": [0, 1, 240]}), "row 240"),
    "no training rows": (lambda p: fit(p, rows={"train": []}), "train has no rows"),
    "r = 0": (lambda p: Structure(rank=0), "rank must be .* 0"),
    "no energy": (lambda p: EnergyRank(energy=0), "energy .*above 0"),
    "unknown component": (lambda p: fit(p, {"components": ["V"]}), "component 'V'.*Structure"),
    "no component": (lambda p: fit(p, {"components": ()}), "at least one .*Structure"),
    "components that need features": (
        lambda p: fit(p, {"components": [PropagatedFeatures()]}, features=None), r"A_row\^2 X need features.*Structure",
    ),
    "no hops": (lambda p: PropagatedFeatures(steps=0), "steps must be .*0"),
    "two components of one name": (lambda p: fit(p, {"components": [Features(), Features(pca=False)]}), "two .*'X'"),
    "components by their class": (lambda p: fit(p, {"components": [Features]}), "component .*Features"),
    "one component": (lambda p: fit(p, {"components": Features()}), "list of components"),
    "unknown normalisation": (lambda p: Features(normalize="column"), "column.*None, auto, bins, row, standard"),
    "unknown grid": (lambda p: fit(p, {"grid": "all"}), "choose one of .*paper, path"),
    "no penalty": (lambda p: fit(p, {"grid": [(0, 0)]}), "unpenalized"),
    "one fold": (lambda p: fit(p, {"cv": 1}), "cv must be .* at least 2"),
    "no patience": (lambda p: fit(p, {"early_stopping": 0}), "early_stopping must be"),
    "no tolerance": (lambda p: fit(p, {"tol": 0}), "tol must be"),
    "unknown engine": (lambda p: fit(p, {"engine": "gpu"}), "unknown engine 'gpu'"),
    "weights of an unknown class": (lambda p: fit(p, {"class_weight": {9: 1.0}}), r"not there, 9: there are \[0, 1, 2\]"),
    "a seed that is none": (lambda p: fit(p, {"random_state": None}), "random_state must be"),
    "a matrix for a graph": (lambda p: SlimG().fit(p[0]), "slimg.Graph.*slimg.read.*from_arrays"),
    "labels beside the graph": (lambda p: SlimG().fit(graph_of(p), p[2]), "labels belong to the graph"),
    "components of another graph": (
        lambda p: fit(p, rows={"propagated": SlimG().propagate(graph_of(planted(60)))}), "60 nodes and the graph 240",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gets_one_sentence(parts, name):
    attempt, words = BAD[name]
    with pytest.raises(InputError, match=words) as error:
        attempt(parts)
    said = str(error.value)
    assert "\n" not in said and len(said) < 300 and error.value.__traceback__ is not None


def test_ids_in_features_that_no_edge_has_are_kept_and_told():
    edges = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"]})
    nodes = pd.DataFrame({"id": ["a", "b", "c", "lone"], "size": [1.0, 2.0, 3.0, 4.0]})
    graph = Graph.from_edges(edges, nodes)
    assert graph.n == 4 and any("no edge (id 'lone')" in note for note in graph.notes)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function", "component_weights"])
def test_nothing_is_predicted_before_fit(method):
    with pytest.raises(NotFittedError):
        getattr(SlimG(), method)()
