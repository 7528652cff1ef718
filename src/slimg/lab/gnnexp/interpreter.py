"""Abstract interpretation: a traced network, run on abstract values.

The arguments of its forward have these roles:

    features    X                                     x, or the first argument that is nothing else
    graph       the edges of A, or A as a matrix      edge_index, adj_t, …
    weights     the weights of those edges            edge_weight, edge_attr
    two_hop     the strict two-hop neighbours of A, a graph of its own: A₂            edge_index2, adj2, …
    square      the same, read as the paper does: its operator is the square of A's
    data        a `torch_geometric.data.Data`         data
    ignored     anything without influence            batch, size, num_nodes, …
    A, A_row, A_sym, A_col, Ã, Ã_row, Ã_sym, Ã_col    a matrix that is this operator already

Roles are read from the names; ``inputs={"argument": "role"}`` overrides. Arguments with a default keep it unless named.

Needs torch; `slimg.lab.gnnexp.linearize` imports it on first use.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch.fx.node import map_aggregate, map_arg

import slimg.lab.gnnexp.functions
import slimg.lab.gnnexp.layers  # noqa: F401  (these two register their rules)
from slimg.errors import InputError, choices
from slimg.lab.gnnexp.algebra import NORMALISATIONS, normalised
from slimg.lab.gnnexp.rules import LocatedError, Note, Rule, Site, failure, rule_for, unknown_layer
from slimg.lab.gnnexp.trace import trace, where
from slimg.lab.gnnexp.values import ABSTRACT, TWO_HOP, DataObject, Edges, EdgeWeights, Opaque, Value, Weight

_IN_PLACE = ("iadd", "isub", "imul", "itruediv")
_SQUARE = "two-hop neighbours are read as the square of the operator, as in the paper: not exact for strict neighbours"
_OPERATORS = {
    letter + ("" if norm == "none" else f"_{norm}"): normalised("A", norm, loops)
    for letter, loops in (("A", 0), ("Ã", 1))
    for norm in NORMALISATIONS
}
ROLES = ("features", "graph", "weights", "two_hop", "square", "data", "ignored", *_OPERATORS)
_IGNORED = ("batch", "size", "num_nodes", "ptr", "training", "batch_size")


class Interpreter:
    """Runs modules on abstract values and collects notes about them.

    Attributes
    ----------
    removed : list of Note
        Activations that became the identity.
    problems : list of Note
        What is not exact.
    attention_layers : list of str
        Paths of the attention layers, in the order of their first call.
    """

    def __init__(self) -> None:
        self.removed: list[Note] = []
        self.problems: list[Note] = []
        self.attention_layers: list[str] = []

    def forward(self, module: torch.nn.Module, inputs: Mapping[str, str]) -> Any:
        """The output of a network whose arguments have these roles."""
        constants, values = bind(inspect.signature(module.forward).parameters, inputs)
        if any(isinstance(value, Edges) and value.hops > 1 for value in values.values()):
            self.problems.append(Note(_SQUARE))
        if (rule := rule_for(module)) is not None:
            return _call(rule, Site(type(module).__name__, "", "layer", module, None, self), values.values(), {})
        return self._follow(module, "", "forward", constants, values)

    def run(self, module: Any, path: str, *args: Any, method: str = "forward", **kwargs: Any) -> Any:
        """The output of one method of a module on given arguments, abstract or not."""
        if (rule := rule_for(module)) is not None and method == "forward":
            return _call(rule, Site(type(module).__name__, path, path, module, None, self), args, kwargs)
        bound = inspect.signature(getattr(module, method)).bind(*args, **kwargs)
        bound.apply_defaults()
        values = {name: value for name, value in bound.arguments.items() if isinstance(value, (*ABSTRACT, Weight))}
        constants = {name: value for name, value in bound.arguments.items() if name not in values}
        return self._follow(module, path, method, constants, values)

    def _follow(self, root: Any, path: str, method: str, constants: Any, values: dict[str, Any]) -> Any:
        """The result of the recorded calls of one method, applied to abstract values."""
        graph, root = trace(root, _is_leaf, constants, method)
        known: dict[Any, Any] = {}
        for node in graph.nodes:
            args, kwargs = map_arg(node.args, known.__getitem__), map_arg(node.kwargs, known.__getitem__)
            if node.op == "output":
                return args[0]
            if node.op == "placeholder":
                known[node] = _with_weights(values[node.target], graph)
            elif node.op == "get_attr":
                known[node] = _attribute(root, node.target, path)
            elif node.op == "call_module":
                known[node] = self._call_module(root, path, node, args, kwargs)
            else:
                known[node] = self._call_function(root, path, node, args, kwargs)
                if _changes_its_argument(node):
                    known[node.args[0]] = known[node]
        return None

    def _call_module(self, root: Any, path: str, node: Any, args: Any, kwargs: Any) -> Any:
        module = root.get_submodule(node.target)
        name, rule = type(module).__name__, rule_for(module)
        if rule is None:
            raise unknown_layer(name, where(node))
        site = Site(name, _joined(path, node.target), _joined(path, node.name), module, where(node), self)
        return _call(rule, site, args, kwargs)

    def _call_function(self, root: Any, path: str, node: Any, args: Any, kwargs: Any) -> Any:
        name = node.target if node.op == "call_method" else node.target.__name__
        if not any(isinstance(leaf, ABSTRACT) for leaf in _leaves((args, kwargs))):
            return _computed(node, name, args, kwargs)
        site = Site(name.strip("_"), path, _joined(path, node.name), root, where(node), self)
        rule = rule_for(node.target) or rule_for(name) or rule_for(name.strip("_"))
        if rule is None:
            site.fail("is a function without a rule: use another, or wrap it with torch.fx.wrap and add a rule")
        return _call(rule, site, args, kwargs)


def _call(rule: Rule, site: Site, args: Any, kwargs: Any) -> Any:
    """The rule's result; errors in it get the line of the call."""
    try:
        return rule(site, *args, **kwargs)
    except LocatedError:
        raise
    except InputError as error:
        raise failure(site.where, str(error)) from error
    except (AttributeError, TypeError) as error:
        site.fail(f"is called with arguments its rule does not accept ({error})")


