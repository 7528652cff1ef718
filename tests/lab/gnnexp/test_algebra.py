"""The algebra of operators: polynomials as matrices, and the canonical basis of a span."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slimg.errors import InputError
from slimg.lab.gnnexp.algebra import (
    HALF,
    IDENTITY,
    Attention,
    Laplacian,
    Operator,
    Polynomial,
    Word,
    balanced,
    coordinates,
    normalised,
    rational,
    scaled,
    span_basis,
)

S, T = normalised("A", "sym", 1), normalised("A", "row")
MATRICES = {
    next(iter(poly.symbols)): np.random.default_rng(seed).standard_normal((4, 4)) for seed, poly in enumerate((S, T))
}


def matrix(polynomial):
    """The polynomial with the two symbols replaced by random matrices."""
    total = np.zeros((4, 4))
    for word, value in polynomial.items():
        product = np.eye(4)
        for symbol, power in word.factors:
            product = product @ np.linalg.matrix_power(MATRICES[symbol], power)
        total += float(value) * product
    return total


words = st.lists(st.sampled_from([S, T]), max_size=3)
numbers = st.fractions(min_value=-3, max_value=3, max_denominator=6)


@st.composite
def polynomials(draw):
    total = Polynomial()
    for letters, number in draw(st.lists(st.tuples(words, numbers), max_size=4)):
        term = IDENTITY
        for letter in letters:
            term = term * letter
        total = total + term * number
    return total


@settings(deadline=None, max_examples=25)
@given(polynomials(), polynomials())
def test_sums_and_products_are_those_of_matrices(p, q):
    np.testing.assert_allclose(matrix(p + q), matrix(p) + matrix(q), atol=1e-9)
    np.testing.assert_allclose(matrix(p - q), matrix(p) - matrix(q), atol=1e-9)
    np.testing.assert_allclose(matrix(p * q), matrix(p) @ matrix(q), atol=1e-6)


@settings(deadline=None, max_examples=25)
@given(polynomials(), st.integers(0, 3))
def test_powers_are_those_of_matrices(p, k):
    np.testing.assert_allclose(matrix(p**k), np.linalg.matrix_power(matrix(p), k), rtol=1e-9, atol=1e-6)


def rank(rows):
    """The rank of polynomials as vectors over words, by an exact elimination of its own."""
    columns = sorted({word for row in rows for word in row.words}, key=lambda word: word.rank)
    table = [[row.coefficient(word) for word in columns] for row in rows]
    found = 0
    for column in range(len(columns)):
        pivot = next((r for r in range(found, len(table)) if table[r][column]), None)
        if pivot is None:
            continue
        table[found], table[pivot] = table[pivot], table[found]
        for r in range(found + 1, len(table)):
            factor = table[r][column] / table[found][column]
            table[r] = [a - factor * b for a, b in zip(table[r], table[found], strict=True)]
        found += 1
    return found


@settings(deadline=None, max_examples=25)
@given(st.lists(polynomials(), max_size=5))
def test_the_basis_preserves_the_span(rows):
    basis = span_basis(rows)
    assert len(basis) == rank(rows) == rank([*rows, *basis])


@settings(deadline=None, max_examples=25)
@given(st.lists(polynomials(), max_size=5))
def test_the_basis_of_a_basis_is_itself(rows):
    basis = span_basis(rows)
    assert span_basis(basis) == basis


@settings(deadline=None, max_examples=25)
@given(
    st.lists(polynomials(), max_size=5), st.randoms(use_true_random=False), st.lists(numbers, min_size=5, max_size=5)
)
def test_the_basis_depends_on_the_span_alone(rows, random, scales):
    changed = [row * (scale or 1) for row, scale in zip(rows, scales, strict=False)]
    if len(changed) > 1:
        changed[0] = changed[0] + changed[1] * 2
    random.shuffle(changed)
    assert span_basis(changed) == span_basis(rows)


@settings(deadline=None, max_examples=25)
@given(st.lists(polynomials(), min_size=1, max_size=5))
def test_a_word_in_the_span_stands_alone(rows):
    basis = span_basis(rows)
    for word in {word for row in basis for word in row.words}:
        alone = Polynomial({word: Fraction(1)})
        assert (alone in basis) == (rank([*basis, alone]) == len(basis))


@settings(deadline=None, max_examples=25)
@given(st.lists(polynomials(), min_size=1, max_size=5))
def test_coordinates_give_the_polynomials_back(rows):
    basis = span_basis(rows)
    for row in rows:
        rebuilt = Polynomial()
        for share, block in zip(coordinates(row, basis), basis, strict=True):
            rebuilt = rebuilt + block * share
        assert rebuilt == row


def test_chebyshev_polynomials_give_powers():
    before, current, rows = IDENTITY, T, [IDENTITY, T]
    for _ in range(28):
        before, current = current, T * current * 2 - before
        rows.append(current)
    assert span_basis(rows) == tuple(T**k for k in range(30))


def test_a_sum_stays_together_only_when_its_parts_cannot_be_had():
    combined = S**3 * 0.9 + S**2 * 0.1
    assert span_basis([IDENTITY, S, combined]) == (IDENTITY, S, combined)
    assert span_basis([IDENTITY, S, S**2, combined]) == (IDENTITY, S, S**2, S**3)


def test_rounding_of_the_users_floats_makes_no_block():
    first = S * 0.3 + IDENTITY * (0.1 + 0.2)
    third = 1 / 3
    second = (S * (third * 0.1) + IDENTITY * (0.1 / 3)) * 7
    assert span_basis([first, second]) == ((S + IDENTITY) * Fraction(1, 2),)
    alpha = 0.37
    by_power = S * alpha * (1 - alpha) ** 9 + IDENTITY
    product = 1.0
    for _ in range(9):
        product *= 1 - alpha
    assert len(span_basis([by_power, S * (alpha * product) + IDENTITY])) == 1


def test_powers_collapse_and_order_matters():
    assert (S * S * T).words == [Word(((*(S.symbols), 2), (*(T.symbols), 1)))]
    assert S * T != T * S
    assert Polynomial() == (S * T - T * S) + (T * S - S * T)


def test_balanced_averages_add_to_one():
    assert balanced(S * 9 + IDENTITY) == S * Fraction(9, 10) + IDENTITY * Fraction(1, 10)
    assert balanced(S * 3 - IDENTITY * 3) == S - IDENTITY


@pytest.mark.parametrize(("number", "fraction"), [(0.1, (1, 10)), (1 - 0.9, (1, 10)), (2, (2, 1)), (1 / 3, (1, 3))])
def test_floats_near_a_plain_fraction_are_that_fraction(number, fraction):
    assert rational(number) == Fraction(*fraction)


def test_a_coefficient_must_be_finite():
    with pytest.raises(InputError, match="must be finite, not nan"):
        rational(float("nan"))


@pytest.mark.parametrize(
    ("operator", "text", "latex"),
    [
        (Operator(), "A", r"\mathbf{A}"),
        (Operator("A", Fraction(1), -HALF, -HALF), "Ã_sym", r"\tilde{\mathbf{A}}_{\mathrm{sym}}"),
        (Operator("A", Fraction(0), Fraction(-1)), "A_row", r"\mathbf{A}_{\mathrm{row}}"),
        (Operator("A2", Fraction(0), -HALF, -HALF), "A₂_sym", r"\mathbf{A}_{2,\mathrm{sym}}"),
        (Operator("A", Fraction(2), -HALF, -HALF), "Ã[2I]_sym", r"\tilde{\mathbf{A}}_{\mathrm{sym},2\mathbf{I}}"),
        (Operator("B", Fraction(1)), "B\u0303", r"\tilde{\mathbf{B}}"),
        (Operator("A", Fraction(0), -HALF), "(D^(−1/2) A D⁰)", r"(\mathbf{D}^{-1/2} \mathbf{A} \mathbf{D}^{0})"),
        (Laplacian(), "L", r"\mathbf{L}"),
        (Laplacian("A2"), "L(A₂)", r"\mathbf{L}(\mathbf{A}_{2})"),
    ],
)
def test_names(operator, text, latex):
    assert (operator.text, operator.latex) == (text, latex)


def test_weight_vectors_of_attention_are_numbered_by_layer_and_head():
    assert Attention(2).vectors == ("w_{2,1}", "w_{2,2}")
    assert Attention(2, 3, heads=4).vectors == ("w_{2,3,1}", "w_{2,3,2}")
    assert Attention(1, loops=Fraction(0)).text == "[diag(X w₁₁) A + A diag(X w₁₂)]"


def test_loops_without_normalisation_are_a_sum():
    plain = Polynomial.of(Operator())
    assert normalised("A", "none", 1) == plain + IDENTITY
    assert scaled("A", Fraction(3), Fraction(0), Fraction(0)) == plain + IDENTITY * 3


def test_an_unknown_normalisation_lists_the_choices():
    with pytest.raises(InputError, match="choose one of col, none, row, sym"):
        normalised("A", "random")


def test_only_averages_with_loops_keep_the_ones():
    assert Operator("A", Fraction(1), Fraction(-1)).keeps_ones
    assert not Operator("A", Fraction(0), Fraction(-1)).keeps_ones
    assert not Operator("A", Fraction(1), -HALF, -HALF).keeps_ones
