"""Rules of the layers and graph functions of PyTorch Geometric, and of layers written by hand.

M stands for the operator a layer makes of its edges; W, V are weights and b biases. Graphs are undirected. Each layer's
formula is without its activations. A layer without a rule whose forward calls `propagate` is followed through its methods:

    m_ij = message(x_j, …)       H_i = Σ_j m_ij  or the mean       update(H)

so it needs no rule when its message is linear in what the sources send, as those of most layers of the library are
(`rules.FOLLOWED` names those that are tested).
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

from slimg.lab.gnnexp import values as v
from slimg.lab.gnnexp.algebra import IDENTITY, Attention, Laplacian, Operator, Polynomial, rational
from slimg.lab.gnnexp.rules import Site, dotted, rule

_PROVIDED = ("index", "ptr", "dim_size", "size", "size_i", "size_j", "edge_index", "edge_index_i", "edge_index_j")


@rule("torch_geometric.GCN2Conv")
def gcn2_conv(site: Site, x: v.Value, x_0: v.Value, edge_index: Any, edge_weight: v.Weights = None) -> v.Value:
    """((1 − α)Ã_sym H + αX₀) ((1 − β)I + βW), where the second factor is one free weight; two when not shared."""
    alpha = rational(site.module.alpha)
    passed = (_normalised(site, edge_index, edge_weight) @ x) * (1 - alpha)
    second = "weight1" if site.module.weight2 is None else "weight2"
    return passed.times(site.weight("weight1")) + (x_0 * alpha).times(site.weight(second))


@rule("torch_geometric.ChebConv")
def cheb_conv(site: Site, x: v.Value, edge_index: Any, edge_weight: v.Weights = None, *options: Any, **more: Any) -> v.Value:
    """Σ_k T_k(L̂) X W_k + b with L̂ = 2L/λ_max − I; L = I − A_sym, I − A_col or D − A.

    The spans of T_0, …, T_(K−1) in L̂ and in L are the same whatever λ_max is, so 2 is taken for it.
    """
    if site.module.normalization is None:
        shifted = Polynomial.of(Laplacian(_letter(site, edge_index, edge_weight))) - IDENTITY
    else:
        shifted = site.operator(edge_index, {"sym": "sym", "rw": "col"}[site.module.normalization], 0, edge_weight) * -1
    before, current, value = v.ZERO, x, v.ZERO
    for place in range(len(site.module.lins)):
        value = value + current.times(site.weight(f"lins.{place}"))
        step = shifted @ current
        before, current = current, (step if place == 0 else step * 2 - before)
    return site.bias(value)


@rule("torch_geometric.ARMAConv")
def arma_conv(site: Site, x: v.Value, edge_index: Any, edge_weight: v.Weights = None) -> v.Value:
    """Mean over stacks of H ← σ(A_sym H W_t + X V_t + b_t), T times from H = X."""
    layer, step, stacks = site.module, _normalised(site, edge_index, edge_weight), []
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
                value = value + v.Value.row(site.weight(f"bias.{own}.{stack}"))
        stacks.append(value)
    return v.total(stacks) * rational(1 / layer.num_stacks)


@rule("torch_geometric.GATConv")
def gat_conv(site: Site, x: v.Value, edge_index: Any, edge_attr: Any = None, *rest: Any, **options: Any) -> v.Value:
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
    value = v.joined(heads, site.call) if layer.concat else v.total(heads) * rational(1 / layer.heads)
    return site.bias(value if layer.res is None else value + x.times(site.weight("res")))


@rule("torch_geometric.JumpingKnowledge")
def jumping_knowledge(site: Site, xs: Any) -> v.Value:
    """H₁ ‖ H₂ ‖ …; the maximum and the LSTM's weighted sum are not linear: every layer keeps a weight of its own."""
    if site.module.mode != "cat":
        site.problem(f"JumpingKnowledge('{site.module.mode}') is not linear: it is replaced by a concatenation")
    return v.joined(list(xs), site.call)


# graph functions and message passing ----------------------------------------------------------------------------------


@rule("propagate")
def propagate(site: Site, path: str, edge_index: Any, **inputs: Any) -> v.Value:
    """One round of message passing of the layer at ``path``, through its own message and update."""
    layer, edges = site.module.get_submodule(path), site.edges(edge_index)
    full_path = dotted(site.path, path)
    site = replace(site, name=type(layer).__name__, module=layer)
    if _is_overridden(layer, "aggregate"):
        site.fail("has an aggregation of its own, which has no rule")
    names = inspect.signature(layer.message).parameters
    received = {name: _message_input(site, name, inputs) for name in names}
    sent = site.interpreter.run(layer, full_path, method="message", **received)
    value = aggregate(site, sent, edges, getattr(layer, "aggr", "add"))
    if not _is_overridden(layer, "update"):
        return value
    further = {name: inputs.get(name) for name in list(inspect.signature(layer.update).parameters)[1:]}
    return site.interpreter.run(layer, full_path, value, method="update", **further)


