"""What functions and tensor methods do to abstract values, by name: parts, shapes and elementwise functions.

Elementwise nonlinearities are activations and become the identity.
"""

from __future__ import annotations

from typing import Any

from slimg.lab.gnnexp.edges import Degree, EdgeEnd, Edges, EdgeWeights, Messages
from slimg.lab.gnnexp.functions import each, function
from slimg.lab.gnnexp.rules import Site
from slimg.lab.gnnexp.terms import ZERO, Value
from slimg.lab.gnnexp.values import DataObject, Opaque, Pieces, Stacked

# fmt: off
_ACTIVATIONS = (
    "abs", "celu", "elu", "erf", "exp", "gelu", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "log", "log1p",
    "log_softmax", "logsigmoid", "mish", "pow", "prelu", "reciprocal", "relu", "relu6", "rrelu", "rsqrt", "selu",
    "sigmoid", "silu", "sin", "softmax", "softmin", "softplus", "softsign", "sqrt", "square", "tanh", "threshold",
    "clamp", "clip",
)
_SAME = (
    "contiguous", "clone", "detach", "to", "type", "type_as", "float", "double", "cpu", "cuda", "requires_grad_",
    "dropout", "dropout1d", "feature_dropout", "alpha_dropout", "feature_alpha_dropout", "coalesce", "nan_to_num",
)
# fmt: on
_POWERS = {"pow": 0, "sqrt": 0.5, "rsqrt": -0.5, "reciprocal": -1}
_RESHAPES = ("view", "reshape", "flatten", "unsqueeze", "squeeze")
_COMPARISONS = ("eq", "ne", "gt", "ge", "lt", "le", "isinf", "isnan")


@function("chunk", "split", "tensor_split")
def pieces(site: Site, x: Value, count: Any, dim: int = 0) -> Pieces:
    """Parts of the features."""
    if dim not in (1, -1) or not isinstance(x, Value):
        site.fail("splits something other than the features (dim=-1), which has no rule")
    return Pieces(x, site.call)


@function("getitem")
def item(site: Site, x: Any, key: Any) -> Any:
    """Part of a tuple; columns or rows of features; one end of the edges; a value read along edges."""
    if isinstance(x, (tuple, list, dict, Pieces)):
        return x[key]
    if isinstance(x, Edges) and key in (0, 1):
        return x.end("source" if key == 0 else "target")
    if isinstance(x, Degree) and isinstance(key, EdgeEnd):
        return x.at(key)
    if isinstance(x, Value) and isinstance(key, EdgeEnd):
        return _read(site, x, key)
    if isinstance(x, Opaque):
        return Opaque(f"{x.name}[…]", is_number=True)
    if isinstance(x, EdgeWeights) and isinstance(key, Opaque):
        return x
    if isinstance(x, Stacked) and isinstance(key, tuple) and x.axis < len(key) and isinstance(key[x.axis], int):
        return x.values[key[x.axis]]
    if isinstance(x, Value):
        return _part(site, x, key)
    site.fail("reads part of something that has no rule")


@function("index_select")
def index_select(site: Site, x: Any, dim: int, index: Any) -> Any:
    """A value read along edges."""
    return item(site, x, index) if dim in (0, -2) else site.fail("selects columns by an index, which has no rule")


@function("getattr")
def attribute(site: Site, x: Any, name: str, *default: Any) -> Any:
    """A field of a data object; sizes and types of tensors."""
    if isinstance(x, DataObject):
        graph = Edges("A", "B" if x.weighted else "A")
        known = {"x": Value.features(), "edge_index": graph, "adj_t": Edges(), "edge_weight": EdgeWeights(Edges())}
        known["edge_attr"] = known["edge_weight"]
        return known.get(name, Opaque(name, is_number=name.startswith("num_")))
    if name in ("T", "mT", "H"):
        return transpose(site, x)
    return Opaque(name, is_number=name in ("shape", "num_nodes"))


@function("t", "transpose", "permute")
def transpose(site: Site, x: Any, *axes: Any) -> Any:
    """A graph is symmetric; features cannot be transposed."""
    if isinstance(x, Edges):
        return x
    site.fail("transposes node features, which has no rule")


