"""Validate the docstrings of the public surface with numpydoc.

    python tools/check_docstrings.py                       everything
    python tools/check_docstrings.py --package slimg.learn one package (repeatable)

The public surface is what the packages of slimg list in ``__all__``, with the public methods and properties of the classes
among it. Each finding is one line, ``name: CODE message``; the exit code is 1 if there is any.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from numpydoc.docscrape import ClassDoc
from numpydoc.validate import validate

CHECKS = {
    "GL03", "GL05", "GL06", "GL07", "GL08", "GL10",  # present; no double blank lines or tabs; sections in order
    "SS01", "SS02", "SS03", "SS04", "SS06",  # one summary line, a sentence
    "PR01", "PR02", "PR03", "PR04", "PR05", "PR06", "PR07", "PR10",  # the parameters of the signature, with type and meaning
    "RT01", "RT03", "YD01",  # what is returned or yielded, with its meaning
}  # fmt: skip
"""The checks of numpydoc that are made. Left out, with the reason:

GL01, GL02  short docstrings begin and end on the line of the quotes
GL09        about a directive that is not used: deprecated names warn
SS05        guesses the mood of a verb from its last letter, and fails on nouns ("Class labels …")
ES01        a summary can be enough
PR08, PR09, RT04, RT05  descriptions of parameters are phrases: "λ ≥ 0", "one label per node"
RT02        several results are named
SA01-SA04   names are linked in the text
EX01        examples are required of the names in ``__all__``, not of each method
"""


def packages(root: str = "slimg") -> list[str]:
    """List the packages below a package, itself included, in the order of their names.

    Parameters
    ----------
    root : str
        Dotted name of a package.

    Returns
    -------
    list of str
        Dotted names.
    """
    module = importlib.import_module(root)
    below = pkgutil.walk_packages(module.__path__, f"{root}.") if hasattr(module, "__path__") else ()
    return [root, *(name for _, name, is_package in below if is_package and not name.rsplit(".", 1)[1].startswith("_"))]


def surface(package: str) -> Iterator[tuple[str, Any]]:
    """Walk the public names of a package and the public members of its classes.

    Parameters
    ----------
    package : str
        Dotted name.

    Yields
    ------
    name : str
        Dotted name of a class, function, method or property.
    value : object
        What it names.
    """
    module = importlib.import_module(package)
    for name in module.__all__:
        value = getattr(module, name)
        if name.startswith("_") or isinstance(value, ModuleType) or not callable(value):
            continue
        if not getattr(value, "__module__", "").startswith("slimg"):  # a type alias
            continue
        yield f"{package}.{name}", value
        if inspect.isclass(value):
            for member, kind in _members(value):
                yield f"{package}.{name}.{member}", kind


def findings(package: str) -> Iterator[str]:
    """Check the docstrings of one package.

    Parameters
    ----------
    package : str
        Dotted name.

    Yields
    ------
    str
        ``name: CODE message``.
    """
    module = importlib.import_module(package)
    if not (module.__doc__ or "").strip():
        yield f"{package}: GL08 The package does not have a docstring"
    if not hasattr(module, "__all__"):
        yield f"{package}: ALL The package does not list its public names in __all__"
        return
    for name, value in surface(package):
        wanted = CHECKS | ({"EX01"} if name.rpartition(".")[0] == package else set())
        wanted -= _inherited_checks(name, value)
        for code, message in validate(name)["errors"]:
            if code in wanted and not (code in ("PR01", "PR02") and _is_record(value)):
                yield f"{name}: {code} {message}"
        if _is_record(value) and (missing := _undocumented_fields(value)):
            yield f"{name}: PR01 Fields {missing} are documented neither as parameters nor as attributes"


def _inherited_checks(name: str, value: Any) -> set[str]:
    """Checks that the docstring of an overridden method of a base class satisfies: its sections are not repeated.

    The override itself may have one line, which says what is particular to it, or none: ``help`` and editors then show
    that of the base class.
    """
    package, class_name, member = [*name.rsplit(".", 2), "", ""][:3]
    cls = getattr(importlib.import_module(package), class_name, None) if package.startswith("slimg") else None
    own = (getattr(value, "__doc__", None) or "").strip()
    if not inspect.isclass(cls) or len(own.splitlines()) > 1:
        return set()
    bases = [base for base in cls.__mro__ if member in base.__dict__ and base.__module__.startswith("slimg")]
    documented = any((getattr(base.__dict__[member], "__doc__", None) or "").strip() for base in bases[1:])
    return {"GL08", "PR01", "RT01", "YD01"} if documented else set()


def _members(cls: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties that slimg defines, inherited ones included."""
    fields = {field.name for field in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set()
    for name in dir(cls):
        value = inspect.getattr_static(cls, name)
        if name.startswith("_") or name in fields or name in getattr(cls, "_fields", ()):
            continue
        plain = value.__func__ if isinstance(value, (classmethod, staticmethod)) else getattr(value, "fget", value)
        plain = getattr(plain, "func", plain)  # functools.cached_property
        if callable(plain) and (getattr(plain, "__module__", None) or "").startswith("slimg"):
            yield name, value


def _is_record(value: Any) -> bool:
    """Whether a class's parameters are its fields, which may be documented as attributes, or it is never called at all."""
    if not inspect.isclass(value):
        return False
    return dataclasses.is_dataclass(value) or issubclass(value, (tuple, Exception)) or getattr(value, "_is_protocol", False)


def _undocumented_fields(cls: type) -> list[str]:
    docs = [ClassDoc(base) for base in cls.__mro__ if base.__module__.startswith("slimg") and base.__doc__]
    sections = ("Parameters", "Attributes", "Other Parameters")
    entries = [entry for doc in docs for section in sections for entry in doc[section]]
    documented = {name.strip() for entry in entries for name in entry.name.split(",")}
    fields = [each.name for each in dataclasses.fields(cls) if each.init] if dataclasses.is_dataclass(cls) else []
    names = [*fields, *getattr(cls, "_fields", ())]
    return [name for name in names if not name.startswith("_") and name not in documented]


def main() -> int:
    """Print the findings; 1 if there are any.

    Returns
    -------
    int
        The exit code.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--package", action="append", metavar="NAME", help="a package of slimg; all of them when not given")
    chosen = parser.parse_args().package or ["slimg"]
    checked = found = 0
    for package in sorted({name for each in chosen for name in packages(each)}):
        for line in findings(package):
            print(line)
            found += 1
        if hasattr(importlib.import_module(package), "__all__"):
            checked += sum(1 for _ in surface(package))
    print(f"{checked:,} public names checked, {found:,} findings", file=sys.stderr)
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
