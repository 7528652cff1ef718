"""``slimg report``: make the page again from the record that slimg fit wrote.

slimg report slimg-out --title "Teams of our users" --out teams.html
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from slimg.cli import add_command, echo
from slimg.cli.results import finish
from slimg.errors import InputError
from slimg.io import refuse_existing, write_text


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The command's arguments."""
    parser = add_command(subparsers, "report", __doc__, run)
    parser.add_argument("folder", metavar="DIR", nargs="?", type=Path, default=Path("slimg-out"),
                        help="folder of slimg fit (default: slimg-out)")  # fmt: skip
    parser.add_argument("--title", metavar="TEXT", help="title of the page")
    parser.add_argument("--out", metavar="FILE", type=Path, help="page to write (default: DIR/report.html)")
    parser.add_argument("--force", action="store_true", help="overwrite an existing page")
    return parser


def run(args: argparse.Namespace) -> int:
    """Read the record, write the page."""
    finish(args.folder)
    source, page = args.folder / "record.json", args.out or args.folder / "report.html"
    if not source.exists():
        raise InputError(f"the record {source} does not exist: slimg fit writes one into its folder")
    refuse_existing([page], args.force)
    from slimg.report.page import render

    try:
        text = render(json.loads(source.read_text(encoding="utf-8")), args.title)
    except ValueError as error:  # of json and of render
        raise InputError(f"{source}: {error}") from None
    write_text(text, page)
    echo(f"Written: {page}", "Open it in a browser.")
    return 0
