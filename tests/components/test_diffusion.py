"""S X against the closed form and its limits, and nodes placed by a model whose X was reduced."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from explain_graphs import planted
from oracles import chebyshev
from slimg import Graph, SlimG
from slimg.components import DEFAULT_COMPONENTS, Diffusion, Features, PageRank, PropagatedFeatures, Target, compute_components
from slimg.components.row_scaling import dense_rows, unit_rows
from slimg.linalg import svd


def network(n=30, d=4):
    matrix = nx.to_numpy_array(nx.barabasi_albert_graph(n, 2, seed=1))
    x = np.random.default_rng(0).random((n, d)).astype(np.float32)
    full = matrix + np.eye(n)
    smooth = full / np.sqrt(np.outer(full.sum(axis=1), full.sum(axis=1)))
    return Graph.from_arrays(sp.csr_array(matrix), features=x), smooth, x.astype(np.float64)


def rows_of(graph, component):
    return compute_components(graph, components=[component]).blocks[component.name]


@pytest.mark.parametrize("alpha, steps", [(0.1, 10), (0.4, 1), (0.25, 300)])
def test_rows_are_a_personalised_pagerank(alpha, steps):
    graph, smooth, x = network()
    truth = sum(alpha * (1 - alpha) ** k * np.linalg.matrix_power(smooth, k) for k in range(steps + 1)) @ x
    if steps == 300:  # the whole series has a closed form
        np.testing.assert_allclose(truth, alpha * np.linalg.solve(np.eye(30) - (1 - alpha) * smooth, x), rtol=1e-9)
    component = Diffusion(alpha=alpha, steps=steps, pca=False, normalize=None)
    np.testing.assert_allclose(rows_of(graph, component), unit_rows(truth), atol=2e-5)


def test_without_steps_or_with_alpha_near_one_it_is_x_itself():
    graph, _, _ = network()
    own = rows_of(graph, Features(pca=False))
    np.testing.assert_array_equal(rows_of(graph, Diffusion(steps=0, pca=False)), own)
    np.testing.assert_allclose(rows_of(graph, Diffusion(alpha=1 - 1e-7, pca=False)), own, atol=1e-5)


@pytest.mark.parametrize("alpha, steps", [(0.05, 10), (0.05, 12), (0.5, 1), (0.02, 2)])
def test_the_polynomial_is_that_of_chebyshev(alpha, steps):
    graph, smooth, x = network()
    rows = rows_of(graph, PageRank(alpha=alpha, steps=steps, pca=False, normalize=None))
    np.testing.assert_allclose(rows, unit_rows(chebyshev(smooth, alpha, steps) @ x), atol=2e-5)


def test_ten_hops_are_near_the_sum_of_all_steps_and_few_do_where_alpha_is_large():
    graph, smooth, x = network()
    whole = 0.05 * np.linalg.inv(np.eye(30) - 0.95 * smooth)
    powers = sum(0.05 * 0.95**k * np.linalg.matrix_power(smooth, k) for k in range(11))
    near, cut = (np.linalg.norm(each - whole, 2) for each in (chebyshev(smooth, 0.05, 10), powers))
    assert near < 0.06 and cut == pytest.approx(0.95**11, abs=1e-6)
    exact = 0.6 * np.linalg.solve(np.eye(30) - 0.4 * smooth, x)
    np.testing.assert_allclose(rows_of(graph, PageRank(alpha=0.6, pca=False, normalize=None)), unit_rows(exact), atol=1e-5)


@pytest.mark.parametrize("longer", [Diffusion(), PageRank()], ids=["S", "PPR"])
def test_it_shares_the_hops_of_the_same_operator(longer):
    graph, _, _ = network()
    both = compute_components(graph, components=[PropagatedFeatures(kind="sym"), longer])
    for component in (PropagatedFeatures(kind="sym"), longer):
        np.testing.assert_allclose(both.blocks[component.name], rows_of(graph, component), atol=1e-5)


@pytest.fixture(params=[False, True], ids=["dense", "sparse"])
def reduced(request, monkeypatch):
    """A model of the default list with X reduced, on a graph without its last node, and the graph with it."""
    monkeypatch.setattr(svd, "SPARE", 2)
    graph = planted(sparse=request.param)
    listed = [type(each)(**{**each.options(), "rank": 2}) for each in DEFAULT_COMPONENTS]
    small = graph.subgraph(np.arange(graph.n) < graph.n - 1)
    model = SlimG(components=listed, grid=[(1e-5, 1e-4)]).fit(small)
    assert model.components_.fitted["X"].state.basis.shape[1] <= 4 < graph.d
    return model, graph


def test_parts_of_a_score_add_up_with_a_reduced_x(reduced):
    model, _ = reduced
    for node in ("n5", "n17"):
        explanation = model.explain(node)
        assert sum(explanation.components().values()) == pytest.approx(explanation.score(), abs=1e-5)
        for part in explanation.parts:
            if part.features is not None:
                np.testing.assert_allclose(part.features.sum(axis=0), part.scores, atol=1e-5)


def test_a_new_node_is_placed_as_if_the_formula_were_computed_on_the_grown_graph(reduced):
    model, graph = reduced
    rows = np.array([graph.n - 1, 0, 5])
    for name in ("X", "A_row^2 X", "A_sym^2 X", "PPR^10 X"):
        fitted = model.components_.fitted[name]
        state, component = fitted.state, fitted.component
        x = dense_rows(state.prepared(graph, np.arange(graph.n)))
        a = graph.adjacency.to_scipy().toarray().astype(float)
        full = a + (np.eye(graph.n) if "row" not in name else 0)
        degree = np.maximum(full.sum(axis=1), 1e-12)
        matrix = full / degree[:, None] if "row" in name else full / np.sqrt(np.outer(degree, degree))
        spread = sum(c * np.linalg.matrix_power(matrix, k) for k, c in enumerate(component.coefficients))
        truth = (spread @ x - state.mean) @ state.basis @ state.pca.components.T
        np.testing.assert_allclose(component.project(state, Target(graph, rows)), truth[rows], atol=1e-5, err_msg=name)


def test_a_reduced_model_comes_back_from_its_file(reduced, tmp_path):
    model, graph = reduced
    loaded = SlimG.load(model.save(tmp_path / "m.slimg"))
    np.testing.assert_array_equal(loaded.decision_function(), model.decision_function())
    np.testing.assert_allclose(loaded.fold_in(graph).scores, model.fold_in(graph).scores, atol=1e-6)
