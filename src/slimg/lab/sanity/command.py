"""``slimg sanity``: run the sanity checks on models by name or on your own, and print what they found.

    slimg sanity --models slimg,lr,sgc
    slimg sanity --model mine.py:make_model --cases semantic-uniform,random-homophily --quick
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from slimg.cli import add_command
from slimg.lab.sanity.report import PAPER_NODES, PAPER_SEEDS, Cell
from slimg.lab.sanity.runner import SMALL, as_adapter, check
from slimg.lab.shared.process import load_object

FULL = {"n": PAPER_NODES, "seeds": PAPER_SEEDS}
QUICK = {"n": SMALL, "seeds": 2}


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the arguments of the command.

    Returns
    -------
    ArgumentParser
    """
    parser = add_command(subparsers, "sanity", __doc__, run)
    add = parser.add_argument
    add("--models", metavar="NAMES", help="models by name, separated by commas (default: slimg)")
    add("--model", metavar="FILE.py:NAME", action="append", default=[],
        help="your own: an object with fit and predict, or a function that makes one; may be repeated")  # fmt: skip
    add("--cases", metavar="NAMES", default="all", help="all, informative, empty, or names such as semantic-uniform")
    add("--quick", action="store_true", help=f"reduced: {QUICK['n']} nodes, {QUICK['seeds']} splits")
    add("--n", type=int, help=f"nodes of each case (default {FULL['n']})")
    add("--seeds", type=int, help=f"splits of each case (default {FULL['seeds']})")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument("--markdown", action="store_true", help="print Markdown")
    add("--strict", action="store_true", help="exit with 1 unless every model passes every case")
    return parser


def run(args: argparse.Namespace) -> int:
    """Run the checks and print the report.

    Returns
    -------
    int
        The exit code.
    """
    protocol = QUICK if args.quick else FULL
    n, seeds = (protocol[key] if getattr(args, key) is None else getattr(args, key) for key in ("n", "seeds"))
    names = args.models.split(",") if args.models else [] if args.model else ["slimg"]
    adapters = [as_adapter(name.strip()) for name in names]
    adapters += [as_adapter(load_object(address), address.rpartition(":")[2]) for address in args.model]
    report = check(adapters, args.cases.split(","), n=n, seeds=seeds, progress=_print_cell)
    if args.json:
        print(report.to_json())
    elif args.markdown:
        print(report.to_markdown())
    else:
        from rich.console import Console

        Console(highlight=False).print(report)
    return int(args.strict and not all(map(report.passes, report.models)))


def _print_cell(model: str, case: str, cell: Cell) -> None:
    found = cell.error or f"{100 * cell.mean:.1f} %"
    print(f"{case:<23} {model:<14} {found}  ({cell.seconds:.1f} s)", file=sys.stderr, flush=True)