@function("size", "dim", "numel", "sparse_size", "maybe_num_nodes")
def size(site: Site, *args: Any, **options: Any) -> Opaque:
    """A number that does not depend on X."""
    return Opaque("size", is_number=True)


@function("zeros_like", "zeros", "new_zeros")
def zeros(site: Site, *shape: Any, **options: Any) -> Value:
    """0 at every node."""
    return ZERO


@function("ones_like", "ones", "new_ones")
def ones(site: Site, *shape: Any, **options: Any) -> Value:
    """The same row of ones at every node."""
    return Value.row("row of ones")


@function(*_SAME)
def same(site: Site, x: Any, *options: Any, **more: Any) -> Any:
    """X."""
    return x


@function(*_RESHAPES)
def reshape(site: Site, x: Any, *shape: Any, **options: Any) -> Any:
    """A fixed rearrangement of the features of each node; nothing for weights of edges."""
    if isinstance(x, (Value, Messages, Stacked)):
        return each(x, lambda value: value.times(site.call))
    if isinstance(x, (EdgeWeights, Degree, Opaque)):
        return x
    site.fail("reshapes the edges of the graph, which has no rule")


@function(*_COMPARISONS)
def compare(site: Site, x: Any, *other: Any) -> Opaque:
    """A mask, of degrees only: a mask of values would be a decision on data."""
    if isinstance(x, (Value, Messages, Stacked)):
        site.fail("compares values that depend on X, which is a decision on data: it has no linear form")
    return Opaque("mask")


@function("setitem", "masked_fill", "index_fill")
def assign(site: Site, x: Any, key: Any, value: Any, *rest: Any) -> Any:
    """Degrees and weights: infinite ones become zero, as everywhere here. Values cannot be assigned to."""
    if isinstance(x, (Degree, EdgeWeights)):
        return x
    site.fail("assigns to part of a tensor, which has no rule: build it with cat or where the value is made")


@function("normalize")
def normalise_rows(site: Site, x: Value, *options: Any, **more: Any) -> Value:
    """X in place of X divided by the length of each row."""
    site.problem(f"{site.name} divides each node's row by its own size, which is not linear: the division is left out")
    return x


@function("batch_norm", "instance_norm")
def columnwise_norm(site: Site, x: Value, *statistics: Any, **more: Any) -> Value:
    """X diag(s) + 1 b."""
    return x.times(f"{site.call}.scale") + Value.row(f"{site.call}.shift")


@function("layer_norm", "rms_norm")
def rowwise_norm(site: Site, x: Value, *shape: Any, **more: Any) -> Value:
    """X C diag(s) + 1 b, without the division of each row by its own deviation."""
    return columnwise_norm(site, normalise_rows(site, x))


@function("glu")
def gated(site: Site, x: Value, dim: int = -1) -> Value:
    """Half of the features times the sigmoid of the other half: the first-order part of that product."""
    site.problem("glu multiplies two halves of the features: the first-order part, a weight on each, is kept")
    return x.times(site.call)


@function(*_ACTIVATIONS)
def activation(site: Site, x: Any, *options: Any, **more: Any) -> Any:
    """X in place of σ(X); powers of degrees and of sizes are what they are."""
    if isinstance(x, Degree) and site.name in _POWERS:
        return x.raised(_POWERS[site.name] or (options[0] if options else more["exponent"]))
    if isinstance(x, (Value, Messages, Stacked)):
        site.activation(site.name)
        return x
    if isinstance(x, Opaque) and x.is_number:
        return Opaque(site.name, is_number=True)
    site.fail("is applied to the graph's edges or degrees, which has no rule")


def _read(site: Site, x: Value, end: EdgeEnd) -> Messages:
    if end.end == "target":
        site.fail("reads features at the receiving end of each edge, which has no rule")
    return Messages(((None, x),))


def _part(site: Site, x: Value, key: Any) -> Value:
    """Columns are a fixed matrix; rows leave the propagator as it is."""
    columns = key[-1] if isinstance(key, tuple) and len(key) > 1 else None
    rows = key[0] if isinstance(key, tuple) else key
    if rows is not None and rows != slice(None) and rows is not Ellipsis:
        site.problem("only some nodes are kept here: the propagator is that of all nodes")
    return x if columns is None else x.times(f"columns[{columns}]")
