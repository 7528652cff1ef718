"""The calls a network makes, recorded by torch.fx without running it.

Layers with a rule are recorded as one call; everything else, such as the user's own modules and functions, is entered.
A message-passing layer without a rule is entered too, and its `propagate` is recorded as a call of the function of that
name below, so that layers written by hand need no rule as long as their messages are linear. Every call keeps the line
of the user's code it came from.

This module needs torch; `slimg.lab.gnnexp.linearize` imports it on first use.
"""

from __future__ import annotations

import inspect
import math
import operator
import re
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial, partialmethod
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import torch.fx

from slimg.errors import InputError
from slimg.lab.gnnexp.rules import SourceLine, failure, unknown_layer

_NOT_THE_USERS = tuple(
    str(Path(module.__file__).parent) for module in (torch, inspect.getmodule(InputError)) if module and module.__file__
)
_STANDARD_LIBRARY = sysconfig.get_paths()["stdlib"]
_A_TENSOR = torch.empty(0)
_FRAME = re.compile(r'File "(?P<file>.+?)", line (?P<line>\d+), in .*\n\s+(?P<code>.*)')


def trace(
    module: torch.nn.Module, is_leaf: Callable[[Any], bool], constants: Mapping[str, Any], method: str = "forward"
) -> tuple[torch.fx.Graph, torch.nn.Module]:
    """The calls of one method of a module, and the root their targets are read from.

    Arguments are symbolic except for those in ``constants``.
    """
    tracer = _Tracer(is_leaf, constants, method)
    root = _shallow_copy(module)
    try:
        with torch.no_grad(), tracer.entering(root):
            return tracer.trace(root), root
    except InputError:
        raise
    except Exception as error:
        raise _failed(error, tracer.entered, module) from error


def where(node: Any) -> SourceLine | None:
    """The innermost line of the user's code in a recorded call's stack."""
    frames = [SourceLine(m["file"], int(m["line"]), m["code"].strip()) for m in _FRAME.finditer(node.stack_trace or "")]
    frames = [frame for frame in frames if _is_the_users(frame.file)]
    return frames[-1] if frames else None


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

    def __init__(self, is_leaf: Callable[[Any], bool], constants: Mapping[str, Any], method: str):
        libraries = _pyg_modules()
        super().__init__(autowrap_modules=(math, *libraries))  # type: ignore[arg-type]
        self._autowrap_search += _users_modules_with(libraries)
        self._is_leaf, self._constants = is_leaf, constants
        self.traced_func_name = method
        self.entered: list[torch.nn.Module] = []

    def is_leaf_module(self, m: torch.nn.Module, module_qualified_name: str) -> bool:
        return self._is_leaf(m)

    def proxy(self, node: torch.fx.Node) -> torch.fx.Proxy:
        return _Proxy(node, self)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: Any) -> Any:
        found = super().getattr(attr, attr_val, parameter_proxy_cache)
        return _Parameter(found.node, self, attr_val) if isinstance(found, torch.fx.Proxy) else found

    def create_arg(self, a: Any) -> Any:
        return a.node if isinstance(a, torch.fx.Proxy) else super().create_arg(a)

    def call_module(self, m: torch.nn.Module, forward: Any, args: Any, kwargs: Any) -> Any:
        if self._is_leaf(m):
            return super().call_module(m, forward, args, kwargs)
        self.entered.append(m)
        with self.entering(m):
            result = super().call_module(m, forward, args, kwargs)
        self.entered.pop()
        return result

    def _proxy_placeholder(self, name: str, concrete_args: Any, sig: Any, fn: Any) -> Any:
        if name in self._constants:
            return self._constants[name]
        return super()._proxy_placeholder(name, concrete_args, sig, fn)

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


def _shallow_copy(module: torch.nn.Module) -> torch.nn.Module:
    """A copy that shares all parts: torch.fx attaches constants to the root, which is the user's."""
    copied = object.__new__(type(module))
    copied.__dict__.update(module.__dict__)
    return copied


def _pyg_modules() -> tuple[ModuleType, ...]:
    """Where the functions live that are recorded as one call."""
    import torch_geometric.nn.conv.gcn_conv as gcn_conv
    import torch_geometric.utils as utils

    normalisation = ModuleType("gcn_norm")
    normalisation.__dict__["gcn_norm"] = gcn_conv.gcn_norm
    return utils, normalisation


def _users_modules_with(libraries: Iterable[ModuleType]) -> list[ModuleType]:
    """The user's modules that imported a function of these: torch.fx looks for them in forward's own module only."""
    functions = {id(value) for library in libraries for value in vars(library).values() if callable(value)}
    users = [module for module in list(sys.modules.values()) if _is_the_users(getattr(module, "__file__", None) or "<")]
    return [module for module in users if any(id(value) in functions for value in list(vars(module).values()))]


def _failed(error: Exception, entered: list[torch.nn.Module], module: torch.nn.Module) -> InputError:
    """An error of the user's code as one sentence with its line."""
    frames = [
        SourceLine(frame.filename, frame.lineno or 0, (frame.line or "").strip())
        for frame in traceback.extract_tb(error.__traceback__)
        if _is_the_users(frame.filename)
    ]
    layer, at = type(entered[-1] if entered else module), frames[-1] if frames else None
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


def _is_the_users(file: str) -> bool:
    parts = Path(file).parts
    standard = file.startswith(_STANDARD_LIBRARY) and "site-packages" not in parts
    return not (standard or file.startswith(("<", *_NOT_THE_USERS)) or "torch_geometric" in parts)
