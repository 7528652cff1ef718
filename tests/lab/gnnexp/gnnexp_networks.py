"""Networks as users write them with PyTorch Geometric, and their output without activations."""

from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as F
from gnnexp_graphs import D, random_graph
from torch import nn
from torch.overrides import TorchFunctionMode
from torch_geometric import nn as pyg
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import add_self_loops, degree

from slimg.lab.gnnexp import linearize
from slimg.lab.gnnexp.lemmas import residual

HIDDEN, CLASSES = 8, 4


class WithoutActivations(TorchFunctionMode):
    """While it lasts, every activation of torch returns its argument."""

    NAMES = ("relu", "elu", "tanh", "sigmoid", "leaky_relu", "gelu", "softmax", "log_softmax", "silu")

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func.__name__.strip("_") in self.NAMES:
            return args[0]
        return func(*args, **(kwargs or {}))


def edge_index(a):
    entries = a.tocoo()
    return torch.as_tensor(np.stack([entries.row, entries.col]), dtype=torch.long)


def edge_weight(a):
    return torch.as_tensor(a.tocoo().data)


def randomised(module, seed=0):
    """The module in float64 and evaluation mode, with random weights, biases and statistics."""
    generator = torch.Generator().manual_seed(seed)
    module = module.double().eval()
    with torch.no_grad():
        for tensor in (*module.parameters(), *module.buffers()):
            if tensor.is_floating_point():
                tensor.copy_(torch.rand(tensor.shape, generator=generator, dtype=torch.float64) + 0.2)
                tensor.mul_(torch.where(torch.rand(tensor.shape, generator=generator) < 0.5, -1.0, 1.0))
        for name, tensor in module.named_buffers():
            if name.endswith("running_var"):
                tensor.abs_()
    return module


def linear_output(module, *arguments):
    """What the network returns with its activations removed, as a numpy array."""
    with torch.no_grad(), WithoutActivations():
        return module(*arguments).numpy()


class GCN(nn.Module):
    def __init__(self, layers=2):
        super().__init__()
        sizes = [D, *[HIDDEN] * (layers - 1), CLASSES]
        self.convs = nn.ModuleList(pyg.GCNConv(a, b) for a, b in pairwise(sizes))

    def forward(self, x, edge_index):
        for conv in self.convs[:-1]:
            x = F.relu(conv(x, edge_index))
            x = F.dropout(x, p=0.5, training=self.training)
        return F.log_softmax(self.convs[-1](x, edge_index), dim=-1)


class SGC(nn.Module):
    def __init__(self, hops=3):
        super().__init__()
        self.conv = pyg.SGConv(D, CLASSES, K=hops)

    def forward(self, x, edge_index):
        return self.conv(x, edge_index).log_softmax(dim=1)


class SAGE(nn.Module):
    def __init__(self, layers=3):
        super().__init__()
        sizes = [D, *[HIDDEN] * (layers - 1), CLASSES]
        self.convs = nn.ModuleList(pyg.SAGEConv(a, b) for a, b in pairwise(sizes))
        self.norms = nn.ModuleList(nn.BatchNorm1d(HIDDEN) for _ in range(layers - 1))

    def forward(self, x, edge_index):
        for conv, norm in zip(self.convs, self.norms, strict=False):
            x = norm(conv(x, edge_index)).relu_()
            x = F.dropout(x, training=self.training)
        return self.convs[-1](x, edge_index)


class ChebNet(nn.Module):
    def __init__(self, terms=5, normalization="sym"):
        super().__init__()
        self.conv = pyg.ChebConv(D, HIDDEN, K=terms, normalization=normalization)
        self.out = pyg.Linear(HIDDEN, CLASSES)

    def forward(self, x, edge_index):
        return self.out(torch.tanh(self.conv(x, edge_index)))


class APPNP(nn.Module):
    def __init__(self, hops=4, alpha=0.2):
        super().__init__()
        self.mlp = nn.Sequential(nn.Dropout(0.5), nn.Linear(D, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, CLASSES))
        self.prop = pyg.APPNP(hops, alpha)

    def forward(self, x, edge_index):
        return F.log_softmax(self.prop(self.mlp(x), edge_index), dim=1)


class GCNII(nn.Module):
    def __init__(self, layers=5, alpha=0.1, shared_weights=True):
        super().__init__()
        self.first, self.last = nn.Linear(D, HIDDEN), nn.Linear(HIDDEN, CLASSES)
        self.convs = nn.ModuleList(
            pyg.GCN2Conv(HIDDEN, alpha, theta=0.5, layer=layer + 1, shared_weights=shared_weights, normalize=True)
            for layer in range(layers)
        )

    def forward(self, x, edge_index):
        x = F.dropout(x, 0.6, training=self.training)
        x = x_0 = self.first(x).relu()
        for conv in self.convs:
            x = F.dropout(x, 0.6, training=self.training)
            x = conv(x, x_0, edge_index).relu()
        return self.last(F.dropout(x, 0.6, training=self.training)).log_softmax(dim=-1)


