"""Values as sums of (polynomial)·X·(weights): merging, concatenation, and the exact rewriting of large sums."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slimg.errors import InputError
from slimg.lab.gnnexp import values as terms
from slimg.lab.gnnexp.algebra import HALF, IDENTITY, Polynomial, normalised, scaled
from slimg.lab.gnnexp.values import (
    ONES,
    ZERO,
    Degree,
    EdgeEnd,
    Edges,
    Messages,
    Pieces,
    Product,
    Stacked,
    Value,
    Weight,
    joined,
    total,
)

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
    both = joined([X.times("W"), S @ X.times("W")], "cat")
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


@settings(deadline=None, max_examples=25)
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


def test_degrees_at_both_ends_are_the_symmetric_normalisation():
    edges = Edges().with_loops(1)
    root = Degree(edges).raised(-0.5)
    weights = root.at(EdgeEnd(edges, "source")).times(root.at(EdgeEnd(edges, "target")))
    assert weights.operator == normalised("A", "sym", 1)
    assert Degree(edges).raised(-1).at(EdgeEnd(edges, "target")).operator == normalised("A", "row", 1)
    assert Degree(edges).raised(-1).at(EdgeEnd(edges, "source")).operator == normalised("A", "col", 1)
    one_sided = root.at(EdgeEnd(edges, "target")).operator
    assert one_sided == scaled("A", Fraction(1), -HALF, Fraction(0))


def test_a_network_with_weights_has_a_pattern_of_its_own():
    edges = Edges("A", "B")
    given = edges.weights()
    assert edges.operator("row") == normalised("B", "row")
    assert edges.operator("row", weights=given) == normalised("A", "row")


def test_loops_are_added_once():
    assert Edges().with_loops(1).operator("sym", 1) == normalised("A", "sym", 1)
    assert Edges().operator("none", 2) == normalised("A", "none") + IDENTITY * 2


def test_normalised_weights_are_not_normalised_again():
    weights = Edges().weights("sym", 1)
    assert Edges().operator(weights=weights) == normalised("A", "sym", 1)
    with pytest.raises(InputError, match="normalised already"):
        Edges().operator("sym", 1, weights)
    with pytest.raises(InputError, match="product of two edge weights"):
        weights.times(weights)


def test_two_hop_neighbours_may_be_read_as_the_square():
    assert Edges(hops=2).operator("sym") == normalised() ** 2


def test_messages_add_and_are_weighted():
    x, weights = Value.features(), Edges().weights("row")
    both = Messages(((None, x),)) + Messages(((weights, x * 2),))
    assert [w for w, _ in both.parts] == [None, weights]
    assert Messages(((None, x),)).weighted(weights).parts == ((weights, x),)
    assert both.mapped(lambda value: value * 3).parts[1][1].terms == (x * 6).terms


@pytest.mark.parametrize(
    ("shape", "scalar", "row"),
    [((), True, False), ((1,), True, True), ((4,), False, True), ((1, 4), False, True), ((4, 4), False, False)],
)
def test_what_a_parameter_can_be(shape, scalar, row):
    torch = pytest.importorskip("torch")
    weight = Weight("w", torch.ones(shape), learned=True)
    assert (weight.is_scalar, weight.is_row) == (scalar, row)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_number_is_as_short_as_its_precision(dtype):
    torch = pytest.importorskip("torch")
    assert Weight("alpha", torch.tensor([0.1], dtype=getattr(torch, dtype)), learned=False).number == 0.1


def test_pieces_and_stacks_hold_values():
    x = Value.features()
    assert Pieces(x, "chunk")[1].terms == x.times("chunk[1]").terms
    assert Stacked((x, x), 0).mapped(lambda value: value * 2).values[1].terms == (x * 2).terms
