"""``slimg completion``: lets your shell complete commands and options.

    slimg completion bash >> ~/.bashrc
    slimg completion zsh  >> ~/.zshrc
    slimg completion fish > ~/.config/fish/completions/slimg.fish

The words are read off the commands themselves when this is called, so a key press costs no call of slimg.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Any

from slimg.cli.console import say

SHELLS = ("bash", "zsh", "fish")


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The command's arguments."""
    parser = subparsers.add_parser("completion", help="completion for bash, zsh or fish", description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("shell", choices=SHELLS)
    parser.set_defaults(run=run)
    return parser


def run(args: argparse.Namespace) -> int:
    """Print the script of a shell."""
    say({"bash": _bash, "zsh": _zsh, "fish": _fish}[args.shell](words()))
    return 0


def words() -> dict[str, list[str]]:
    """Command → its options and actions."""
    from slimg.cli import COMMANDS

    found = {}
    for name, (module, _) in COMMANDS.items():
        holder = argparse.ArgumentParser().add_subparsers()
        parser = import_module(module).add_parser(holder)
        found[name] = sorted({word for action in parser._actions for word in _words(action)})
    return found


def _words(action: argparse.Action) -> list[str]:
    """Long options; names of actions and other fixed choices of a positional argument."""
    if action.option_strings:
        return [option for option in action.option_strings if option.startswith("--")]
    return [str(choice) for choice in action.choices or ()]


def _bash(found: dict[str, list[str]]) -> str:
    cases = "\n".join(f"    {name}) words='{' '.join(options)}' ;;" for name, options in found.items())
    return f"""_slimg() {{
  local words here="${{COMP_WORDS[COMP_CWORD]}}"
  if [ "$COMP_CWORD" -eq 1 ]; then COMPREPLY=($(compgen -W '{" ".join(found)}' -- "$here")); return; fi
  case "${{COMP_WORDS[1]}}" in
{cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$here") $(compgen -f -- "$here"))
}}
complete -o filenames -F _slimg slimg"""


def _zsh(found: dict[str, list[str]]) -> str:
    cases = "\n".join(f"    {name}) compadd -- {' '.join(options)} ;;" for name, options in found.items())
    return f"""_slimg() {{
  if (( CURRENT == 2 )); then compadd -- {" ".join(found)}; return; fi
  case "$words[2]" in
{cases}
  esac
  _files
}}
compdef _slimg slimg"""


def _fish(found: dict[str, list[str]]) -> str:
    lines = [f"complete -c slimg -n __fish_use_subcommand -f -a {name}" for name in found]
    for name, options in found.items():
        seen = f"'__fish_seen_subcommand_from {name}'"
        lines += [f"complete -c slimg -n {seen} -l {option[2:]}" for option in options if option.startswith("--")]
        lines += [f"complete -c slimg -n {seen} -a {option}" for option in options if not option.startswith("--")]
    return "\n".join(lines)
