"""Every layer rule against the layer itself: its output lies in the derived blocks, with weights on edges or not."""

import inspect

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
from slimg.lab.gnnexp.layers import loop_strength
from slimg.lab.gnnexp.lemmas import residual
from slimg.lab.gnnexp.rules import FOLLOWED, supported_layers
from slimg.lab.gnnexp.values import Edges

LAYERS = {
    "GCNConv": (lambda: pyg.GCNConv(D, C), "Ã_sym X"),
    "GCNConv improved": (lambda: pyg.GCNConv(D, C, improved=True), None),
    "GCNConv without loops": (lambda: pyg.GCNConv(D, C, add_self_loops=False), "A_sym X"),
    "GCNConv plain": (lambda: pyg.GCNConv(D, C, normalize=False, bias=False), "A X"),
    "SAGEConv": (lambda: pyg.SAGEConv(D, C), "X ‖ {}_row X"),
    "SAGEConv sum": (lambda: pyg.SAGEConv(D, C, aggr="sum"), "X ‖ {} X"),
    "SAGEConv without root": (lambda: pyg.SAGEConv(D, C, root_weight=False, project=True), "{}_row X"),
    "GraphConv": (lambda: pyg.GraphConv(D, C), "X ‖ A X"),
    "ChebConv": (lambda: pyg.ChebConv(D, C, K=4), "‖ₖ₌₀³ A_symᵏ X"),
    "ChebConv random walk": (lambda: pyg.ChebConv(D, C, K=3, normalization="rw"), "X ‖ A_col X ‖ A_col² X"),
    "ChebConv Laplacian": (lambda: pyg.ChebConv(D, C, K=3, normalization=None), "X ‖ L X ‖ L² X"),
    "SGConv": (lambda: pyg.SGConv(D, C, K=3), "Ã_sym³ X"),
    "SGConv without loops": (lambda: pyg.SGConv(D, C, K=2, add_self_loops=False), "A_sym² X"),
    "SSGConv": (lambda: pyg.SSGConv(D, C, alpha=0.1, K=2), "(0.45 Ã_sym² + 0.45 Ã_sym + 0.1 I) X"),
    "APPNP": (lambda: pyg.APPNP(2, 0.25), "(0.5625 Ã_sym² + 0.1875 Ã_sym + 0.25 I) X"),
    "TAGConv": (lambda: pyg.TAGConv(D, C, K=2), "X ‖ A_sym X ‖ A_sym² X"),
    "TAGConv plain": (lambda: pyg.TAGConv(D, C, K=2, normalize=False), "X ‖ A X ‖ A² X"),
    "ARMAConv": (lambda: pyg.ARMAConv(D, C, num_stacks=3, num_layers=2), "X ‖ A_sym X ‖ A_sym² X"),
    "LGConv": (lambda: pyg.LGConv(), "A_sym X"),
    "SimpleConv": (lambda: pyg.SimpleConv(), "A X"),
    "SimpleConv loop": (lambda: pyg.SimpleConv(combine_root="self_loop"), "(0.5 A + 0.5 I) X"),
    "SimpleConv sum": (lambda: pyg.SimpleConv(combine_root="sum"), "(0.5 A + 0.5 I) X"),
    "SimpleConv cat": (lambda: pyg.SimpleConv(combine_root="cat"), "X ‖ A X"),
    "MixHopConv": (lambda: pyg.MixHopConv(D, C, powers=[0, 2]), "X ‖ Ã_sym² X"),
    "GINConv": (lambda: pyg.GINConv(nn.Linear(D, C)), None),
    "GINConv learned": (lambda: pyg.GINConv(nn.Linear(D, C), train_eps=True), "X ‖ {} X"),
    "Linear": (lambda: nn.Linear(D, C), "X"),
}


def output_of(layer, a, x, weighted):
    arguments = {"x": torch.as_tensor(x), "input": torch.as_tensor(x), "edge_index": networks.edge_index(a)}
    if weighted:
        arguments["edge_weight"] = networks.edge_weight(a)
    wanted = inspect.signature(layer.forward).parameters
    return linear_output(layer, *(arguments[name] for name in wanted if name in arguments))


@pytest.mark.parametrize("name", LAYERS)
def test_output_lies_in_the_blocks(name):
    make, formula = LAYERS[name]
    layer = randomised(make())
    takes_weights = "edge_weight" in inspect.signature(layer.forward).parameters
    for weighted in (False, True) if takes_weights else (False,):
        result = linearize(layer, inputs={"edge_weight": "weights"} if weighted else None)
        if formula is not None:
            assert result.formula == formula.format("A")
        a, x = random_graph(120, weighted=weighted)
        blocks = result.propagator(a, x, bias=True)
        assert residual(np.column_stack(list(blocks.values())), output_of(layer, a, x, weighted)) <= 1e-8


@pytest.mark.parametrize(
    "norm",
    [
        nn.BatchNorm1d(C),
        pyg.BatchNorm(C),
        pyg.GraphNorm(C),
        pyg.InstanceNorm(C),
        pyg.MeanSubtractionNorm(),
        pyg.GraphSizeNorm(),
        pyg.PairNorm(),
        pyg.LayerNorm(C, mode="graph"),
    ],
    ids=lambda norm: type(norm).__name__,
)
def test_norms_of_whole_columns_are_exact(norm):
    network = randomised(pyg.Sequential("x, edge_index", [(pyg.GCNConv(D, C), "x, edge_index -> x"), (norm, "x -> x")]))
    result = linearize(network)
    assert result.exact and result.formula == "Ã_sym X"
    a, x = random_graph(120)
    blocks = result.propagator(a, x, bias=True)
    output = linear_output(network, torch.as_tensor(x), networks.edge_index(a))
    assert residual(np.column_stack(list(blocks.values())), output) <= 1e-8


