"""Records of a recipe as a grid and its table: rows are models, columns are graphs, with the paper's figures beside ours.

cell     mean and standard deviation of the accuracies over the seeds, or why there is none
rank     over the columns in which every ranked row was run, among the ranked rows; generated graphs do not count. Where rows
         have different splits, places, medals and red cells compare them on the splits that all ranked rows have
paper    the paper's average rank over the same columns among the same rows, computed from its table by the same rule

In each cell of the table are ours, the paper's, and the difference of the means. Columns of generated graphs are marked with
* and have no number of the paper. The last column has the average ranks, ours and the paper's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

import numpy as np

import slimg.lab.shared.paper as paper
from slimg.graph.columns import number_of
from slimg.lab.baselines import LINEAR
from slimg.lab.bench.models import is_reduced, protocol
from slimg.lab.bench.recipe import Recipe
from slimg.lab.bench.store import Record, Store
from slimg.lab.datasets.dataset import table
from slimg.lab.propagators.registry import kind_of
from slimg.lab.sanity.case import EMPTY
from slimg.lab.sanity.report import Cell as Figures
from slimg.lab.sanity.report import mean_and_sd
from slimg.lab.shared.tables import Entry, Table

OOM = "O.O.M."


@dataclass(frozen=True)
class Grid:
    """What is known of each (row, column) of a recipe; cells that were not run are not in ``figures``.

    ``paired`` has the figures on the splits that all ranked rows have on a column; those of ``figures`` if it is not given.
    ``common`` : column → how many splits these are
    """

    recipe: Recipe
    figures: dict[tuple[str, str], Figures]
    records: dict[tuple[str, str], list[Record]]
    paired: dict[tuple[str, str], Figures] = field(default_factory=dict)
    common: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, recipe: Recipe, store: Store) -> Grid:
        found: dict[tuple[str, str], dict[int, Record]] = {}
        for row, column in product(recipe.models, recipe.data):
            cells = {seed: recipe.cell(row, column, seed).key for seed in range(recipe.seeds_of(row))}
            if there := {seed: store.records[key] for seed, key in cells.items() if key in store.records}:
                found[row, column] = there
        records = {place: list(there.values()) for place, there in found.items()}
        figures = {place: _figures(each) for place, each in records.items()}
        common = {column: _common(recipe, column, found) for column in recipe.data}
        paired = {
            (row, column): _figures([there[seed] for seed in sorted(common[column])])
            for (row, column), there in found.items()
            if common[column] and common[column] <= set(there)
        }
        return cls(recipe, figures, records, paired, {column: len(seeds) for column, seeds in common.items()})

    @property
    def rows(self) -> list[str]:
        """Models with any cell."""
        return [row for row in self.recipe.models if any(key[0] == row for key in self.figures)]

    @property
    def ranked(self) -> list[str]:
        """Rows that have a place: those of the paper that were run at all."""
        return [row for row in self.rows if row not in self.recipe.unranked]

    @cached_property
    def judged(self) -> list[str]:
        """Columns over which ranks are averaged."""
        real = [column for column in self.recipe.data if column not in self.recipe.synthetic and column not in EMPTY]
        return [column for column in real if all((row, column) in self.figures for row in self.ranked)]

    def title(self, row: str) -> str:
        """The title of a row."""
        return row_title(self.recipe, row)

    def paper(self, row: str, column: str) -> tuple[float, float] | str | None:
        """The paper's cell, SlimG's for each way to search its penalties; none for a generated graph, another graph."""
        if self.recipe.paper is None or column in self.recipe.synthetic:
            return None
        return paper.accuracy(self.recipe.paper, "slimg" if row == "slimg-path" else row, column)

    def medal(self, row: str, column: str) -> str | None:
        return self._colours(column).get(row, (None, False))[0]

    def is_red(self, row: str, column: str) -> bool:
        return self._colours(column).get(row, (None, False))[1]

    def average_rank(self, row: str, instead_of: str | None = None) -> tuple[float, float]:
        """Ours over `judged`, also of an unranked row in the place of a ranked one; NaN unless it was run there."""
        rows = [row if each == instead_of else each for each in self.ranked]
        if row not in rows or not self.judged or any((row, column) not in self.figures for column in self.judged):
            return float("nan"), float("nan")
        means = np.array([[self._compared(each, column).mean for column in self.judged] for each in rows])
        return paper.over_cases(paper.ranks(means)[rows.index(row)])

    def paper_rank(self, row: str) -> tuple[float, float] | None:
        """The paper's, over the same rows and columns; None where its table lacks one of them."""
        cells = [[self.paper(each, column) for column in self.judged] for each in self.ranked]
        if row not in self.ranked or not self.judged or any(cell is None for line in cells for cell in line):
            return None
        means = np.array([[cell[0] if isinstance(cell, tuple) else np.nan for cell in line] for line in cells])
        return paper.over_cases(paper.ranks(means)[self.ranked.index(row)])

    def _compared(self, row: str, column: str) -> Figures:
        return self.paired.get((row, column), self.figures[row, column])

    def _colours(self, column: str) -> dict[str, tuple[str | None, bool]]:
        """Medals and red cells among the ranked rows; none until all of them were run on this graph."""
        rows = self.ranked
        if not rows or column in EMPTY or any((row, column) not in self.figures for row in rows):
            return {}
        means = np.array([[self._compared(row, column).mean] for row in rows])
        spreads = np.array([[self.figures[row, column].spread] for row in rows])  # of all splits that a row has
        return dict(zip(rows, paper.colours(means, spreads), strict=True))


