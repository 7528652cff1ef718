"""Rules of the layers of PyTorch Geometric: the formula of each, without its activations.

M stands for the operator the layer makes of its edges; W, V are weights and b biases. Graphs are undirected.
"""

from __future__ import annotations

from typing import Any

from slimg.lab.gnnexp.algebra import IDENTITY, Attention, Laplacian, Operator, Polynomial, rational
from slimg.lab.gnnexp.rules import Site, rule
from slimg.lab.gnnexp.values import ZERO, EdgeWeights, Value, concatenated, total

Weights = EdgeWeights | None


@rule("torch_geometric.GCNConv")
def gcn_conv(site: Site, x: Value, edge_index: Any, edge_weight: Weights = None) -> Value:
    """M X W + b, M = Ã_sym by default."""
    return site.bias(_operator(site, edge_index, edge_weight) @ site.linear(x, "lin"))


@rule("torch_geometric.LGConv")
def lg_conv(site: Site, x: Value, edge_index: Any, edge_weight: Weights = None) -> Value:
    """A_sym X."""
    return _operator(site, edge_index, edge_weight) @ x


@rule("torch_geometric.SGConv")
def sg_conv(site: Site, x: Value, edge_index: Any, edge_weight: Weights = None) -> Value:
    """Ã_sym^K X W + b."""
    return site.linear(_operator(site, edge_index, edge_weight) ** site.module.K @ x, "lin")


@rule("torch_geometric.SSGConv")
def ssg_conv(site: Site, x: Value, edge_index: Any, edge_weight: Weights = None) -> Value:
    """(αI + (1 − α)/K Σ_k Ã_sym^k) X W + b."""
    alpha, hops = rational(site.module.alpha), _hops(site, x, edge_index, edge_weight)
    return site.linear(x * alpha + total(hops[1:]) * ((1 - alpha) / site.module.K), "lin")


@rule("torch_geometric.TAGConv")
def tag_conv(site: Site, x: Value, edge_index: Any, edge_weight: Weights = None) -> Value:
    """Σ_(k≤K) A_sym^k X W_k + b."""
    hops = enumerate(_hops(site, x, edge_index, edge_weight))
    return site.bias(total(hop.times(site.weight(f"lins.{place}")) for place, hop in hops))


@rule("torch_geometric.MixHopConv")
def mixhop_conv(site: Site, x: Value, edge_index: Any, edge_weight: Weights = None) -> Value:
    """‖_k Ã_sym^k X W_k + b."""
    step = _operator(site, edge_index, edge_weight)
    hops = [(step**power @ x).times(site.weight(f"lins.{power}")) for power in site.module.powers]
    return site.bias(concatenated(hops, site.call))


@rule("torch_geometric.APPNP")
def appnp(site: Site, x: Value, edge_index: Any, edge_weight: Weights = None) -> Value:
    """H ← (1 − α)Ã_sym H + αX, K times."""
    step, alpha, value = _operator(site, edge_index, edge_weight), rational(site.module.alpha), x
    for _ in range(site.module.K):
        value = (step @ value) * (1 - alpha) + x * alpha
    return value


@rule("torch_geometric.GCN2Conv")
def gcn2_conv(site: Site, x: Value, x_0: Value, edge_index: Any, edge_weight: Weights = None) -> Value:
    """((1 − α)Ã_sym H + αX₀) ((1 − β)I + βW), where the second factor is one free weight; two when not shared."""
    alpha = rational(site.module.alpha)
    passed = (_operator(site, edge_index, edge_weight) @ x) * (1 - alpha)
    second = "weight1" if site.module.weight2 is None else "weight2"
    return passed.times(site.weight("weight1")) + (x_0 * alpha).times(site.weight(second))


@rule("torch_geometric.ChebConv")
def cheb_conv(site: Site, x: Value, edge_index: Any, edge_weight: Weights = None, *options: Any, **more: Any) -> Value:
    """Σ_k T_k(L̂) X W_k + b with L̂ = 2L/λ_max − I; L = I − A_sym, I − A_col or D − A.

    The spans of T_0, …, T_(K−1) in L̂ and in L are the same whatever λ_max is, so 2 is taken for it.
    """
    if site.module.normalization is None:
        shifted = Polynomial.of(Laplacian(_letter(site, edge_index, edge_weight))) - IDENTITY
    else:
        shifted = site.operator(edge_index, {"sym": "sym", "rw": "col"}[site.module.normalization], 0, edge_weight) * -1
    before, current, value = ZERO, x, ZERO
    for place in range(len(site.module.lins)):
        value = value + current.times(site.weight(f"lins.{place}"))
        step = shifted @ current
        before, current = current, (step if place == 0 else step * 2 - before)
    return site.bias(value)


@rule("torch_geometric.ARMAConv")
def arma_conv(site: Site, x: Value, edge_index: Any, edge_weight: Weights = None) -> Value:
    """Mean over stacks of H ← σ(A_sym H W_t + X V_t + b_t), T times from H = X."""
    layer, step, stacks = site.module, _operator(site, edge_index, edge_weight), []
    if layer.act is not None:
        site.activation(getattr(layer.act, "__name__", type(layer.act).__name__) + " of ARMAConv")
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


@rule("torch_geometric.SAGEConv")
def sage_conv(site: Site, x: Any, edge_index: Any, size: Any = None) -> Value:
    """A_row X W + X V + b."""
    sent, own = _sent_and_own(x)
    if site.module.project:
        sent = site.linear(sent, "lin")
        site.activation("ReLU of SAGEConv's projection")
    if site.module.normalize:
        site.problem("SAGEConv(normalize=True) divides each node's row by its length: the division is left out")
    value = site.linear(site.operator(edge_index, site.aggregation()) @ sent, "lin_l")
    return value + site.linear(own, "lin_r") if site.module.root_weight else value


