"""How each layer and function acts on abstract values: the registry of rules, and what a rule may use.

A rule is a function of the call's `Site` and of the arguments of the call, as abstract values; it returns what the layer
or function returns once its activations are the identity. A new layer takes a few lines:

    @gnnexp.rule(MyConv)
    def my_conv(site, x, edge_index, edge_weight=None):
        "A_row X W + b"
        return site.bias(site.operator(edge_index, "row", weights=edge_weight) @ site.linear(x, "lin"))

Rules apply to a class and to subclasses that do not change how it computes.

The arguments of a network's forward have these roles:

    features    X                                     x, or the first argument that is nothing else
    graph       the edges of A, or A as a matrix      edge_index, adj_t, …
    weights     the weights of those edges            edge_weight, edge_attr
    two_hop     the strict two-hop neighbours of A, a graph of its own: A₂            edge_index2, adj2, …
    square      the same, read as the paper does: its operator is the square of A's
    data        a `torch_geometric.data.Data`         data
    ignored     anything without influence            batch, size, num_nodes, …
    A, A_row, A_sym, A_col, Ã, Ã_row, Ã_sym, Ã_col    a matrix that is this operator already

Roles are read from the names; ``inputs={"argument": "role"}`` overrides. Arguments with a default keep it unless named.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

from slimg.errors import InputError, check_names
from slimg.lab.gnnexp.algebra import NORMALISATIONS, Number, Polynomial, normalised
from slimg.lab.gnnexp.values import TWO_HOP, DataObject, Edges, EdgeWeights, Opaque, Value, Weights

if TYPE_CHECKING:
    from slimg.lab.gnnexp.interpreter import Interpreter

Rule = Callable[..., Any]
_RULES: dict[Any, Rule] = {}
_METHODS = ("forward", "message", "aggregate", "update")
_OPERATORS = {
    letter + ("" if norm == "none" else f"_{norm}"): normalised("A", norm, loops)
    for letter, loops in (("A", 0), ("Ã", 1))
    for norm in NORMALISATIONS
}
FOLLOWED = (
    "APPNP", "GCNConv", "GINConv", "GraphConv", "LGConv", "MixHopConv", "SAGEConv", "SGConv", "SSGConv", "SimpleConv", "TAGConv",
)  # fmt: skip
"""Layers of PyTorch Geometric without a rule, whose propagator follows from their code."""
ROLES = ("features", "graph", "weights", "two_hop", "square", "data", "ignored", *_OPERATORS)
_IGNORED = ("batch", "size", "num_nodes", "ptr", "training", "batch_size")


def rule(*layers: Any) -> Callable[[Rule], Rule]:
    """Register a rule for layers or functions.

    Parameters
    ----------
    *layers : type, callable or str
        Each is a layer class, a function that torch.fx records as one call, the name ``"package.Class"`` of a layer
        class that may not be installed, or the name of a function or tensor method.

    Returns
    -------
    callable
        A decorator that registers the rule ``f(site, *arguments)`` and returns it unchanged.

    Examples
    --------
    >>> from slimg.lab import gnnexp
    >>> @gnnexp.rule("mypackage.MeanConv")
    ... def mean_conv(site, x, edge_index):
    ...     "A_row X W + b"
    ...     return site.operator(edge_index, "row") @ site.linear(x, "lin")
    """
    for layer in layers:
        if not (isinstance(layer, str) or callable(layer)):
            raise InputError(f"rule needs layer classes, functions or their names, not {layer!r}")

    def register(function: Rule) -> Rule:
        _RULES.update({layer: function for layer in layers})
        return function

    return register


def rule_for(layer: Any) -> Rule | None:
    """The rule of a module, a function, or a function's name.

    Returns
    -------
    callable or None
        None if there is no rule.
    """
    if not hasattr(layer, "forward"):
        return _RULES.get(layer)
    for base in type(layer).__mro__:
        found = _RULES.get(base) or _RULES.get(f"{base.__module__.split('.')[0]}.{base.__name__}")
        if found and all(getattr(type(layer), name, None) is getattr(base, name, None) for name in _METHODS):
            return found
    return None


def supported_layers() -> list[str]:
    """Names of the layer classes that have a rule, or are known to be followed without one.

    Returns
    -------
    list of str
        In alphabetical order.
    """
    names = [layer if isinstance(layer, str) else f".{layer.__name__}" for layer in _RULES]
    return sorted({name.split(".")[-1] for name in names if "." in name} | set(FOLLOWED))


@dataclass(frozen=True)
class SourceLine:
    """A line of the user's code."""

    file: str
    line: int
    code: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Note:
    """Something that was removed or is not exact; ``where`` is None when the line of the user's code is not known."""

    text: str
    where: SourceLine | None = None

    def __str__(self) -> str:
        return self.text if self.where is None else f"{self.where}: {self.text}"


class LocatedError(InputError):
    """An error whose message begins with the line of the user's code."""


def failure(where: SourceLine | None, text: str, code: bool = True) -> InputError:
    """The error with the line of the user's code in front, where it is known."""
    if where is None:
        return InputError(text)
    return LocatedError(f"{where} `{where.code}`: {text}" if code else f"{where}: {text}")


def unknown_layer(name: str, where: SourceLine | None) -> InputError:
    """The error for a layer without a rule."""
    known = supported_layers()
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.4) or known
    advice = f"add one with @gnnexp.rule({name}), see slimg.lab.gnnexp.rules"
    text = f"there is no rule for the layer {name}; the nearest supported are {', '.join(near)}; {advice}"
    return failure(where, text, code=False)


