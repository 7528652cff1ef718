"""Weights of edges as powers of degrees around A."""

from fractions import Fraction

import pytest

from slimg.errors import InputError
from slimg.lab.gnnexp.algebra import IDENTITY
from slimg.lab.gnnexp.edges import Degree, Edges, Messages, loop_strength
from slimg.lab.gnnexp.symbols import HALF, normalised, scaled
from slimg.lab.gnnexp.terms import Value


def test_degrees_at_both_ends_are_the_symmetric_normalisation():
    edges = Edges().with_loops(1)
    root = Degree(edges).raised(-0.5)
    weights = root.at(edges.end("source")).times(root.at(edges.end("target")))
    assert weights.operator == normalised("A", "sym", 1)
    assert Degree(edges).raised(-1).at(edges.end("target")).operator == normalised("A", "row", 1)
    assert Degree(edges).raised(-1).at(edges.end("source")).operator == normalised("A", "col", 1)
    one_sided = root.at(edges.end("target")).operator
    assert one_sided == scaled("A", Fraction(1), -HALF, Fraction(0))


def test_a_network_with_weights_has_a_pattern_of_its_own():
    edges = Edges("A", "B")
    given = edges.weights()
    assert edges.operator("row") == normalised("B", "row")
    assert edges.operator("row", weights=given) == normalised("A", "row")


def test_loops_are_added_once():
    assert Edges().with_loops(1).operator("sym", 1) == normalised("A", "sym", 1)
    assert Edges().operator("none", 2) == normalised("A", "none") + IDENTITY * 2
    assert [loop_strength(*case) for case in ((False, True, None), (True, True, None), (True, False, None))] == [
        0,
        1,
        1,
    ]
    assert loop_strength(True, True, Edges().weights()) == 2


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