def aggregate(site: Site, sent: Any, edges: v.Edges, how: Any) -> v.Value:
    """Σ_j or the mean over j of the messages to each node."""
    if not isinstance(sent, v.Messages):
        site.fail("sends messages that are not linear in what the sources hold, which has no rule")
    if site.aggregation(any(weight is not None for weight, _ in sent.parts), how) == "row":
        return v.total(edges.operator("row") @ value for _, value in sent.parts)
    return v.total((edges.weights() if w is None else w).operator @ value for w, value in sent.parts)


@rule("gcn_norm")
def gcn_norm(site: Site, edge_index: v.Edges, edge_weight: v.Weights = None, num_nodes: Any = None, improved: bool = False,
             add_self_loops: bool = True, *options: Any, **more: Any) -> tuple[v.Edges, v.EdgeWeights]:  # fmt: skip
    """(edges with loops, weights of D̃^-½ (A + I) D̃^-½)."""
    loops = loop_strength(add_self_loops, improved, edge_weight)
    weights = site.edges(edge_index).weights("sym", loops, edge_weight)
    return weights.edges, weights


@rule("add_self_loops", "add_remaining_self_loops")
def add_self_loops(site: Site, edge_index: v.Edges, edge_attr: Any = None, fill_value: Any = None,
                   num_nodes: Any = None) -> Any:  # fmt: skip
    """(edges with loops, their weights if there were any)."""
    strength = float(fill_value) if isinstance(fill_value, (int, float)) and edge_attr is not None else 1
    edges = site.edges(edge_index).with_loops(strength)
    return edges, None if edge_attr is None else edges.weights("none", strength, edge_attr)


@rule("remove_self_loops", "dropout_adj", "to_undirected", "sort_edge_index")
def edges_and_weights(site: Site, edge_index: v.Edges, edge_attr: Any = None, *options: Any, **more: Any) -> Any:
    """Graphs are undirected without loops: the edges and weights as they are."""
    alone = site.name in ("to_undirected", "sort_edge_index") and edge_attr is None
    return edge_index if alone else (edge_index, edge_attr)


@rule("dropout_edge", "dropout_node", "dropout_path")
def dropout_edge(site: Site, edge_index: v.Edges, *options: Any, **more: Any) -> tuple[Any, ...]:
    """(edges, mask, …): nothing is dropped outside of training."""
    return edge_index, v.Opaque("mask"), v.Opaque("mask")


@rule("degree")
def degree(site: Site, index: Any, *options: Any, **more: Any) -> v.Degree:
    """d̃ of each node: the number of edges at one end."""
    if not isinstance(index, v.EdgeEnd):
        site.fail("counts something other than the ends of edges, which has no rule")
    return v.Degree(index.edges)


@rule("scatter", "scatter_add")
def scatter(site: Site, source: Any, index: Any, dim: Any = 0, dim_size: Any = None, reduce: str = "sum") -> Any:
    """The weights of edges summed at each node are its degree; messages are aggregated at their targets."""
    if not isinstance(index, v.EdgeEnd):
        site.fail("scatters along something other than the edges of the graph, which has no rule")
    if isinstance(source, v.EdgeWeights) and not source.normalised:
        return v.Degree(source.edges)
    if index.end == "source":
        site.fail("aggregates at the sending end of each edge, which has no rule: exchange row and col")
    return aggregate(site, source, index.edges, reduce)


# parts --------------------------------------------------------------------------------------------------------------


def loop_strength(add_self_loops: bool, improved: bool, weights: v.Weights) -> int:
    """s of A + s·I in `gcn_norm`; ``improved`` loops count twice only where edges have weights, as in the library."""
    return (2 if improved and weights is not None else 1) if add_self_loops else 0


def _normalised(site: Site, edge_index: Any, edge_weight: v.Weights) -> Polynomial:
    """The operator that a layer makes with `gcn_norm`; ARMA's has no loops."""
    layer = site.module
    if site.aggregation() != "none":
        site.fail(f"aggregates by {layer.aggr} over normalised weights, which has no rule: use aggr='add'")
    if not getattr(layer, "normalize", True):
        return site.operator(edge_index, weights=edge_weight)
    return site.operator(edge_index, "sym", int(getattr(layer, "add_self_loops", False)), edge_weight)


def _letter(site: Site, edge_index: Any, edge_weight: v.Weights) -> str:
    """The letter of the graph a layer reads."""
    plain = site.operator(edge_index, weights=edge_weight)
    return next(symbol.graph for symbol in plain.symbols if isinstance(symbol, Operator))


def _message_input(site: Site, name: str, inputs: dict[str, Any]) -> Any:
    """What `propagate` passes to an argument of message: x_j is x read at the source of each edge."""
    if name in inputs:
        return inputs[name]
    if name in _PROVIDED:
        return v.Opaque(name)
    if name.endswith("_i"):
        site.fail(f"sends messages that read the receiving node ({name}), which has no rule")
    pair = inputs.get(name[:-2])
    value = pair[0] if isinstance(pair, (tuple, list)) else pair
    if not name.endswith("_j") or not isinstance(value, v.Value):
        site.fail(f"sends messages with the argument {name}, which has no rule")
    return v.Messages(((None, value),))


def _is_overridden(layer: Any, method: str) -> bool:
    return getattr(type(layer), method).__module__ != "torch_geometric.nn.conv.message_passing"
