"""Graph kernels and SlimG's columns against their formulas."""

import numpy as np
import pytest
import scipy.linalg
from propagate_oracles import GRAPHS, assert_equals, dense_a, dense_x, laplacian

from slimg.components import compute_components, paper_components
from slimg.errors import InputError
from slimg.lab.propagators import get

graphs = pytest.mark.parametrize("graph", GRAPHS, ids=range(10))


@graphs
@pytest.mark.parametrize("sigma", [1.0, 0.3, 4.0])
def test_regularised_laplacian(graph, sigma):
    inverse = np.linalg.inv(np.eye(graph.n) + sigma**2 * laplacian(dense_a(graph)))
    assert_equals(get("reg_kernel", sigma=sigma)(graph), [inverse @ dense_x(graph)])


@graphs
@pytest.mark.parametrize("sigma", [1.0, 0.3, 6.0])
def test_diffusion(graph, sigma):
    exponential = scipy.linalg.expm(-(sigma**2) / 2 * laplacian(dense_a(graph)))
    assert_equals(get("diff_kernel", sigma=sigma)(graph), [exponential @ dense_x(graph)])


@graphs
@pytest.mark.parametrize(("a", "p"), [(2, 2), (1, 2), (3, 5), (2, 0)])
def test_random_walk(graph, a, p):
    power = np.linalg.matrix_power(a * np.eye(graph.n) - laplacian(dense_a(graph)), p)
    assert_equals(get("rw_kernel", a=a, p=p)(graph), [power @ dense_x(graph)])


def test_isolated_nodes_keep_their_features():
    graph = GRAPHS[0]
    x = dense_x(graph)[-3:]
    for name, scale in (("reg_kernel", 1), ("diff_kernel", 1), ("rw_kernel", 4)):
        np.testing.assert_allclose(get(name)(graph).blocks["P"][-3:], scale * x, atol=1e-5)


def test_sigma_must_be_positive():
    with pytest.raises(InputError, match="reg_kernel: sigma must be a number above 0, not 0"):
        get("reg_kernel", sigma=0)


def test_slimg_is_the_four_components():
    registered, direct = get("slimg")(GRAPHS[3]), compute_components(
        GRAPHS[3], components=paper_components(normalize="row")
    )
    assert registered.names == direct.names == ("U", "X", "A_row^2 X", "A_sym^2 X")
    for name in direct.names:
        assert np.array_equal(registered.blocks[name], direct.blocks[name])


def test_it_has_no_hyperparameters():
    assert get("slimg").hyperparameters() == {}