@rule("torch_geometric.GraphConv")
def graph_conv(site: Site, x: Any, edge_index: Any, edge_weight: Weights = None, size: Any = None) -> Value:
    """A X W + X V + b."""
    sent, own = _sent_and_own(x)
    passed = site.operator(edge_index, _mean_or_sum(site, edge_weight), weights=edge_weight) @ sent
    return site.linear(passed, "lin_rel") + site.linear(own, "lin_root")


@rule("torch_geometric.SimpleConv")
def simple_conv(site: Site, x: Any, edge_index: Any, edge_weight: Weights = None, size: Any = None) -> Value:
    """M X, M = A or A_row; with X added, concatenated, or as a loop."""
    (sent, own), root = _sent_and_own(x), site.module.combine_root
    loops = 1 if root == "self_loop" else 0
    value = site.operator(edge_index, _mean_or_sum(site, edge_weight), loops, edge_weight) @ sent
    if root == "sum":
        return value + own
    return concatenated([own, value], site.call) if root == "cat" else value


@rule("torch_geometric.GINConv")
def gin_conv(site: Site, x: Any, edge_index: Any, size: Any = None) -> Value:
    """f(A X + (1 + ε)X); a learned ε is a free scalar."""
    (sent, own), epsilon = _sent_and_own(x), site.module.eps
    is_learned = getattr(epsilon, "requires_grad", False)
    own = own + own.scaled(site.weight("eps")) if is_learned else own * (1 + float(epsilon))
    value = site.operator(edge_index, site.aggregation()) @ sent + own
    return site.interpreter.run(site.module.nn, site.weight("nn"), value)


@rule("torch_geometric.GATConv")
def gat_conv(site: Site, x: Value, edge_index: Any, edge_attr: Any = None, *rest: Any, **options: Any) -> Value:
    """The paper's partial form, head by head: [diag(X w₁)Ã + Ã diag(X w₂)] X W, exact for a single layer on X.

    Softmax and LeakyReLU are left out of the attention, which makes it linear in X w₁ and X w₂.
    """
    layer, seen = site.module, site.interpreter.attention_layers
    site.problem("GATConv attends without its softmax and LeakyReLU: a partial form with weight vectors w")
    if edge_attr is not None:
        site.problem("GATConv's attention to edge_attr is left out")
    if not x.is_features or seen:
        site.problem("GATConv attends to a hidden layer, where the paper's product form attends to X: not exact")
    if site.path not in seen:
        seen.append(site.path)
    graph, loops = _letter(site, edge_index, None), rational(1 if layer.add_self_loops else 0)
    heads = []
    for head in range(1, layer.heads + 1):
        attention = Polynomial.of(Attention(seen.index(site.path) + 1, head, layer.heads, graph, loops))
        heads.append(attention @ x.times(site.weight(f"lin.{head}")))
    value = concatenated(heads, site.call) if layer.concat else total(heads) * rational(1 / layer.heads)
    return site.bias(value if layer.res is None else value + x.times(site.weight("res")))


@rule("torch_geometric.JumpingKnowledge")
def jumping_knowledge(site: Site, xs: Any) -> Value:
    """H₁ ‖ H₂ ‖ …; the maximum and the LSTM's weighted sum are not linear: every layer keeps a weight of its own."""
    if site.module.mode != "cat":
        site.problem(f"JumpingKnowledge('{site.module.mode}') is not linear: it is replaced by a concatenation")
    return concatenated(list(xs), site.call)


def loop_strength(add_self_loops: bool, improved: bool, weights: Weights) -> int:
    """s of A + s·I in `gcn_norm`; ``improved`` loops count twice only where edges have weights, as in the library."""
    return (2 if improved and weights is not None else 1) if add_self_loops else 0


def _operator(site: Site, edge_index: Any, edge_weight: Weights) -> Polynomial:
    """The operator of the layers that share `gcn_norm`; options a layer does not have are off, but it normalises."""
    layer = site.module
    if site.aggregation() != "none":
        site.fail(f"aggregates by {layer.aggr} over normalised weights, which has no rule: use aggr='add'")
    if not getattr(layer, "normalize", True):
        return site.operator(edge_index, weights=edge_weight)
    loops = loop_strength(getattr(layer, "add_self_loops", False), getattr(layer, "improved", False), edge_weight)
    return site.operator(edge_index, "sym", loops, edge_weight)


def _hops(site: Site, x: Value, edge_index: Any, edge_weight: Weights) -> list[Value]:
    """X, M X, …, M^K X."""
    step, hops = _operator(site, edge_index, edge_weight), [x]
    for _ in range(site.module.K):
        hops.append(step @ hops[-1])
    return hops


def _sent_and_own(x: Any) -> tuple[Value, Value]:
    """What the neighbours send and what the node itself holds."""
    return x if isinstance(x, tuple) else (x, x)


def _letter(site: Site, edge_index: Any, edge_weight: Weights) -> str:
    """The letter of the graph a layer reads."""
    plain = site.operator(edge_index, weights=edge_weight)
    return next(symbol.graph for symbol in plain.symbols if isinstance(symbol, Operator))


def _mean_or_sum(site: Site, edge_weight: Weights) -> str:
    norm = site.aggregation()
    if norm == "row" and edge_weight is not None:
        site.problem("the mean of weighted messages divides by their number: replaced by a division by their weight")
    return norm
