"""What goes wrong, in one sentence.

Every error a user can cause is an `InputError`: it names the thing (file, row, id or parameter), what was needed,
what was given, and what to do.
"""


class SlimgError(Exception):
    """Base class of the errors slimg raises on purpose."""


class InputError(SlimgError, ValueError):
    """Input that cannot be used; the message says which part and what to do."""


class TooLarge(InputError, MemoryError):
    """What was asked for does not fit into memory, said before the work begins; a benchmark counts it as O.O.M."""


class MissingExtra(SlimgError, ImportError):
    """An optional dependency is needed; the message says which extra to install."""


def require(module: str, extra: str, purpose: str):
    """Import an optional ``module`` or say which extra of slimg provides it."""
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(f"{purpose} needs {module}: install it with `pip install slimg[{extra}]`") from error


def choices(kind: str, given: object, options: "list[str] | tuple[str, ...]") -> InputError:
    """The error for an unknown name: it lists the names that exist."""
    return InputError(f"unknown {kind} {given!r}: choose one of {', '.join(sorted(options))}")
