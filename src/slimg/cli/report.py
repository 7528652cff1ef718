"""``slimg report``: make the page again from the record that slimg fit left.

slimg report slimg-out --title "Teams of our users" --out teams.html
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from slimg.cli.console import say
from slimg.errors import InputError
from slimg.io.write import refuse_existing, write_text


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The command's arguments."""
    parser = subparsers.add_parser("report", help="make the page again", description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("folder", metavar="DIR", nargs="?", type=Path, default=Path("slimg-out"), help="folder of slimg fit")
    parser.add_argument("--title", metavar="TEXT", help="of the page")
    parser.add_argument("--out", metavar="FILE", type=Path, help="page to write (default: DIR/report.html)")
    parser.add_argument("--force", action="store_true", help="write over what is there")
    parser.set_defaults(run=run)
    return parser


def run(args: argparse.Namespace) -> int:
    """Read the record, write the page."""
    source, page = args.folder / "record.json", args.out or args.folder / "report.html"
    if not source.exists():
        raise InputError(f"there is no record {source}: slimg fit leaves one in its folder")
    refuse_existing([page], args.force)
    try:
        record = json.loads(source.read_text(encoding="utf-8"))
        record["read"]["title"] = args.title or record["read"]["title"]
        from slimg.report.page import render

        text = render(record)
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{source} is no record of this version of slimg ({error!r}): fit again") from None
    write_text(text, page)
    say(f"Written: {page}", "Open it in a browser.")
    return 0
