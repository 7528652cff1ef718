"""``slimg report``: make the page again from the record that slimg fit wrote, or print what it says.

    slimg report slimg-out --title "Teams of our users" --out teams.html
    slimg report slimg-out --markdown
    slimg report slimg-out --json
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from slimg.cli import add_command, echo, print_json
from slimg.cli.results import PAGE, RECORD, read_record
from slimg.errors import InputError
from slimg.io import refuse_existing, write_text


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The command's arguments."""
    parser = add_command(subparsers, "report", __doc__, run)
    parser.add_argument("folder", metavar="DIR", nargs="?", type=Path, default=Path("slimg-out"),
                        help="folder of slimg fit (default: slimg-out)")  # fmt: skip
    parser.add_argument("--title", metavar="TEXT", help="title of the page")
    parser.add_argument("--out", metavar="FILE", type=Path, help="page to write (default: DIR/report.html)")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--markdown", action="store_true", help="Markdown instead of the page; printed without --out")
    shown.add_argument("--json", action="store_true", help="print the numbers as JSON, as slimg fit --json does")
    parser.add_argument("--force", action="store_true", help="overwrite an existing page")
    return parser


def run(args: argparse.Namespace) -> int:
    """Read the record, write the page."""
    record, page = read_record(args.folder), args.out or args.folder / PAGE
    if args.json and args.out:
        raise InputError("--json prints to the terminal: leave out --out, or send the output to a file with >")
    prints = args.json or (args.markdown and args.out is None)
    refuse_existing([] if prints else [page], args.force)
    from slimg.report.page import markdown, render
    from slimg.report.record import results

    try:
        if args.json:
            print_json(results(record))
            return 0
        folder = f"{Path(os.path.relpath(args.folder, page.parent)).as_posix()}/".removeprefix("./")
        text = markdown(record, args.title) if args.markdown else render(record, args.title, folder)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{args.folder / RECORD} is not whole ({type(error).__name__}: {error}): fit again") from None
    if prints:
        echo(*text.splitlines())
        return 0
    write_text(text, page)
    echo(f"Written: {page}", "Open it in a browser.")
    return 0
