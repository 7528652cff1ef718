"""PPNP, APPNP, GDC and GPR-GNN equal the paper's formulas, formed."""

import numpy as np
import pytest
from propagate_oracles import GRAPHS, assert_equals, dense_a, dense_x, powers, tilde_sym

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
