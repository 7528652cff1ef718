"""Rules of the layers of PyTorch and PyTorch Geometric: the formula of each, without its activations.

M stands for the operator the layer makes of its edges; W, V are weights and b biases. Graphs are undirected.
"""

from __future__ import annotations

from typing import Any

from slimg.lab.gnnexp.algebra import IDENTITY, Polynomial, rational
from slimg.lab.gnnexp.edges import EdgeWeights, loop_strength
from slimg.lab.gnnexp.functions import each
from slimg.lab.gnnexp.rules import Site, rule
from slimg.lab.gnnexp.symbols import Attention, Laplacian, Operator
from slimg.lab.gnnexp.terms import ZERO, Value, concatenated, total

# fmt: off
_ACTIVATIONS = (
    "CELU", "ELU", "GELU", "Hardsigmoid", "Hardshrink", "Hardswish", "Hardtanh", "LeakyReLU", "LogSigmoid",
    "LogSoftmax", "Mish", "PReLU", "ReLU", "ReLU6", "RReLU", "SELU", "SiLU", "Sigmoid", "Softmax", "Softmin",
    "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Threshold",
)
# fmt: on


@rule("torch.Linear", "torch_geometric.Linear")
def linear(site: Site, x: Any) -> Any:
    """X W + b."""
    return each(x, lambda value: site.bias(value.times(site.weight("weightᵀ"))))


@rule("torch.Identity", "torch.Dropout", "torch.Dropout1d", "torch.AlphaDropout", "torch.FeatureAlphaDropout")
def identity(site: Site, x: Any) -> Any:
    """X."""
    return x


@rule(*(f"torch.{name}" for name in _ACTIVATIONS))
def activation(site: Site, x: Any) -> Any:
    """X in place of σ(X)."""
    site.activation(site.name)
    return x


@rule("torch.BatchNorm1d", "torch.InstanceNorm1d", "torch_geometric.BatchNorm", "torch_geometric.InstanceNorm")
@rule("torch_geometric.GraphNorm", "torch_geometric.GraphSizeNorm", "torch_geometric.MeanSubtractionNorm")
def columnwise_norm(site: Site, x: Value, *batch: Any) -> Value:
    """X diag(s) + 1 b: each column is scaled and shifted, by statistics of the whole column or of training."""
    return x.times(site.weight("scale")) + Value.row(site.weight("shift"))


@rule("torch.LayerNorm", "torch_geometric.LayerNorm", "torch_geometric.PairNorm", "torch.RMSNorm")
def rowwise_norm(site: Site, x: Value, *batch: Any) -> Value:
    """X C diag(s) + 1 b with C = I − 11ᵀ/d; the division of each row by its own deviation is left out."""
    name = site.name
    whole_graph = getattr(site.module, "mode", None) == "graph" or (
        name == "PairNorm" and not site.module.scale_individually
    )
    if not whole_graph:
        site.problem(f"{name} divides each node's row by its own size, which is not linear: the division is left out")
    return columnwise_norm(site, x)


@rule("torch_geometric.GCNConv")
def gcn_conv(site: Site, x: Value, edge_index: Any, edge_weight: EdgeWeights | None = None) -> Value:
    """M X W + b, M = Ã_sym by default."""
    return site.bias(_gcn_operator(site, edge_index, edge_weight) @ site.linear(x, "lin"))


@rule("torch_geometric.SAGEConv")
def sage_conv(site: Site, x: Any, edge_index: Any, size: Any = None) -> Value:
    """A_row X W + X V + b."""
    sent, own = x if isinstance(x, tuple) else (x, x)
    if site.module.project:
        sent = site.linear(sent, "lin")
        site.activation("ReLU of SAGEConv's projection")
    if site.module.normalize:
        site.problem("SAGEConv(normalize=True) divides each node's row by its length: the division is left out")
    norm = "row" if site.aggregation() == "mean" else "none"
    value = site.linear(site.operator(edge_index, norm) @ sent, "lin_l")
    return value + site.linear(own, "lin_r") if site.module.root_weight else value


@rule("torch_geometric.GraphConv")
def graph_conv(site: Site, x: Any, edge_index: Any, edge_weight: EdgeWeights | None = None, size: Any = None) -> Value:
    """A X W + X V + b."""
    sent, own = x if isinstance(x, tuple) else (x, x)
    norm = _mean_or_sum(site, edge_weight)
    return site.linear(site.operator(edge_index, norm, weights=edge_weight) @ sent, "lin_rel") + site.linear(
        own, "lin_root"
    )


