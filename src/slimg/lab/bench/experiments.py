"""The experiments of the paper: a recipe each and what is made from its records, and the one page of all results."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from slimg.errors import choices
from slimg.lab.bench.accuracy_table import accuracy_table, legend
from slimg.lab.bench.figures import polynomials
from slimg.lab.bench.grid import Grid
from slimg.lab.bench.recipe import Recipe
from slimg.lab.bench.sanity_pages import sanity_page, weights_page
from slimg.lab.bench.store import Store
from slimg.lab.bench.timing_pages import scalability_page, speed_page
from slimg.lab.tables import Page, Picture
from slimg.system import atomic_write

PRINTED_WIDTH = 160
"""Columns where the output is no terminal."""
Pages = Callable[[Grid, Path | None], Page]


def accuracies(grid: Grid, folder: Path | None) -> Page:
    """Make the page with the table of a recipe.

    Returns
    -------
    Page
    """
    return Page(grid.recipe.title).add(*legend(grid), accuracy_table(grid))


def simplicity(grid: Grid, folder: Path | None) -> Page:
    """Make the page with the table of nonlinear variants, and the figure on why less may be more.

    Returns
    -------
    Page
    """
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
    """A recipe and the function that makes its page."""

    recipe: Recipe
    pages: Pages

    def show(self, store: Store, out: Path) -> int:
        """Print the page and write it as Markdown and LaTeX.

        Returns
        -------
        int
            How many cells failed.
        """
        from rich.console import Console

        grid = Grid.of(self.recipe, store)
        out.mkdir(parents=True, exist_ok=True)
        page = self.pages(grid, out)
        console = Console(highlight=False, width=None if sys.stdout.isatty() else PRINTED_WIDTH)
        for piece in page.renderables(console.width):
            console.print(piece)
        for ending, text in (("md", page.markdown()), ("tex", page.latex())):
            _write(out / f"{self.recipe.name}{self.recipe.suffix}.{ending}", text)
        return sum(record["status"] != "ok" for records in grid.records.values() for record in records)


@dataclass(frozen=True)
class Limits:
    """Which columns, rows and seeds of a recipe are run (None: all), and models of the user as further rows."""

    data: list[str] | None = None
    models: list[str] | None = None
    seeds: int | None = None
    own: tuple[str, ...] = ()

    def of(self, recipe: Recipe) -> Recipe:
        """Apply the limits.

        Returns
        -------
        Recipe
        """
        rows = {address.rpartition(":")[2]: {"kind": address} for address in self.own}
        return recipe.narrowed(self.data, self.models, self.seeds).with_models(rows)


def chosen(name: str, file: str | None = None, quick: bool = False, limits: Limits | None = None) -> list[Experiment]:
    """Choose one experiment, all of them, or the recipe of a file, which has the page of the experiment of its name.

    Returns
    -------
    list of Experiment
    """
    if file is not None:
        recipe = Recipe.read(file, quick)
        found = [(recipe, EXPERIMENTS.get(recipe.name, accuracies))]
    elif name == "all" or name in EXPERIMENTS:
        found = [(Recipe.named(each, quick), EXPERIMENTS[each]) for each in (EXPERIMENTS if name == "all" else [name])]
    else:
        raise choices("experiment", name, [*EXPERIMENTS, "all", "recipe"])
    return [Experiment((limits or Limits()).of(recipe), pages) for recipe, pages in found]


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
    folder = store.path.parent
    parts = [_opening(store, target)]
    own = [Recipe.read(path) for path in recipes]
    replaced = {recipe.name: recipe for recipe in own}
    experiments = [(replaced.get(name) or Recipe.named(name), pages) for name, pages in EXPERIMENTS.items()]
    experiments += [(recipe, accuracies) for recipe in own if recipe.name not in EXPERIMENTS]
    for recipe, pages in experiments:
        grid = Grid.of(recipe, store)
        if grid.records:
            parts.append(_linked(pages(grid, folder), folder, target).add(_provenance(grid)).markdown(level=2))
        else:
            parts.append(f"## {recipe.title}\n\nNot run yet.\n")
    target.parent.mkdir(parents=True, exist_ok=True)
    _write(target, "\n".join(parts))


def _opening(store: Store, target: Path) -> str:
    path = os.path.relpath(store.path, target.parent)
    states = Counter(record["status"] for record in store.records.values())
    counts = ", ".join(f"{count} {status}" for status, count in states.most_common())
    return (
        "# Results\n\n"
        f"Generated by `slimg bench page` from [{store.path.name}]({path}): {len(store.records)} cells ({counts}). Nothing"
        " here is typed. Each table says what was run, and under it with which commits and versions. The paper is \"Less is"
        " More: SlimG for Accurate, Robust, and Interpretable Graph Mining\" (KDD '23).\n"
    )


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


def _linked(page: Page, folder: Path, target: Path) -> Page:
    """The page with the paths of its figures as seen from the target."""
    parts = [
        Picture(os.path.relpath(folder / part.path, target.parent), part.caption) if isinstance(part, Picture) else part
        for part in page.parts
    ]
    return Page(page.title, parts)


def _write(path: Path, text: str) -> None:
    with atomic_write(path) as file:
        file.write(text)