@pytest.mark.parametrize(
    "norm", [nn.LayerNorm(D), pyg.LayerNorm(D, mode="node"), pyg.PairNorm(scale_individually=True)]
)
def test_norms_of_single_rows_are_reported(norm):
    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.conv = norm, pyg.GCNConv(D, C)

        def forward(self, x, edge_index):
            return self.conv(self.norm(x), edge_index)

    result = linearize(Network())
    assert result.formula == "Ã_sym X"
    problem = result.problems[0]
    assert "divides each node's row" in problem.text
    assert problem.where.file == __file__ and "self.norm(x)" in problem.where.code


@pytest.mark.parametrize("aggr", ["max", "median"])
def test_aggregations_that_are_not_linear_are_reported(aggr):
    result = linearize(pyg.SAGEConv(D, C, aggr=aggr))
    assert result.formula == "X ‖ A_row X"
    assert f"the {aggr} aggregation of SAGEConv is not linear" in str(result.problems[0])


def test_improved_loops_count_twice_on_weighted_graphs_only():
    layer = pyg.GCNConv(D, C, improved=True)
    assert linearize(layer).formula == "Ã_sym X"
    assert linearize(layer, inputs={"edge_weight": "weights"}).formula == "Ã[2I]_sym X"


def test_layers_of_perceptrons_are_entered():
    model = pyg.GIN(D, 8, 2, C)
    assert linearize(model).formula == "(0.25 A² + 0.5 A + 0.25 I) X"
    model, (a, x) = randomised(model), random_graph(120)
    blocks = linearize(model).propagator(a, x, bias=True)
    output = linear_output(model, torch.as_tensor(x), networks.edge_index(a))
    assert residual(np.column_stack(list(blocks.values())), output) <= 1e-8


def test_jumping_knowledge_by_maximum_is_reported():
    result = linearize(networks.JumpingGCN(2, mode="max"))
    assert result.formula == "Ã_sym X ‖ Ã_sym² X"
    assert "JumpingKnowledge('max') is not linear" in str(result.problems[0])


def test_heads_of_attention_are_blocks_of_their_own():
    result = linearize(pyg.GATConv(D, C, heads=2, residual=True))
    assert len(result.blocks) == 3
    assert result.propagator.vectors == ("w_{1,1,1}", "w_{1,1,2}", "w_{1,2,1}", "w_{1,2,2}")


@pytest.mark.parametrize("make", [pyg.GCNConv, pyg.SGConv])
def test_mean_over_normalised_weights_is_reported(make):
    result = linearize(make(D, C, aggr="mean"))
    assert not result.exact and "mean of weighted messages" in str(result.problems[0])


def test_mean_of_weighted_messages_is_reported():
    result = linearize(pyg.GraphConv(D, C, aggr="mean"), inputs={"edge_weight": "weights"})
    assert "mean of weighted messages" in str(result.problems[0])
    assert linearize(pyg.GraphConv(D, C, aggr="mean")).formula == "X ‖ A_row X"


def test_layers_that_are_offered_are_tested():
    tested = {name.split()[0] for name in LAYERS}
    assert set(FOLLOWED) <= tested
    assert {*FOLLOWED, "GCN2Conv", "ChebConv", "ARMAConv", "GATConv", "Linear", "Dropout"} <= set(supported_layers())


@pytest.mark.parametrize(
    ("make", "formula"),
    [
        (lambda: pyg.GCN(D, 8, 3, C, norm="batch", jk="cat"), "Ã_sym X ‖ Ã_sym² X ‖ Ã_sym³ X"),
        (lambda: pyg.GraphSAGE(D, 8, 2, C), "X ‖ A_row X ‖ A_row² X"),
        (lambda: pyg.MLP([D, 8, C]), "X"),
    ],
)
def test_whole_models_of_the_library_are_entered(make, formula):
    model = randomised(make())
    result = linearize(model)
    assert result.formula == formula
    a, x = random_graph(120)
    arguments = (torch.as_tensor(x),) if isinstance(model, pyg.MLP) else (torch.as_tensor(x), networks.edge_index(a))
    blocks = result.propagator(a, x, bias=True)
    assert residual(np.column_stack(list(blocks.values())), linear_output(model, *arguments)) <= 1e-8


def test_loops_of_gcn_norm():
    assert [loop_strength(*case) for case in ((False, True, None), (True, True, None), (True, False, None))] == [0, 1, 1]
    assert loop_strength(True, True, Edges().weights()) == 2


def test_other_aggregations_over_normalised_weights_are_refused():
    with pytest.raises(InputError, match="over normalised weights"):
        linearize(pyg.ARMAConv(D, C, aggr="mean"))


# message passing written by hand, with the functions of pytorch geometric -------------------------------------------


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
    assert result.formula == "A_row X" and "max aggregation of Hop" in str(result.problems[0])


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
