"""``slimg open``: ask a fitted model, in the browser.

    slimg open slimg-out
    slimg open slimg-out --port 8800 --no-browser

Serves the folder that slimg fit wrote, to this computer alone: any node by its id or a value, its exact explanation, what it
would be without an edge, with another one or with another value, predictions filtered, sorted and downloaded, and new rows
scored. Nothing is written. The address holds a random token; stop with Ctrl-C.
"""

from __future__ import annotations

import argparse
import webbrowser
from functools import partial
from pathlib import Path
from typing import Any

from slimg.cli import add_command, echo, whole
from slimg.cli.results import MODEL, OWNED, PAGE, read_record
from slimg.errors import InputError


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The command's arguments."""
    parser = add_command(subparsers, "open", __doc__, run)
    parser.add_argument("folder", metavar="DIR", nargs="?", type=Path, default=Path("slimg-out"),
                        help="folder of slimg fit (default: slimg-out)")  # fmt: skip
    parser.add_argument("--port", type=whole(0, 65535), default=0, metavar="N", help="port to listen on (default: a free one)")
    parser.add_argument("--no-browser", action="store_true", help="print the address and open no browser")
    return parser


def run(args: argparse.Namespace) -> int:
    """Load what slimg fit wrote, and serve it until Ctrl-C."""
    folder: Path = args.folder
    record = read_record(folder)
    tables = [folder / name for name in OWNED[:-3]]  # predictions
    table = next((path for path in tables if path.exists()), tables[0])
    for path in (folder / MODEL, folder / PAGE, table):
        if not path.exists():
            raise InputError(f"{path} does not exist: name a folder with all that slimg fit wrote")
    from slimg.classifier import SlimG
    from slimg.cli.inputs import read_new_rows
    from slimg.io import Source, read
    from slimg.report.answers import Answers
    from slimg.report.server import Server

    model = SlimG.load(folder / MODEL)
    if not model.keeps_graph_:
        raise InputError(f"{folder / MODEL} does not keep its graph, which questions need: fit again, in memory")
    frame: Any = read(Source(table, header=True)).frame
    answers = Answers(model, frame, partial(read_new_rows, model))
    answers.node({"id": answers.ids[0]})  # weights of features, which all explanations share, are made now
    with Server(answers, record, (folder / PAGE).read_bytes(), args.port) as server:
        echo(f"Serving {folder} at {server.address}", "Only this computer can reach it. Stop with Ctrl-C.")
        try:
            if not args.no_browser:
                webbrowser.open(server.address)
            server.serve_forever()
        except KeyboardInterrupt:
            echo("", "Stopped.")
    return 0
