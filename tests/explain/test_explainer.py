"""Parts add up to scores: on planted graphs for every option, on every node of Cora, whatever the seed."""

import numpy as np
import pytest

from explain_graphs import dense_scores, planted
from slimg import SlimG
from slimg.components import Target, paper_components
from slimg.graph.splits import REAL, stratified
from slimg.lab.baselines.ablations import slimg_params

PAIR = [(1e-4, 1e-3)]
OPTIONS = [
    {},
    {"pca": False},
    {"k_row": {1, 3}, "k_sym": 1},
    {"components": ("U",)},
    {"components": ("X", "sym")},
    {"normalize": None},
    {"sparsity": False},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_parts_add_up_to_the_scores(options, sparse):
    graph = planted(sparse=sparse)
    model = SlimG(**slimg_params({"grid": PAIR, **options})).fit(graph)
    scores = model.decision_function()
    for explanation, score in zip(model.explain_all(graph.ids), scores, strict=True):
        scale = max(1.0, np.abs(score).max())
        assert np.abs(explanation.rounding).max() <= 1e-4 * scale
        parts = explanation.bias + sum(part.scores for part in explanation.parts) + explanation.rounding
        np.testing.assert_allclose(parts, score, atol=1e-12)
        for part in explanation.parts:
            if part.features is not None:
                np.testing.assert_allclose(part.features.sum(axis=0), part.scores, atol=1e-9 * scale)
            np.testing.assert_allclose(part.source_scores.sum(axis=0) + part.source_rest, part.scores, atol=1e-12)


def test_features_and_sources_are_the_formulas():
    graph = planted()
    model = SlimG(components=paper_components(normalize="row"), grid=PAIR).fit(graph)
    part = model.explain("n5").part("A_row^2 X")
    state, weights = model.components_.fitted["A_row^2 X"].state.pca, model.coef_["A_row^2 X"]
    x = graph.features / graph.features.sum(axis=1, keepdims=True)
    matrix = graph.adjacency.to_scipy().toarray().astype(float)
    walk = np.linalg.matrix_power(matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1), 2)[5]
    beta, length = state.components.T @ weights, np.linalg.norm((walk @ x - state.mean) @ state.components.T)
    np.testing.assert_allclose(part.features, (walk @ x - state.mean)[:, None] * beta / length, atol=1e-5)
    np.testing.assert_array_equal(part.source_ids, graph.ids[walk > 0])
    np.testing.assert_allclose(part.source_weights, walk[walk > 0], atol=1e-6)
    expected = (walk[:, None] * ((x - state.mean) @ beta) / length)[walk > 0]
    np.testing.assert_allclose(part.source_scores, expected, atol=1e-5)
    np.testing.assert_allclose(part.source_rest, 0, atol=1e-5)  # means have weights that sum to one
    assert part.source_labels == graph.labels[walk > 0].tolist() and part.length == pytest.approx(length, rel=1e-5)


def test_a_lone_node_has_its_own_features_and_the_average():
    graph = planted()
    model = SlimG(grid=PAIR).fit(graph)
    explanation = model.explain("lone")
    assert not explanation.part("U").scores.any() and len(explanation.part("U").source_ids) == 0
    assert explanation.part("A_sym^2 X").source_ids.tolist() == ["lone"]
    row = explanation.part("A_row^2 X")
    assert len(row.source_ids) == 0
    np.testing.assert_allclose(row.source_rest, row.scores)


def test_removed_components_contribute_nothing():
    graph = planted(inside=0.05, outside=0.05)
    model = SlimG(grid=[(0, 0.12)]).fit(graph)
    assert model.zero_components_
    explanation = model.explain("n3")
    for name in model.zero_components_:
        assert explanation.part(name).removed and not explanation.part(name).scores.any()
    assert all(not explanation.part(name).removed for name in model.coef_ if name not in model.zero_components_)


def test_the_scorer_scores_any_graph_as_a_dense_recomputation():
    graph = planted()
    model = SlimG(grid=PAIR).fit(graph)
    expected = dense_scores(model, graph.adjacency.to_scipy().toarray().astype(float), graph.features.astype(float))
    np.testing.assert_allclose(model.scorer_.scores(Target(graph, np.arange(graph.n))), expected, atol=2e-4)


def test_nodes_of_cora_and_every_seed(load_real):
    graph = load_real("cora")
    split = stratified(graph, REAL, 0)
    model = SlimG(grid=PAIR, random_state=0).fit(graph, train=split.train, val=split.val)
    scores = model.decision_function().astype(float)
    nodes = graph.ids[::4]
    for node, explanation in zip(nodes, model.explain_all(nodes), strict=True):
        assert np.abs(explanation.rounding).max() / np.abs(scores[node]).max() < 1e-4
    assert model.intercept_.sum() == pytest.approx(0, abs=1e-5)
    exact = paper_components()  # decomposed densely, where the seed has no part
    models = [SlimG(components=exact, grid=PAIR, random_state=seed) for seed in (0, 7)]
    models = [each.fit(graph, train=split.train, val=split.val) for each in models]
    for node in (0, 1000, 2707):
        one, two = (each.explain(node) for each in models)
        for mine, theirs in zip(one.parts, two.parts, strict=True):
            np.testing.assert_array_equal(mine.scores, theirs.scores)
            np.testing.assert_array_equal(mine.source_scores, theirs.source_scores)
