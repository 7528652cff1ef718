"""Abstract interpretation: the calls a network makes, recorded and applied to abstract values.

Calls are recorded by torch.fx, without running the network. Layers with a rule are recorded as one call; everything else,
such as the user's own modules and functions, is entered. A message-passing layer without a rule is entered too, and its
`propagate` is recorded as a call of the function of that name below, so that layers written by hand need no rule as long as
their messages are linear. Every call keeps the line of the user's code it came from.

Roles of the arguments of forward are in `slimg.lab.gnnexp.rules`. Needs torch and PyTorch Geometric;
`slimg.lab.gnnexp.linearize` imports it on first use.
"""

from __future__ import annotations

import inspect
import math
import operator
import re
import sys
import sysconfig
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from functools import cache, partial, partialmethod
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import torch.fx
from torch.fx.node import map_aggregate, map_arg
from torch_geometric import utils
from torch_geometric.nn.conv.gcn_conv import gcn_norm

import slimg.lab.gnnexp.layers
from slimg.errors import InputError
from slimg.lab.gnnexp.rules import LocatedError, Note, Rule, Site, SourceLine, bind, dotted, failure, rule_for, unknown_layer
from slimg.lab.gnnexp.values import ABSTRACT, DataObject, Edges, Weight

_IN_PLACE = ("iadd", "isub", "imul", "itruediv")
_SQUARE = "two-hop neighbours are read as the square of the operator, as in the paper: not exact for strict neighbours"
_NOT_THE_USERS = tuple(str(Path(str(package.__file__)).parent) for package in (torch, slimg))
_STANDARD_LIBRARY = sysconfig.get_paths()["stdlib"]
_A_TENSOR = torch.empty(0)
_FRAME = re.compile(r'File "(?P<file>.+?)", line (?P<line>\d+), in .*\n\s+(?P<code>.*)')


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
        if rule_for(module) is not None:
            return self._layer(module, "", "layer", None, values.values(), {})
        return self._follow(module, "", "forward", constants, values)

    def run(self, module: Any, path: str, *args: Any, method: str = "forward", **kwargs: Any) -> Any:
        """The output of one method of a module on given arguments, abstract or not."""
        if rule_for(module) is not None and method == "forward":
            return self._layer(module, path, path, None, args, kwargs)
        bound = inspect.signature(getattr(module, method)).bind(*args, **kwargs)
        bound.apply_defaults()
        values = {name: value for name, value in bound.arguments.items() if isinstance(value, (*ABSTRACT, Weight))}
        constants = {name: value for name, value in bound.arguments.items() if name not in values}
        return self._follow(module, path, method, constants, values)

    def _follow(self, root: Any, path: str, method: str, constants: Any, values: dict[str, Any]) -> Any:
        """The result of the recorded calls of one method, applied to abstract values."""
        graph, root = trace(root, constants, method)
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
                paths = dotted(path, node.target), dotted(path, node.name)
                known[node] = self._layer(root.get_submodule(node.target), *paths, where(node), args, kwargs)
            else:
                known[node] = self._call_function(root, path, node, args, kwargs)
                if _changes_its_argument(node):
                    known[node.args[0]] = known[node]
        return None

    def _layer(self, module: Any, path: str, call: str, at: SourceLine | None, args: Any, kwargs: Any) -> Any:
        name, rule = type(module).__name__, rule_for(module)
        if rule is None:
            raise unknown_layer(name, at)
        return _call(rule, Site(name, path, call, module, at, self), args, kwargs)

    def _call_function(self, root: Any, path: str, node: Any, args: Any, kwargs: Any) -> Any:
        name = node.target if node.op == "call_method" else node.target.__name__
        if not any(isinstance(leaf, ABSTRACT) for leaf in _leaves((args, kwargs))):
            return _computed(node, name, args, kwargs)
        site = Site(name.strip("_"), path, dotted(path, node.name), root, where(node), self)
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
        raise InputError(f"the attribute {dotted(path, target)} is not a tensor: it cannot be followed")
    return Weight(dotted(path, target), value, bool(value.requires_grad))


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
    is_method = node.op == "call_method"
    in_place = re.search("[^_]_$", node.target) if is_method else getattr(node.target, "__name__", "") in _IN_PLACE
    return bool(in_place and node.args and isinstance(node.args[0], torch.fx.Node))


