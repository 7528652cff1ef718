"""Arithmetic between layers, in the user's words: formulas, and containment of the network itself."""

import pytest
import torch
from gnnexp_networks import Steps, check_steps
from gnnexp_networks import one_hop as h
from torch.nn import functional as F

from slimg.errors import InputError
from slimg.lab.gnnexp import linearize


@pytest.mark.parametrize(
    ("function", "formula"),
    [
        (lambda s, x, e: 2 * s.lin(x) - h(s, x, e), "(−A_sym + 2 I) X"),
        (lambda s, x, e: s.lin(x) + 3 * h(s, x, e), "(0.75 A_sym + 0.25 I) X"),
        (lambda s, x, e: -h(s, x, e) / 2 + 1, "A_sym X"),
        (lambda s, x, e: torch.add(s.lin(x), h(s, x, e), alpha=3), "(0.75 A_sym + 0.25 I) X"),
        (lambda s, x, e: 1 - h(s, x, e) * s.row, "A_sym X"),
        (lambda s, x, e: h(s, x, e) - 1 - s.row, "A_sym X"),
        (lambda s, x, e: h(s, x, e) - h(s, x, e).mean(), "A_sym X"),
        (lambda s, x, e: h(s, x, e) @ s.matrix + s.lin(x), "X ‖ A_sym X"),
        (lambda s, x, e: F.linear(h(s, x, e), s.matrix, s.row) + s.lin(x), "X ‖ A_sym X"),
        (lambda s, x, e: s.lin(x) + h(s, x, e) * s.scalars[1] / s.scalars[0], "X ‖ A_sym X"),
        (lambda s, x, e: sum([s.lin(x), h(s, x, e), h(s, x, e)]), "(0.6667 A_sym + 0.3333 I) X"),
        (lambda s, x, e: s.lin(x) + torch.softmax(s.scalars, 0)[2] * h(s, x, e), "X ‖ A_sym X"),
        (lambda s, x, e: s.lin(x) + F.relu(s.row) * h(s, x, e), "X ‖ A_sym X"),
        (lambda s, x, e: torch.cat([s.lin(x), h(s, x, e)], 1), "X ‖ A_sym X"),
        (lambda s, x, e: torch.stack([s.lin(x), h(s, x, e)]).sum(0), "(0.5 A_sym + 0.5 I) X"),
        (lambda s, x, e: torch.stack([s.lin(x), h(s, x, e)], dim=-1).mean(dim=-1), "(0.5 A_sym + 0.5 I) X"),
        (lambda s, x, e: s.deep(torch.stack([s.lin(x), h(s, x, e)], dim=1)).sum(dim=1), "(0.5 A_sym + 0.5 I) X"),
        (lambda s, x, e: h(s, x, e).sum(dim=1, keepdim=True), "A_sym X"),
        (lambda s, x, e: h(s, x, e) - h(s, x, e).mean(dim=0), "A_sym X"),
        (lambda s, x, e: h(s, x, e) / x.size(0), "A_sym X"),
        (lambda s, x, e: (1 - s.scalars[0]) * s.lin(x) + s.scalars[0] * h(s, x, e), "X ‖ A_sym X"),
    ],
)
def test_arithmetic(function, formula):
    check_steps(function, formula)


def test_a_buffer_is_a_number_and_not_a_weight():
    result = linearize(Steps(lambda s, x, e: s.lin(x) + s.fixed * h(s, x, e)))
    assert result.formula == "(0.3333 A_sym + 0.6667 I) X"


def test_a_change_in_place_is_seen_by_everyone_who_holds_the_tensor():
    def function(s, x, e):
        first = s.lin(x)
        kept = first
        first += s.hop(first, e)
        kept.mul_(2)
        return kept + s.lin(x)

    check_steps(function, "(0.4 A_sym + 0.6 I) X")


def test_addmm_is_a_sum():
    check_steps(lambda s, x, e: torch.addmm(s.lin(x), h(s, x, e), s.matrix, beta=0.1, alpha=0.9), "X ‖ A_sym X")


def test_products_of_two_values_are_reported_with_their_line():
    result = linearize(Steps(lambda s, x, e: h(s, x, e) * torch.sigmoid(s.lin(x))))
    assert result.formula == "X ‖ A_sym X"
    assert "both depend on X" in result.problems[0].text
    assert result.problems[0].where.file == __file__
    assert [remark.text for remark in result.removed] == ["sigmoid"]


def test_division_by_a_value_is_reported():
    result = linearize(Steps(lambda s, x, e: h(s, x, e) / s.lin(x)))
    assert result.formula == "A_sym X" and "division is left out" in str(result.problems[0])


def test_the_inverse_of_a_value_is_an_activation():
    result = linearize(Steps(lambda s, x, e: 2 / h(s, x, e)))
    assert result.formula == "A_sym X" and [remark.text for remark in result.removed] == ["reciprocal"]


def test_a_maximum_over_features_is_reported():
    result = linearize(Steps(lambda s, x, e: h(s, x, e).max(dim=1, keepdim=True)[0]))
    assert result.formula == "A_sym X" and "max is not linear" in str(result.problems[0])


def test_a_maximum_keeps_every_input():
    result = linearize(Steps(lambda s, x, e: torch.stack([s.lin(x), h(s, x, e)], dim=1).max(dim=1)[0]))
    assert result.formula == "X ‖ A_sym X" and "max is not linear" in str(result.problems[0])


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda s, x, e: s.lin(x) + s.per_node, "add uses the parameter per_node, which has a row for each node"),
        (lambda s, x, e: s.lin(x) * s.per_node, "mul multiplies by the parameter per_node"),
        (lambda s, x, e: torch.cat([x, h(s, x, e)]), r"cat concatenates nodes \(dim=0\)"),
        (lambda s, x, e: s.lin(x) @ h(s, x, e), "matmul multiplies matrices other than"),
        (lambda s, x, e: torch.cumsum(h(s, x, e), 0), "cumsum is a function without a rule"),
        (lambda s, x, e: x * e, "mul multiplies features of nodes by the edges"),
        (lambda s, x, e: x / e, "truediv divides by the edges"),
        (lambda s, x, e: e / x.size(0), "truediv divides the edges by a size or mask"),
        (lambda s, x, e: torch.stack([x, x]).sum(dim=1), "sum reduces over an axis"),
    ],
)
def test_what_has_no_linear_form_is_refused_with_its_line(function, message):
    with pytest.raises(InputError, match=rf"test_functions\.py:\d+ `.*`: {message}"):
        linearize(Steps(function))
