"""``slimg docs``: the guides that come with slimg.

    slimg docs                 names of the guides, and what each is about
    slimg docs relations       print one
    slimg docs llms.txt        the index as language models read it
"""

from __future__ import annotations

import argparse
import re
from importlib.resources import files
from typing import Any

from slimg.cli import add_command, echo
from slimg.errors import check_names

INDEX = "llms.txt"


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The command's arguments."""
    parser = add_command(subparsers, "docs", __doc__, run)
    parser.add_argument("name", metavar="NAME", nargs="?", help="name of a guide")
    return parser


def run(args: argparse.Namespace) -> int:
    """Print a guide, or the list of them."""
    folder = files("slimg") / "guides"
    index = (folder / INDEX).read_text(encoding="utf-8")
    guides = dict(re.findall(r"^- \[([\w-]+)\]\([^)]*\): (.*)$", index, re.MULTILINE))
    if args.name is None:
        echo(*(f"{name:14} {about}" for name, about in guides.items()), "", "slimg docs NAME prints one.")
        return 0
    name = args.name.removesuffix(".md")
    check_names("guide", [name], [*guides, INDEX])
    echo(index if name == INDEX else (folder / f"{name}.md").read_text(encoding="utf-8"))
    return 0
