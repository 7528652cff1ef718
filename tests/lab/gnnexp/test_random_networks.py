"""Networks drawn at random: whatever is composed, the derived propagator contains it, and every block is needed."""

import numpy as np
import pytest
import torch
from gnnexp_networks import CLASSES, D, edge_index, linear_output, random_graph, randomised
from torch import nn
from torch_geometric import nn as pyg

from slimg.lab.gnnexp import linearize
from slimg.lab.gnnexp.lemmas import residual

H = 5
STEPS = {
    "gcn": lambda: pyg.GCNConv(H, H),
    "sage": lambda: pyg.SAGEConv(H, H),
    "hop": lambda: pyg.LGConv(),
    "tag": lambda: pyg.TAGConv(H, H, K=1),
    "arma": lambda: pyg.ARMAConv(H, H),
    "appnp": lambda: pyg.APPNP(2, 0.3),
    "gcn2": lambda: pyg.GCN2Conv(H, 0.3),
    "skip": lambda: pyg.APPNP(1, 0.0),
    "cat": lambda: nn.Linear(2 * H, H),
    "linear": lambda: nn.Linear(H, H),
    "norm": lambda: nn.BatchNorm1d(H),
    "difference": nn.Identity,
    "scalar": nn.Identity,
}


class RandomNetwork(nn.Module):
    """Each step takes one of the last two values, and some take an earlier one too."""

    def __init__(self, rng):
        super().__init__()
        steps = int(rng.integers(2, 7))
        self.program = [
            (str(rng.choice(list(STEPS))), int(rng.integers(2)), int(rng.integers(place + 1))) for place in range(steps)
        ]
        self.encode, self.decode = nn.Linear(D, H), nn.Linear(H, CLASSES)
        self.parts = nn.ModuleList(STEPS[kind]() for kind, _, _ in self.program)
        self.gamma = nn.Parameter(torch.empty(steps))

    def forward(self, x, edge_index):
        values = [torch.relu(self.encode(x))]
        for place, (kind, back, other) in enumerate(self.program):
            first, second, part = values[-1 - min(back, len(values) - 1)], values[other], self.parts[place]
            if kind == "gcn2":
                value = part(first, second, edge_index)
            elif kind == "skip":
                value = second + part(first, edge_index)
            elif kind == "cat":
                value = part(torch.cat([first, second], dim=-1))
            elif kind == "difference":
                value = first - 0.5 * second
            elif kind == "scalar":
                value = first + self.gamma[place] * second
            else:
                value = part(first) if kind in ("linear", "norm") else part(first, edge_index)
            values.append(torch.relu(value))
        return self.decode(values[-1])


@pytest.mark.parametrize("seed", range(12))
def test_contained_and_tight(seed):
    network = randomised(RandomNetwork(np.random.default_rng(seed)), seed)
    result = linearize(network)
    assert result.exact
    a, x = random_graph(3 * (len(result.blocks) * D + len(result.bias_blocks)) + 30, seed=seed)
    output = linear_output(network, torch.as_tensor(x), edge_index(a))
    blocks = result.propagator(a, x, bias=True)
    assert residual(np.column_stack(list(blocks.values())), output) <= 1e-8
    for name in result.propagator.names:
        rest = [block for other, block in blocks.items() if other != name]
        assert residual(np.column_stack(rest), output) > 1e-7
