"""Every propagator of the catalog equals the paper's formula, formed in dense matrices."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from numpy.linalg import inv, matrix_power
from propagate_oracles import (
    GRAPHS,
    OpaqueEngine,
    assert_equals,
    dense_a,
    dense_x,
    laplacian,
    powers,
    random_graph,
    row,
    sym,
    tilde_sym,
)

from slimg.components import compute_components, paper_components
from slimg.errors import InputError
from slimg.lab.propagators import get


def lr(a, x):
    return [x]


def sgc(a, x, K):
    return powers(tilde_sym(a), x, [K])


def dgc(a, x, K, T):
    return powers((1 - T / K) * np.eye(len(a)) + T / K * tilde_sym(a), x, [K])


def s2gc(a, x, K, alpha):
    return [sum(alpha * x + (1 - alpha) * matrix_power(tilde_sym(a), k) @ x for k in range(1, K + 1))]


def g2cn(a, x, K, T, b):
    found = []
    for time, band in zip(T if isinstance(T, tuple) else (T, T), b, strict=True):
        shifted = (band - 1) * np.eye(len(a)) + sym(a)
        found += powers(np.eye(len(a)) - time / K * shifted @ shifted, x, [K])
    return found


def ppnp(a, x, alpha):
    return [inv(np.eye(len(a)) - (1 - alpha) * tilde_sym(a)) @ x]


def appnp(a, x, K, alpha):
    near = sum(alpha * (1 - alpha) ** k * matrix_power(tilde_sym(a), k) @ x for k in range(K))
    return [near + (1 - alpha) ** K * matrix_power(tilde_sym(a), K) @ x]


def gdc(a, x, alpha, epsilon):
    s = alpha * inv(np.eye(len(a)) - (1 - alpha) * tilde_sym(a))
    return [tilde_sym(np.where(s >= epsilon, s, 0)) @ x]


def gprgnn(a, x, K):
    return powers(tilde_sym(a), x, range(K + 1))


def chebnet(a, x, K):
    return powers(sym(a), x, range(K))


def sage(a, x, K):
    return powers(row(a), x, range(K + 1))


def gcnii(a, x, K, alpha):
    near, far = powers(tilde_sym(a), x, [K - 1, K])
    return [*powers(tilde_sym(a), x, range(K - 1)), (1 - alpha) * far + alpha * near]


def h2gcn(a, x, K):
    return powers(sym(a), x, range(2 * K + 1))


def gat(a, x, K, w):
    loops, product = a + np.eye(len(a)), np.eye(len(a))
    for receiver, sender in w:
        product = product @ (np.diag(x @ receiver) @ loops + loops @ np.diag(x @ sender))
    return [product @ x]


def dagnn(a, x, K, w):
    return [sum(np.diag(hop @ w) @ hop for hop in powers(tilde_sym(a), x, range(K + 1)))]


def reg_kernel(a, x, sigma):
    return [inv(np.eye(len(a)) + sigma**2 * laplacian(a)) @ x]


def diff_kernel(a, x, sigma):
    return [scipy.linalg.expm(-(sigma**2) / 2 * laplacian(a)) @ x]


def rw_kernel(a_, x, a, p):
    return powers(a * np.eye(len(a_)) - laplacian(a_), x, [p])


def vectors(*shape):
    return np.random.default_rng(0).standard_normal(shape) / 3


CASES = [
    (lr, {}),
    *((sgc, {"K": K}) for K in (0, 1, 2, 5)),
    *((dgc, {"K": K, "T": T}) for K, T in ((200, 3), (200, 6), (4, 4), (1, 0.5))),
    *((s2gc, {"K": K, "alpha": alpha}) for K, alpha in ((16, 0.05), (1, 0.5))),
    *((g2cn, {"K": K, "T": T, "b": b}) for K, T, b in ((100, 10, (0, 2)), (100, 40, (0, 2)), (6, (1.0, 2.0), (1, 0.5)))),
    *((ppnp, {"alpha": alpha}) for alpha in (0.1, 0.02, 0.9)),
    *((appnp, {"K": K, "alpha": alpha}) for K, alpha in ((10, 0.1), (0, 0.5), (1, 0.9))),
    *((gdc, {"alpha": alpha, "epsilon": epsilon}) for alpha, epsilon in ((0.15, 1e-4), (0.05, 1e-2), (0.3, 0.05))),
    *((gprgnn, {"K": K}) for K in (0, 3, 10)),
    *((chebnet, {"K": K}) for K in (1, 3, 6)),
    *((sage, {"K": K}) for K in (0, 2, 5)),
    *((gcnii, {"K": K, "alpha": alpha}) for K, alpha in ((1, 0.5), (2, 0.2), (8, 0.1))),
    *((h2gcn, {"K": K}) for K in (0, 1, 2)),
    *((gat, {"K": K, "w": vectors(K, 2, 6)}) for K in (0, 1, 2, 3)),
    *((dagnn, {"K": K, "w": vectors(6)}) for K in (0, 1, 4)),
    *((reg_kernel, {"sigma": sigma}) for sigma in (1.0, 0.3, 4.0)),
    *((diff_kernel, {"sigma": sigma}) for sigma in (1.0, 0.3, 6.0)),
    *((rw_kernel, {"a": a, "p": p}) for a, p in ((2, 2), (1, 2), (3, 5), (2, 0))),
]
"""Formula in dense A and X → the hyperparameters with which it is compared."""


@pytest.mark.parametrize(("formula", "given"), CASES, ids=lambda value: getattr(value, "__name__", ""))
def test_it_equals_the_formula(formula, given):
    for graph in GRAPHS[:3]:  # of two to four components, the second with weights
        result = get(formula.__name__, **given)(graph)
        assert_equals(result, formula(dense_a(graph), dense_x(graph), **given))


@pytest.mark.parametrize("K", [1, 2, 4])
def test_gcn_is_sgc(K):
    assert get("gcn", K=K).formula() == get("sgc", K=K).formula()


def test_blocks_are_named_by_their_operator_and_power():
    assert get("gprgnn", K=2)(GRAPHS[0]).names == ("X", "Ã_sym X", "Ã_sym^2 X")


def test_lr_keeps_sparse_features_sparse():
    graph = random_graph(0, sparse_features=True)
    result = get("lr")(graph)
    assert sp.issparse(result.blocks["X"])
    weights = np.arange(12.0).reshape(6, 2)
    np.testing.assert_allclose(result.linear({"X": weights}), dense_x(graph) @ weights, atol=1e-5)


def test_appnp_tends_to_ppnp():
    graph = GRAPHS[1]
    far = get("appnp", K=400, alpha=0.1)(graph).blocks["P"]
    np.testing.assert_allclose(far, 0.1 * get("ppnp", alpha=0.1)(graph).blocks["P"], atol=1e-5)


def test_isolated_nodes_keep_their_features():
    graph = GRAPHS[0]
    x = dense_x(graph)[-3:]
    for name, scale in (("reg_kernel", 1), ("diff_kernel", 1), ("rw_kernel", 4)):
        np.testing.assert_allclose(get(name)(graph).blocks["P"][-3:], scale * x, atol=1e-5)


def test_two_hundred_steps_of_dgc_take_few_passes():
    engine = OpaqueEngine()
    get("dgc", K=200, T=5)(GRAPHS[0], engine)
    assert engine.passes <= 30


@pytest.mark.parametrize(("name", "hops"), [("chebnet", 2), ("gcn", 3), ("sage", 3), ("gcnii", 3), ("h2gcn", 6)])
def test_each_hop_is_one_pass(name, hops):
    engine = OpaqueEngine()
    get(name, K=3)(GRAPHS[0], engine)
    assert engine.passes == hops


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        *((name, {"K": -1}, f"{name}: K must be a whole number of at least 0, not -1") for name in ("sgc", "gat")),
        *((name, {"K": 0}, f"{name}: K must be a whole number of at least 1, not 0") for name in ("dgc", "chebnet", "gcnii")),
        *(("sgc", {"K": K}, "sgc: K must be a whole number") for K in (1.5, "2", None)),
        ("dgc", {"K": 3, "T": 4}, "above 1 diverge, but T = 4 and K = 3"),
        *(
            (name, {"alpha": alpha}, f"{name}: alpha must be a number between 0 and 1, not {alpha!r}")
            for name in ("s2gc", "ppnp", "gdc")
            for alpha in (0, 1.0, np.nan, True, None, "much")
        ),
        ("g2cn", {"T": 60}, r"or they diverge, but filter 1 has T = 60, b = 0, K = 100"),
        ("g2cn", {"b": (0, 1, 2)}, r"g2cn: b needs one value for each of the N = 2 filters"),
        ("reg_kernel", {"sigma": 0}, "reg_kernel: sigma must be a number above 0, not 0"),
    ],
    ids=str,
)
def test_bounds_of_hyperparameters(name, given, said):
    with pytest.raises(InputError, match=said):
        get(name, **given)


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


def test_slimg_is_the_four_components_without_hyperparameters():
    registered, direct = get("slimg")(GRAPHS[3]), compute_components(
        GRAPHS[3], components=paper_components(normalize="row")
    )
    assert registered.names == direct.names == ("U", "X", "A_row^2 X", "A_sym^2 X")
    for name in direct.names:
        assert np.array_equal(registered.blocks[name], direct.blocks[name])
    assert get("slimg").hyperparameters() == {}
