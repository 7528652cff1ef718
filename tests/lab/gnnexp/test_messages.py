"""Message passing written by hand, with the functions of PyTorch Geometric."""

import gnnexp_networks as networks
import numpy as np
import pytest
import torch
from gnnexp_networks import CLASSES as C
from gnnexp_networks import D, Steps, check_steps, linear_output, random_graph, randomised
from torch import nn
from torch_geometric import nn as pyg
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import add_self_loops, degree, dropout_edge, remove_self_loops, scatter, to_undirected

from slimg.errors import InputError
from slimg.lab.gnnexp import linearize
from slimg.lab.gnnexp.verify import residual


def by_scatter(s, x, e):
    """Σ over edges with d_row^-½ d_col^-½, in tensor operations alone."""
    row, col = e
    deg = degree(col, x.size(0), dtype=x.dtype)
    scale = deg.pow(-0.5)
    scale.masked_fill_(scale == float("inf"), 0)
    messages = (scale[row] * scale[col]).view(-1, 1) * s.lin(x)[row]
    return scatter(messages, col, dim=0, dim_size=x.size(0), reduce="sum")


def by_degree_of_weights(s, x, e):
    e, _ = add_self_loops(e, num_nodes=x.size(0))
    row, col = e[0], e[1]
    inverse = degree(row, x.size(0), dtype=x.dtype) ** -1
    return scatter(inverse[col].unsqueeze(-1) * s.lin(x)[row], col, dim=0, dim_size=x.size(0), reduce="sum")


def by_reciprocal_degree(s, x, e):
    row, col = e
    inverse = 1 / degree(col, x.size(0), dtype=x.dtype)
    inverse[inverse == float("inf")] = 0
    return scatter(s.lin(x)[row] * inverse[row].view(-1, 1), col, dim=0, dim_size=x.size(0), reduce="sum")


def mean_of_neighbours(s, x, e):
    e = to_undirected(remove_self_loops(dropout_edge(e, training=s.training)[0])[0])
    return scatter(s.lin(x)[e[0]], e[1], dim=0, dim_size=x.size(0), reduce="mean")


@pytest.mark.parametrize(
    ("function", "formula"),
    [
        (by_scatter, "A_sym X"),
        (by_degree_of_weights, "Ã_row X"),
        (mean_of_neighbours, "A_row X"),
        (by_reciprocal_degree, "A_col X"),
    ],
)
def test_normalisation_by_hand(function, formula):
    check_steps(function, formula)


class Hop(pyg.MessagePassing):
    """Messages W x_j + b, weighted, then an update of the node's own."""

    def __init__(self, aggr="add", weighted=True):
        super().__init__(aggr=aggr)
        self.send, self.own, self.weighted = nn.Linear(D, C), nn.Linear(C, C), weighted

    def forward(self, x, edge_index, edge_weight=None):
        norm = None
        if self.weighted:
            edge_index, norm = gcn_norm(edge_index, edge_weight, x.size(0), add_self_loops=False, dtype=x.dtype)
        return self.propagate(edge_index, x=(x, x), norm=norm)

    def message(self, x_j, norm):
        sent = torch.relu(self.send(x_j))
        return sent if norm is None else sent * norm.unsqueeze(-1)

    def update(self, aggregated):
        return self.own(aggregated)


@pytest.mark.parametrize(
    ("layer", "formula"),
    [
        (Hop(), "A_sym X"),
        (Hop(weighted=False), "A X"),
        (Hop("mean", weighted=False), "A_row X"),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_layers_written_by_hand_need_no_rule(layer, formula, weighted):
    layer = randomised(layer)
    roles = {"edge_weight": "weights"} if weighted else None
    result = linearize(layer, inputs=roles)
    letter = "B" if weighted and not layer.weighted else "A"
    assert result.formula == formula.replace("A", letter)
    assert [remark.text for remark in result.removed] == ["relu"]
    a, x = random_graph(120, weighted=weighted)
    weights = (networks.edge_weight(a),) if weighted else ()
    output = linear_output(layer, torch.as_tensor(x), networks.edge_index(a), *weights)
    blocks = result.propagator(a, x, bias=True)
    assert residual(np.column_stack(list(blocks.values())), output) <= 1e-8


def test_a_maximum_of_messages_is_reported():
    result = linearize(Hop("max", weighted=False))
    assert result.formula == "A_row X" and "max aggregation is not linear" in str(result.problems[0])


class Attending(pyg.MessagePassing):
    def forward(self, x, edge_index):
        return self.propagate(edge_index, x=x)

    def message(self, x_i, x_j):
        return x_j - x_i


class OwnAggregation(Hop):
    def aggregate(self, inputs, index):
        return inputs


class Twice(Hop):
    def message(self, x_j, norm):
        return (norm * norm).view(-1, 1) * self.send(x_j)


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (Attending(), r"Attending sends messages that read the receiving node \(x_i\).*@gnnexp.rule\(Attending\)"),
        (OwnAggregation(), "OwnAggregation has an aggregation of its own"),
        (Twice(), "the product of two edge weights is not an operator"),
    ],
)
def test_messages_without_a_linear_form_are_refused(layer, message):
    with pytest.raises(InputError, match=message):
        linearize(layer)


class Asking(pyg.MessagePassing):
    """Normalises only what it takes for a tensor, as many layers do."""

    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(D, C)

    def forward(self, x, edge_index, edge_weight=None):
        if isinstance(edge_index, torch.Tensor):
            edge_index, edge_weight = gcn_norm(edge_index, edge_weight, x.size(self.node_dim), dtype=x.dtype)
        elif isinstance(edge_index, dict):
            edge_weight = None
        return self.propagate(edge_index, x=self.lin(x), edge_weight=edge_weight)

    def message(self, x_j, edge_weight):
        return x_j if edge_weight is None else edge_weight.view(-1, 1) * x_j


def test_recorded_edges_are_taken_for_a_tensor():
    assert linearize(Asking()).formula == "Ã_sym X"
    assert "isinstance" not in globals() and "propagate" not in vars(Asking())


def test_a_graph_is_normalised_once():
    def function(s, x, e):
        e, norm = gcn_norm(e, num_nodes=x.size(0))
        return pyg.LGConv.forward(s.hop, x, e, norm)

    class Again(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = pyg.GCNConv(D, C)

        def forward(self, x, edge_index):
            edge_index, norm = gcn_norm(edge_index, num_nodes=x.size(0))
            return self.conv(x, edge_index, norm)

    with pytest.raises(InputError, match="normalises a graph that is normalised already"):
        linearize(Again())
    with pytest.raises(InputError):
        linearize(Steps(function))


def test_weights_prepared_once_may_be_used_by_a_plain_layer():
    class Prepared(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = pyg.GCNConv(D, C, normalize=False)

        def forward(self, x, edge_index):
            edge_index, norm = gcn_norm(edge_index, num_nodes=x.size(0))
            return self.conv(x, edge_index, norm)

    assert linearize(Prepared()).formula == "Ã_sym X"
