"""Abstract interpretation: a traced network, run on abstract values.

Needs torch; `slimg.lab.gnnexp.linearize` imports it on first use.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch.fx.node import map_arg

import slimg.lab.gnnexp.layers
import slimg.lab.gnnexp.messages
import slimg.lab.gnnexp.shapes  # noqa: F401  (these three register their rules)
from slimg.errors import InputError
from slimg.lab.gnnexp import inputs as roles
from slimg.lab.gnnexp.edges import Degree, EdgeEnd, Edges, EdgeWeights, Messages
from slimg.lab.gnnexp.functions import handler
from slimg.lab.gnnexp.remarks import Remark
from slimg.lab.gnnexp.rules import Site, rule_for, unknown_layer
from slimg.lab.gnnexp.terms import Value
from slimg.lab.gnnexp.trace import trace, where
from slimg.lab.gnnexp.values import DataObject, Opaque, Pieces, Stacked, Weight

_ABSTRACT = (Value, Edges, EdgeWeights, EdgeEnd, Degree, Messages, Stacked, Pieces, Opaque, DataObject)
_IN_PLACE = ("iadd", "isub", "imul", "itruediv")
_SQUARE = "two-hop neighbours are read as the square of the operator, as in the paper: not exact for strict neighbours"


class Interpreter:
    """Runs modules on abstract values and collects what it has to say about them."""

    def __init__(self) -> None:
        self.removed: list[Remark] = []
        self.problems: list[Remark] = []
        self._attention_layers: list[str] = []

    def forward(self, module: torch.nn.Module, inputs: Mapping[str, str]) -> Any:
        """The output of a network whose arguments have these roles."""
        constants, values = roles.bind(inspect.signature(module.forward).parameters, inputs)
        if any(isinstance(value, Edges) and value.hops > 1 for value in values.values()):
            self.problems.append(Remark(_SQUARE))
        if (rule := rule_for(module)) is not None:
            return _called(rule, self._site(type(module).__name__, "", "layer", module, None), values.values(), {})
        return self._traced(module, "", "forward", constants, values)

    def run(self, module: Any, path: str, *args: Any, method: str = "forward", **kwargs: Any) -> Any:
        """The output of one method of a module on given arguments, abstract or not."""
        if (rule := rule_for(module)) is not None and method == "forward":
            return _called(rule, self._site(type(module).__name__, path, path, module, None), args, kwargs)
        bound = inspect.signature(getattr(module, method)).bind(*args, **kwargs)
        bound.apply_defaults()
        values = {name: value for name, value in bound.arguments.items() if isinstance(value, (*_ABSTRACT, Weight))}
        constants = {name: value for name, value in bound.arguments.items() if name not in values}
        return self._traced(module, path, method, constants, values)

    def _traced(self, root: Any, path: str, method: str, constants: Any, values: dict[str, Any]) -> Any:
        graph, root = trace(root, _is_leaf, constants, method)
        values = {name: _with_weights(value, graph) for name, value in values.items()}
        known: dict[Any, Any] = {}
        result = None
        for node in graph.nodes:
            args, kwargs = map_arg(node.args, known.__getitem__), map_arg(node.kwargs, known.__getitem__)
            if node.op == "output":
                result = args[0]
            elif node.op == "placeholder":
                known[node] = values[node.target]
            elif node.op == "get_attr":
                known[node] = _attribute(root, node.target, path)
            elif node.op == "call_module":
                known[node] = self._call_module(root, path, node, args, kwargs)
            else:
                known[node] = self._call_function(root, path, node, args, kwargs)
                if _changes_its_argument(node):
                    known[node.args[0]] = known[node]
        return result

    def _call_module(self, root: Any, path: str, node: Any, args: Any, kwargs: Any) -> Any:
        module, full_path = root.get_submodule(node.target), _joined(path, node.target)
        name = type(module).__name__
        rule = rule_for(module)
        if rule is None:
            raise unknown_layer(name, where(node))
        return _called(rule, self._site(name, full_path, _joined(path, node.name), module, node), args, kwargs)

    def _call_function(self, root: Any, path: str, node: Any, args: Any, kwargs: Any) -> Any:
        name = node.target if node.op == "call_method" else node.target.__name__
        if _is_fixed((args, kwargs)):
            return _computed(node, name, args, kwargs)
        site = self._site(name.strip("_"), path, _joined(path, node.name), root, node)
        handle = rule_for(node.target) if node.op == "call_function" else None
        handle = handle or handler(name) or handler(name.strip("_"))
        if handle is None:
            site.fail("is a function without a rule: use another, or wrap it with torch.fx.wrap and add a rule")
        return _called(handle, site, args, kwargs)

    def _site(self, name: str, path: str, call: str, module: Any, node: Any) -> Site:
        at = None if node is None else where(node)
        return Site(name, path, call, module, at, self.removed, self.problems, self.run, self._attention_layers)


def _is_leaf(module: Any) -> bool:
    """Layers with a rule, and those of torch.nn, are not entered; containers and other modules are."""
    if rule_for(module) is not None:
        return True
    containers = (torch.nn.Sequential, torch.nn.ModuleList, torch.nn.ModuleDict)
    return type(module).__module__.startswith("torch.nn") and not isinstance(module, containers)


def _called(rule: Any, site: Site, args: Any, kwargs: Any) -> Any:
    """The rule's result; what goes wrong in it is told with the line of the call."""
    try:
        return rule(site, *args, **kwargs)
    except InputError as error:
        if site.where is None or str(error).startswith(str(site.where)) or ": there is no rule for" in str(error):
            raise
        raise InputError(f"{site.where} `{site.where.code}`: {error}") from error
    except (AttributeError, TypeError) as error:
        site.fail(f"is called with arguments its rule does not know ({error})")


