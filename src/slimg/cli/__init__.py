"""``slimg``: the command line.

A command is a module with ``add_parser(subparsers)``, which adds its parser and returns it; the parser sets ``run``, a
function of the parsed arguments that returns the exit code. Only the module of the command that is called is imported, so
that `slimg --help` answers at once.

Exit codes: 0 done, 1 done but the answer is no, 2 wrong input (explained in one sentence), 3 memory or disk exhausted,
70 internal error (the trace is written to a file), 130 interrupted. No command ends in a bare traceback.

What a command prints: lines for a person, and progress bars on the error stream of a terminal.
"""

from __future__ import annotations

import argparse
import builtins
import errno
import json
import os
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, NoReturn

from slimg import __version__
from slimg.errors import InputError, SlimgError, TooLarge, is_exhausted, near, without_password
from slimg.progress import progress_for

__all__ = ["main"]

COMMANDS = {
    "fit": ("slimg.cli.fit", "fit a model to files; write predictions, the model and a page"),
    "predict": ("slimg.cli.predict", "score the same graph again, or one that grew"),
    "explain": ("slimg.cli.explain", "why a node is classified as it is, and what would change it"),
    "diagnose": ("slimg.cli.diagnose", "does the graph help, and how?"),
    "estimate": ("slimg.cli.estimate", "memory, disk and time of a fit on each engine"),
    "report": ("slimg.cli.report", "make the page of a fit again"),
    "open": ("slimg.cli.open", "ask a fitted model in the browser: nodes, explanations, what if, new rows"),
    "demo": ("slimg.cli.demo", "make two small files and fit them"),
    "docs": ("slimg.cli.docs", "print a guide, or list the guides"),
    "completion": ("slimg.cli.completion", "print the completion script of bash, zsh or fish"),
    "bench": ("slimg.lab.bench.command", "the paper's tables and figures, with its numbers beside ours"),
    "datasets": ("slimg.lab.datasets.command", "published graphs: list, get, info"),
    "gnnexp": ("slimg.lab.gnnexp.command", "propagators of graph neural networks: table, show, verify, linearize"),
    "sanity": ("slimg.lab.sanity.command", "run the sanity checks on models, or on your own"),
}
"""Command → its module and what it does."""
LEAST = 2_500_000_000
"""Address space that a small fit maps (2.3 GB on two cores: libraries, stacks and heaps of threads); with less, arrow ends the
process, or each allocation of a thread asks for a heap in vain."""
WRONG_INPUT, RESOURCES, INTERNAL, INTERRUPTED = 2, 3, 70, 130
EPILOG = """exit codes: 0 done, 1 done but the answer is no, 2 wrong input, 3 memory or disk exhausted, 70 internal error,
130 interrupted"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    arguments : sequence of str or None, default=None
        Command and options; None takes those of the process.

    Returns
    -------
    int
        The exit code.

    Examples
    --------
    >>> from slimg.cli import main
    >>> main(["docs", "no-such-guide"])
    2
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    command = next((word for word in words if not word.startswith("-")), "")
    try:
        _print_anything()
        _check_limit(command)
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            args = command_parser([command]).parse_args(words, argparse.Namespace(words=words))
            code = int(args.run(args))
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the program that reads the output has ended
        _discard_output()
        return 0
    except KeyboardInterrupt:
        return _end("interrupted", INTERRUPTED)
    except Exception as error:
        if is_exhausted(error):
            _discard_output()
            return _end(_exhausted(error), RESOURCES)
        if isinstance(error, SlimgError):
            return _end(str(error), WRONG_INPUT)
        if isinstance(error, OSError) and error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            return _end(f"{error.filename}: {error.strerror}: check its permissions, or choose another folder", WRONG_INPUT)
        from slimg.io import is_interrupt

        if is_interrupt(error):
            return _end("interrupted", INTERRUPTED)
        return _end(_internal(error), INTERNAL)


def _check_limit(command: str) -> None:
    """Refuse a limit of address space under which libraries would abort, before they are imported."""
    with suppress(ImportError):  # Windows
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if command not in ("", "completion") and 0 <= limit < LEAST:
            raise TooLarge(
                f"the limit of address space (ulimit -v) is {limit / 1e9:.3g} GB, but the libraries map {LEAST / 1e9:g} GB before"
                " they begin, most of it unused: raise it, or limit the memory in use with a cgroup"
            )


def _discard_output() -> None:
    """What is left to print goes nowhere, if it cannot be printed."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError, AttributeError):
        with suppress(OSError, ValueError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _end(sentence: str, code: int) -> int:
    """Print why a command ends, and give its exit code."""
    with suppress(OSError, ValueError):
        print(f"slimg: {without_password(sentence)}", file=sys.stderr, flush=True)
    return code


def _exhausted(error: Exception) -> str:
    if isinstance(error, SlimgError):
        return str(error)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", 0), errno.EFBIG):
        where = f" ({error.filename})" if error.filename else ""
        return f"the disk is full{where}: free some space, or choose a folder of another disk"
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        return f"too many files are open ({error.strerror}): raise the limit with ulimit -n"
    what = str(error).split("\n")[0] or type(error).__name__
    return f"memory is exhausted ({what}): slimg estimate says what a fit needs, and engine='mapped' works within a budget"


def _internal(error: Exception) -> str:
    """A sentence about an error that is slimg's own, after its trace was written to a file."""
    what = f"internal error ({type(error).__name__}: {printable(error)[:200]}), which is a defect of slimg"
    try:
        handle, path = tempfile.mkstemp(prefix="slimg-error-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"slimg {__version__}, Python {sys.version}\n{list(map(without_password, sys.argv))}\n")
            file.write(without_password("".join(traceback.format_exception(error))))
    except OSError:
        return f"{what}; its trace could not be written"
    return f"{what}: please report it with {path}"


def _print_anything() -> None:
    """Characters that the terminal's encoding does not have are printed as \\uXXXX; a stream that is closed takes anything."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # its descriptor is taken too, so that no file gets it
            setattr(sys, name, builtins.open(os.devnull, "w"))  # noqa: SIM115 (slimg.cli.open may hide the plain name)
        elif getattr(stream, "errors", "") == "strict" and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """A warning in one line, without the place in the source."""
    print(f"slimg: warning: {printable(message)}", file=sys.stderr)


class Once(argparse.Action):
    """Stores the value of an option, which must not be given twice."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: str | None = None) -> None:
        given = namespace.__dict__.setdefault("_given", {})
        if option_string is not None and self.dest in given:
            raise InputError(f"{option_string} was given twice, as {given[self.dest]} and {values}: give it once")
        given[self.dest] = values
        setattr(namespace, self.dest, values)


class Parser(argparse.ArgumentParser):
    """A parser, also of a command, whose options may be given once unless they say otherwise; an error is one sentence."""

    def __init__(self, **options: Any):
        super().__init__(**options)
        for name in (None, "store"):
            self.register("action", name, Once)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        known, rest = super().parse_known_args(args, namespace)
        if rest:
            self.error(f"{rest[0]!r} is not understood: {near(rest[0], self._option_string_actions, 'leave it out')}")
        return known, rest

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message.removeprefix('argument ')} (see {self.prog} --help)")


def whole(least: int, most: int) -> Callable[[str], int]:
    """A parser of an option that is a whole number in a range."""

    def parsed(text: str) -> int:
        with suppress(ValueError):
            if least <= (value := int(text)) <= most:
                return value
        raise argparse.ArgumentTypeError(f"it must be a whole number from {least} to {most:,}, not {text!r}")

    return parsed


def command_parser(loaded: Collection[str]) -> argparse.ArgumentParser:
    """Make the parser of the command line.

    Parameters
    ----------
    loaded : collection of str
        Commands whose options are added; of the others only the name is known.

    Returns
    -------
    ArgumentParser
        Of the whole command line.
    """
    parser = Parser(prog="slimg", description="Classify the nodes of a graph from a few labels.", epilog=EPILOG)
    parser.add_argument("--version", action="version", version=f"slimg {__version__}")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (module, purpose) in COMMANDS.items():
        if name in loaded:
            import_module(module).add_parser(subparsers)
        else:
            subparsers.add_parser(name, help=purpose)
    return parser


def add_command(
    subparsers: Any, name: str, description: str | None, run: Callable[[argparse.Namespace], int] | None = None
) -> argparse.ArgumentParser:
    """Add a command of `COMMANDS` to the parser of the command line.

    Parameters
    ----------
    subparsers : object
        What ``add_subparsers`` of the command line's parser returned.
    name : str
        The command.
    description : str or None
        Text above its options in the help.
    run : callable, optional
        Function of the parsed arguments that returns the exit code; None if its actions have their own.

    Returns
    -------
    ArgumentParser
        The parser of the command, to which it adds its options.
    """
    parser = subparsers.add_parser(name, help=COMMANDS[name][1], description=description,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.set_defaults(run=run)
    return parser


class Progress:
    """Stages of a command, timed and shown as bars; a model can report to it (`slimg.progress.Progress`)."""

    shown: bool

    def __init__(self, quiet: bool = False):
        self.seconds: dict[str, float] = {}
        self.shown = not quiet and sys.stderr.isatty()
        self._bars = progress_for(self.shown)

    @contextmanager
    def whole(self, command: str, stages: int) -> Iterator[None]:
        """The whole command: a bar above those of its stages, each of which advances it by one."""
        with self._bars.stage(f"slimg {command}", stages):
            yield

    @contextmanager
    def stage(self, name: str, total: float | None = None) -> Iterator[None]:
        begun = time.perf_counter()
        with self._bars.stage(name, total):
            yield
        self.seconds[name] = time.perf_counter() - begun
        self._bars.advance(1)

    def advance(self, amount: float) -> None:
        self._bars.advance(amount)


def echo(*lines: str) -> None:
    """Print lines for a person; characters from a file that would steer the terminal are replaced."""
    print("\n".join(printable(line) for line in lines), flush=True)


def printable(text: object) -> str:
    """Text without control characters.

    Returns
    -------
    str
        With � for each character that cannot be printed.
    """
    return "".join(character if character.isprintable() else "�" for character in str(text))


def print_json(values: Any) -> None:
    """Print values as JSON."""
    from slimg.report.record import json_values

    unicode = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"
    print(json.dumps(json_values(values), ensure_ascii=not unicode, indent=1))