def _is_leaf(module: Any) -> bool:
    """Layers with a rule, and those of torch.nn, are not entered; containers and other modules are."""
    if rule_for(module) is not None:
        return True
    containers = (torch.nn.Sequential, torch.nn.ModuleList, torch.nn.ModuleDict)
    return type(module).__module__.startswith("torch.nn") and not isinstance(module, containers)


def _attribute(root: Any, target: str, path: str) -> Weight:
    value = operator.attrgetter(target)(root)
    if not isinstance(value, torch.Tensor):
        raise InputError(f"the attribute {_joined(path, target)} is not a tensor: it cannot be followed")
    return Weight(_joined(path, target), value, bool(value.requires_grad))


def _computed(node: Any, name: str, args: Any, kwargs: Any) -> Any:
    """A function of weights and constants alone: its value, with a name that says how it was computed."""

    def tensor(x: Any) -> Any:
        return x.tensor.detach().clone() if isinstance(x, Weight) else x

    with torch.no_grad():
        plain, options = map_aggregate(args, tensor), map_aggregate(kwargs, tensor)
        function = getattr(plain[0], name) if node.op == "call_method" else node.target
        value = function(*(plain[1:] if node.op == "call_method" else plain), **options)
    if not isinstance(value, torch.Tensor):
        return value
    leaves = _leaves((args, kwargs))
    weights = [leaf for leaf in leaves if isinstance(leaf, Weight)]
    if name == "t" or (name == "getattr" and args[1] in ("T", "mT")):
        return Weight(f"{weights[0].name}ᵀ", value, weights[0].learned)
    constants = ", ".join(repr(leaf) for leaf in leaves if not isinstance(leaf, Weight))
    draw = node.name if name in ("dropout", "rand_like", "randn_like", "bernoulli") else ""
    made = f"{name}({', '.join(weight.name for weight in weights)}; {constants}{draw})"
    return Weight(made, value, any(weight.learned for weight in weights))


def _leaves(arguments: Any) -> list[Any]:
    """All that is in nested tuples, lists, dicts and slices."""
    leaves: list[Any] = []
    map_aggregate(arguments, leaves.append)
    return leaves


def _changes_its_argument(node: Any) -> bool:
    """x += y and x.add_(y) change x for everyone who holds it."""
    if not node.args or not isinstance(node.args[0], torch.fx.Node):
        return False
    if node.op == "call_method":
        return node.target.endswith("_") and not node.target.endswith("__")
    return getattr(node.target, "__name__", "") in _IN_PLACE


def _with_weights(value: Any, graph: Any) -> Any:
    """A data object knows whether the network reads its edge weights."""
    if not isinstance(value, DataObject):
        return value
    fields = {node.args[1] for node in graph.nodes if getattr(node.target, "__name__", "") == "getattr"}
    return replace(value, weighted=bool(fields & {"edge_weight", "edge_attr"}))


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


# roles of arguments -------------------------------------------------------------------------------------------------


def bind(parameters: Mapping[str, inspect.Parameter], inputs: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give every argument of forward its abstract value.

    Returns
    -------
    constants, values : dict
        Arguments that keep their default, and the abstract values of the others, by name.
    """
    for name in inputs:
        if name not in parameters:
            raise choices("argument of forward in inputs", name, list(parameters))
    defaults = {name: parameter.default for name, parameter in parameters.items() if name not in inputs}
    kept = {name: default for name, default in defaults.items() if default is not inspect.Parameter.empty}
    roles = {name: inputs.get(name, "") or _role(name) for name in parameters if name not in kept}
    unnamed = [name for name, role in roles.items() if role == ""]
    if unnamed and not {"features", "data"} & set(roles.values()):
        roles[unnamed.pop(0)] = "features"
    for name in unnamed:
        raise InputError(
            f"the role of the argument {name} of forward is not known: pass inputs={{'{name}': role}}, where role is one"
            f" of {', '.join(ROLES)}"
        )
    for name, role in roles.items():
        if role not in ROLES:
            raise choices(f"role of the argument {name}", role, ROLES)
        same = [other for other, given in roles.items() if given == role]
        if role in ("features", "graph") and len(same) > 1:
            raise InputError(
                f"forward has more than one argument for the {role}: {', '.join(same)}; name the role of the others with"
                " inputs={...}"
            )
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