@rule("torch_geometric.SimpleConv")
def simple_conv(site: Site, x: Any, edge_index: Any, edge_weight: EdgeWeights | None = None, size: Any = None) -> Value:
    """M X, M = A or A_row; with X added, concatenated, or as a loop."""
    sent, own = x if isinstance(x, tuple) else (x, x)
    root = site.module.combine_root
    loops = 1 if root == "self_loop" else 0
    value = site.operator(edge_index, _mean_or_sum(site, edge_weight), loops, edge_weight) @ sent
    if root == "sum":
        return value + own
    return concatenated([own, value], site.call) if root == "cat" else value


@rule("torch_geometric.LGConv")
def lg_conv(site: Site, x: Value, edge_index: Any, edge_weight: EdgeWeights | None = None) -> Value:
    """A_sym X."""
    return site.operator(edge_index, "sym" if site.module.normalize else "none", weights=edge_weight) @ x


@rule("torch_geometric.ChebConv")
def cheb_conv(
    site: Site,
    x: Value,
    edge_index: Any,
    edge_weight: EdgeWeights | None = None,
    batch: Any = None,
    lambda_max: Any = None,
) -> Value:
    """Σ_k T_k(L̂) X W_k + b with L̂ = 2L/λ_max − I; L = I − A_sym, I − A_col or D − A.

    The spans of T_0, …, T_(K−1) in L̂ and in L are the same whatever λ_max is, so 2 is taken for it.
    """
    if site.module.normalization is None:
        plain = site.operator(edge_index, weights=edge_weight)
        graph = next(symbol.graph for symbol in plain.symbols if isinstance(symbol, Operator))
        shifted = Polynomial.of(Laplacian(graph)) - IDENTITY
    else:
        shifted = site.operator(edge_index, {"sym": "sym", "rw": "col"}[site.module.normalization], 0, edge_weight) * -1
    before, current, value = ZERO, x, ZERO
    for place in range(len(site.module.lins)):
        value = value + current.times(site.weight(f"lins.{place}"))
        step = shifted @ current
        before, current = current, (step if place == 0 else step * 2 - before)
    return site.bias(value)


@rule("torch_geometric.SGConv")
def sg_conv(site: Site, x: Value, edge_index: Any, edge_weight: EdgeWeights | None = None) -> Value:
    """Ã_sym^K X W + b."""
    step = site.operator(edge_index, "sym", 1 if site.module.add_self_loops else 0, edge_weight)
    return site.linear(step**site.module.K @ x, "lin")


@rule("torch_geometric.SSGConv")
def ssg_conv(site: Site, x: Value, edge_index: Any, edge_weight: EdgeWeights | None = None) -> Value:
    """(αI + (1 − α)/K Σ_k Ã_sym^k) X W + b."""
    step = site.operator(edge_index, "sym", 1 if site.module.add_self_loops else 0, edge_weight)
    alpha, hops = rational(site.module.alpha), site.module.K
    value, current = x * alpha, x
    for _ in range(hops):
        current = step @ current
        value = value + current * ((1 - alpha) / hops)
    return site.linear(value, "lin")


@rule("torch_geometric.APPNP")
def appnp(site: Site, x: Value, edge_index: Any, edge_weight: EdgeWeights | None = None) -> Value:
    """H ← (1 − α)Ã_sym H + αX, K times."""
    step, alpha = _gcn_operator(site, edge_index, edge_weight), rational(site.module.alpha)
    value = x
    for _ in range(site.module.K):
        value = (step @ value) * (1 - alpha) + x * alpha
    return value


@rule("torch_geometric.GCN2Conv")
def gcn2_conv(site: Site, x: Value, x_0: Value, edge_index: Any, edge_weight: EdgeWeights | None = None) -> Value:
    """((1 − α)Ã_sym H + αX₀) ((1 − β)I + βW), where the second factor is one free weight; two when not shared."""
    alpha = rational(site.module.alpha)
    passed = (_gcn_operator(site, edge_index, edge_weight) @ x) * (1 - alpha)
    initial = x_0 * alpha
    if site.module.weight2 is None:
        return (passed + initial).times(site.weight("weight1"))
    return passed.times(site.weight("weight1")) + initial.times(site.weight("weight2"))


@rule("torch_geometric.TAGConv")
def tag_conv(site: Site, x: Value, edge_index: Any, edge_weight: EdgeWeights | None = None) -> Value:
    """Σ_(k≤K) A_sym^k X W_k + b."""
    step = site.operator(edge_index, "sym" if site.module.normalize else "none", weights=edge_weight)
    value = ZERO
    for place in range(site.module.K + 1):
        value = value + x.times(site.weight(f"lins.{place}"))
        x = step @ x
    return site.bias(value)


@rule("torch_geometric.MixHopConv")
def mixhop_conv(site: Site, x: Value, edge_index: Any, edge_weight: EdgeWeights | None = None) -> Value:
    """‖_k Ã_sym^k X W_k + b."""
    step = site.operator(edge_index, "sym", 1 if site.module.add_self_loops else 0, edge_weight)
    hops = [(step**power @ x).times(site.weight(f"lins.{power}")) for power in site.module.powers]
    return site.bias(concatenated(hops, site.call))