def _with_weights(value: Any, graph: Any) -> Any:
    """A data object knows whether the network reads its edge weights."""
    if not isinstance(value, DataObject):
        return value
    fields = {node.args[1] for node in graph.nodes if getattr(node.target, "__name__", "") == "getattr"}
    return replace(value, weighted=bool(fields & {"edge_weight", "edge_attr"}))


# recording -----------------------------------------------------------------------------------------------------------


def trace(module: torch.nn.Module, constants: Mapping[str, Any], method: str) -> tuple[torch.fx.Graph, torch.nn.Module]:
    """The calls of one method of a module, and the root their targets are read from.

    Arguments are symbolic except for those in ``constants``.
    """
    tracer, root = _Tracer(constants, method), copy(module)  # torch.fx attaches constants to the root
    try:
        with torch.no_grad(), tracer.entering(root):
            return tracer.trace(root), root
    except InputError:
        raise
    except Exception as error:
        raise _failed(error, tracer.entered, module) from error


def where(node: Any) -> SourceLine | None:
    """The innermost line of the user's code in a recorded call's stack."""
    return _innermost((m["file"], int(m["line"]), m["code"]) for m in _FRAME.finditer(node.stack_trace or ""))


def propagate(path: str, edge_index: Any, **inputs: Any) -> Any:
    """Marks the call of `propagate` on the layer at ``path`` in a recorded graph."""
    raise InputError(f"the recorded call of propagate on {path} cannot be run")


class _Proxy(torch.fx.Proxy):
    """A recorded tensor: changes in place are recorded as such, since others may hold the same tensor."""

    def _record(self, function: Callable[..., Any], *args: Any) -> Any:
        return self.tracer.create_proxy("call_function", function, (self, *args), {})

    __iadd__ = partialmethod(_record, operator.iadd)
    __isub__ = partialmethod(_record, operator.isub)
    __imul__ = partialmethod(_record, operator.imul)
    __itruediv__ = partialmethod(_record, operator.itruediv)
    __setitem__ = partialmethod(_record, operator.setitem)


class _Parameter(_Proxy):
    """A recorded parameter: its shape is known, so loops over its entries can be followed."""

    def __init__(self, node: torch.fx.Node, tracer: torch.fx.Tracer, tensor: torch.Tensor):
        super().__init__(node, tracer)
        self._tensor: torch.Tensor = tensor

    def __getattr__(self, name: str) -> Any:
        if name in ("shape", "ndim", "size", "dim", "numel"):
            return getattr(self._tensor, name)
        return super().__getattr__(name)

    def __len__(self) -> int:
        return len(self._tensor)

    def __iter__(self) -> Iterator[Any]:
        return (operator.getitem(self, place) for place in range(len(self)))  # type: ignore[call-overload]