def _attribute(root: Any, target: str, path: str) -> Weight:
    value = operator.attrgetter(target)(root)
    if not isinstance(value, torch.Tensor):
        raise InputError(f"the attribute {_joined(path, target)} is not a tensor: it cannot be followed")
    return Weight(_joined(path, target), value, bool(value.requires_grad))


def _computed(node: Any, name: str, args: Any, kwargs: Any) -> Any:
    """A function of weights and constants alone: its value, with a name that tells how it was made."""

    def tensors(x: Any) -> Any:
        if isinstance(x, Weight):
            return x.tensor.detach().clone()
        if isinstance(x, (tuple, list)):
            return type(x)(map(tensors, x))
        return {key: tensors(value) for key, value in x.items()} if isinstance(x, dict) else x

    with torch.no_grad():
        plain, options = tensors(args), tensors(kwargs)
        is_method = node.op == "call_method"
        value = getattr(plain[0], name)(*plain[1:], **options) if is_method else node.target(*plain, **options)
    weights = _weights((args, kwargs))
    if not isinstance(value, torch.Tensor):
        return value
    if name == "t" or (name == "getattr" and args[1] in ("T", "mT")):
        return Weight(f"{weights[0].name}ᵀ", value, weights[0].learned)
    described = ", ".join(weight.name for weight in weights)
    random = name in ("dropout", "rand_like", "randn_like", "bernoulli")
    made = f"{name}({described}; {_constants((args, kwargs))}{node.name if random else ''})"
    return Weight(made, value, any(weight.learned for weight in weights))


def _parts(x: Any) -> list[Any]:
    if isinstance(x, dict):
        return [part for value in x.values() for part in _parts(value)]
    if isinstance(x, (tuple, list)):
        return [part for value in x for part in _parts(value)]
    if isinstance(x, slice):
        return _parts([x.start, x.stop, x.step])
    return [x]


def _is_fixed(arguments: Any) -> bool:
    return not any(isinstance(part, _ABSTRACT) for part in _parts(arguments))


def _weights(arguments: Any) -> list[Weight]:
    return [part for part in _parts(arguments) if isinstance(part, Weight)]


def _constants(arguments: Any) -> str:
    return ", ".join(repr(part) for part in _parts(arguments) if not isinstance(part, Weight))


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
