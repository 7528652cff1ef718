"""Names that are imported on first use, and names that have moved.

A package that exports many modules gives type checkers the real imports and the interpreter the lazy ones:

    if TYPE_CHECKING:
        from slimg.graph import Graph as Graph
    else:
        __getattr__, __dir__ = lazy_names(__name__, {"Graph": "slimg.graph"})
"""

from __future__ import annotations

import sys
import warnings
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, str], moved: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make the ``__getattr__`` and ``__dir__`` of a module whose names are imported on first use.

    Parameters
    ----------
    package : str
        The module's ``__name__``.
    homes : mapping of str to str
        Public name → the module that defines it. A name that is itself the last part of that module is the module.
    moved : mapping of str to str, optional
        Former name → dotted path of its new place. It works for one version, with a DeprecationWarning, and is not listed.

    Returns
    -------
    getattr : callable
        The module's ``__getattr__``.
    dir : callable
        The module's ``__dir__``.
    """

    def get(name: str) -> Any:
        if name in homes:
            module = import_module(homes[name])
            return module if homes[name] == f"{package}.{name}" else getattr(module, name)
        if moved and name in moved:
            _warn(f"{package}.{name}", moved[name])
            return _resolve(moved[name])
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return get, names


def moved_module(old: str, new: str, *submodules: str) -> Callable[[str], Any]:
    """Make the ``__getattr__`` of a module that has moved; each name is taken from the new place, with a warning.

    Parameters
    ----------
    old, new : str
        Dotted paths of the former and the present module.
    *submodules : str
        Modules of ``new`` that can be imported under ``old`` too.

    Returns
    -------
    callable
        The former module's ``__getattr__``.
    """
    for name in submodules:  # the import system looks here before it asks whether `old` is a package
        alias = sys.modules[f"{old}.{name}"] = type(sys)(f"{old}.{name}")
        alias.__getattr__ = moved_module(f"{old}.{name}", f"{new}.{name}")  # type: ignore[method-assign]

    def get(name: str) -> Any:
        if name in submodules:
            return sys.modules[f"{old}.{name}"]
        if name.startswith("__"):
            raise AttributeError(f"module {old!r} has no attribute {name!r}")
        _warn(f"{old}.{name}", f"{new}.{name}")
        return _resolve(f"{new}.{name}")

    return get


def _resolve(path: str) -> Any:
    """The module or the attribute of a module at this dotted path."""
    home, _, name = path.rpartition(".")
    module = import_module(home)
    return getattr(module, name) if hasattr(module, name) else import_module(path)


def _warn(old: str, new: str) -> None:
    message = f"{old} has moved to {new}; the old name will be removed in the next version"
    warnings.warn(message, DeprecationWarning, stacklevel=3)
