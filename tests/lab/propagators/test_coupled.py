"""ChebNet, GCN, SAGE, GCNII and H₂GCN equal the paper's formulas, formed."""

import numpy as np
import pytest
from propagate_oracles import GRAPHS, OpaqueEngine, assert_equals, dense_a, dense_x, powers, row, sym, tilde_sym

from slimg.errors import InputError
from slimg.lab.propagators import get

graphs = pytest.mark.parametrize("graph", GRAPHS, ids=range(10))


@graphs
@pytest.mark.parametrize("K", [1, 3, 6])
def test_chebnet(graph, K):
    assert_equals(get("chebnet", K=K)(graph), powers(sym(dense_a(graph)), dense_x(graph), range(K)))


@graphs
@pytest.mark.parametrize("K", [1, 2, 4])
def test_gcn(graph, K):
    assert_equals(get("gcn", K=K)(graph), powers(tilde_sym(dense_a(graph)), dense_x(graph), [K]))


@graphs
@pytest.mark.parametrize("K", [0, 2, 5])
def test_sage(graph, K):
    assert_equals(get("sage", K=K)(graph), powers(row(dense_a(graph)), dense_x(graph), range(K + 1)))


@graphs
@pytest.mark.parametrize(("K", "alpha"), [(1, 0.5), (2, 0.2), (8, 0.1)])
def test_gcnii(graph, K, alpha):
    s, x = tilde_sym(dense_a(graph)), dense_x(graph)
    last = (1 - alpha) * np.linalg.matrix_power(s, K) + alpha * np.linalg.matrix_power(s, K - 1)
    assert_equals(get("gcnii", K=K, alpha=alpha)(graph), [*powers(s, x, range(K - 1)), last @ x])


@graphs
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
