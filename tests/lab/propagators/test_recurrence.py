"""Sums over recurrences: how many hops they take, and that digits do not cancel."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from propagate_oracles import GRAPHS, dense_a, sym, tilde_sym

from slimg.engine import MemoryEngine
from slimg.lab.propagators.expressions import A_row, A_sym, At_sym, Exponential, Hop, L, identity
from slimg.lab.propagators.recurrence import chebyshev_coefficients, combination, functions_of, stable_powers
from slimg.lab.propagators.spectrum import response

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