class GCNIIByHand(nn.Module):
    """(1 − β)S + βSW written out, with S = (1 − α)ÃH + αX₀."""

    def __init__(self, layers=5, alpha=0.1, theta=0.5):
        super().__init__()
        self.first, self.last = nn.Linear(D, HIDDEN), nn.Linear(HIDDEN, CLASSES)
        self.hop = pyg.APPNP(K=1, alpha=0.0)
        self.weights = nn.ParameterList(torch.empty(HIDDEN, HIDDEN) for _ in range(layers))
        self.alpha, self.theta = alpha, theta

    def forward(self, x, edge_index):
        h = h_0 = torch.relu(self.first(x))
        for layer, weight in enumerate(self.weights):
            beta = self.theta / (layer + 1)
            support = (1 - self.alpha) * self.hop(h, edge_index) + self.alpha * h_0
            h = F.relu(torch.addmm(support, support, weight, beta=1 - beta, alpha=beta))
        return self.last(h)


class GPRPropagation(pyg.MessagePassing):
    """The propagation of GPR-GNN as its authors publish it."""

    def __init__(self, hops):
        super().__init__(aggr="add")
        self.hops = hops
        self.temp = nn.Parameter(torch.empty(hops + 1))

    def forward(self, x, edge_index, edge_weight=None):
        edge_index, norm = gcn_norm(edge_index, edge_weight, num_nodes=x.size(0), dtype=x.dtype)
        hidden = x * (self.temp[0])
        for k in range(self.hops):
            x = self.propagate(edge_index, x=x, norm=norm)
            gamma = self.temp[k + 1]
            hidden = hidden + gamma * x
        return hidden

    def message(self, x_j, norm):
        return norm.view(-1, 1) * x_j


class GPRGNN(nn.Module):
    def __init__(self, hops=4):
        super().__init__()
        self.lin1, self.lin2 = nn.Linear(D, HIDDEN), nn.Linear(HIDDEN, CLASSES)
        self.prop1 = GPRPropagation(hops)

    def forward(self, data):
        x, edge_index = data.x, data.edge_index
        x = F.dropout(x, p=0.5, training=self.training)
        x = F.relu(self.lin1(x))
        x = self.lin2(F.dropout(x, p=0.5, training=self.training))
        x = self.prop1(x, edge_index)
        return F.log_softmax(x, dim=1)


class GPRByLoop(nn.Module):
    def __init__(self, hops=4):
        super().__init__()
        self.lin = nn.Linear(D, CLASSES)
        self.hop = pyg.APPNP(K=1, alpha=0.0)
        self.gamma = nn.Parameter(torch.empty(hops + 1))

    def forward(self, x, edge_index):
        z = F.relu(self.lin(x))
        hidden = self.gamma[0] * z
        for k in range(1, len(self.gamma)):
            z = self.hop(z, edge_index)
            hidden = hidden + self.gamma[k] * z
        return hidden


class H2GCN(nn.Module):
    """Ego and neighbours kept separate: each layer concatenates the one-hop and the two-hop average of the last."""

    def __init__(self, rounds=2):
        super().__init__()
        self.embed = nn.Linear(D, HIDDEN, bias=False)
        self.hop = pyg.LGConv()
        self.rounds = rounds
        self.out = nn.Linear(HIDDEN * sum(2**k for k in range(rounds + 1)), CLASSES, bias=False)

    def forward(self, x, edge_index, edge_index2):
        layers = [F.relu(self.embed(x))]
        for _ in range(self.rounds):
            h = layers[-1]
            layers.append(torch.cat([self.hop(h, edge_index), self.hop(h, edge_index2)], dim=-1))
        return F.softmax(self.out(F.dropout(torch.cat(layers, dim=-1), training=self.training)), dim=1)


class H2GCNTwice(H2GCN):
    """The two-hop average as the one-hop average taken twice."""

    def forward(self, x, edge_index):
        layers = [F.relu(self.embed(x))]
        for _ in range(self.rounds):
            h = layers[-1]
            once = self.hop(h, edge_index)
            layers.append(torch.cat([once, self.hop(once, edge_index)], dim=-1))
        return F.softmax(self.out(F.dropout(torch.cat(layers, dim=-1), training=self.training)), dim=1)


