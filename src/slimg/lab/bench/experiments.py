"""The experiments of the paper: a recipe each, and what is made from its records."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from slimg.errors import choices
from slimg.lab.bench.accuracy_table import accuracy_table, legend
from slimg.lab.bench.figures import polynomials
from slimg.lab.bench.grid import Grid
from slimg.lab.bench.page import Page, Picture, to_console, to_latex, to_markdown
from slimg.lab.bench.recipe import Recipe
from slimg.lab.bench.sanity_page import sanity_page
from slimg.lab.bench.store import Store
from slimg.lab.bench.timing_pages import scalability_page, speed_page
from slimg.lab.bench.weights_page import weights_page

PRINTED_WIDTH = 160
"""Columns where the output is no terminal."""
Pages = Callable[[Grid, Path | None], Page]


def accuracies(grid: Grid, folder: Path | None) -> Page:
    """The table of a recipe."""
    return Page(grid.recipe.title).add(*legend(grid), accuracy_table(grid))


def simplicity(grid: Grid, folder: Path | None) -> Page:
    """The table of nonlinear variants, and why less may be more."""
    page = accuracies(grid, folder)
    if folder is not None:
        polynomials(folder / "less-is-more.svg")
        page.add(Picture("less-is-more.svg", "Less is more: 100 points without any trend, and polynomials fitted to them"))
    return page


EXPERIMENTS: dict[str, Pages] = {
    "sanity": sanity_page,
    "real": accuracies,
    "components": accuracies,
    "linearity": simplicity,
    "design": accuracies,
    "receptive": accuracies,
    "scalability": scalability_page,
    "speed": speed_page,
    "interpret": weights_page,
}
"""Experiment → what makes its page from its grid; figures are written into the folder, if one is given."""


@dataclass(frozen=True)
class Experiment:
    """A recipe and the maker of its page."""

    recipe: Recipe
    pages: Pages

    def show(self, store: Store, out: Path) -> int:
        """Print the page and write it as Markdown and LaTeX; how many cells failed."""
        from rich.console import Console

        grid = Grid.of(self.recipe, store)
        out.mkdir(parents=True, exist_ok=True)
        page = self.pages(grid, out)
        console = Console(highlight=False, width=None if sys.stdout.isatty() else PRINTED_WIDTH)
        for piece in to_console(page, console.width):
            console.print(piece)
        name = self.recipe.name + ("-quick" if self.recipe.quick else "")
        for ending, text in (("md", to_markdown(page)), ("tex", to_latex(page))):
            write(out / f"{name}.{ending}", text)
        return sum(record["status"] != "ok" for records in grid.records.values() for record in records)


@dataclass(frozen=True)
class Limits:
    """Which columns, rows and seeds of a recipe are run (None: all), and models of the user's as further rows."""

    data: list[str] | None = None
    models: list[str] | None = None
    seeds: int | None = None
    own: tuple[str, ...] = ()

    def of(self, recipe: Recipe) -> Recipe:
        rows = {address.rpartition(":")[2]: {"kind": address} for address in self.own}
        return recipe.narrowed(self.data, self.models, self.seeds).with_models(rows)


def chosen(name: str, file: str | None = None, quick: bool = False, limits: Limits | None = None) -> list[Experiment]:
    """One experiment, all of them, or a recipe of the user's; narrowed to some rows, columns and seeds.

    A recipe with the name of an experiment has its page.
    """
    if file is not None:
        recipe = Recipe.read(file, quick)
        found = [Experiment(recipe, EXPERIMENTS.get(recipe.name, accuracies))]
    elif name == "all":
        found = [Experiment(Recipe.named(each, quick), pages) for each, pages in EXPERIMENTS.items()]
    elif name in EXPERIMENTS:
        found = [Experiment(Recipe.named(name, quick), EXPERIMENTS[name])]
    else:
        raise choices("experiment", name, [*EXPERIMENTS, "all", "recipe"])
    return [Experiment((limits or Limits()).of(each.recipe), each.pages) for each in found]


def write(path: Path, text: str) -> None:
    """The whole file or nothing."""
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)
