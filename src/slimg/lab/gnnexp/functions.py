"""What functions and tensor methods do to abstract values, by name: arithmetic.

Each handler takes the site of the call and the call's arguments. Functions of parameters alone never come here: they
are computed. A product of two values that both depend on X becomes its first-order part, u·v ≈ ū·v + u·v̄, with a
problem noted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from numbers import Real
from typing import Any

from slimg.lab.gnnexp.edges import Degree, Edges, EdgeWeights, Messages
from slimg.lab.gnnexp.rules import Site
from slimg.lab.gnnexp.terms import ZERO, Value, concatenated, total
from slimg.lab.gnnexp.values import Opaque, Stacked, Weight

Handler = Callable[..., Any]
_HANDLERS: dict[str, Handler] = {}


def handler(name: str) -> Handler | None:
    """The handler of a function or method of that name."""
    return _HANDLERS.get(name)


def function(*names: str) -> Callable[[Handler], Handler]:
    """Register a handler under these names."""

    def register(handle: Handler) -> Handler:
        _HANDLERS.update({name: handle for name in names})
        return handle

    return register


@function("add", "iadd")
def add(site: Site, a: Any, b: Any, alpha: Any = 1) -> Any:
    """a + alpha · b."""
    if alpha != 1:
        b = multiply(site, b, alpha)
    if isinstance(a, Messages) and isinstance(b, Messages):
        return a + b
    if _is_number(a) and _is_number(b):
        return Opaque("sum", is_number=True)
    return as_value(site, a) + as_value(site, b)


@function("sub", "isub", "subtract")
def subtract(site: Site, a: Any, b: Any) -> Any:
    """a − b."""
    return add(site, a, negate(site, b))


@function("neg", "negative")
def negate(site: Site, a: Any) -> Any:
    """−a."""
    if isinstance(a, Real):
        return -float(a)
    if isinstance(a, Weight):
        return Weight(f"−{a.name}", -a.tensor.detach(), a.learned)
    return multiply(site, a, -1)


@function("mul", "imul", "multiply")
def multiply(site: Site, a: Any, b: Any) -> Any:
    """a · b, elementwise; one of the two may depend on X."""
    if isinstance(a, Value) and isinstance(b, Value):
        site.problem("two values that both depend on X are multiplied: the first-order part, a weight on each, is kept")
        return a.times(f"{site.call}.left") + b.times(f"{site.call}.right")
    if isinstance(a, EdgeWeights) and isinstance(b, EdgeWeights):
        return a.times(b)
    for first, second in ((a, b), (b, a)):
        if isinstance(first, Messages) and isinstance(second, EdgeWeights):
            return first.weighted(second)
        if isinstance(first, (Value, Messages, Stacked)) and (_is_number(second) or isinstance(second, Weight)):
            return each(first, partial(_scaled, site, factor=second))
    if _is_number(a) and _is_number(b):
        return Opaque("product", is_number=True)
    site.fail(f"multiplies {_kind(a)} by {_kind(b)}, which has no rule")


@function("truediv", "itruediv", "div", "divide")
def divide(site: Site, a: Any, b: Any) -> Any:
    """a / b; where b depends on X, the division is left out of a value, and 1 / b is an activation."""
    if isinstance(b, Real):
        return multiply(site, a, 1 / float(b))
    if isinstance(b, Weight):
        return multiply(site, a, Weight(f"1/{b.name}", b.tensor.detach().reciprocal(), b.learned))
    if isinstance(b, Value) and isinstance(a, Value):
        site.problem("a value is divided by another that depends on X: the division is left out")
        return a
    if isinstance(b, Value):
        site.activation("reciprocal")
        return multiply(site, a, b)
    if isinstance(b, Degree) and a == 1:
        return b.raised(-1)
    if _is_number(a) or isinstance(a, (Value, Messages, Stacked)):
        return multiply(site, a, b if _is_number(b) else site.fail(f"divides by {_kind(b)}, which has no rule"))
    site.fail(f"divides {_kind(a)} by {_kind(b)}, which has no rule")


@function("matmul", "mm", "spmm", "sparse_mm", "addmm")
def matrix_product(site: Site, *args: Any, beta: Any = 1, alpha: Any = 1, reduce: str = "sum") -> Any:
    """H W for a weight W, M H for a graph M; addmm(C, H, W) = beta·C + alpha·H W."""
    *added, a, b = (arg for arg in args if not isinstance(arg, str))
    if isinstance(a, Edges) and isinstance(b, Value):
        mean = "mean" in (reduce, *args)
        product = site.operator(a, "row" if mean else "none", weights=EdgeWeights(a)) @ b
    elif isinstance(b, Weight) and b.tensor.ndim <= 2 and isinstance(a, (Value, Messages, Stacked)):
        product = each(a, lambda value: value.times(b.name))
    else:
        site.fail("multiplies matrices other than (graph) · (features) and (features) · (weights), which has no rule")
    if not added:
        return product
    return add(site, multiply(site, added[0], beta), multiply(site, product, alpha))


@function("linear")
def linear(site: Site, x: Any, weight: Weight, bias: Any = None) -> Any:
    """X Wᵀ + b."""
    product = each(x, lambda value: value.times(f"{weight.name}ᵀ"))
    return product if bias is None else each(product, lambda value: add(site, value, bias))


@function("cat", "concat", "concatenate")
def concatenate(site: Site, values: Sequence[Any], dim: int = 0, axis: int | None = None) -> Any:
    """H₁ ‖ H₂ ‖ … along the features."""
    if not all(isinstance(value, (Value, Weight)) for value in values):
        site.fail("concatenates something other than node features, which has no rule")
    if (dim if axis is None else axis) not in (1, -1):
        site.fail("concatenates nodes (dim=0): only features (dim=-1) can be concatenated")
    return concatenated([as_value(site, value) for value in values], site.call)


@function("stack")
def stack(site: Site, values: Sequence[Value], dim: int = 0) -> Stacked:
    """Values along a new axis, to be added up later."""
    return Stacked(tuple(as_value(site, value) for value in values), dim % 3)


@function("sum", "mean", "max", "min", "amax", "amin", "logsumexp")
def reduce_axis(site: Site, x: Any, dim: Any = None, keepdim: bool = False, axis: Any = None) -> Any:
    """Over a stack: its sum; over the features: a weight; over the nodes or all: one row for all nodes."""
    name = site.name
    linear_reduction = name in ("sum", "mean")
    if not linear_reduction:
        site.problem(f"{name} is not linear: a weight on each of its inputs stands for it")
    dim = dim if axis is None else axis
    if isinstance(x, Stacked) and isinstance(dim, int) and dim % 3 == x.axis:
        if linear_reduction:
            return total(x.values) * (1 if name == "sum" else 1 / len(x.values))
        reduced = total(value.times(f"{site.call}[{place}]") for place, value in enumerate(x.values))
        return (reduced, Opaque("index")) if name in ("max", "min") else reduced
    if not isinstance(x, Value) or dim not in (None, 0, 1, -1):
        site.fail("reduces over an axis that is neither the nodes, the features nor a stack, which has no rule")
    reduced = x.times(site.call) if dim in (1, -1) else Value.row(site.call)
    return (reduced, Opaque("index")) if name in ("max", "min") and dim is not None else reduced


def as_value(site: Site, x: Any) -> Value:
    """A value at every node: itself, or the same row everywhere."""
    if isinstance(x, Value):
        return x
    if isinstance(x, Real):
        return Value.row("row of ones", float(x)) if x else ZERO
    if isinstance(x, Weight) and (x.is_scalar or x.is_row):
        return Value.row(x.name)
    if isinstance(x, Weight):
        site.fail(f"uses the parameter {x.name}, which has a row for each node: only weights shared by all nodes count")
    site.fail(f"uses {_kind(x)} as if it were features of nodes, which has no rule")


def each(x: Any, change: Callable[[Value], Value]) -> Any:
    """The change made to a value, or to every value of messages or of a stack."""
    return change(x) if isinstance(x, Value) else x.mapped(change)


def _scaled(site: Site, value: Value, *, factor: Any) -> Value:
    """value · factor for a number, a parameter, or a size."""
    if isinstance(factor, Real):
        return value * float(factor)
    if not isinstance(factor, Weight):
        return value.scaled(site.call)
    if factor.is_scalar:
        return value.scaled(factor.name) if factor.learned else value * factor.number
    if factor.is_row:
        return value.times(f"diag({factor.name})")
    site.fail(f"multiplies by the parameter {factor.name}, which has a row for each node: it is not shared by all")


def _is_number(x: Any) -> bool:
    return isinstance(x, Real) or (isinstance(x, Opaque) and x.is_number)


def _kind(x: Any) -> str:
    """What an abstract value is, in the user's words."""
    names = {"Value": "features of nodes", "Messages": "messages along edges", "Stacked": "a stack of features"}
    names |= {"EdgeWeights": "weights of edges", "Edges": "the edges", "Degree": "degrees", "Weight": "a parameter"}
    names |= {"Opaque": "a size or mask", "DataObject": "the data object", "EdgeEnd": "the ends of edges"}
    return names.get(type(x).__name__, f"a {type(x).__name__.lower()}")
