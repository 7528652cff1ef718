"""Roles of the arguments of forward."""

import pytest
import torch
from gnnexp_networks import D
from torch import nn
from torch_geometric import nn as pyg

from slimg.errors import InputError
from slimg.lab.gnnexp import linearize


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
    with pytest.raises(InputError, match=r"test_inputs.py:\d+ .*normalised already: build it with normalize=False"):
        linearize(network(lambda self, x, adj: self.conv(x, adj)), inputs={"adj": "A_sym"})


def test_unclear_arguments_are_asked_for():
    with pytest.raises(InputError, match=r"what the argument y of forward is: say so with inputs=\{'y': role\}"):
        linearize(network(lambda self, x, y, edge_index: x))
    with pytest.raises(InputError, match="unknown role of the argument x 'nodes': choose one of"):
        linearize(network(lambda self, x, edge_index: x), inputs={"x": "nodes"})
    with pytest.raises(InputError, match="unknown argument of forward in inputs 'z': choose one of edge_index, x"):
        linearize(network(lambda self, x, edge_index: x), inputs={"z": "features"})
    with pytest.raises(InputError, match="more than one argument for the graph: edge_index, adj"):
        linearize(network(lambda self, x, edge_index, adj: x))