class _Tracer(torch.fx.Tracer):
    record_stack_traces = True

    def __init__(self, constants: Mapping[str, Any], method: str):
        super().__init__(autowrap_modules=(math, utils), autowrap_functions=(gcn_norm,))  # type: ignore[arg-type]
        self._autowrap_search += _users_modules_with(self._autowrap_function_ids)
        self._constants, self.traced_func_name = constants, method
        self.entered: list[torch.nn.Module] = []

    def is_leaf_module(self, m: torch.nn.Module, module_qualified_name: str) -> bool:
        return _is_leaf(m)

    def proxy(self, node: torch.fx.Node) -> torch.fx.Proxy:
        return _Proxy(node, self)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: Any) -> Any:
        found = super().getattr(attr, attr_val, parameter_proxy_cache)
        return _Parameter(found.node, self, attr_val) if isinstance(found, torch.fx.Proxy) else found

    def create_arg(self, a: Any) -> Any:
        return a.node if isinstance(a, torch.fx.Proxy) else super().create_arg(a)

    def call_module(self, m: torch.nn.Module, forward: Any, args: Any, kwargs: Any) -> Any:
        if _is_leaf(m):
            return super().call_module(m, forward, args, kwargs)
        self.entered.append(m)
        with self.entering(m):
            result = super().call_module(m, forward, args, kwargs)
        self.entered.pop()
        return result

    def _proxy_placeholder(self, name: str, concrete_args: Any, sig: Any, fn: Any) -> Any:
        is_constant = name in self._constants
        return self._constants[name] if is_constant else super()._proxy_placeholder(name, concrete_args, sig, fn)

    @contextmanager
    def entering(self, module: torch.nn.Module) -> Iterator[None]:
        """Within this context, `module.propagate` records a call and `isinstance` accepts recorded tensors as tensors.

        Code that checks whether edges are a tensor would otherwise skip its normalisation silently. Making the recorded
        tensors subclasses of tensors is no solution: torch reads their memory.
        """
        scope = getattr(inspect.unwrap(getattr(type(module), self.traced_func_name)), "__globals__", {})
        changes = [(scope, "isinstance", _isinstance)]
        if hasattr(module, "propagate"):
            changes.append((module.__dict__, "propagate", partial(self._record_propagate, module)))
        changes = [change for change in changes if change[1] not in change[0]]
        for place, name, new in changes:
            place[name] = new
        try:
            yield
        finally:
            for place, name, _ in changes:
                del place[name]

    def _record_propagate(self, module: torch.nn.Module, edge_index: Any, size: Any = None, **inputs: Any) -> Any:
        path = "" if module is self.root else self.path_of_module(module)
        return self.create_proxy("call_function", propagate, (path, edge_index), inputs)


def _isinstance(value: Any, kinds: Any) -> bool:
    """isinstance, for which a recorded tensor is a tensor."""
    return isinstance(_A_TENSOR if isinstance(value, torch.fx.Proxy) else value, kinds)


def _users_modules_with(functions: Collection[int]) -> list[ModuleType]:
    """The user's modules that imported one of these functions: torch.fx looks for them in forward's own module only."""
    users = [module for module in list(sys.modules.values()) if _is_the_users(getattr(module, "__file__", None) or "<")]
    return [module for module in users if any(id(value) in functions for value in list(vars(module).values()))]


def _failed(error: Exception, entered: list[torch.nn.Module], module: torch.nn.Module) -> InputError:
    """An error of the user's code as one sentence with its line."""
    frames = traceback.extract_tb(error.__traceback__)
    at = _innermost((frame.filename, frame.lineno or 0, frame.line or "") for frame in frames)
    layer = type(entered[-1] if entered else module)
    if layer.__module__.startswith("torch_geometric."):
        return unknown_layer(layer.__name__, at)
    own_rule = f"add a rule for this module with @gnnexp.rule({layer.__name__})"
    if isinstance(error, torch.fx.proxy.TraceError):
        text = "the network decides on its data here, so it has no single linear form: move the decision out of forward"
        text += f", or {own_rule}"
    else:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        text = f"{layer.__name__} could not be traced ({reason}): write the step with tensor operations, or {own_rule}"
    return failure(at, text) if at else InputError(f"in {type(module).__name__}.forward: {text}")


@cache  # asked of every module at each trace
def _is_the_users(file: str) -> bool:
    parts = Path(file).parts
    standard = file.startswith(_STANDARD_LIBRARY) and "site-packages" not in parts
    return not (standard or file.startswith(("<", *_NOT_THE_USERS)) or "torch_geometric" in parts)


def _innermost(frames: Iterable[tuple[str, int, str]]) -> SourceLine | None:
    """The last of these lines (file, number, code) that is in the user's code."""
    users = [SourceLine(file, line, code.strip()) for file, line, code in frames if _is_the_users(file)]
    return users[-1] if users else None
