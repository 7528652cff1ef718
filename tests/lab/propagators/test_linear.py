"""LR, SGC, DGC, S²GC and G²CN equal the paper's formulas, formed."""

import numpy as np
import pytest
import scipy.sparse as sp
from propagate_oracles import GRAPHS, OpaqueEngine, assert_equals, dense_a, dense_x, random_graph, sym, tilde_sym

from slimg.errors import InputError
from slimg.lab.propagators import get

graphs = pytest.mark.parametrize("graph", GRAPHS, ids=range(10))


@graphs
def test_lr(graph):
    assert_equals(get("lr")(graph), [dense_x(graph)])


def test_lr_keeps_sparse_features_sparse():
    graph = random_graph(0, sparse_features=True)
    result = get("lr")(graph)
    assert sp.issparse(result.blocks["X"])
    weights = np.arange(12.0).reshape(6, 2)
    np.testing.assert_allclose(result.linear({"X": weights}), dense_x(graph) @ weights, atol=1e-5)


@graphs
@pytest.mark.parametrize("K", [0, 1, 2, 5])
def test_sgc(graph, K):
    assert_equals(get("sgc", K=K)(graph), [np.linalg.matrix_power(tilde_sym(dense_a(graph)), K) @ dense_x(graph)])


@graphs
@pytest.mark.parametrize(("K", "T"), [(200, 3), (200, 6), (4, 4), (1, 0.5)])
def test_dgc(graph, K, T):
    step = (1 - T / K) * np.eye(graph.n) + T / K * tilde_sym(dense_a(graph))
    assert_equals(get("dgc", K=K, T=T)(graph), [np.linalg.matrix_power(step, K) @ dense_x(graph)])


def test_two_hundred_steps_of_dgc_take_few_passes():
    engine = OpaqueEngine()
    get("dgc", K=200, T=5)(GRAPHS[0], engine)
    assert engine.passes <= 30


@graphs
@pytest.mark.parametrize(("K", "alpha"), [(16, 0.05), (1, 0.5)])
def test_s2gc(graph, K, alpha):
    s, x, total = tilde_sym(dense_a(graph)), dense_x(graph), 0.0
    for k in range(1, K + 1):
        total = total + alpha * x + (1 - alpha) * np.linalg.matrix_power(s, k) @ x
    assert_equals(get("s2gc", K=K, alpha=alpha)(graph), [total])


@graphs
@pytest.mark.parametrize(("K", "T", "b"), [(100, 10, (0, 2)), (100, 40, (0, 2)), (6, (1.0, 2.0), (1, 0.5))])
def test_g2cn(graph, K, T, b):
    a, expected = dense_a(graph), []
    for time, band in zip(T if isinstance(T, tuple) else (T, T), b, strict=True):
        shifted = (band - 1) * np.eye(graph.n) + sym(a)
        step = np.eye(graph.n) - time / K * shifted @ shifted
        expected.append(np.linalg.matrix_power(step, K) @ dense_x(graph))
    assert_equals(get("g2cn", K=K, T=T, b=b)(graph), expected)


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("sgc", {"K": -1}, "sgc: K must be a whole number of at least 0, not -1"),
        ("dgc", {"K": 0}, "dgc: K must be a whole number of at least 1, not 0"),
        ("dgc", {"K": 3, "T": 4}, "above 1 diverge, but T = 4 and K = 3"),
        ("s2gc", {"alpha": 1.0}, "s2gc: alpha must be a number between 0 and 1, not 1.0"),
        ("s2gc", {"alpha": "much"}, "s2gc: alpha must be a number between 0 and 1, not 'much'"),
        ("g2cn", {"T": 60}, r"or they diverge, but filter 1 has T = 60, b = 0, K = 100"),
        ("g2cn", {"b": (0, 1, 2)}, r"g2cn: b needs one value for each of the N = 2 filters"),
    ],
)
def test_bounds_of_hyperparameters(name, given, said):
    with pytest.raises(InputError, match=said):
        get(name, **given)
