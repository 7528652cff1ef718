"""``slimg bench``: the paper's tables and figures, with its numbers beside ours.

    slimg bench real --quick
    slimg bench real --data cora,photo --models slimg,sgc --seeds 5 --jobs 2
    slimg bench all --quick --out results
    slimg bench recipe mine.json
    slimg bench page results.md --out results
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from slimg.cli import add_command
from slimg.errors import InputError, choices
from slimg.io import write_text
from slimg.lab.bench.figures import polynomials
from slimg.lab.bench.grid import Grid, accuracy_table, legend
from slimg.lab.bench.pages import rivals_page, sanity_page, scalability_page, speed_page, weights_page
from slimg.lab.bench.recipe import Recipe
from slimg.lab.bench.run import progress_bar
from slimg.lab.bench.run import run as run_cells
from slimg.lab.bench.store import Store
from slimg.lab.shared.tables import Page, Picture
from slimg.system import cores

PRINTED_WIDTH = 160
"""Columns where the output is no terminal."""
MakePage = Callable[[Grid], Page]


def accuracies(grid: Grid) -> Page:
    """Make the page with the table of a recipe.

    Returns
    -------
    Page
    """
    return Page(grid.recipe.title).add(*legend(grid), accuracy_table(grid))


def simplicity(grid: Grid) -> Page:
    """Make the page with the table of nonlinear variants, and the figure on why less may be more.

    Returns
    -------
    Page
    """
    caption = "Less is more: 100 points without any trend, and polynomials fitted to them"
    return accuracies(grid).add(Picture("less-is-more.svg", caption, polynomials))


EXPERIMENTS: dict[str, MakePage] = {
    "sanity": sanity_page, "real": accuracies, "components": accuracies, "linearity": simplicity, "design": accuracies,
    "receptive": accuracies, "scalability": scalability_page, "speed": speed_page, "rivals": rivals_page,
    "interpret": weights_page,
}  # fmt: skip
"""Experiment → what makes its page from its grid."""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the arguments of the command.

    Returns
    -------
    ArgumentParser
    """
    parser = add_command(subparsers, "bench", __doc__, run)
    add = parser.add_argument
    what = ", ".join([*EXPERIMENTS, "all", "recipe", "page"])
    add("experiment", metavar="EXPERIMENT", help=f"one of {what}")
    add("file", nargs="?", metavar="FILE", help="of `recipe`: your own recipe; of `page`: the file to write")
    add("--quick", action="store_true", help="a reduced protocol, in minutes")
    add("--out", metavar="FOLDER", default="slimg-bench", help="where records and tables go (slimg-bench)")
    add("--data", metavar="NAMES", help="only these columns, separated by commas")
    add("--models", metavar="NAMES", help="only these rows, separated by commas")
    add("--model", metavar="FILE.py:NAME", action="append", default=[], help="your own model as a row")
    add("--seeds", type=int, help="splits of each graph")
    add("--jobs", type=int, help="processes at a time (1; --quick: one per core), but for what is timed")
    add("--memory", type=float, metavar="GIB", help="memory that a process may take; more is O.O.M.")
    add("--minutes", type=float, default=float("inf"), help="begin nothing new after this long")
    add("--retry", nargs="?", const="failed", choices=("failed", "all"), help="run cells again that failed, or all")
    add("--no-run", action="store_true", help="only print and write what is recorded")
    add("--recipe", metavar="FILE", action="append", default=[],
        help="of `page`: a recipe in the place of the experiment of its name, or added")  # fmt: skip
    return parser


def run(args: argparse.Namespace) -> int:
    """Run what is not recorded, print and write the tables.

    Returns
    -------
    int
        The exit code: 1 if cells failed.
    """
    _check(args)
    out = Path(args.out)
    store = Store(out / "records.jsonl")
    if args.experiment == "page":
        write_page(Path(args.file), store, args.recipe)
        print(f"{args.file}: written from {len(store.records)} records of {store.path}")
        return 0
    own = {address.rpartition(":")[2]: {"kind": address} for address in args.model}
    limits = (_names(args.data), _names(args.models), args.seeds)
    found = [(recipe.narrowed(*limits).with_models(own), page)
             for recipe, page in chosen(args.experiment, args.file, args.quick)]  # fmt: skip
    for note in store.notes:
        print(f"slimg: {note}", file=sys.stderr)
    if not args.no_run:
        _run_missing(args, [recipe for recipe, _ in found], store)
    return int(sum([show(Grid.of(recipe, store), page, out) for recipe, page in found]) > 0)


