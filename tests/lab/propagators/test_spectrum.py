"""Functions of one operator: eigenvalues, coefficients, and sums over recurrences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from propagate_oracles import GRAPHS, dense_a, laplacian, sym, tilde_sym

from slimg.engine import MemoryEngine
from slimg.graph import Graph
from slimg.lab.propagators import get, names
from slimg.lab.propagators.evaluation import (
    INTERVALS,
    chebyshev_coefficients,
    coefficients,
    combination,
    functions_of,
    response,
    stable_powers,
)
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

MATRICES = {"A_sym": sym, "Ã_sym": tilde_sym, "L": laplacian}
SPECTRAL = [name for name in names() if name not in ("lr", "gdc", "gat", "dagnn", "sage", "slimg")]


@pytest.mark.parametrize("name", SPECTRAL)
def test_the_response_is_what_happens_to_an_eigenvector(name):
    graph = GRAPHS[1]
    for block, expression in get(name).blocks().items():
        (operator,) = {part.name for part in _hops(expression)} or {"A_sym"}
        values, vectors = np.linalg.eigh(MATRICES[operator](dense_a(graph)))
        x = vectors[:, [3, -5]]
        filtered = get(name)(_with_features(graph, x), normalize_features=None).blocks[block]
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


@pytest.mark.parametrize("graph", GRAPHS, ids=range(4))
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


engine = MemoryEngine(threads=1)


def filtered(name, matrix, expressions, x):
    hop = lambda row_matrix: (matrix @ row_matrix).astype(np.float32)  # noqa: E731
    return functions_of(engine, name, hop, expressions, x.astype(np.float32))


def test_positive_coefficients_stay_powers_and_lose_their_negligible_end():
    shares = stable_powers("Ã_sym", (0.975 * identity + 0.025 * At_sym) ** 200)
    assert 20 <= len(shares) <= 30
    assert shares.sum() == pytest.approx(1, abs=1e-8)


def test_alternating_coefficients_become_chebyshev_polynomials():
    steep = (identity - 0.4 * (A_sym - identity) ** 2) ** 100
    assert stable_powers("A_sym", steep) is None
    shares = chebyshev_coefficients("A_sym", steep)
    assert len(shares) < 60
    values = np.linspace(-1, 1, 301)
    np.testing.assert_allclose(np.polynomial.chebyshev.chebval(values, shares), response(steep, values), atol=1e-8)


def test_the_exponential_is_a_chebyshev_sum_with_bessel_weights():
    from scipy.special import ive

    shares = chebyshev_coefficients("L", Exponential(-3 * L))
    bessel = 2 * (-1.0) ** np.arange(len(shares)) * ive(np.arange(len(shares)), 3)
    bessel[0] /= 2
    np.testing.assert_allclose(shares, bessel, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.floats(-3, 3, allow_nan=False), min_size=1, max_size=9),
    st.lists(st.floats(-3, 3, allow_nan=False), min_size=1, max_size=9),
)
def test_any_two_polynomials_over_one_recurrence(first, second):
    s = tilde_sym(dense_a(GRAPHS[1]))
    x = np.random.default_rng(0).standard_normal((len(s), 3))
    expressions = [_polynomial(shares) for shares in (first, second)]
    for mine, shares in zip(filtered("Ã_sym", s, expressions, x), (first, second), strict=True):
        dense = sum(share * np.linalg.matrix_power(s, k) for k, share in enumerate(shares)) @ x
        np.testing.assert_allclose(mine, dense, atol=2e-5 * (1 + np.abs(shares).sum()))


def test_powers_and_a_steep_filter_share_a_recurrence():
    s = sym(dense_a(GRAPHS[2]))
    x = np.random.default_rng(0).standard_normal((len(s), 3))
    steep = (identity - 0.4 * (A_sym - identity) ** 2) ** 100
    power, gaussian = filtered("A_sym", s, [A_sym**7, steep], x)
    np.testing.assert_allclose(power, np.linalg.matrix_power(s, 7) @ x, atol=1e-5)
    step = np.eye(len(s)) - 0.4 * (s - np.eye(len(s))) @ (s - np.eye(len(s)))
    np.testing.assert_allclose(gaussian, np.linalg.matrix_power(step, 100) @ x, atol=1e-5)


def test_an_operator_without_bounds_keeps_all_powers():
    assert list(stable_powers("A", (identity + Hop("A")) ** 2)) == [1, 2, 1]
    assert list(stable_powers("A_row", 1e-12 * A_row**3 + A_row)) == [0, 1]


def test_only_what_is_picked_is_kept():
    s = sym(dense_a(GRAPHS[0]))
    x = np.random.default_rng(0).standard_normal((len(s), 3)).astype(np.float32)
    hop = lambda row_matrix: (s @ row_matrix).astype(np.float32)  # noqa: E731
    (part,) = functions_of(engine, "A_sym", hop, [(identity + A_sym) ** 3], x, lambda row_matrix: row_matrix[:4])
    (whole,) = functions_of(engine, "A_sym", hop, [(identity + A_sym) ** 3], x)
    assert np.array_equal(part, whole[:4])


def test_a_combination_with_one_whole_share_is_the_tall_itself():
    x = engine.row_matrix(np.ones((3, 2)))
    assert combination(engine, [1.0], [x]) is x
    np.testing.assert_array_equal(combination(engine, [2, -1], [x, x]), x)


def _polynomial(shares):
    total = shares[0] * identity + 0 * At_sym
    for k, share in enumerate(shares[1:], 1):
        total = total + share * At_sym**k
    return total
