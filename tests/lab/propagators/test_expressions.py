"""Building expressions: what sums, differences and indices are made of."""

from slimg.lab.propagators.expressions import (
    A_row,
    A_sym,
    At_sym,
    Concatenation,
    Hop,
    Inverse,
    Power,
    Scaled,
    Sum,
    blocks,
    chain,
    each,
    identity,
    operators_of,
    parts_of,
    summation,
    walk,
)


def test_sums_are_flat_and_differences_are_sums():
    assert identity + A_sym + A_row == Sum((identity, A_sym, A_row))
    assert identity - A_sym == Sum((identity, Scaled(-1, A_sym)))
    assert identity - (A_sym + A_row) == Sum((identity, Scaled(-1, A_sym), Scaled(-1, A_row)))


def test_numbers_stand_on_the_left_and_powers_bind_closer():
    assert 2 * A_sym**3 == Scaled(2, Power(A_sym, 3))


def test_an_index_takes_each_of_its_values():
    assert parts_of(summation(1, 3, lambda k: A_sym**k)) == [A_sym**1, A_sym**2, A_sym**3]
    assert parts_of(chain(2, 1, lambda k: A_sym**k)) == []
    assert list(blocks(each(0, 1, lambda k: At_sym**k), A_row)) == [At_sym**0, At_sym**1, A_row]


def test_a_concatenation_can_be_gone_through_twice():
    parts = Concatenation((each(0, 1, lambda k: At_sym**k),))
    assert list(parts) == list(parts) != []


def test_all_that_is_inside():
    expression = Inverse(identity + 2 * A_sym**2)
    assert operators_of(expression) == {"A_sym"}
    assert [type(part).__name__ for part in walk(expression)] == ["Inverse", "Sum", "Identity", "Scaled", "Power", "Hop"]
    assert operators_of(summation(0, 2, lambda k: Hop("A") + A_row**k)) == {"A", "A_row"}
