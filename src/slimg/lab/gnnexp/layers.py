"""Rules of functions, tensor methods and layers: PyTorch's, PyTorch Geometric's, and layers written by hand.

Functions of parameters alone need no rule: they are computed. Elementwise nonlinearities are activations and become the
identity. A product of two values that both depend on X becomes its first-order part, u·v ≈ ū·v + u·v̄, with a problem
noted.

In the layers of PyTorch Geometric M stands for the operator a layer makes of its edges; W, V are weights and b biases.
Graphs are undirected. Each layer's formula is without its activations. A layer without a rule whose forward calls
`propagate` is followed through its methods:

    m_ij = message(x_j, …)       H_i = Σ_j m_ij  or the mean       update(H)

so it needs no rule when its message is linear in what the sources send, as those of most layers of the library are
(`rules.FOLLOWED` names those that are tested).
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any

import torch

from slimg.lab.gnnexp import values as v
from slimg.lab.gnnexp.algebra import IDENTITY, Attention, Laplacian, Operator, Polynomial, rational
from slimg.lab.gnnexp.rules import Rule, Site, dotted, rule

# fmt: off
_ACTIVATION_LAYERS = sorted(set(torch.nn.modules.activation.__all__) - {"GLU", "MultiheadAttention", "Softmax2d"})
_ACTIVATIONS = (
    *map(str.lower, _ACTIVATION_LAYERS), "leaky_relu", "log_softmax",
    "abs", "clamp", "clip", "erf", "exp", "log", "log1p", "pow", "reciprocal", "rsqrt", "sin", "sqrt", "square",
)
_SAME = (
    "contiguous", "clone", "detach", "to", "type", "type_as", "float", "double", "cpu", "cuda", "requires_grad_",
    "dropout", "dropout1d", "feature_dropout", "alpha_dropout", "feature_alpha_dropout", "coalesce", "nan_to_num",
    "torch.Identity", "torch.Dropout", "torch.Dropout1d", "torch.AlphaDropout", "torch.FeatureAlphaDropout",
)
_COLUMNWISE = (
    "batch_norm", "instance_norm", "torch.BatchNorm1d", "torch.InstanceNorm1d", "torch_geometric.BatchNorm",
    "torch_geometric.InstanceNorm", "torch_geometric.GraphNorm", "torch_geometric.GraphSizeNorm",
    "torch_geometric.MeanSubtractionNorm",
)
_ROWWISE = (
    "layer_norm", "rms_norm", "torch.LayerNorm", "torch.RMSNorm", "torch_geometric.LayerNorm",
    "torch_geometric.PairNorm",
)
# fmt: on
_POWERS = {"pow": 0, "sqrt": 0.5, "rsqrt": -0.5, "reciprocal": -1}


# arithmetic ---------------------------------------------------------------------------------------------------------


@rule("add", "iadd")
def add(site: Site, a: Any, b: Any, alpha: Any = 1) -> Any:
    """a + alpha · b."""
    if alpha != 1:
        b = multiply(site, b, alpha)
    if isinstance(a, v.Messages) and isinstance(b, v.Messages):
        return a + b
    if _is_number(a) and _is_number(b):
        return v.Opaque("sum", is_number=True)
    return as_value(site, a) + as_value(site, b)


@rule("sub", "isub", "subtract")
def subtract(site: Site, a: Any, b: Any) -> Any:
    """a − b."""
    return add(site, a, negate(site, b))


@rule("neg", "negative")
def negate(site: Site, a: Any) -> Any:
    """−a."""
    if isinstance(a, Real):
        return -float(a)
    if isinstance(a, v.Weight):
        return v.Weight(f"−{a.name}", -a.tensor.detach(), a.learned)
    return multiply(site, a, -1)


@rule("mul", "imul", "multiply")
def multiply(site: Site, a: Any, b: Any) -> Any:
    """a · b, elementwise; one of the two may depend on X."""
    if isinstance(a, v.Value) and isinstance(b, v.Value):
        site.problem("two values that both depend on X are multiplied: the first-order part, a weight on each, is kept")
        return a.times(f"{site.call}.left") + b.times(f"{site.call}.right")
    if isinstance(a, v.EdgeWeights) and isinstance(b, v.EdgeWeights):
        return a.times(b)
    for first, second in ((a, b), (b, a)):
        if isinstance(first, v.Messages) and isinstance(second, v.EdgeWeights):
            return first.weighted(second)
        if isinstance(first, v.NODE_VALUES) and (_is_number(second) or isinstance(second, v.Weight)):
            return first.mapped(partial(_scaled, site, factor=second))
    if _is_number(a) and _is_number(b):
        return v.Opaque("product", is_number=True)
    site.fail(f"multiplies {v.kind(a)} by {v.kind(b)}, which has no rule")


@rule("truediv", "itruediv", "div", "divide")
def divide(site: Site, a: Any, b: Any) -> Any:
    """a / b; where b depends on X, the division is left out of a value, and 1 / b is an activation."""
    if isinstance(b, Real):
        return multiply(site, a, 1 / float(b))
    if isinstance(b, v.Weight):
        return multiply(site, a, v.Weight(f"1/{b.name}", b.tensor.detach().reciprocal(), b.learned))
    if isinstance(b, v.Value) and isinstance(a, v.Value):
        site.problem("a value is divided by another that depends on X: the division is left out")
        return a
    if isinstance(b, v.Value):
        site.activation("reciprocal")
        return multiply(site, a, b)
    if isinstance(b, v.Degree) and a == 1:
        return b.raised(-1)
    if not (_is_number(a) or isinstance(a, v.NODE_VALUES)):
        site.fail(f"divides {v.kind(a)} by {v.kind(b)}, which has no rule")
    return multiply(site, a, b) if _is_number(b) else site.fail(f"divides by {v.kind(b)}, which has no rule")


@rule("matmul", "mm", "spmm", "sparse_mm", "addmm")
def matrix_product(site: Site, *args: Any, beta: Any = 1, alpha: Any = 1, reduce: str = "sum") -> Any:
    """H W for a weight W, M H for a graph M; addmm(C, H, W) = beta·C + alpha·H W."""
    *added, a, b = (arg for arg in args if not isinstance(arg, str))
    if isinstance(a, v.Edges) and isinstance(b, v.Value):
        mean = "mean" in (reduce, *args)
        product: Any = site.operator(a, "row" if mean else "none", weights=v.EdgeWeights(a)) @ b
    elif isinstance(b, v.Weight) and b.tensor.ndim <= 2 and isinstance(a, v.NODE_VALUES):
        product = a.mapped(lambda value: value.times(b.name))
    else:
        site.fail("multiplies matrices other than (graph) · (features) and (features) · (weights), which has no rule")
    return add(site, multiply(site, added[0], beta), multiply(site, product, alpha)) if added else product


@rule("linear")
def linear(site: Site, x: Any, weight: v.Weight, bias: Any = None) -> Any:
    """X Wᵀ + b."""
    product = x.mapped(lambda value: value.times(f"{weight.name}ᵀ"))
    return product if bias is None else product.mapped(lambda value: add(site, value, bias))


@rule("torch.Linear", "torch_geometric.Linear")
def linear_layer(site: Site, x: Any) -> Any:
    """X W + b."""
    return x.mapped(lambda value: site.bias(value.times(site.weight("weightᵀ"))))


@rule("cat", "concat", "concatenate")
def concatenate(site: Site, values: Sequence[Any], dim: int = 0, axis: int | None = None) -> Any:
    """H₁ ‖ H₂ ‖ … along the features."""
    if not all(isinstance(value, (v.Value, v.Weight)) for value in values):
        site.fail("concatenates something other than node features, which has no rule")
    if (dim if axis is None else axis) not in (1, -1):
        site.fail("concatenates nodes (dim=0): only features (dim=-1) can be concatenated")
    return v.joined([as_value(site, value) for value in values], site.call)


@rule("stack")
def stack(site: Site, values: Sequence[v.Value], dim: int = 0) -> v.Stacked:
    """Values along a new axis, to be added up later."""
    return v.Stacked(tuple(as_value(site, value) for value in values), dim % 3)


@rule("sum", "mean", "max", "min", "amax", "amin", "logsumexp")
def reduce_axis(site: Site, x: Any, dim: Any = None, keepdim: bool = False, axis: Any = None) -> Any:
    """Over a stack: its sum; over the features: a weight; over the nodes or all: one row for all nodes."""
    is_linear, dim = site.name in ("sum", "mean"), dim if axis is None else axis
    if not is_linear:
        site.problem(f"{site.name} is not linear: it is replaced by a weight on each of its inputs")
    if isinstance(x, v.Stacked) and isinstance(dim, int) and dim % 3 == x.axis:
        if is_linear:
            return v.total(x.values) * (1 if site.name == "sum" else 1 / len(x.values))
        reduced = v.joined(x.values, site.call)
    elif isinstance(x, v.Value) and dim in (None, 0, 1, -1):
        reduced = x.times(site.call) if dim in (1, -1) else v.Value.row(site.call)
    else:
        site.fail("reduces over an axis that is neither the nodes, the features nor a stack, which has no rule")
    return (reduced, v.Opaque("index")) if site.name in ("max", "min") and dim is not None else reduced


def as_value(site: Site, x: Any) -> v.Value:
    """A value at every node: itself, or the same row everywhere."""
    if isinstance(x, v.Value):
        return x
    if isinstance(x, Real):
        return v.Value.row("row of ones", float(x)) if x else v.ZERO
    if isinstance(x, v.Weight) and (x.is_scalar or x.is_row):
        return v.Value.row(x.name)
    if isinstance(x, v.Weight):
        site.fail(f"uses the parameter {x.name}, which has a row for each node: weights must be shared by all nodes")
    site.fail(f"uses {v.kind(x)} as features of nodes, which has no rule")


def _scaled(site: Site, value: v.Value, *, factor: Any) -> v.Value:
    """value · factor for a number, a parameter, or a size."""
    if isinstance(factor, Real):
        return value * float(factor)
    if not isinstance(factor, v.Weight):
        return value.scaled(site.call)
    if factor.is_scalar:
        return value.scaled(factor.name) if factor.learned else value * factor.number
    if factor.is_row:
        return value.times(f"diag({factor.name})")
    site.fail(f"multiplies by the parameter {factor.name}, which has a row for each node: weights must be shared by all")


def _is_number(x: Any) -> bool:
    return isinstance(x, Real) or (isinstance(x, v.Opaque) and x.is_number)


# parts and shapes ---------------------------------------------------------------------------------------------------


@rule("chunk", "split", "tensor_split")
def pieces(site: Site, x: v.Value, count: Any, dim: int = 0) -> v.Pieces:
    """Parts of the features."""
    if dim not in (1, -1) or not isinstance(x, v.Value):
        site.fail("splits something other than the features (dim=-1), which has no rule")
    return v.Pieces(x, site.call)


@rule("getitem")
def item(site: Site, x: Any, key: Any) -> Any:
    """Part of a tuple; columns or rows of features; one end of the edges; a value read along edges."""
    match x, key:
        case (tuple() | list() | dict() | v.Pieces()), _:
            return x[key]
        case v.Edges(), 0 | 1:
            return v.EdgeEnd(x, "target" if key else "source")
        case v.Degree(), v.EdgeEnd():
            return x.at(key)
        case v.Value(), v.EdgeEnd(end="source"):
            return v.Messages(((None, x),))
        case v.Value(), v.EdgeEnd():
            site.fail("reads features at the receiving end of each edge, which has no rule")
        case v.Value(), _:
            return _part(site, x, key)
        case v.Opaque(), _:
            return v.Opaque(f"{x.name}[…]", is_number=True)
        case v.EdgeWeights(), v.Opaque():
            return x
        case v.Stacked(), tuple() if x.axis < len(key) and isinstance(key[x.axis], int):
            return x.values[key[x.axis]]
    site.fail("reads part of something that has no rule")


def _part(site: Site, x: v.Value, key: Any) -> v.Value:
    """Columns are a fixed matrix; a selection of rows does not change the propagator."""
    columns = key[-1] if isinstance(key, tuple) and len(key) > 1 else None
    rows = key[0] if isinstance(key, tuple) else key
    if rows is not None and rows != slice(None) and rows is not Ellipsis:
        site.problem("only some nodes are kept here: the propagator is that of all nodes")
    return x if columns is None else x.times(f"columns[{columns}]")


@rule("index_select")
def index_select(site: Site, x: Any, dim: int, index: Any) -> Any:
    """A value read along edges."""
    return item(site, x, index) if dim in (0, -2) else site.fail("selects columns by an index, which has no rule")


@rule("getattr")
def attribute(site: Site, x: Any, name: str, *default: Any) -> Any:
    """A field of a data object; sizes and types of tensors."""
    if isinstance(x, v.DataObject):
        edges, weights = v.Edges("A", "B" if x.weighted else "A"), v.EdgeWeights(v.Edges())
        known: dict[str, Any] = {"x": v.Value.features(), "edge_index": edges, "adj_t": v.Edges()}
        known |= {"edge_weight": weights, "edge_attr": weights}
        return known.get(name, v.Opaque(name, is_number=name.startswith("num_")))
    if name in ("T", "mT", "H"):
        return transpose(site, x)
    return v.Opaque(name, is_number=name in ("shape", "num_nodes"))


@rule("t", "transpose", "permute")
def transpose(site: Site, x: Any, *axes: Any) -> Any:
    """A graph is symmetric; features cannot be transposed."""
    return x if isinstance(x, v.Edges) else site.fail("transposes node features, which has no rule")


def _always(result: Any) -> Rule:
    """The rule of functions whose result does not depend on their arguments."""
    return lambda site, *args, **options: result


rule("size", "dim", "numel", "sparse_size", "maybe_num_nodes")(_always(v.Opaque("size", is_number=True)))
rule("zeros_like", "zeros", "new_zeros")(_always(v.ZERO))
rule("ones_like", "ones", "new_ones")(_always(v.Value.row("row of ones")))


@rule("view", "reshape", "flatten", "unsqueeze", "squeeze")
def reshape(site: Site, x: Any, *shape: Any, **options: Any) -> Any:
    """A fixed rearrangement of the features of each node; no change for weights of edges."""
    if isinstance(x, v.NODE_VALUES):
        return x.mapped(lambda value: value.times(site.call))
    return x if isinstance(x, (v.EdgeWeights, v.Degree, v.Opaque)) else site.fail("reshapes the edges, which has no rule")


@rule("eq", "ne", "gt", "ge", "lt", "le", "isinf", "isnan")
def compare(site: Site, x: Any, *other: Any) -> v.Opaque:
    """A mask of degrees; a mask of values would be a decision on data."""
    if isinstance(x, v.NODE_VALUES):
        site.fail("compares values that depend on X, which is a decision on data: it has no linear form")
    return v.Opaque("mask")


@rule("setitem", "masked_fill", "index_fill")
def assign(site: Site, x: Any, key: Any, value: Any, *rest: Any) -> Any:
    """No change for degrees and weights, whose infinite entries count as zero. Values cannot be assigned to."""
    if isinstance(x, (v.Degree, v.EdgeWeights)):
        return x
    site.fail("assigns to part of a tensor, which has no rule: build the tensor with cat instead")


# elementwise functions and normalisation ----------------------------------------------------------------------------


rule(*_SAME)(lambda site, x, *options, **more: x)


@rule(*_ACTIVATIONS, *(f"torch.{name}" for name in _ACTIVATION_LAYERS))
def activation(site: Site, x: Any, *options: Any, **more: Any) -> Any:
    """X in place of σ(X); powers of degrees and of sizes are computed."""
    if isinstance(x, v.Degree) and site.name in _POWERS:
        return x.raised(_POWERS[site.name] or (options[0] if options else more["exponent"]))
    if isinstance(x, v.NODE_VALUES):
        site.activation(site.name)
        return x
    if isinstance(x, v.Opaque) and x.is_number:
        return v.Opaque(site.name, is_number=True)
    site.fail("is applied to the graph's edges or degrees, which has no rule")


@rule("normalize")
def normalise_rows(site: Site, x: v.Value, *options: Any, **more: Any) -> v.Value:
    """X in place of X divided by the length of each row."""
    site.problem(f"{site.name} divides each node's row by its own size, which is not linear: the division is left out")
    return x


@rule(*_COLUMNWISE)
def columnwise_norm(site: Site, x: v.Value, *statistics: Any, **more: Any) -> v.Value:
    """X diag(s) + 1 b: each column is scaled and shifted, by statistics of the whole column or of training."""
    return x.times(site.own_weight("scale")) + v.Value.row(site.own_weight("shift"))


@rule(*_ROWWISE)
def rowwise_norm(site: Site, x: v.Value, *batch: Any, **more: Any) -> v.Value:
    """X C diag(s) + 1 b with C = I − 11ᵀ/d, without the division of each row by its own deviation."""
    by_graph = site.is_layer and getattr(site.module, "mode", None) == "graph"
    by_graph = by_graph or (site.name == "PairNorm" and not site.module.scale_individually)
    return columnwise_norm(site, x if by_graph else normalise_rows(site, x))


@rule("glu")
def gated(site: Site, x: v.Value, dim: int = -1) -> v.Value:
    """Half of the features times the sigmoid of the other half: the first-order part of that product."""
    site.problem("glu multiplies two halves of the features: the first-order part, a weight on each, is kept")
    return x.times(site.call)


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
