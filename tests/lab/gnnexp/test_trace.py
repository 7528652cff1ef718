"""Traces that fail say so in one sentence with the user's line; those that do not keep it."""

import pytest
import torch
from gnnexp_networks import D
from torch import nn
from torch_geometric import nn as pyg

from slimg.errors import InputError
from slimg.lab.gnnexp import linearize


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
    assert "test_trace.py:19 `if x.mean() > 0:`: the network decides on its data here" in message
    assert "@gnnexp.rule(Decides)" in message and "\n" not in message


def test_a_trace_that_fails_is_one_sentence():
    with pytest.raises(InputError, match=r"test_trace.py:\d+ `return x \* float\(x.mean\(\)\)`: Converts could not be"):
        linearize(Converts())


def test_functions_that_cannot_be_recorded_are_one_sentence():
    class Leaves(nn.Module):
        def forward(self, x, edge_index):
            return x + torch.as_tensor(x.numpy().cumsum())

    with pytest.raises(InputError, match=r"test_trace.py:\d+ `return x \+ torch.as_tensor.*`: Leaves could not be"):
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
