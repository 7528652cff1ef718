"""Parts and shapes of features, data objects, and decisions on data."""

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

    with pytest.raises(InputError, match=r"test_shapes.py:\d+ `y\[0\] = 0`: setitem assigns to part of a tensor"):
        linearize(Steps(function))