class JumpingGCN(nn.Module):
    def __init__(self, layers=3, mode="cat"):
        super().__init__()
        self.convs = nn.ModuleList(pyg.GCNConv(D if k == 0 else HIDDEN, HIDDEN) for k in range(layers))
        self.jump = pyg.JumpingKnowledge(mode, HIDDEN, layers)
        self.out = nn.Linear(HIDDEN * (layers if mode == "cat" else 1), CLASSES)

    def forward(self, x, edge_index):
        xs = []
        for conv in self.convs:
            x = F.elu(conv(x, edge_index))
            xs += [x]
        return self.out(self.jump(xs))


class ResidualGCN(nn.Module):
    def __init__(self, layers=3):
        super().__init__()
        self.encode = nn.Linear(D, HIDDEN)
        self.convs = nn.ModuleList(pyg.GCNConv(HIDDEN, HIDDEN) for _ in range(layers))
        self.norms = nn.ModuleList(pyg.BatchNorm(HIDDEN) for _ in range(layers))
        self.decode = nn.Linear(HIDDEN, CLASSES)

    def forward(self, x, edge_index):
        x = self.encode(x)
        for conv, norm in zip(self.convs, self.norms, strict=True):
            x = x + F.dropout(norm(conv(x, edge_index)).relu(), training=self.training)
        return self.decode(x)


class MixedSageGCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.sage1, self.gcn = pyg.SAGEConv(D, HIDDEN), pyg.GCNConv(HIDDEN, HIDDEN)
        self.sage2 = pyg.SAGEConv(HIDDEN, CLASSES)

    def forward(self, x, edge_index):
        x = F.relu(self.sage1(x, edge_index))
        x = F.relu(self.gcn(x, edge_index))
        return self.sage2(x, edge_index)


class TAG(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = pyg.TAGConv(D, HIDDEN, K=2), pyg.TAGConv(HIDDEN, CLASSES, K=2)

    def forward(self, x, edge_index):
        return self.conv2(F.gelu(self.conv1(x, edge_index)), edge_index)


class ARMA(nn.Module):
    def __init__(self, shared_weights=False):
        super().__init__()
        self.conv1 = pyg.ARMAConv(D, HIDDEN, 2, 2, shared_weights=shared_weights, dropout=0.25)
        self.conv2 = pyg.ARMAConv(HIDDEN, CLASSES, 2, 2, shared_weights=shared_weights, dropout=0.25, act=None)

    def forward(self, x, edge_index):
        x = F.dropout(F.relu(self.conv1(x, edge_index)), training=self.training)
        return F.log_softmax(self.conv2(x, edge_index), dim=1)


class TutorialGCN(pyg.MessagePassing):
    """The normalisation written by hand, as in PyTorch Geometric's tutorial on message passing."""

    def __init__(self):
        super().__init__(aggr="add")
        self.lin = pyg.Linear(D, CLASSES, bias=False)
        self.bias = nn.Parameter(torch.empty(CLASSES))

    def forward(self, x, edge_index):
        edge_index, _ = add_self_loops(edge_index, num_nodes=x.size(0))
        x = self.lin(x)
        row, col = edge_index
        deg = degree(col, x.size(0), dtype=x.dtype)
        deg_inv_sqrt = deg.pow(-0.5)
        deg_inv_sqrt[deg_inv_sqrt == float("inf")] = 0
        norm = deg_inv_sqrt[row] * deg_inv_sqrt[col]
        out = self.propagate(edge_index, x=x, norm=norm)
        out = out + self.bias
        return out

    def message(self, x_j, norm):
        return norm.view(-1, 1) * x_j


class Steps(nn.Module):
    """A network whose forward is a given function of itself, x and edge_index."""

    def __init__(self, function):
        super().__init__()
        self.lin, self.deep = nn.Linear(D, CLASSES), nn.Linear(CLASSES, CLASSES)
        self.hop = pyg.LGConv()
        self.matrix = nn.Parameter(torch.empty(CLASSES, CLASSES))
        self.row = nn.Parameter(torch.empty(CLASSES))
        self.scalars = nn.Parameter(torch.empty(3))
        self.per_node = nn.Parameter(torch.empty(120, CLASSES))
        self.register_buffer("fixed", torch.tensor([0.5]))
        self.function = function

    def forward(self, x, edge_index):
        return self.function(self, x, edge_index)


def check_steps(function, formula, exact=True):
    network = Steps(function)
    result = linearize(network)
    assert result.formula == formula and result.exact == exact
    network, (a, x) = randomised(network), random_graph(120)
    output = linear_output(network, torch.as_tensor(x), edge_index(a))
    blocks = linearize(network).propagator(a, x, bias=True)
    assert residual(np.column_stack(list(blocks.values())), output) <= 1e-8
    return result


def one_hop(s, x, e):
    return s.hop(s.lin(x), e)
