"""A derived propagator on graphs, against dense numpy."""

from fractions import Fraction

import gnnexp_graphs as graphs
import numpy as np
import pytest
import scipy.sparse as sp
from scipy import sparse

from slimg.errors import InputError
from slimg.graph.graph import Graph
from slimg.lab.gnnexp.algebra import IDENTITY, Laplacian, Operator, Polynomial, normalised
from slimg.lab.gnnexp.linearize import Linearization, Propagator, concatenation, evaluate, two_hop_neighbours
from slimg.lab.propagators import get, names, registry


def dense(name, a):
    """The operators by their definitions, formed."""
    loops = np.eye(len(a)) if name.startswith("Ã") else 0
    m = a + loops
    degree = m.sum(1)
    inverse = np.divide(1, degree, out=np.zeros_like(degree), where=degree > 0)
    if name.endswith("_sym"):
        return np.sqrt(inverse)[:, None] * m * np.sqrt(inverse)
    if name.endswith("_row"):
        return inverse[:, None] * m
    return m * inverse if name.endswith("_col") else m


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["A", "A_row", "A_sym", "A_col", "Ã", "Ã_row", "Ã_sym", "Ã_col"])
def test_operators_equal_their_definitions(name, weighted):
    a, x = graphs.random_graph(50, weighted=weighted)
    letter, _, norm = name.partition("_")
    operator = normalised("A", norm or "none", 1 if letter == "Ã" else 0)
    blocks = Propagator((operator, operator**3))(a, x)
    m = dense(name, a.toarray())
    first, third = blocks.values()
    np.testing.assert_allclose(first, m @ x, atol=1e-12)
    np.testing.assert_allclose(third, m @ m @ m @ x, rtol=1e-10, atol=1e-10)


def test_words_are_applied_from_the_right_and_sums_are_sums():
    a, x = graphs.random_graph(40)
    s, t = normalised("A", "sym", 1), normalised("A", "row")
    (block,) = Propagator((s * t * 2 - IDENTITY,))(a, x).values()
    expected = 2 * dense("Ã_sym", a.toarray()) @ dense("A_row", a.toarray()) @ x - x
    np.testing.assert_allclose(block, expected, atol=1e-12)


def test_the_laplacian_and_other_powers_of_degrees():
    a, x = graphs.random_graph(40, weighted=True)
    plain = a.toarray()
    odd = Polynomial.of(Operator("A", Fraction(0), Fraction(1, 2), Fraction(-1)))
    first, second = Propagator((Polynomial.of(Laplacian()), odd))(a, x).values()
    degree = plain.sum(1)
    np.testing.assert_allclose(first, (np.diag(degree) - plain) @ x, atol=1e-12)
    inverse = np.divide(1, degree, out=np.zeros_like(degree), where=degree > 0)
    np.testing.assert_allclose(second, np.sqrt(degree)[:, None] * plain * inverse @ x, atol=1e-12)


def test_names_of_blocks_differ_even_where_formulas_are_shortened():
    a, x = graphs.random_graph(40)
    step = normalised()
    near = (step + IDENTITY) ** 12
    blocks = (near, near + step**6 * 1e-3)
    propagator = Propagator(blocks)
    assert propagator.names[1] == propagator.names[0] + " #2"
    assert len(propagator(a, x)) == 2


def test_every_hop_is_computed_once():
    applied = []

    class Doubling:
        def __matmul__(self, array):
            applied.append(array)
            return 2 * array

    step = normalised()
    operators = {symbol: Doubling() for symbol in step.symbols}
    blocks = evaluate([step**5, step**3 + IDENTITY * 3, step**4], np.ones((3, 1)), operators)
    assert len(applied) == 5
    assert [block[0, 0] for block in blocks] == [32, 11, 16]


def test_two_hop_neighbours_are_at_distance_two():
    a, _ = graphs.random_graph(60, mean_degree=3)
    assert (two_hop_neighbours(a).toarray() == graphs.two_hop(a).toarray()).all()


def test_a_second_graph_may_be_given_and_is_asked_for():
    a, x = graphs.random_graph(30)
    other, _ = graphs.random_graph(30, seed=5)
    (block,) = Propagator((normalised("A2", "row"),))(a, x, graphs={"A2": other}).values()
    np.testing.assert_allclose(block, dense("A_row", other.toarray()) @ x, atol=1e-12)
    with pytest.raises(InputError, match="uses a further graph C"):
        Propagator((normalised("C", "row"),))(a, x)


def test_a_graph_object_brings_its_own_features():
    from slimg.graph.graph import Graph

    a, x = graphs.random_graph(30)
    propagator = Propagator((normalised(),), (IDENTITY,))
    for features in (x, sp.csr_array(x)):
        blocks = propagator(Graph.from_arrays(a, features), bias=True)
        assert list(blocks) == ["A_sym X", "1"] and propagator.names == ("A_sym X",)
        np.testing.assert_allclose(blocks["A_sym X"], propagator(a, x)["A_sym X"], atol=1e-6)
        assert (blocks["1"] == 1).all()


def test_what_is_missing_or_does_not_fit_is_named():
    a, x = graphs.random_graph(30)
    propagator = Propagator((normalised(),))
    with pytest.raises(InputError, match="needs features X"):
        propagator(a)
    with pytest.raises(InputError, match="A must be 20 × 20 as X has 20 rows"):
        propagator(a, x[:20])


S, R, P = normalised("A", "sym", 1), normalised("A", "row"), normalised("A", "none")


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    """What a test registers is forgotten after it; the families are loaded before."""
    names()
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "blocks",
    [
        (IDENTITY, S, S**2, S**5 * 0.9 + S**4 * 0.1),
        (R * S, S * R**2 * S, R * S * 0.25 - IDENTITY * 2),
        (P, P + IDENTITY, normalised("A", "row", 1), normalised("A", "sym")),
    ],
    ids=["GCNII", "words", "operators"],
)
def test_blocks_equal_those_in_double_precision(blocks, weighted):
    a, x = graphs.random_graph(80, weighted=weighted)
    exact = list(Propagator(blocks)(a, x).values())
    propagator = Linearization("Derived", blocks, ()).register("derived")
    for features in (x, sparse.csr_array(x)):
        components = propagator(Graph.from_arrays(a, features), normalize_features=None)
        columns = components.labelled_rows(np.arange(80))
        np.testing.assert_allclose(columns, np.hstack(exact), rtol=1e-4, atol=1e-4)


def test_a_linearization_is_known_by_its_name():
    result = Linearization("Network", (IDENTITY, S), ())
    propagator = result.register("network")
    assert "network" in names() and get("network") == propagator and propagator.title == "Network"


@pytest.mark.parametrize(
    "block", [Polynomial.of(Laplacian()), normalised("A", "sym", 2), normalised("A2", "sym"), normalised("A", "col")]
)
def test_operators_that_engines_cannot_apply_are_named(block):
    (symbol,) = block.symbols
    with pytest.raises(InputError) as error:
        concatenation([block])
    assert str(error.value).startswith(f"the operator {symbol.text} is not one engines can apply (A, A_row")
