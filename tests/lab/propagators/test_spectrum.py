"""E(λ) and coefficients against eigenvalues of formed matrices."""

import numpy as np
import pytest
from propagate_oracles import GRAPHS, dense_a, laplacian, sym, tilde_sym

from slimg.graph import Graph
from slimg.lab.propagators import get, names
from slimg.lab.propagators.expressions import (
    A_row,
    A_sym,
    At_sym,
    Attention,
    Exponential,
    Gated,
    Hop,
    Inverse,
    L,
    Structure,
    identity,
    summation,
    walk,
)
from slimg.lab.propagators.spectrum import INTERVALS, coefficients, response

MATRICES = {"A_sym": sym, "Ã_sym": tilde_sym, "L": laplacian}
SPECTRAL = [name for name in names() if name not in ("lr", "gdc", "gat", "dagnn", "sage", "slimg")]


@pytest.mark.parametrize("name", SPECTRAL)
def test_the_response_is_what_happens_to_an_eigenvector(name):
    graph = GRAPHS[1]
    for block, expression in get(name).blocks().items():
        (operator,) = {part.name for part in _hops(expression)} or {"A_sym"}
        values, vectors = np.linalg.eigh(MATRICES[operator](dense_a(graph)))
        x = vectors[:, [3, -5]]
        filtered = get(name)(_with_features(graph, x), normalize=None).blocks[block]
        expected = x * response(expression, values[[3, -5]])
        np.testing.assert_allclose(filtered, expected, atol=2e-5 * max(1, np.abs(expected).max()))


def test_coefficients_are_those_of_the_polynomial():
    expression = summation(1, 3, lambda k: 0.5 * identity + k * A_sym**k) - 2 * (identity - A_sym) ** 2
    np.testing.assert_allclose(coefficients(expression), [1.5 - 2, 1 + 4, 2 - 2, 3])
    values = np.linspace(-1, 1, 7)
    evaluated = np.polynomial.polynomial.polyval(values, coefficients(expression))
    np.testing.assert_allclose(response(expression, values), evaluated)


def test_two_hundred_steps_are_binomial_weights():
    from scipy.stats import binom

    np.testing.assert_allclose(coefficients(get("dgc").formula()), binom.pmf(np.arange(201), 200, 5 / 200), atol=1e-15)


@pytest.mark.parametrize("expression", [Inverse(A_sym), Exponential(L), A_sym + A_row, Attention(1), Gated(A_sym)])
def test_other_forms_have_no_coefficients(expression):
    assert coefficients(expression) is None


@pytest.mark.parametrize("expression", [A_sym + A_row, Attention(1), Structure(), identity + Gated(A_sym)])
def test_what_is_no_function_of_one_operator_has_no_response(expression):
    assert response(expression, np.zeros(2)) is None


def test_the_response_of_a_diffusion_is_one_at_one():
    values = response(get("gdc").formula(), np.array([1.0, 0.0, -1.0]))
    assert values[0] == pytest.approx(1)
    assert 0 < values[2] < values[1] < 1
    assert list(values) == pytest.approx([1, (0.15 + 1) / 2, (0.15 / 1.85 + 1) / 2])


@pytest.mark.parametrize("graph", GRAPHS, ids=range(10))
def test_eigenvalues_lie_in_their_intervals(graph):
    for name, form in MATRICES.items():
        values = np.linalg.eigvalsh(form(dense_a(graph)))
        low, high = INTERVALS[name]
        assert low - 1e-9 <= values.min() and values.max() <= high + 1e-9


def _hops(expression):
    return [part for part in walk(expression) if isinstance(part, Hop)]


def _with_features(graph, x):
    return Graph(graph.adjacency, x.astype(np.float32))


def test_an_exponent_of_zero_is_one():
    np.testing.assert_array_equal(response(At_sym**0, np.array([0.3, -1.0])), [1, 1])