def row_title(recipe: Recipe, row: str) -> str:
    """Return the title of a model.

    Returns
    -------
    str
    """
    if recipe.name == "receptive" and row == "slimg":
        return "k_row 2; k_sym 2 (SlimG)"
    return paper.tables()["row_titles"].get(row) or (kind_of(row).title if row in LINEAR else row)


def marked_title(recipe: Recipe, row: str) -> str:
    """Return the title of a model, with † if it was given less than the paper gives it.

    Returns
    -------
    str
    """
    return row_title(recipe, row) + (" †" if is_reduced(recipe.models[row]) else "")


def column_title(column: str) -> str:
    """Return the title of a graph.

    Returns
    -------
    str
    """
    return table()[column].title if column in table() else column


def accuracy_table(grid: Grid) -> Table:
    """Make the table of a grid.

    Returns
    -------
    Table
        Rows are models, columns graphs; rows without any cell are left out.
    """
    recipe = grid.recipe
    columns = [column for column in recipe.data if any(key[1] == column for key in grid.figures)]
    starred = tuple(column_title(column) + ("*" if column in recipe.synthetic else "") for column in columns)
    with_ranks = len(grid.ranked) > 1
    body: list[list[Entry | str]] = []
    for row in grid.rows:
        ranks = [_rank(grid, row)] if with_ranks else []
        body.append([marked_title(recipe, row), *(_entry(grid, row, column) for column in columns), *ranks])
    return Table(("", *starred, *["avg. rank"] * with_ranks), body, recipe.label + recipe.title)


def legend(grid: Grid) -> list[str]:
    """Say what the table shows and what was run.

    Returns
    -------
    list of str
        Sentences.
    """
    recipe = grid.recipe
    shares = " / ".join(f"{100 * share:g}" for share in recipe.split)
    one = recipe.seeds == 1
    over = "on one split" if one else f"mean ± standard deviation over {recipe.seeds} splits"
    beside = ", below it the paper's and the difference of the means." if recipe.paper else "."
    red = "with one split no cell can be red." if one else "▼ more than 2σ of the third place below it."
    sentences = [
        f"{recipe.label.replace(': ', '. ')}Test accuracy in percent, {over} ({shares} % train / validation / test,"
        f" stratified){beside} ① ② ③ best three; {red}",
        *protocols(grid),
        recipe.about,
    ]
    if recipe.synthetic:
        sentences.append(
            "* Generated in place of graphs whose files are not here: made up, smaller, and no measure of the graphs they"
            " are named after."
        )
    if len(grid.ranked) > 1 and grid.judged:
        names = ", ".join(column_title(column) for column in grid.judged)
        theirs = "; below it the paper's, by the same rule from its own table" if grid.paper_rank(grid.ranked[0]) else ""
        sentences.append(f"Average rank (standard deviation) among {len(grid.ranked)} models over {names}{theirs}.")
        sentences += [_paired(grid), _standing(grid), _instead(grid)]
    if recipe.missing:
        sentences.append(f"Not run, because their files are not here: {', '.join(map(column_title, recipe.missing))}.")
    return [*filter(None, sentences), *_failures(grid)]


def _entry(grid: Grid, row: str, column: str) -> Entry:
    figures, theirs = grid.figures.get((row, column)), grid.paper(row, column)
    printed = [] if theirs is None else [f"{theirs[0]:.1f}±{theirs[1]:.1f}" if isinstance(theirs, tuple) else OOM]
    if figures is None:
        return Entry("–", *printed)
    if figures.error:
        return Entry(OOM if figures.error == OOM else "failed", *printed, style="red")
    if isinstance(theirs, tuple):
        printed.append(signed(100 * figures.mean - theirs[0]))
    count, expected = len(figures.accuracies), grid.recipe.seeds_of(row)
    text = str(figures) + (f" ({count} of {expected})" if count < expected else "")
    return Entry(text, *printed, style="red" if grid.is_red(row, column) else grid.medal(row, column) or "")