@dataclass(frozen=True)
class Site:
    """One call of a layer or function: its place in the network and in the user's code.

    Attributes
    ----------
    name : str
        Name of the layer's class or of the function.
    path : str
        Prefix of the names of the layer's weights: a layer that is called twice has the same weights both times.
    call : str
        A name that is different for every call.
    module : torch.nn.Module
        The layer, or the module whose code calls the function.
    where : SourceLine or None
        Line of the user's code.
    interpreter : Interpreter
        Collects notes and runs submodules.
    """

    name: str
    path: str
    call: str
    module: Any
    where: SourceLine | None
    interpreter: Interpreter

    def weight(self, name: str) -> str:
        """The full name of one of the layer's weights."""
        return dotted(self.path, name)

    @property
    def is_layer(self) -> bool:
        """Whether a layer is called, and not a function."""
        return self.name == type(self.module).__name__

    def own_weight(self, name: str) -> str:
        """The full name of a weight of the layer, or of this call of a function."""
        return self.weight(name) if self.is_layer else f"{self.call}.{name}"

    def linear(self, x: Value, name: str) -> Value:
        """x W + b for a submodule of that name; without b when it has none."""
        value = x.times(self.weight(name))
        has_bias = getattr(getattr(self.module, name, None), "bias", None) is not None
        return value + Value.row(self.weight(f"{name}.bias")) if has_bias else value

    def bias(self, x: Value, name: str = "bias") -> Value:
        """x + 1·b for a parameter of that name; x when it is None."""
        return x if getattr(self.module, name, None) is None else x + Value.row(self.weight(name))

    def edges(self, edge_index: Any) -> Edges:
        """The edges of the graph; an error for anything else."""
        if not isinstance(edge_index, Edges):
            self.fail("needs the edges of the graph but is called with something else: name the role with inputs={...}")
        return edge_index

    def operator(self, edge_index: Any, norm: str = "none", loops: Number = 0, weights: Weights = None) -> Polynomial:
        """The operator the layer makes of its edges: norm is none, row, sym or col."""
        return self.edges(edge_index).operator(norm, loops, weights)

    def aggregation(self, weighted: bool = False, how: Any = None) -> str:
        """The normalisation of an aggregation, by default the layer's: none for a sum, row for a mean or any other."""
        name = how or getattr(self.module, "aggr", "add")
        if name in ("add", "sum"):
            return "none"
        if name != "mean":
            self.problem(f"the {name} aggregation of {self.name} is not linear: it is replaced by the mean")
        if weighted:
            self.problem("the mean of weighted messages divides by their number: replaced by a division by their weight")
        return "row"

    def activation(self, name: str) -> None:
        """Note an activation that was replaced by the identity."""
        self.interpreter.removed.append(Note(name, self.where))

    def problem(self, text: str) -> None:
        """Note something that is not exact."""
        self.interpreter.problems.append(Note(text, self.where))

    def fail(self, text: str) -> NoReturn:
        """Raise an error: the layer's name, then ``text``."""
        if type(self.module).__module__.startswith("torch_geometric.") and rule_for(self.module) is None:
            raise unknown_layer(type(self.module).__name__, self.where)
        own_layer = "no rule" in text and hasattr(self.module, "propagate")
        hint = f"; add one with @gnnexp.rule({self.name})" if own_layer else ""
        raise failure(self.where, f"{self.name} {text}{hint}")


def dotted(path: str, name: str) -> str:
    """The path of what is below a path; either may be empty."""
    return ".".join(part for part in (path, name) if part)


# roles of arguments -------------------------------------------------------------------------------------------------


def bind(parameters: Mapping[str, inspect.Parameter], inputs: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give every argument of forward its abstract value.

    Returns
    -------
    constants, values : dict
        Arguments that keep their default, and the abstract values of the others, by name.
    """
    check_names("argument of forward in inputs", inputs, parameters)
    defaults = {name: parameter.default for name, parameter in parameters.items() if name not in inputs}
    kept = {name: default for name, default in defaults.items() if default is not inspect.Parameter.empty}
    roles = {name: inputs.get(name, "") or _role(name) for name in parameters if name not in kept}
    unnamed = [name for name, role in roles.items() if role == ""]
    if unnamed and not {"features", "data"} & set(roles.values()):
        roles[unnamed.pop(0)] = "features"
    for name in unnamed:
        advice = f"pass inputs={{'{name}': role}}, where role is one of {', '.join(ROLES)}"
        raise InputError(f"the role of the argument {name} of forward is not known: {advice}")
    for name, role in roles.items():
        check_names(f"role of the argument {name}", [role], ROLES)
        same = [other for other, given in roles.items() if given == role]
        if role in ("features", "graph") and len(same) > 1:
            found = f"forward has more than one argument for the {role}: {', '.join(same)}"
            raise InputError(f"{found}; name the role of the others with inputs={{...}}")
    return kept, {name: _value(role, "weights" in roles.values()) for name, role in roles.items()}


def _role(name: str) -> str:
    lower = name.lower().lstrip("*")
    if "edge_weight" in lower or "edge_attr" in lower:
        return "weights"
    if "edge_index" in lower or lower.startswith("adj"):
        return "two_hop" if "2" in lower or "two" in lower else "graph"
    if lower in ("x", "data"):
        return "features" if lower == "x" else "data"
    return "ignored" if lower in _IGNORED or name.startswith("*") else ""


def _value(role: str, weighted: bool) -> Any:
    graph = Edges("A", "B" if weighted else "A")
    if role in _OPERATORS:
        return replace(graph, ready=_OPERATORS[role])
    return {
        "features": Value.features(),
        "graph": graph,
        "weights": EdgeWeights(graph),
        "two_hop": Edges(TWO_HOP, TWO_HOP),
        "square": replace(graph, hops=2),
        "data": DataObject(weighted=False),
        "ignored": Opaque("ignored", is_number=True),
    }[role]