def chosen(name: str, file: str | None = None, quick: bool = False) -> list[tuple[Recipe, MakePage]]:
    """Choose one experiment, all of them, or the recipe of a file, which has the page of the experiment of its name.

    Returns
    -------
    list of (Recipe, function)
        Each with what makes its page.
    """
    if file is not None:
        recipe = Recipe.read(file, quick)
        return [(recipe, EXPERIMENTS.get(recipe.name, accuracies))]
    if name != "all" and name not in EXPERIMENTS:
        raise choices("experiment", name, [*EXPERIMENTS, "all", "recipe"])
    return [(Recipe.named(each, quick), page) for each, page in EXPERIMENTS.items() if name in ("all", each)]


def show(grid: Grid, make_page: MakePage, out: Path) -> int:
    """Print the page of a grid and write it as Markdown and LaTeX.

    Returns
    -------
    int
        How many cells failed.
    """
    from rich.console import Console

    out.mkdir(parents=True, exist_ok=True)
    page = make_page(grid).draw(out)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else PRINTED_WIDTH)
    for piece in page.renderables(console.width):
        console.print(piece)
    for ending, text in (("md", page.markdown()), ("tex", page.latex())):
        write_text(text, out / f"{grid.recipe.name}{grid.recipe.suffix}.{ending}")
    return sum(record["status"] != "ok" for records in grid.records.values() for record in records)


def write_page(target: Path, store: Store, recipes: list[str]) -> None:
    """Write Markdown of every experiment that has records: ``slimg bench page FILE``.

    Parameters
    ----------
    target : Path
        File to write.
    store : Store
        The records. Figures are written beside it, and the page refers to them there.
    recipes : list of str
        Files; a recipe replaces the experiment of its name, or is added.
    """
    counted = Counter(record["status"] for record in store.records.values())
    counts = ", ".join(f"{count} {status}" for status, count in counted.most_common())
    parts = [
        "# Results\n\n"
        f"Generated by `slimg bench page` from [{store.path.name}]({os.path.relpath(store.path, target.parent)}):"
        f" {len(store.records)} cells ({counts}). Nothing here is typed. Each table says what was run, and under it with"
        " which commits and versions. The paper is \"Less is More: SlimG for Accurate, Robust, and Interpretable Graph"
        " Mining\" (KDD '23).\n"
    ]
    own = {recipe.name: recipe for recipe in map(Recipe.read, recipes)}
    for name in dict.fromkeys([*EXPERIMENTS, *own]):
        recipe = own.get(name) or Recipe.named(name)
        grid = Grid.of(recipe, store)
        if grid.records:
            page = EXPERIMENTS.get(name, accuracies)(grid).add(_provenance(grid))
            parts.append(page.draw(store.path.parent, target.parent).markdown(level=2))
        else:
            parts.append(f"## {recipe.title}\n\nNot run yet.\n")
    write_text("\n".join(parts), target)


def _provenance(grid: Grid) -> str:
    """Commits, machines and versions of the cells of a table, and where imported ones come from."""
    records = [record for each in grid.records.values() for record in each]
    counted = Counter(str(record.get("commit") or "installed") for record in records)
    commits = ", ".join(f"{commit} ({count})" for commit, count in counted.most_common())
    machines = ", ".join(dict.fromkeys(f"{record['cpu']}, {record['cores']} cores" for record in records))
    versions = dict.fromkeys(f"{name} {number}" for record in records for name, number in record["versions"].items())
    imported = Counter(str(record.get("source", "")) for record in records)
    sources = ", ".join(f"{count} from {source}" for source, count in imported.items() if source)
    return (
        f"*{len(records)} cells{'; ' + sources if sources else ''}. Commits (cells): {commits}; + marks a tree with changes."
        f" Machine: {machines}. Versions: {', '.join(versions)}.*"
    )


def _run_missing(args: argparse.Namespace, recipes: list[Recipe], store: Store) -> None:
    """What is timed first and by itself, so that no other recipe records the same cell beside other work."""
    jobs = args.jobs or (cores() if args.quick else 1)
    memory, end = None if args.memory is None else int(args.memory * 2**30), time.monotonic() + 60 * args.minutes
    for alone in (True, False):
        cells = [cell for recipe in recipes if recipe.alone is alone for cell in recipe.cells()]
        left = (end - time.monotonic()) / 60
        with progress_bar("timed cells" if alone else "cells") as report:
            at_once = 1 if alone else jobs
            run_cells(cells, store, jobs=at_once, memory=memory, minutes=left, retry=args.retry, report=report)


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
