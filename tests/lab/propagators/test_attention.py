"""GAT and DA-GNN equal the paper's partial forms, formed, for given weight vectors."""

import numpy as np
import pytest
from propagate_oracles import GRAPHS, assert_equals, dense_a, dense_x, tilde_sym

from slimg.errors import InputError
from slimg.lab.propagators import get

graphs = pytest.mark.parametrize("graph", GRAPHS, ids=range(10))


@graphs
@pytest.mark.parametrize("K", [0, 1, 2, 3])
def test_gat(graph, K):
    loops, x = dense_a(graph) + np.eye(graph.n), dense_x(graph)
    w = np.random.default_rng(K).standard_normal((K, 2, graph.d)) / 3
    product = np.eye(graph.n)
    for k in range(K):
        product = product @ (np.diag(x @ w[k, 0]) @ loops + loops @ np.diag(x @ w[k, 1]))
    assert_equals(get("gat", K=K, w=w)(graph), [product @ x])


@graphs
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