@rule("torch_geometric.ARMAConv")
def arma_conv(site: Site, x: Value, edge_index: Any, edge_weight: EdgeWeights | None = None) -> Value:
    """Mean over stacks of H ← σ(A_sym H W_t + X V_t + b_t), T times from H = X."""
    layer = site.module
    step = site.operator(edge_index, "sym", weights=edge_weight)
    if layer.act is not None:
        site.activation(getattr(layer.act, "__name__", type(layer.act).__name__) + " of ARMAConv")
    stacks = []
    for stack in range(layer.num_stacks):
        value = x
        for t in range(layer.num_layers):
            own = 0 if layer.shared_weights else t
            weight = "init_weight" if t == 0 else f"weight.{0 if layer.shared_weights else t - 1}"
            value = step @ value.times(site.weight(f"{weight}.{stack}"))
            value = value + x.times(site.weight(f"root_weight.{own}.{stack}"))
            if layer.bias is not None:
                value = value + Value.row(site.weight(f"bias.{own}.{stack}"))
        stacks.append(value)
    return total(stacks) * rational(1 / layer.num_stacks)


@rule("torch_geometric.GINConv")
def gin_conv(site: Site, x: Any, edge_index: Any, size: Any = None) -> Value:
    """f(A X + (1 + ε)X); a learned ε is a free scalar."""
    sent, own = x if isinstance(x, tuple) else (x, x)
    norm = "row" if site.aggregation() == "mean" else "none"
    value = site.operator(edge_index, norm) @ sent
    epsilon = site.module.eps
    if getattr(epsilon, "requires_grad", False):
        value = value + own + own.scaled(site.weight("eps"))
    else:
        value = value + own * (1 + float(epsilon))
    return site.run(site.module.nn, site.weight("nn"), value)


@rule("torch_geometric.GATConv")
def gat_conv(site: Site, x: Value, edge_index: Any, edge_attr: Any = None, *rest: Any, **options: Any) -> Value:
    """The paper's partial form, head by head: [diag(X w₁)Ã + Ã diag(X w₂)] X W, exact for a single layer on X.

    Softmax and LeakyReLU are left out of the attention, which makes it linear in X w₁ and X w₂.
    """
    layer = site.module
    site.problem("GATConv attends without its softmax and LeakyReLU: a partial form with weight vectors w")
    if edge_attr is not None:
        site.problem("GATConv's attention to edge_attr is left out")
    if not x.is_features or site.attention_layers:
        site.problem("GATConv attends to a hidden layer, where the paper's product form attends to X: not exact")
    if site.path not in site.attention_layers:
        site.attention_layers.append(site.path)
    number = site.attention_layers.index(site.path) + 1
    plain = site.operator(edge_index)
    graph = next(symbol.graph for symbol in plain.symbols if isinstance(symbol, Operator))
    heads = []
    for head in range(1, layer.heads + 1):
        loops = rational(1 if layer.add_self_loops else 0)
        attention = Polynomial.of(Attention(number, head, layer.heads, graph, loops))
        heads.append(attention @ x.times(site.weight(f"lin.{head}")))
    value = concatenated(heads, site.call) if layer.concat else total(heads) * rational(1 / layer.heads)
    if layer.res is not None:
        value = value + x.times(site.weight("res"))
    return site.bias(value)


@rule("torch_geometric.JumpingKnowledge")
def jumping_knowledge(site: Site, xs: Any) -> Value:
    """H₁ ‖ H₂ ‖ …; the maximum and the LSTM's weighted sum are not linear: every layer keeps a weight of its own."""
    if site.module.mode != "cat":
        site.problem(f"JumpingKnowledge('{site.module.mode}') is not linear: a concatenation stands for it")
    return concatenated(list(xs), site.call)


def _gcn_operator(site: Site, edge_index: Any, edge_weight: EdgeWeights | None) -> Polynomial:
    """The operator of the layers that share `gcn_norm`."""
    layer = site.module
    if site.aggregation() != "add":
        site.fail(f"aggregates by {layer.aggr} over normalised weights, which has no rule: use aggr='add'")
    if not layer.normalize:
        return site.operator(edge_index, weights=edge_weight)
    loops = loop_strength(layer.add_self_loops, getattr(layer, "improved", False), edge_weight)
    return site.operator(edge_index, "sym", loops, edge_weight)


def _mean_or_sum(site: Site, edge_weight: EdgeWeights | None) -> str:
    if site.aggregation() == "add":
        return "none"
    if edge_weight is not None:
        site.problem("the mean of weighted messages divides by their number: division by their weight stands for it")
    return "row"
