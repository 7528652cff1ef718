"""Values as sums of (polynomial)·X·(weights): merging, concatenation, and the exact rewriting of large sums."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from slimg.lab.gnnexp import terms
from slimg.lab.gnnexp.algebra import IDENTITY, Polynomial
from slimg.lab.gnnexp.symbols import normalised
from slimg.lab.gnnexp.terms import ONES, ZERO, Product, Value, concatenated, total

S, T = normalised("A", "sym", 1), normalised("A", "row")
X = Value.features()


def test_equal_products_merge_and_others_do_not():
    h = X.times("W")
    assert (S @ h + h).blocks() == ((S + IDENTITY) * 0.5,)
    assert (S @ h + X.times("V")).blocks() == (IDENTITY, S)
    assert (h - h).terms == {}
    assert total([h, h * 2]).blocks() == (h * 3).blocks()


def test_matrices_keep_their_order_and_scalars_do_not():
    assert X.times("W").times("V").terms != X.times("V").times("W").terms
    assert X.scaled("b").scaled("a").terms == X.scaled("a").scaled("b").terms
    assert (S @ X.scaled("a") + X.scaled("b")).blocks() == (IDENTITY, S)


def test_the_two_halves_of_a_concatenation_have_their_own_weights():
    both = concatenated([X.times("W"), S @ X.times("W")], "cat")
    assert both.times("V").blocks() == (IDENTITY, S)
    assert (X.times("W") + S @ X.times("W")).times("V").blocks() == ((S + IDENTITY) * 0.5,)


def test_biases_are_words_on_ones():
    h = S @ (S @ X.times("W") + Value.row("b"))
    assert h.blocks() == (S**2,)
    assert h.blocks(ONES) == (S,)
    average = normalised("A", "row", 1)
    assert (average @ Value.row("b")).blocks(ONES) == (IDENTITY,)
    assert (average * S @ Value.row("b")).blocks(ONES) == (average * S,)


def test_is_features_until_a_message_is_passed():
    assert (X.times("W") + Value.row("b")).is_features
    assert not (S @ X).is_features
    assert ZERO.is_features


def residual_network(layers, value):
    for layer in range(layers):
        value = value.times(f"A{layer}") + (S @ value).times(f"B{layer}")
    return value


def test_a_large_sum_is_rewritten_over_its_basis():
    value = residual_network(12, X)
    assert len(value.terms) <= terms.MAX_TERMS
    assert value.blocks() == tuple(S**k for k in range(13))


weights = st.lists(st.sampled_from(["W", "V", "U"]), max_size=2)
operators = st.sampled_from([IDENTITY, S, T, S * T, S * S + IDENTITY * 2])


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(weights, operators, st.integers(-3, 3)), max_size=8), st.booleans())
def test_rewriting_changes_nothing(parts, with_bias):
    """Σ_b b X N_b with the numbers of its weights put in equals Σ_t p_t X M_t."""
    value = total((operator @ _product(names)) * factor for names, operator, factor in parts)
    if with_bias:
        value = value + S @ Value.row("b")
    rewritten = terms._rewritten(value.terms)
    rng = np.random.default_rng(0)
    matrices = {name: rng.standard_normal((2, 2)) for name in ("W", "V", "U", "b")}
    seen = {}
    for (base, product), polynomial in value.terms.items():
        _accumulate(seen, base, polynomial, _number(product, matrices))
    for basis_base in (terms.FEATURES, ONES):
        products = {product: p for (at, product), p in value.terms.items() if at == basis_base}
        mixtures = _mixtures(products)
        for (base, product), polynomial in rewritten.items():
            if base == basis_base:
                number = mixtures.get(product.factors, None)
                number = _number(product, matrices) if number is None else _weighted(number, matrices)
                _accumulate(seen, base, polynomial * -1, number)
    assert all(np.abs(number).max() < 1e-9 for number in seen.values())


def _product(names):
    value = X
    for name in names:
        value = value.times(name)
    return value


def _mixtures(products):
    """Names of mixtures, recomputed, with the sums they stand for."""
    basis = terms.span_basis(products.values())
    found = {}
    for place in range(len(basis)):
        mixture = {p: terms.coordinates(poly, basis)[place] for p, poly in products.items()}
        mixture = {p: share for p, share in mixture.items() if share}
        found[(terms._mixture_name(mixture),)] = mixture
    return found


def _number(product, matrices):
    number = np.eye(2)
    for name in product.factors:
        number = number @ matrices[name]
    return number


def _weighted(mixture, matrices):
    return sum(float(share) * _number(product, matrices) for product, share in mixture.items())


def _accumulate(seen, base, polynomial, number):
    for word, value in polynomial.items():
        seen[base, word] = seen.get((base, word), np.zeros((2, 2))) + float(value) * number


def test_repr_shows_terms():
    assert repr(S @ X.times("W")) == "(Ã_sym)·X·W"
    assert repr(ZERO) == "0"
    assert Value({("X", Product()): Polynomial()}).terms == {}
