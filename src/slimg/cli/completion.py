"""``slimg completion``: let your shell complete commands and options.

    slimg completion bash >> ~/.bashrc
    slimg completion zsh  >> ~/.zshrc
    slimg completion fish > ~/.config/fish/completions/slimg.fish

The script holds all commands and options, so completing does not run slimg.
"""

from __future__ import annotations

import argparse
from typing import Any

from slimg.cli import COMMANDS, add_command, command_parser

SHELLS = ("bash", "zsh", "fish")


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The command's arguments."""
    parser = add_command(subparsers, "completion", __doc__, run)
    parser.add_argument("shell", choices=SHELLS)
    return parser


def run(args: argparse.Namespace) -> int:
    """Print the script of a shell."""
    import shtab

    parser = command_parser(COMMANDS)
    _mark_files(parser, shtab.FILE)
    print(shtab.complete(parser, shell=args.shell))
    return 0


def _mark_files(parser: argparse.ArgumentParser, mark: Any) -> None:
    """Let arguments that are files or folders be completed as such."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                _mark_files(each, mark)
        elif action.metavar in ("FILE", "DIR", "FOLDER"):
            action.complete = mark  # type: ignore[attr-defined]
