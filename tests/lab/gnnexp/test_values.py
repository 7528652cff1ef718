"""Parameters as the interpreter sees them."""

import pytest
import torch

from slimg.lab.gnnexp.terms import Value
from slimg.lab.gnnexp.values import Pieces, Stacked, Weight


@pytest.mark.parametrize(
    ("shape", "scalar", "row"),
    [((), True, False), ((1,), True, True), ((4,), False, True), ((1, 4), False, True), ((4, 4), False, False)],
)
def test_what_a_parameter_can_be(shape, scalar, row):
    weight = Weight("w", torch.ones(shape), learned=True)
    assert (weight.is_scalar, weight.is_row) == (scalar, row)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_number_is_as_short_as_its_precision(dtype):
    assert Weight("alpha", torch.tensor([0.1], dtype=dtype), learned=False).number == 0.1


def test_pieces_and_stacks_hold_values():
    x = Value.features()
    assert Pieces(x, "chunk")[1].terms == x.times("chunk[1]").terms
    assert Stacked((x, x), 0).mapped(lambda value: value * 2).values[1].terms == (x * 2).terms
