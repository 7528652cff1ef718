"""Propagators of networks against their formulas in dense matrices."""

import numpy as np
import pytest
from propagate_oracles import GRAPHS, OpaqueEngine, assert_equals, dense_a, dense_x, powers, row, sym, tilde_sym

from slimg.errors import InputError
from slimg.lab.propagators import get

graphs = pytest.mark.parametrize("graph", GRAPHS, ids=range(10))


@graphs
@pytest.mark.parametrize("alpha", [0.1, 0.02, 0.9])
def test_ppnp(graph, alpha):
    inverse = np.linalg.inv(np.eye(graph.n) - (1 - alpha) * tilde_sym(dense_a(graph)))
    assert_equals(get("ppnp", alpha=alpha)(graph), [inverse @ dense_x(graph)])


@graphs
@pytest.mark.parametrize(("K", "alpha"), [(10, 0.1), (0, 0.5), (1, 0.9)])
def test_appnp(graph, K, alpha):
    s, p = tilde_sym(dense_a(graph)), 0.0
    for k in range(K):
        p = p + alpha * (1 - alpha) ** k * np.linalg.matrix_power(s, k)
    p = p + (1 - alpha) ** K * np.linalg.matrix_power(s, K)
    assert_equals(get("appnp", K=K, alpha=alpha)(graph), [p @ dense_x(graph)])


def test_appnp_tends_to_ppnp():
    graph = GRAPHS[1]
    far = get("appnp", K=400, alpha=0.1)(graph).blocks["P"]
    np.testing.assert_allclose(far, 0.1 * get("ppnp", alpha=0.1)(graph).blocks["P"], atol=1e-5)


@graphs
@pytest.mark.parametrize(("alpha", "epsilon"), [(0.15, 1e-4), (0.05, 1e-2), (0.3, 0.05)])
def test_gdc(graph, alpha, epsilon):
    s = alpha * np.linalg.inv(np.eye(graph.n) - (1 - alpha) * tilde_sym(dense_a(graph)))
    kept = np.where(s >= epsilon, s, 0)
    assert_equals(get("gdc", alpha=alpha, epsilon=epsilon)(graph), [tilde_sym(kept) @ dense_x(graph)])


@graphs
@pytest.mark.parametrize("K", [0, 3, 10])
def test_gprgnn(graph, K):
    result = get("gprgnn", K=K)(graph)
    assert_equals(result, powers(tilde_sym(dense_a(graph)), dense_x(graph), range(K + 1)))
    assert result.names[:2] == ("X", "Ã_sym X")[: K + 1]


@pytest.mark.parametrize("alpha", [0, 1, -0.1, 2, np.nan, True, None])
@pytest.mark.parametrize("name", ["ppnp", "appnp", "gdc"])
def test_alpha_lies_between_zero_and_one(name, alpha):
    with pytest.raises(InputError, match=f"{name}: alpha must be a number between 0 and 1"):
        get(name, alpha=alpha)


graphs_coupled = pytest.mark.parametrize("graph", GRAPHS, ids=range(10))


@graphs_coupled
@pytest.mark.parametrize("K", [1, 3, 6])
def test_chebnet(graph, K):
    assert_equals(get("chebnet", K=K)(graph), powers(sym(dense_a(graph)), dense_x(graph), range(K)))


@graphs_coupled
@pytest.mark.parametrize("K", [1, 2, 4])
def test_gcn(graph, K):
    assert_equals(get("gcn", K=K)(graph), powers(tilde_sym(dense_a(graph)), dense_x(graph), [K]))


@graphs_coupled
@pytest.mark.parametrize("K", [0, 2, 5])
def test_sage(graph, K):
    assert_equals(get("sage", K=K)(graph), powers(row(dense_a(graph)), dense_x(graph), range(K + 1)))


@graphs_coupled
@pytest.mark.parametrize(("K", "alpha"), [(1, 0.5), (2, 0.2), (8, 0.1)])
def test_gcnii(graph, K, alpha):
    s, x = tilde_sym(dense_a(graph)), dense_x(graph)
    last = (1 - alpha) * np.linalg.matrix_power(s, K) + alpha * np.linalg.matrix_power(s, K - 1)
    assert_equals(get("gcnii", K=K, alpha=alpha)(graph), [*powers(s, x, range(K - 1)), last @ x])


@graphs_coupled
@pytest.mark.parametrize("K", [0, 1, 2])
def test_h2gcn(graph, K):
    assert_equals(get("h2gcn", K=K)(graph), powers(sym(dense_a(graph)), dense_x(graph), range(2 * K + 1)))


@pytest.mark.parametrize(("name", "hops"), [("chebnet", 2), ("gcn", 3), ("sage", 3), ("gcnii", 3), ("h2gcn", 6)])
def test_each_hop_is_one_pass(name, hops):
    engine = OpaqueEngine()
    get(name, K=3)(GRAPHS[0], engine)
    assert engine.passes == hops


@pytest.mark.parametrize("name", ["chebnet", "gcnii"])
def test_too_few_layers(name):
    with pytest.raises(InputError, match=f"{name}: K must be a whole number of at least 1, not 0"):
        get(name, K=0)


graphs_attention = pytest.mark.parametrize("graph", GRAPHS, ids=range(10))


@graphs_attention
@pytest.mark.parametrize("K", [0, 1, 2, 3])
def test_gat(graph, K):
    loops, x = dense_a(graph) + np.eye(graph.n), dense_x(graph)
    w = np.random.default_rng(K).standard_normal((K, 2, graph.d)) / 3
    product = np.eye(graph.n)
    for k in range(K):
        product = product @ (np.diag(x @ w[k, 0]) @ loops + loops @ np.diag(x @ w[k, 1]))
    assert_equals(get("gat", K=K, w=w)(graph), [product @ x])


@graphs_attention
@pytest.mark.parametrize("K", [0, 1, 4])
def test_dagnn(graph, K):
    s, x = tilde_sym(dense_a(graph)), dense_x(graph)
    w = np.random.default_rng(K).standard_normal(graph.d)
    expected = sum(np.diag(s_k @ x @ w) @ s_k @ x for s_k in (np.linalg.matrix_power(s, k) for k in range(K + 1)))
    assert_equals(get("dagnn", K=K, w=w)(graph), [expected])


@pytest.mark.parametrize("name", ["gat", "dagnn"])
def test_vectors_that_are_not_given_follow_the_seed_and_are_told(name):
    graph = GRAPHS[0]
    first, again, other = (get(name, random_state=seed)(graph) for seed in (0, 0, 1))
    assert np.array_equal(first.blocks["P"], again.blocks["P"])
    assert not np.allclose(first.blocks["P"], other.blocks["P"])
    assert "weight vectors w were not given and are random (random_state = 1)" in other.notes[0]
    assert get(name).hyperparameters() == {"K": get(name).K}


@pytest.mark.parametrize(("name", "needed"), [("gat", "2 × 2 × 6"), ("dagnn", "6")])
def test_vectors_of_another_shape(name, needed):
    with pytest.raises(InputError, match=rf"{name}: w must be an array of {needed} numbers, not of shape \(4,\)"):
        get(name, w=np.ones(4))(GRAPHS[0])
