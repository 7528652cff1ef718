"""``slimg``: the command line.

A command is a module with ``add_parser(subparsers)``, whose parser sets ``run``: a function of the parsed arguments that
gives the exit code. Modules are imported when their command is called, so that `slimg --help` answers at once.

Exit codes: 0 done, 1 done but the answer is no, 2 wrong input (told in one sentence), 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from slimg.errors import SlimgError
from slimg.version import __version__

COMMANDS = {
    "fit": ("slimg.cli.fit", "learn from files; predictions, a model and a page"),
    "predict": ("slimg.cli.predict", "score the same graph again, or one that grew"),
    "explain": ("slimg.cli.explain", "why a node is classified as it is, and what would change it"),
    "diagnose": ("slimg.cli.diagnose", "does the graph help, and how?"),
    "estimate": ("slimg.cli.estimate", "memory, disk and time on each engine, before a fit"),
    "report": ("slimg.cli.report", "make the page of a fit again"),
    "demo": ("slimg.cli.demo", "two small files and a fit, to see what slimg does"),
    "completion": ("slimg.cli.completion", "completion for bash, zsh or fish"),
    "bench": ("slimg.lab.bench.command", "the paper's tables and figures, with its numbers beside ours"),
    "datasets": ("slimg.lab.datasets.command", "published graphs: list, get, info"),
    "gnnexp": ("slimg.lab.gnnexp.command", "propagators of graph neural networks: table, show, verify, linearize"),
    "sanity": ("slimg.lab.sanity.command", "run the sanity checks on models, or on your own"),
}
"""Command → its module and what it does."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        parsed = _parser(given).parse_args(given, argparse.Namespace(words=given))
        return int(parsed.run(parsed))
    except SlimgError as error:
        print(f"slimg: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("slimg: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of the output has seen enough
        sys.stderr.close()
        return 0


def _parser(given: Sequence[str]) -> argparse.ArgumentParser:
    """All commands by name; only the one that is called has its arguments."""
    parser = argparse.ArgumentParser(prog="slimg", description="Classify the nodes of a graph from a few labels.")
    parser.add_argument("--version", action="version", version=f"slimg {__version__}")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    called = next((argument for argument in given if not argument.startswith("-")), None)
    for name, (module, purpose) in COMMANDS.items():
        if name == called:
            import_module(module).add_parser(subparsers)
        else:
            subparsers.add_parser(name, help=purpose)
    return parser
