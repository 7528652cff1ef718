"""SlimG inside scikit-learn: clone, grid search, cross-validation, pipelines; the graph's own labels are not read."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from explain_graphs import planted
from slimg import Graph, NodeClassifier, SlimG, SlimGFeatures
from slimg.components import Structure, paper_components
from slimg.errors import InputError
from slimg.lab.baselines.ablations import slimg_components
from slimg.learn import SparseGroupLogisticRegression

PAIR = [(1e-4, 1e-3)]


@pytest.fixture(scope="module")
def graph():
    return planted()


@pytest.fixture(scope="module")
def nodes(graph):
    return graph.ids, graph.labels


def test_it_is_slimg_on_these_nodes(graph, nodes):
    ids, labels = nodes
    shown = np.arange(0, 150, 4)
    wrapped = NodeClassifier(graph, SlimG(grid=PAIR)).fit(ids[shown], labels[shown])
    plain = SlimG(grid=PAIR).fit(graph.mask_labels(shown))
    np.testing.assert_array_equal(wrapped.predict(ids), plain.predict())
    np.testing.assert_array_equal(wrapped.predict_proba(ids[:7].reshape(-1, 1)), plain.predict_proba()[:7])
    expected = plain.decision_function()[[3]]
    expected = expected[:, 1] - expected[:, 0] if expected.shape[1] == 2 else expected
    np.testing.assert_array_equal(wrapped.decision_function(ids[[3]]), expected)
    assert wrapped.score(ids, labels) == pytest.approx((plain.predict() == labels).mean())


def test_labels_of_the_graph_are_not_read(graph, nodes):
    ids, labels = nodes
    shown = np.arange(0, 150, 4)
    moved = graph.with_labels(np.roll(labels, 1))
    one = NodeClassifier(graph, SlimG(grid=PAIR)).fit(ids[shown], labels[shown])
    two = NodeClassifier(moved, SlimG(grid=PAIR)).fit(ids[shown], labels[shown])
    np.testing.assert_array_equal(one.predict_proba(ids), two.predict_proba(ids))


def test_clone_shares_the_graph(graph):
    original = NodeClassifier(graph, SlimG(cv=3, components=slimg_components(k_row={1, 2})))
    copy = clone(original)
    assert copy.graph is graph and copy.model is not original.model
    assert copy.get_params()["model__cv"] == 3 and copy.get_params()["model__components"] == slimg_components(k_row={1, 2})
    listed = paper_components(rank=7)
    assert clone(SlimGFeatures(graph, components=listed)).get_params()["components"] == listed


def test_grid_search_over_slimgs_parameters(graph, nodes):
    ids, labels = nodes
    choices = {"model__components": [[Structure()], slimg_components(["X", "row"])], "model__grid": [[(0, 10.0)], PAIR]}
    search = GridSearchCV(NodeClassifier(graph, SlimG(cv=2)), choices, cv=3).fit(ids, labels)
    assert search.best_params_["model__grid"] == PAIR, "a penalty that leaves nothing cannot win"
    assert search.best_score_ > 0.8 and search.predict(ids[:4]).shape == (4,)
    by_hand = cross_val_score(clone(search.best_estimator_), ids, labels, cv=3)
    assert search.best_score_ == pytest.approx(by_hand.mean())


def test_features_in_a_pipeline(graph, nodes):
    ids, labels = nodes
    pipeline = make_pipeline(SlimGFeatures(graph, components=paper_components(rank=8)), LogisticRegression(max_iter=500))
    assert cross_val_score(pipeline, ids, labels, cv=3).mean() > 0.8
    choices = {"slimgfeatures__components": [paper_components(rank=8, pca=pca) for pca in (True, False)]}
    search = GridSearchCV(pipeline, choices, cv=2).fit(ids, labels)
    assert search.best_score_ > 0.8


def test_rows_are_those_of_the_components(graph):
    transformer = SlimGFeatures(graph).fit()
    rows = transformer.transform(graph.ids[[4, 2]])
    parts = SlimG().propagate(graph)
    np.testing.assert_array_equal(rows, parts.labelled_rows(np.array([4, 2])))
    names = transformer.get_feature_names_out()
    assert len(names) == rows.shape[1] and names[0] == "U 0" and names[-1].startswith("PPR^10 X")
    groups = list(transformer.widths_.values())
    model = SparseGroupLogisticRegression(1e-3, 1e-2, groups).fit(transformer.transform(graph.ids), graph.labels)
    assert model.score(transformer.transform(graph.ids), graph.labels) > 0.8


@pytest.mark.parametrize(
    ("attempt", "words"),
    [
        (lambda g: NodeClassifier(g).fit(["n1", "nobody"], ["ash", "elm"]), "that no node has: 'nobody'"),
        (lambda g: NodeClassifier(g).fit(["n1", "n2"], ["ash"]), "one label per node"),
        (lambda g: NodeClassifier(g).fit(["n1", "n2", "n1"], ["ash", "elm", "oak"]), "'n1' more than once"),
        (lambda g: NodeClassifier("g").fit(["n1"], ["ash"]), "a slimg.Graph is needed, not str"),
        (lambda g: SlimGFeatures(None).fit(), "a slimg.Graph is needed, not NoneType"),
    ],
)
def test_bad_input_gets_one_sentence(graph, attempt, words):
    with pytest.raises(InputError, match=words):
        attempt(graph)


def test_scorers_of_two_classes_take_its_scores():
    graph = Graph.from_edges([(i, j) for i in range(12) for j in range(i) if i % 2 == j % 2])
    classifier = NodeClassifier(graph, SlimG(grid=PAIR))
    assert cross_val_score(classifier, np.arange(12), np.arange(12) % 2, cv=2, scoring="roc_auc").tolist() == [1, 1]


def test_ids_in_a_frame_of_one_column(graph):
    frame = pd.DataFrame({"id": graph.ids})
    fitted = NodeClassifier(graph, SlimG(grid=PAIR)).fit(frame, graph.labels)
    assert np.array_equal(fitted.predict(frame), fitted.predict(graph.ids))
    with pytest.raises(InputError, match="X must be one column, not a table of 2"):
        fitted.predict(frame.assign(age=1))
