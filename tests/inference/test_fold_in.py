"""Graphs that grew: what is new is placed as a dense recomputation would, what is far keeps its bits."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from explain_graphs import dense_scores, planted
from slimg import Graph, SlimG
from slimg.components import EnergyRank, paper_components
from slimg.errors import InputError

PAIR = [(1e-4, 1e-3)]


def shrunk(graph, hidden):
    keep = np.ones(graph.n, bool)
    keep[hidden] = False
    return graph.subgraph(keep), np.flatnonzero(keep)


def test_the_fitted_graph_keeps_its_bits_in_any_order():
    graph = planted()
    model = SlimG(grid=PAIR).fit(graph)
    order = np.random.default_rng(0).permutation(graph.n)
    matrix = graph.adjacency.to_scipy()[order][:, order]
    moved = Graph.from_arrays(matrix, graph.features[order], ids=graph.ids[order])
    found = model.fold_in(moved)
    np.testing.assert_array_equal(found.scores, model.decision_function()[order])
    assert len(found.touched) == len(found.new) == found.gone == 0 and "the one the model was fitted on" in found.text()


def test_new_nodes_are_where_a_dense_recomputation_puts_them():
    graph = planted()
    hidden = np.array([4, 50, 51, 140])
    small, kept = shrunk(graph, hidden)
    model = SlimG(grid=PAIR).fit(small)
    found = model.fold_in(graph)
    matrix = graph.adjacency.to_scipy().toarray().astype(float)
    for name in ("U", "U_sym"):
        fitted = model.components_.fitted[name]
        spectrum = fitted.state.spectrum
        vectors = np.zeros((graph.n, spectrum.rank), np.float32)
        vectors[kept] = spectrum.vectors
        state = fitted.state._replace(spectrum=type(spectrum)(vectors, spectrum.eigenvalues))
        model.components_.fitted[name] = replace(fitted, state=state)  # the oracle's V, zero for new nodes
    expected = dense_scores(model, matrix, graph.features.astype(float))
    np.testing.assert_allclose(found.scores[found.touched], expected[found.touched], atol=5e-4)
    np.testing.assert_array_equal(found.new, hidden)
    assert f"4 of {graph.n} nodes are new" in found.text()


def test_only_the_neighbourhood_is_touched():
    """Two parts with no edge between them: what grows in one leaves the other as it was."""
    graph = planted(n=120)
    matrix = graph.adjacency.to_scipy().tolil()
    half = np.arange(120) < 60
    matrix[np.ix_(half, ~half)] = 0
    matrix[np.ix_(~half, half)] = 0
    graph = Graph.from_arrays(matrix.tocsr(), graph.features, graph.labels, graph.ids)
    small, kept = shrunk(graph, [100])
    model = SlimG(grid=PAIR).fit(small)
    found = model.fold_in(graph)
    assert set(found.touched) <= set(np.flatnonzero(~half)) and 100 in found.touched
    far = np.setdiff1d(np.arange(120), found.touched)
    np.testing.assert_array_equal(found.scores[far], model.decision_function()[np.searchsorted(kept, far)])


def test_changed_and_lost_nodes_are_told():
    graph = planted()
    model = SlimG(grid=PAIR).fit(graph)
    features = graph.features.copy()
    features[9, 0] += 1
    found = model.fold_in(Graph(graph.adjacency, features, ids=graph.ids))
    assert found.changed.tolist() == [9] and 9 in found.touched
    smaller, _ = shrunk(graph, [9])
    assert model.fold_in(smaller).gone == 1 and "gone" in model.fold_in(smaller).text()


def test_predictions_of_another_graph():
    graph = planted()
    small, _ = shrunk(graph, np.arange(0, 150, 10))
    model = SlimG(grid=PAIR).fit(small)
    found = model.fold_in(graph)
    np.testing.assert_array_equal(model.predict(graph), found.predict())
    np.testing.assert_array_equal(model.predict_proba(graph), found.predict_proba())
    assert (found.predict() == graph.labels)[found.new].mean() > 0.8
    explanation = model.explain("n10", graph=graph)
    assert explanation.prediction == found.predict()[10] and np.abs(explanation.rounding).max() < 1e-4
    removed = model.counterfactual("n10", without_neighbours=[graph.ids[graph.adjacency.neighbours(10)[0]]], graph=graph)
    assert removed.after.shape == (3,) and not np.allclose(removed.after, removed.before)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda g: Graph(g.adjacency, g.features[:, :5]), "fitted on 12 features, the graph has 5"),
        (lambda g: Graph(g.adjacency), "fitted on 12 features, the graph has 0"),
        (lambda g: Graph(g.adjacency, g.features, feature_names=["x", *g.feature_names[1:]]), "feature 'x' where the model"),
        (lambda g: sp.eye(3), "a slimg.Graph is needed"),
    ],
)
def test_graphs_that_are_not_alike_are_refused(change, words):
    graph = planted()
    model = SlimG(grid=PAIR).fit(graph)
    with pytest.raises(InputError, match=words):
        model.predict(change(graph))


def test_the_distance_to_a_refit_is_measured_and_kept(tmp_path):
    graph = planted()
    shown = np.arange(0, 150, 4)
    model = SlimG(grid=PAIR).fit(graph, train=shown)
    found = model.measure_fold_in(0.2)
    assert 0.7 < found <= 1 and model.fold_in_agreement_ == found == model.measure_fold_in(0.2)
    loaded = SlimG.load(model.save(tmp_path / "m.slimg"))
    smaller, _ = shrunk(graph, [9])
    assert loaded.fold_in_agreement_ == found and f"{found:.1%}" in loaded.fold_in(smaller).text()


def test_what_cannot_be_measured_is_told(tmp_path):
    from sklearn.exceptions import NotFittedError

    model = SlimG(grid=PAIR).fit(planted())
    with pytest.raises(InputError, match="every node was learned from"):
        model.measure_fold_in()
    with pytest.raises(InputError, match="share must lie between"):
        model.measure_fold_in(2)
    with pytest.raises(NotFittedError, match="not loaded from a file"):
        SlimG.load(model.save(tmp_path / "m.slimg")).measure_fold_in()


def test_photo_with_a_tenth_of_its_nodes_hidden(load_real):
    from slimg.graph.splits import REAL, stratified

    graph = load_real("photo")
    split = stratified(graph, REAL, 0)
    hidden = np.random.default_rng(0).choice(graph.n, graph.n // 10, replace=False)
    small, kept = shrunk(graph.mask_labels(np.concatenate([split.train, split.val])), hidden)
    model = SlimG(grid=[(0, 5e-3)], components=paper_components(rank=EnergyRank(max_rank=128))).fit(small)
    predicted = model.predict(graph)
    assert (predicted == graph.labels)[hidden].mean() > (predicted == graph.labels)[kept].mean() - 0.02
