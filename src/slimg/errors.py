"""Errors that slimg raises on purpose.

Every error a user can cause is an `InputError`. Its message names the file, row, id or parameter, what was expected, what
was given, and what to do.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Iterable
from math import isfinite
from numbers import Integral, Real
from types import ModuleType
from typing import Any

EXHAUSTED: set[int] = {errno.ENOSPC, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EFBIG,
                       getattr(errno, "EDQUOT", errno.ENOSPC)}  # fmt: skip
EXHAUSTED_TEXTS = ("cannot allocate memory", "failed to map segment", "cannot map zero-fill pages", "can't start new thread",
                   "Unable to allocate")  # fmt: skip
"""What the dynamic linker, threading and numpy say when memory is exhausted."""
_PASSWORD = re.compile(r"(postgres(?:ql)?://[^/@:\s]*):\S*@|([a-z][a-z0-9+.-]*://[^/@:\s]*):[^/@\s]*@|(?<=[?&])(?:ssl)?password=[^&:\s'\"]*&?")


class SlimgError(Exception):
    """Base class of the errors that slimg raises on purpose."""


class InputError(SlimgError, ValueError):
    """Input that cannot be used; the message says which part and what to do.

    Examples
    --------
    >>> from slimg import Graph
    >>> Graph.from_arrays([[0, 1, 1]])
    Traceback (most recent call last):
    ...
    slimg.errors.InputError: the adjacency matrix must be square, not 1 × 3
    """


class TooLarge(InputError, MemoryError):
    """The result would not fit into memory; raised before the computation begins. A benchmark counts it as O.O.M."""


class DiskFull(InputError):
    """The result would not fit on the disk; raised before the computation begins."""


class MissingExtra(SlimgError, ImportError):
    """An optional dependency is not installed; the message says which extra provides it."""


def require(module: str, extra: str, purpose: str) -> ModuleType:
    """Import an optional dependency.

    Parameters
    ----------
    module : str
        Name of the module to import.
    extra : str
        Extra of slimg that installs it.
    purpose : str
        What needs it; the error message begins with it.

    Returns
    -------
    module

    Raises
    ------
    MissingExtra
        If the module cannot be imported.
    """
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(f"{purpose} needs {module}: install it with `pip install slimg[{extra}]`") from error


def choices(kind: str, given: object, options: Iterable[str]) -> InputError:
    """Make the error for an unknown name; its message lists the names that exist.

    Parameters
    ----------
    kind : str
        What is named, such as ``"engine"``.
    given : object
        The unknown name.
    options : iterable of str
        The names that exist.

    Returns
    -------
    InputError

    Examples
    --------
    >>> choices("rule", "mean", ["sum", "max"])
    InputError("unknown rule 'mean': choose one of max, sum")
    """
    known = ", ".join(sorted(options))
    return InputError(f"unknown {kind} {given!r}: {f'choose one of {known}' if known else 'there is none'}")


def near(name: object, options: Iterable[object], otherwise: str) -> str:
    """Say for a message which names are spelled like one that does not exist.

    Parameters
    ----------
    name : object
        The name that does not exist.
    options : iterable of object
        The names that exist, as text.
    otherwise : str
        What is said if none is alike.

    Returns
    -------
    str

    Examples
    --------
    >>> near("payz", ["pays", "likes"], "check it"), near("x", ["pays"], "check it")
    ("did you mean 'pays'?", 'check it')
    """
    import difflib

    by_text = {str(each).lower(): each for each in options}
    alike = difflib.get_close_matches(str(name).lower(), by_text, n=3)
    return f"did you mean {' or '.join(repr(by_text[each]) for each in alike)}?" if alike else otherwise


def check_names(kind: str, names: Iterable[str], options: Iterable[str]) -> None:
    """Refuse unknown names.

    Parameters
    ----------
    kind : str
        What they name.
    names : iterable of str
        The names given.
    options : iterable of str
        The names that exist.

    Raises
    ------
    InputError
        For the first that does not exist, as `choices` makes it.
    """
    known = list(options)
    for name in names:
        if name not in known:
            raise choices(kind, name, known)


def check_whole_number(value: object, name: str, least: int = 1, most: int | None = None, otherwise: str = "") -> None:
    """Refuse an option that is not a whole number in its range.

    Parameters
    ----------
    value : object
        What was given.
    name : str
        Name of the option.
    least : int, default=1
        The smallest value.
    most : int or None, default=None
        The largest value; None for no bound.
    otherwise : str, default=""
        What else it may be, for the message.

    Raises
    ------
    InputError
        If it is anything else.
    """
    whole = int(value) if isinstance(value, Integral) and not isinstance(value, bool) else least - 1
    if whole < least or (most is not None and whole > most):
        above = f" and at most {most}" if most is not None else ""
        raise InputError(f"{name} must be a whole number of at least {least}{above}{otherwise}, not {value!r}")


def check_number(value: object, name: str, needed: str, fits: Callable[[Any], bool]) -> None:
    """Refuse what is not a finite number in its range.

    Parameters
    ----------
    value : object
        What was given.
    name : str
        Name of the option.
    needed : str
        What it must be, such as ``"a number above 0"``.
    fits : callable
        Whether a number is that.

    Raises
    ------
    InputError
        If it is anything else.
    """
    is_number = isinstance(value, Real) and not isinstance(value, bool) and (isinstance(value, Integral) or isfinite(value))
    if not (is_number and fits(value)):
        raise InputError(f"{name} must be {needed}, not {value!r}")


def is_exhausted(error: BaseException) -> bool:
    """Whether an error says that memory, disk, open files or threads are used up.

    Returns
    -------
    bool

    Examples
    --------
    >>> is_exhausted(OSError(28, "No space left on device")), is_exhausted(KeyError("x"))
    (True, False)
    """
    if isinstance(error, (MemoryError, DiskFull)):
        return True
    if isinstance(error, SystemError) and "without exception set" in str(error):  # of a library that could not allocate
        return True
    if isinstance(error, OSError) and error.errno in EXHAUSTED:
        return True
    text = str(error)  # of the dynamic linker, of threading
    return isinstance(error, (ImportError, OSError, RuntimeError)) and any(words in text for words in EXHAUSTED_TEXTS)


def without_password(text: str) -> str:
    """Return a text in which addresses of databases have no passwords.

    Returns
    -------
    str

    Examples
    --------
    >>> without_password("postgresql://ann:secret@host/shop:orders")
    'postgresql://ann@host/shop:orders'
    """
    return _PASSWORD.sub(lambda found: f"{found[1] or found[2]}@" if found[1] or found[2] else "", text)
