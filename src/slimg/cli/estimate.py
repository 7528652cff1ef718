"""``slimg estimate``: memory, disk and time of a fit on each engine, before you start it.

slimg estimate --nodes 2.4M --edges 62M --features 100 --classes 47 --labelled 120k
slimg estimate FOLDER --memory 4GB            the folder of a graph on disk
"""

from __future__ import annotations

import argparse
import json
import re
from typing import Any

from slimg.cli import add_command
from slimg.errors import InputError

FACTORS = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9, "G": 10**9}


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The command's arguments."""
    parser = add_command(subparsers, "estimate", __doc__, run)
    parser.add_argument("graph", nargs="?", metavar="FOLDER", help="the folder of a graph on disk")
    for name, what in (("nodes", "nodes"), ("edges", "undirected edges"), ("features", "columns of features"),
                       ("classes", "classes"), ("labelled", "labelled nodes")):  # fmt: skip
        parser.add_argument(f"--{name}", metavar="N", help=f"number of {what}, such as 120k or 2.4M")
    parser.add_argument("--memory", metavar="SIZE", help="memory to use at most, as 4GB (default: most of what is free)")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="workers of a Dask cluster (default: 2)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def run(args: argparse.Namespace) -> int:
    """Estimate, print."""
    from slimg.components.estimate import estimate

    found = estimate(_sizes(args), memory=args.memory, workers=max(1, args.workers))
    print(json.dumps(found.as_dict(), indent=1) if args.json else found)
    return 0


def _sizes(args: argparse.Namespace) -> Any:
    from slimg.components.estimate import Sizes
    from slimg.io.disk import open_graph

    if args.graph is not None:
        return Sizes.of(open_graph(args.graph))
    if args.nodes is None or args.edges is None:
        raise InputError("estimate needs --nodes and --edges, or the folder of a graph on disk")
    given = {name: getattr(args, name) for name in ("nodes", "edges", "features", "classes", "labelled")}
    numbers = {name: _number(name, text) for name, text in given.items() if text is not None}
    return Sizes(numbers["nodes"], numbers["edges"], numbers.get("features", 0), numbers.get("classes", 2),
                 numbers.get("labelled", 0))  # fmt: skip


def _number(name: str, text: str) -> int:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kKmMbBgG]?)", text.replace(",", "").replace("_", ""))
    if not found:
        raise InputError(f"--{name} must be a number such as 120k or 2.4M, not {text!r}")
    return int(float(found[1]) * FACTORS[found[2].upper()])
