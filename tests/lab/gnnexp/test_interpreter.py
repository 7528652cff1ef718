"""Abstract interpretation: what is computed, what is shared, and what is followed."""

import pytest
import torch
from gnnexp_networks import D, Steps
from gnnexp_networks import one_hop as h
from torch import nn
from torch_geometric import nn as pyg

from slimg.errors import InputError
from slimg.lab.gnnexp import linearize


def test_a_layer_called_twice_has_the_same_weights():
    twice = Steps(lambda s, x, e: s.lin(x) + h(s, x, e))
    assert linearize(twice).formula == "(0.5 A_sym + 0.5 I) X"

    class TwoLayers(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.hop = nn.Linear(D, 4), nn.Linear(D, 4), pyg.LGConv()

        def forward(self, x, edge_index):
            return self.first(x) + self.hop(self.second(x), edge_index)

    assert linearize(TwoLayers()).formula == "X ‖ A_sym X"


def test_functions_of_parameters_are_equal_when_made_alike():
    def same(s, x, e):
        return torch.sigmoid(s.scalars)[0] * s.lin(x) + torch.sigmoid(s.scalars)[0] * h(s, x, e)

    def different(s, x, e):
        return torch.sigmoid(s.scalars)[0] * s.lin(x) + torch.sigmoid(s.scalars)[1] * h(s, x, e)

    def normalised(s, x, e):
        return s.lin(x) * (s.scalars / s.scalars.sum())[0] + s.scalars[0] * h(s, x, e)

    assert linearize(Steps(same)).formula == "(0.5 A_sym + 0.5 I) X"
    assert linearize(Steps(different)).formula == "X ‖ A_sym X"
    assert linearize(Steps(normalised)).formula == "X ‖ A_sym X"


def test_a_tied_weight_is_one_weight():
    def tied(s, x, e):
        by_layer = s.deep(s.lin(x))
        by_function = torch.nn.functional.linear(h(s, x, e), s.deep.weight)
        by_transpose = h(s, x, e) @ s.deep.weight.t() + h(s, x, e) @ s.deep.weight.T
        return by_layer + by_function + by_transpose

    assert linearize(Steps(tied)).formula == "(0.75 A_sym + 0.25 I) X"


def test_dropped_out_parameters_are_never_equal():
    function = torch.nn.functional.dropout
    step = Steps(lambda s, x, e: function(s.scalars)[0] * s.lin(x) + function(s.scalars)[0] * h(s, x, e))
    assert linearize(step).formula == "X ‖ A_sym X"


def test_nested_modules_are_entered_and_share_by_path():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin, self.hop = nn.Linear(D, D), pyg.LGConv()

        def forward(self, x, edge_index):
            return x + self.hop(self.lin(x), edge_index).relu()

    class Stack(nn.Module):
        def __init__(self, blocks):
            super().__init__()
            self.blocks = nn.ModuleList(blocks)

        def forward(self, x, edge_index):
            for block in self.blocks:
                x = block(x, edge_index)
            return x

    shared = Block()
    assert linearize(Stack([Block(), Block()])).formula == "X ‖ A_sym X ‖ A_sym² X"
    assert linearize(Stack([shared, shared])).formula == "X ‖ A_sym X ‖ A_sym² X"


def test_the_first_of_several_outputs_counts():
    result = linearize(Steps(lambda s, x, e: (h(s, x, e), s.lin(x))))
    assert result.formula == "A_sym X" and "several values" in str(result.problems[0])
    result = linearize(Steps(lambda s, x, e: {"out": h(s, x, e), "edges": e}))
    assert result.formula == "A_sym X" and result.exact


def network(forward):
    module = type("Network", (nn.Module,), {"forward": forward})()
    module.conv, module.lin = pyg.GCNConv(D, 4), nn.Linear(D, 4)
    return module


def test_names_tell_roles():
    assert linearize(network(lambda self, z, edge_index: self.conv(z, edge_index))).formula == "Ã_sym X"
    assert linearize(network(lambda self, x, adj_t: self.conv(x, adj_t))).formula == "Ã_sym X"
    assert linearize(network(lambda self, features, adj, batch: adj @ self.lin(features))).formula == "A X"


def test_defaults_are_kept_unless_named():
    def forward(self, x, edge_index, edge_weight=None, deep=True):
        x = self.conv(x, edge_index, edge_weight)
        return x if deep else self.conv(x, edge_index)

    assert linearize(network(forward)).formula == "Ã_sym X"


@pytest.mark.parametrize("role", ["A", "A_row", "A_sym", "A_col", "Ã_row", "Ã_sym"])
def test_a_matrix_may_be_declared_to_be_an_operator(role):
    def forward(self, x, adj):
        return torch.sparse.mm(adj, torch.sparse.mm(adj, self.lin(x)).relu())

    assert linearize(network(forward), inputs={"adj": role}).formula == f"{role}² X"


def test_a_declared_operator_is_not_normalised_again():
    with pytest.raises(InputError, match=r"test_interpreter.py:\d+ .*normalised already: build it with normalize=False"):
        linearize(network(lambda self, x, adj: self.conv(x, adj)), inputs={"adj": "A_sym"})


def test_unclear_arguments_are_asked_for():
    with pytest.raises(InputError, match=r"argument y of forward.*inputs=\{'y': role\}"):
        linearize(network(lambda self, x, y, edge_index: x))
    with pytest.raises(InputError, match=r"role of the argument x 'nodes'.*features"):
        linearize(network(lambda self, x, edge_index: x), inputs={"x": "nodes"})
    with pytest.raises(InputError, match="unknown argument of forward in inputs 'z': choose one of edge_index, x"):
        linearize(network(lambda self, x, edge_index: x), inputs={"z": "features"})
    with pytest.raises(InputError, match="more than one argument for the graph: edge_index, adj"):
        linearize(network(lambda self, x, edge_index, adj: x))


# traces that fail say so in one sentence with the user's line; those that do not keep it ----------------------------


class Decides(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = pyg.GCNConv(D, 4)

    def forward(self, x, edge_index):
        if x.mean() > 0:
            return self.conv(x, edge_index)
        return x


class Converts(nn.Module):
    def forward(self, x, edge_index):
        return x * float(x.mean())


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Decides()

    def forward(self, x, edge_index):
        return self.block(x, edge_index)


@pytest.mark.parametrize("module", [Decides(), Inner()], ids=["outer", "inner"])
def test_a_decision_on_data_is_one_sentence(module):
    with pytest.raises(InputError) as error:
        linearize(module)
    message = str(error.value)
    assert "test_interpreter.py:144 `if x.mean() > 0:`: the network decides on its data here" in message
    assert "@gnnexp.rule(Decides)" in message and "\n" not in message


def test_a_trace_that_fails_is_one_sentence():
    with pytest.raises(InputError, match=r"test_interpreter.py:\d+ `return x \* float\(x.mean\(\)\)`: Converts could not"):
        linearize(Converts())


def test_functions_that_cannot_be_recorded_are_one_sentence():
    class Leaves(nn.Module):
        def forward(self, x, edge_index):
            return x + torch.as_tensor(x.numpy().cumsum())

    with pytest.raises(InputError, match=r"test_interpreter.py:\d+ `return x \+ torch.as_tensor.*`: Leaves could not be"):
        linearize(Leaves())


def test_user_code_may_ask_whether_it_holds_tensors_and_how_large_parameters_are():
    class Asks(nn.Module):
        def __init__(self):
            super().__init__()
            self.hop, self.gamma = pyg.LGConv(), nn.Parameter(torch.ones(3))
            self.mix = nn.Parameter(torch.ones(2, D))

        def forward(self, x, edge_index):
            if not isinstance(x, torch.Tensor) or self.mix.dim() != 2 or self.mix.numel() != 2 * D:
                raise ValueError("not a tensor")
            out = 0
            for gamma in self.gamma:
                out = out + gamma * x
                x = self.hop(x, edge_index)
            for _ in range(self.mix.size(0)):
                x = self.hop(x, edge_index)
            return out + x * self.mix[0]

    assert linearize(Asks()).formula == "X ‖ A_sym X ‖ A_sym² X ‖ A_sym⁵ X"


def test_lines_inside_helper_functions_are_the_ones_reported():
    def helper(x):
        return torch.relu(x)

    class UsesHelper(nn.Module):
        def forward(self, x):
            return helper(x)

    where = linearize(UsesHelper()).removed[0].where
    assert where.code == "return torch.relu(x)" and str(where) == f"{__file__}:{where.line}"
