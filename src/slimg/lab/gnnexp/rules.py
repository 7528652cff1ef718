"""How each kind of layer acts on values: the registry of rules, and what a rule may use.

A rule is a function of the layer's site and of the arguments of the layer's forward, as abstract values; it returns
what the layer returns once its activations are the identity. A new layer takes a few lines:

    @gnnexp.rule(MyConv)
    def my_conv(site, x, edge_index, edge_weight=None):
        "A_row X W + b"
        return site.bias(site.operator(edge_index, "row", weights=edge_weight) @ site.linear(x, "lin"))

Rules apply to a class and to subclasses that do not change how it computes.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from slimg.errors import InputError
from slimg.lab.gnnexp.algebra import Number, Polynomial
from slimg.lab.gnnexp.edges import Edges, EdgeWeights
from slimg.lab.gnnexp.remarks import Remark, Where
from slimg.lab.gnnexp.terms import Value

Rule = Callable[..., Any]
_RULES: dict[Any, Rule] = {}
_METHODS = ("forward", "message", "aggregate", "update")


def rule(*layers: Any) -> Callable[[Rule], Rule]:
    """Register a rule for layer classes (or functions that torch.fx keeps whole).

    A layer is a class, a function, or the name "package.Class" of a class that may not be installed.
    """

    def register(function: Rule) -> Rule:
        _RULES.update({layer: function for layer in layers})
        return function

    return register


def rule_for(layer: Any) -> Rule | None:
    """The rule of a module or of a function, None if there is none."""
    if not hasattr(layer, "forward"):
        return _RULES.get(layer)
    for base in type(layer).__mro__:
        found = _RULES.get(base) or _RULES.get(_public_name(base))
        if found and all(getattr(type(layer), name, None) is getattr(base, name, None) for name in _METHODS):
            return found
    return None


def supported_layers() -> list[str]:
    """Names of the layer classes that have a rule."""
    return sorted({layer.split(".")[-1] if isinstance(layer, str) else layer.__name__ for layer in _RULES})


def unknown_layer(name: str, where: Where | None) -> InputError:
    """The error for a layer without a rule."""
    known = supported_layers()
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.4) or known
    at = f"{where}: " if where else ""
    return InputError(
        f"{at}there is no rule for the layer {name}; the nearest supported are {', '.join(near)}; add one with"
        f" @gnnexp.rule({name}), see slimg.lab.gnnexp.rules"
    )


@dataclass(frozen=True)
class Site:
    """One call of a layer or function: where it stands in the network and in the user's code.

    ``name`` is that of the layer's class or of the function.
    ``path`` names the layer's weights: a layer that is called twice has the same weights both times.
    ``call`` is different for every call.
    """

    name: str
    path: str
    call: str
    module: Any
    where: Where | None
    removed: list[Remark]
    problems: list[Remark]
    run: Callable[..., Any]
    attention_layers: list[str]

    def weight(self, name: str) -> str:
        """The full name of one of the layer's weights."""
        return f"{self.path}.{name}" if self.path else name

    def linear(self, x: Value, name: str) -> Value:
        """x W + b for a submodule of that name; without b when it has none."""
        value = x.times(self.weight(name))
        if getattr(getattr(self.module, name, None), "bias", None) is None:
            return value
        return value + Value.row(self.weight(f"{name}.bias"))

    def bias(self, x: Value, name: str = "bias") -> Value:
        """x + 1·b for a parameter of that name; x when it is None."""
        return x if getattr(self.module, name, None) is None else x + Value.row(self.weight(name))

    def operator(
        self, edge_index: Any, norm: str = "none", loops: Number = 0, weights: EdgeWeights | None = None
    ) -> Polynomial:
        """The operator the layer makes of its edges: norm is none, row, sym or col."""
        if not isinstance(edge_index, Edges):
            self.fail("is not given the edges of the graph where it needs them: name its argument with inputs={...}")
        return edge_index.operator(norm, loops, weights)

    def aggregation(self) -> str:
        """add or mean; any other aggregation is noted as a problem and replaced by the mean."""
        name = getattr(self.module, "aggr", "add")
        if name in ("add", "sum"):
            return "add"
        if name != "mean":
            self.problem(f"the {name} aggregation of {self.name} is not linear: the mean stands for it")
        return "mean"

    def activation(self, name: str) -> None:
        """Note an activation that was replaced by the identity, once per line."""
        remark = Remark(name, self.where)
        if remark not in self.removed:
            self.removed.append(remark)

    def problem(self, text: str) -> None:
        """Note something that is not exact, once per line."""
        remark = Remark(text, self.where)
        if remark not in self.problems:
            self.problems.append(remark)

    def fail(self, text: str) -> NoReturn:
        """Refuse: the layer's name, then ``text``."""
        if type(self.module).__module__.startswith("torch_geometric.") and rule_for(self.module) is None:
            raise unknown_layer(type(self.module).__name__, self.where)
        at = f"{self.where} `{self.where.code}`: " if self.where else ""
        hint = f"; add one with @gnnexp.rule({self.name})" if hasattr(self.module, "propagate") else ""
        raise InputError(f"{at}{self.name} {text}{hint}")


def _public_name(layer: type) -> str:
    return f"{layer.__module__.split('.')[0]}.{layer.__name__}"