def _rank(grid: Grid, row: str) -> Entry:
    if row not in grid.ranked or not grid.judged:
        return Entry("–")
    theirs = grid.paper_rank(row)
    return Entry(mean_and_sd(*grid.average_rank(row)), *((mean_and_sd(*theirs),) if theirs else ()), style="bold")


def protocols(grid: Grid) -> list[str]:
    """Describe reduced protocols, and rows with fewer splits than the others.

    Returns
    -------
    list of str
        A sentence per protocol.
    """
    recipe = grid.recipe
    found: dict[str, list[str]] = {}
    for row in grid.rows:
        if is_reduced(recipe.models[row]):
            fewer = f", {number_of(recipe.fewer_seeds[row], 'split')}" if row in recipe.fewer_seeds else ""
            found.setdefault(protocol(recipe.models[row]) + fewer, []).append(grid.title(row))
    return [f"† {', '.join(rows)}: protocol {name}." for name, rows in found.items()]


def _paired(grid: Grid) -> str:
    """On how many splits rows are compared, where not all have the same."""
    fewer = {column: grid.common[column] for column in grid.judged if 0 < grid.common.get(column, 0) < grid.recipe.seeds}
    if not fewer:
        return ""
    alike = len(fewer) == len(grid.judged) and len(set(fewer.values())) == 1
    each = ", ".join(f"{column_title(column)} {count}" for column, count in fewer.items())
    count = number_of(min(fewer.values()), "split") if alike else each
    return f"Places, ranks and red cells compare the models on the splits that all of them have ({count})."


def _standing(grid: Grid) -> str:
    """Who is first, and who has no red cell, in the columns that are judged."""
    ranks = {row: grid.average_rank(row)[0] for row in grid.ranked}
    best = ", then ".join(f"{grid.title(row)} ({ranks[row]:.1f})" for row in sorted(ranks, key=lambda row: ranks[row])[:3])
    if grid.recipe.seeds == 1:
        return f"Best average ranks: {best}."
    clean = [grid.title(row) for row in ranks if not any(grid.is_red(row, column) for column in grid.judged)]
    return f"Best average ranks: {best}. Without a red cell: {', '.join(clean) or 'none'}."


def _instead(grid: Grid) -> str:
    """The rank of the default path, had it been ranked in the place of the paper's twelve pairs."""
    rank = mean_and_sd(*grid.average_rank("slimg-path", instead_of="slimg"))
    if "slimg-path" not in grid.recipe.unranked or rank == "–":
        return ""
    return (
        "SlimG is ranked with the paper's twelve pairs of penalties. Its default path in their place would have an average"
        f" rank of {rank}; its pairs were chosen by test accuracy on Cora, Chameleon,"
        " PubMed and Squirrel, its shares for components fitted separately with the test accuracies of all in view."
    )


def _failures(grid: Grid, shown: int = 6) -> Iterator[str]:
    """One sentence per reason."""
    reasons: dict[str, dict[str, None]] = {}
    for (row, column), records in grid.records.items():
        for record in records:
            if record["status"] != "ok":
                place = f"{grid.title(row)} on {column_title(column)}"
                reasons.setdefault(f"{record['status']}: {record.get('error', '')}", {})[place] = None
    for reason, places in reasons.items():
        more = f" and {len(places) - shown} more" if len(places) > shown else ""
        yield f"{', '.join(list(places)[:shown])}{more}: {reason}."


def signed(difference: float) -> str:
    """Write a number with its sign, − and not a hyphen.

    Returns
    -------
    str
    """
    return f"{difference:+.1f}".replace("-", "−")


def _common(recipe: Recipe, column: str, found: dict[tuple[str, str], dict[int, Record]]) -> set[int]:
    """The splits that every ranked row has on a column, among those that were run there."""
    rows = [set(there) for (row, where), there in found.items() if where == column and row not in recipe.unranked]
    return set.intersection(*rows) if rows else set()


def _figures(records: list[Record]) -> Figures:
    """Accuracies of the seeds that gave one; an error only if none did."""
    accuracies = tuple(record["accuracy"] for record in records if record["status"] == "ok")
    seconds = sum(record.get("wall", 0.0) for record in records)
    if accuracies:
        return Figures(accuracies, None, seconds)
    ran_out = any(record["status"] == "oom" for record in records)
    return Figures((), OOM if ran_out else str(records[0].get("error", "failed")), seconds)
