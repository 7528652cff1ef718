"""``slimg bench``: the paper's tables and figures, with its numbers beside ours.

    slimg bench real --quick
    slimg bench real --data cora,photo --models slimg,sgc --seeds 5 --jobs 2
    slimg bench all --quick --out results
    slimg bench recipe mine.json
    slimg bench page results.md --out results
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slimg.errors import InputError

if TYPE_CHECKING:
    from slimg.lab.bench.recipe import Recipe
    from slimg.lab.bench.store import Store


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The command's arguments."""
    from slimg.lab.bench.experiments import EXPERIMENTS

    parser = subparsers.add_parser("bench", help="the paper's tables and figures, with its numbers beside ours",
                                   description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    what = ", ".join([*EXPERIMENTS, "all", "recipe", "page"])
    parser.add_argument("experiment", metavar="EXPERIMENT", help=f"one of {what}")
    parser.add_argument("file", nargs="?", metavar="FILE", help="of `recipe`: your own recipe; of `page`: the file to write")
    parser.add_argument("--quick", action="store_true", help="a reduced protocol, in minutes")
    parser.add_argument("--out", metavar="FOLDER", default="slimg-bench", help="where records and tables go (slimg-bench)")
    parser.add_argument("--data", metavar="NAMES", help="only these columns, separated by commas")
    parser.add_argument("--models", metavar="NAMES", help="only these rows, separated by commas")
    parser.add_argument("--model", metavar="FILE.py:NAME", action="append", default=[], help="your own model as a row")
    parser.add_argument("--seeds", type=int, help="splits of each graph")
    parser.add_argument("--jobs", type=int, help="processes at a time (1; --quick: one per core), but for what is timed")
    parser.add_argument("--memory", type=float, metavar="GIB", help="memory that a process may take; more is O.O.M.")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin nothing new after this long")
    parser.add_argument("--retry", action="store_true", help="run cells again that failed")
    parser.add_argument("--no-run", action="store_true", help="only print and write what is recorded")
    parser.add_argument("--recipe", metavar="FILE", action="append", default=[],
                        help="of `page`: a recipe in the place of the experiment of its name, or added")  # fmt: skip
    parser.set_defaults(run=run)
    return parser


def run(args: argparse.Namespace) -> int:
    """Run what is not recorded, print and write the tables; 1 if cells failed."""
    from slimg.lab.bench.experiments import Limits, chosen
    from slimg.lab.bench.store import Store

    _check(args)
    store = Store(Path(args.out) / "records.jsonl")
    if args.experiment == "page":
        from slimg.lab.bench.experiments import write_page

        write_page(Path(args.file), store, args.recipe)
        print(f"{args.file}: written from {len(store.records)} records of {store.path}")
        return 0
    failed = 0
    limits = Limits(_names(args.data), _names(args.models), args.seeds, tuple(args.model))
    experiments = chosen(args.experiment, args.file, args.quick, limits)
    for note in store.notes:
        print(f"slimg: {note}", file=sys.stderr)
    if not args.no_run:
        _run_missing(args, [experiment.recipe for experiment in experiments], store)
    for experiment in experiments:
        failed += experiment.show(store, Path(args.out))
    return int(failed > 0)


def _run_missing(args: argparse.Namespace, recipes: list[Recipe], store: Store) -> None:
    """What is timed first and by itself, so that no other recipe records the same cell beside other work."""
    from slimg.lab.bench.run import progress_bar
    from slimg.lab.bench.run import run as run_cells
    from slimg.system import cores

    jobs = args.jobs or (cores() if args.quick else 1)
    memory, end = None if args.memory is None else int(args.memory * 2**30), time.monotonic() + 60 * args.minutes
    for alone in (True, False):
        cells = [cell for recipe in recipes if recipe.alone is alone for cell in recipe.cells()]
        left = (end - time.monotonic()) / 60
        with progress_bar("timed cells" if alone else "cells") as report:
            run_cells(
                cells, store, jobs=1 if alone else jobs, memory=memory, minutes=left, retry=args.retry, report=report
            )


def _check(args: argparse.Namespace) -> None:
    if args.jobs is not None and args.jobs < 1:
        raise InputError(f"--jobs is a number of processes of at least 1, not {args.jobs}")
    if args.memory is not None and args.memory <= 0:
        raise InputError(f"--memory is a number of GiB above 0, not {args.memory}")
    if (args.experiment in ("recipe", "page")) != (args.file is not None):
        raise InputError("`slimg bench recipe FILE` and `slimg bench page FILE` take a file, the others none")
    if args.recipe and args.experiment != "page":
        raise InputError("--recipe is for `slimg bench page`; a recipe is run with `slimg bench recipe FILE`")


def _names(given: str | None) -> list[str] | None:
    return None if given is None else [name.strip() for name in given.split(",") if name.strip()]
