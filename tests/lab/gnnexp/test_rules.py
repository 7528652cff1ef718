"""Rules of one's own, and layers without a rule."""

import pytest
import torch
from gnnexp_networks import D
from torch import nn
from torch_geometric import nn as pyg

from slimg.errors import InputError
from slimg.lab import gnnexp
from slimg.lab.gnnexp.rules import Note, SourceLine, rule_for


class MyConv(nn.Module):
    """Opaque to the tracer: it decides on its data."""

    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(D, 4)
        self.bias = None

    def forward(self, x, edge_index):
        return self.lin(x) if x.sum() > 0 else x


@gnnexp.rule(MyConv)
def my_conv(site, x, edge_index):
    return site.bias(site.operator(edge_index, "row") @ site.linear(x, "lin"))


class Changed(pyg.GCNConv):
    def message(self, x_j, edge_weight):
        return 2 * x_j


class Renamed(pyg.GCNConv):
    pass


class Network(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x, edge_index):
        return self.layer(x, edge_index)


def test_a_rule_of_ones_own():
    result = gnnexp.linearize(Network(MyConv()))
    assert result.formula == "A_row X" and result.bias_formula == "A_row 1"


def test_a_rule_covers_subclasses_that_compute_alike():
    assert gnnexp.linearize(Network(Renamed(D, 4))).formula == "Ã_sym X"
    assert rule_for(Changed(D, 4)) is None


def test_a_subclass_with_messages_of_its_own_is_followed():
    assert gnnexp.linearize(Network(Changed(D, 4, normalize=False))).formula == "A X"


@torch.fx.wrap
def kept_whole(x):
    return x.cumsum(1)


@gnnexp.rule(kept_whole)
def kept_whole_rule(site, x):
    return x.times("cumulated")


def test_a_function_may_have_a_rule():
    class UsesFunction(nn.Module):
        def forward(self, x):
            return kept_whole(x)

    assert gnnexp.linearize(UsesFunction()).formula == "X"


@pytest.mark.parametrize(
    ("layer", "nearest"),
    [
        (nn.LSTM(D, 4), "LSTM; the nearest"),
        (pyg.ClusterGCNConv(D, 4), "GCNConv, GCN2Conv"),
        (pyg.LEConv(D, 4), "LGConv"),
    ],
)
def test_a_layer_without_a_rule_is_named_with_its_line_and_its_neighbours(layer, nearest):
    name = type(layer).__name__
    with pytest.raises(InputError) as error:
        gnnexp.linearize(Network(layer))
    message = str(error.value)
    assert f"there is no rule for the layer {name}; the nearest supported are" in message and nearest in message
    assert "test_rules.py:" in message and f"@gnnexp.rule({name})" in message


def test_a_call_the_rule_does_not_know_is_refused():
    class Wrong(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = pyg.GCNConv(D, 4)

        def forward(self, x, edge_index):
            return self.conv(edge_index, x)

    with pytest.raises(InputError, match=r"test_rules.py:\d+ `return self.conv\(edge_index, x\)`: gcn_norm needs the edges"):
        gnnexp.linearize(Wrong())


def test_a_remark_starts_with_its_line():
    where = SourceLine("model.py", 31, "x = F.relu(x)")
    assert str(where) == "model.py:31"
    assert str(Note("relu", where)) == "model.py:31: relu"
    assert str(Note("relu")) == "relu"
