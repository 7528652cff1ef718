"""Arithmetic between layers, in the user's words: formulas, and containment of the network itself."""

import pytest
import torch
from gnnexp_networks import CLASSES as C
from gnnexp_networks import D, Steps, check_steps
from gnnexp_networks import one_hop as h
from torch import nn
from torch.nn import functional as F
from torch_geometric import nn as pyg

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


def halves(s, x, e):
    first, second = h(s, x, e).chunk(2, dim=-1)
    return torch.cat([second, s.hop(first, e)], dim=-1)


@pytest.mark.parametrize(
    ("function", "formula"),
    [
        (halves, "A_sym X ‖ A_sym² X"),
        (lambda s, x, e: h(s, x, e)[:, :2], "A_sym X"),
        (lambda s, x, e: h(s, x, e).view(-1, 2, 2).flatten(1), "A_sym X"),
        (lambda s, x, e: h(s, x, e).contiguous().to(x.dtype).clone(), "A_sym X"),
        (lambda s, x, e: h(s, x, e) + torch.zeros_like(s.lin(x)), "A_sym X"),
        (lambda s, x, e: h(s, x, e) + torch.ones_like(s.lin(x)), "A_sym X"),
        (lambda s, x, e: h(s, x, e) + torch.zeros((x.size(0), C)) + x.new_ones(x.shape[0], 1), "A_sym X"),
        (lambda s, x, e: F.batch_norm(h(s, x, e), s.row * 0, s.row * 0 + 1), "A_sym X"),
        (lambda s, x, e: h(s, x, e).split(2, dim=1)[1], "A_sym X"),
    ],
)
def test_parts_and_shapes(function, formula):
    check_steps(function, formula)


@pytest.mark.parametrize("name", ["relu", "elu", "gelu", "silu", "tanh", "leaky_relu", "softplus", "hardtanh"])
def test_activations_become_the_identity(name):
    result = linearize(Steps(lambda s, x, e: getattr(F, name)(h(s, x, e))))
    assert result.formula == "A_sym X" and [remark.text for remark in result.removed] == [name]


def test_normalised_rows_are_reported():
    for function in (lambda s, x, e: F.normalize(h(s, x, e)), lambda s, x, e: F.layer_norm(h(s, x, e), [C])):
        result = linearize(Steps(function))
        assert result.formula == "A_sym X" and "row by its own size" in str(result.problems[0])


def test_gates_are_reported():
    result = linearize(Steps(lambda s, x, e: F.glu(h(s, x, e))))
    assert result.formula == "A_sym X" and "glu multiplies two halves" in str(result.problems[0])


def test_rows_kept_at_the_end_are_reported():
    result = linearize(Steps(lambda s, x, e: h(s, x, e)[:10]))
    assert result.formula == "A_sym X" and "only some nodes" in str(result.problems[0])


class FromData(nn.Module):
    def __init__(self, weighted):
        super().__init__()
        self.conv, self.sage, self.weighted = pyg.GCNConv(D, C), pyg.SAGEConv(C, C), weighted

    def forward(self, data):
        weight = data.edge_weight if self.weighted else None
        return self.sage(self.conv(data.x, data.edge_index, weight), data.edge_index) / data.num_nodes


def test_a_data_object_has_features_edges_and_weights():
    assert linearize(FromData(weighted=False)).formula == "Ã_sym X ‖ A_row Ã_sym X"
    assert linearize(FromData(weighted=True)).formula == "Ã_sym X ‖ B_row Ã_sym X"


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda s, x, e: x.t(), "transposes node features"),
        (lambda s, x, e: torch.where(x > 0, x, -x), "compares values that depend on X"),
        (lambda s, x, e: e.view(-1), "reshapes the edges"),
        (lambda s, x, e: s.lin(x).split(2), "splits something other than the features"),
        (lambda s, x, e: x[e[1]], "reads features at the receiving end"),
    ],
)
def test_what_has_no_rule_is_refused(function, message):
    with pytest.raises(InputError, match=message):
        linearize(Steps(function))


def test_assignment_to_features_is_refused():
    def function(s, x, e):
        y = s.lin(x)
        y[0] = 0
        return y

    with pytest.raises(InputError, match=r"test_functions.py:\d+ `y\[0\] = 0`: setitem assigns to part of a tensor"):
        linearize(Steps(function))
