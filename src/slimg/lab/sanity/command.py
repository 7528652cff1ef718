"""``slimg sanity``: run the checks on models by name or on a user's own, and print what they found.

    slimg sanity --models slimg,lr,sgc
    slimg sanity --model mine.py:make_model --cases semantic-uniform,random-homophily --quick
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from slimg.lab.sanity.assertion import SMALL
from slimg.lab.sanity.contender import Contender, as_contender
from slimg.lab.sanity.report import PAPER_NODES, PAPER_SEEDS, Cell
from slimg.lab.sanity.runner import check
from slimg.lab.user_code import load_object

FULL = {"n": PAPER_NODES, "seeds": PAPER_SEEDS}
QUICK = {"n": SMALL, "seeds": 2}


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The command's arguments."""
    parser = subparsers.add_parser("sanity", help="run the sanity checks on models, or on your own", description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--models", metavar="NAMES", help="models by name, separated by commas (default: slimg)")
    parser.add_argument(
        "--model",
        metavar="FILE.py:NAME",
        action="append",
        default=[],
        help="your own: an object with fit and predict, or a function that makes one; may be repeated",
    )
    parser.add_argument(
        "--cases", metavar="NAMES", default="all", help="all, informative, empty, or names such as semantic-uniform"
    )
    parser.add_argument("--quick", action="store_true", help=f"reduced: {QUICK['n']} nodes, {QUICK['seeds']} splits")
    parser.add_argument("--n", type=int, help=f"nodes of each case (default {FULL['n']})")
    parser.add_argument("--seeds", type=int, help=f"splits of each case (default {FULL['seeds']})")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument("--markdown", action="store_true", help="print Markdown")
    parser.add_argument("--strict", action="store_true", help="exit with 1 unless every model passes every case")
    parser.set_defaults(run=run)
    return parser


def run(args: argparse.Namespace) -> int:
    """Check, print, and give the exit code."""
    protocol = QUICK if args.quick else FULL
    contenders = _contenders(args.models, args.model)
    report = check(
        contenders,
        args.cases.split(","),
        n=protocol["n"] if args.n is None else args.n,
        seeds=protocol["seeds"] if args.seeds is None else args.seeds,
        progress=_tell,
    )
    if args.json:
        print(report.to_json())
    elif args.markdown:
        print(report.to_markdown())
    else:
        from rich.console import Console

        Console(highlight=False).print(report)
    return int(args.strict and not all(report.passes(model) for model in report.models))


def _contenders(names: str | None, addresses: list[str]) -> list[Contender]:
    wanted = names.split(",") if names else [] if addresses else ["slimg"]
    own = [as_contender(load_object(address), address.rpartition(":")[2]) for address in addresses]
    return [as_contender(name.strip()) for name in wanted] + own


def _tell(model: str, case: str, cell: Cell) -> None:
    found = cell.error or f"{100 * cell.mean:.1f} %"
    print(f"{case:<23} {model:<14} {found}  ({cell.seconds:.1f} s)", file=sys.stderr, flush=True)
