"""Records of a recipe as a grid: rows are models, columns are graphs, with the paper's figures beside ours.

cell     mean and standard deviation of the accuracies over the seeds, or why there is none
rank     over the columns in which every ranked row was run, among the ranked rows; generated graphs do not count. Where rows
         have different splits, places, medals and red cells compare them on the splits that all ranked rows have
paper    the paper's average rank over the same columns among the same rows, computed from its table by the same rule
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from slimg.lab import paper
from slimg.lab.baselines import LINEAR
from slimg.lab.bench.models import is_reduced
from slimg.lab.bench.recipe import Recipe
from slimg.lab.bench.store import Record, Store
from slimg.lab.datasets.dataset import table
from slimg.lab.propagators.registry import kind_of
from slimg.lab.sanity import ranking
from slimg.lab.sanity.case import EMPTY
from slimg.lab.sanity.report import Cell as Figures

OOM = "O.O.M."
ROWS = {
    "slimg": "SlimG", "slimg-path": "SlimG, default path", "gcn": "GCN", "sage": "SAGE", "gcnii": "GCNII", "h2gcn": "H₂GCN",
    "appnp": "APPNP", "gprgnn": "GPR-GNN", "gat": "GAT", "linkx": "LINKX", "c1": "SlimG-C1 (U)", "c2": "SlimG-C2 (X)",
    "c3": "SlimG-C3 (A_row² X)", "c4": "SlimG-C4 (Ã_sym² X)", "mlp2": "w/ MLP-2", "mlp3": "w/ MLP-3",
    "nonlinear": "w/ NL Trans.", "no-sparsity": "w/o Sp. Reg.", "no-pca": "w/o PCA", "no-u": "w/o Struct. U",
    "row246-sym234": "k_row 2,4,6; k_sym 2,3,4", "row24-sym23": "k_row 2,4; k_sym 2,3", "row6-sym4": "k_row 6; k_sym 4",
    "row4-sym3": "k_row 4; k_sym 3",
}  # fmt: skip
"""Row → title, where it is not that of its propagator."""


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
        for row in recipe.models:
            for column in recipe.data:
                cells = {seed: recipe.cell(row, column, seed).key for seed in range(recipe.seeds_of(row))}
                there = {seed: record for seed, key in cells.items() if (record := store.get(key)) is not None}
                if there:
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

    def paper(self, row: str, column: str) -> tuple[float, float] | str | None:
        """The paper's cell; none for a generated graph, which is another graph."""
        if self.recipe.paper is None or column in self.recipe.synthetic:
            return None
        return paper.accuracy(self.recipe.paper, _row_of_paper(row), column)

    @property
    def ranked(self) -> list[str]:
        """Rows that have a place: those of the paper that were run at all."""
        rows = [row for row in self.recipe.models if row not in self.recipe.unranked]
        return [row for row in rows if any(key[0] == row for key in self.figures)]

    @cached_property
    def judged(self) -> list[str]:
        """Columns over which ranks are averaged."""
        real = [column for column in self.recipe.data if column not in self.recipe.synthetic and column not in EMPTY]
        return [column for column in real if all((row, column) in self.figures for row in self.ranked)]

    def medal(self, row: str, column: str) -> str | None:
        return self._colours(column)[0].get(row)

    def is_red(self, row: str, column: str) -> bool:
        return self._colours(column)[1].get(row, False)

    def average_rank(self, row: str) -> tuple[float, float]:
        """Ours, over `judged`."""
        means = np.array([[self._compared(each, column).mean for column in self.judged] for each in self.ranked])
        return self._averaged(row, means)

    def rank_instead(self, row: str, of: str) -> tuple[float, float]:
        """The average rank that an unranked row would have in the place of a ranked one; NaN unless it was run there."""
        if of not in self.ranked or any((row, column) not in self.figures for column in self.judged):
            return float("nan"), float("nan")
        rows = [row if each == of else each for each in self.ranked]
        means = np.array([[self._compared(each, column).mean for column in self.judged] for each in rows])
        return self._averaged(of, means)

    def paper_rank(self, row: str) -> tuple[float, float] | None:
        """The paper's, over the same rows and columns; None where its table lacks one of them."""
        cells = [[self.paper(each, column) for column in self.judged] for each in self.ranked]
        if not self.judged or any(cell is None for line in cells for cell in line):
            return None
        means = np.array([[np.nan if isinstance(cell, str) or cell is None else cell[0] for cell in line] for line in cells])
        return self._averaged(row, means)

    def _compared(self, row: str, column: str) -> Figures:
        return self.paired.get((row, column), self.figures[row, column])

    def _averaged(self, row: str, means: np.ndarray) -> tuple[float, float]:
        if not self.judged or row not in self.ranked:
            return float("nan"), float("nan")
        return ranking.over_cases(ranking.ranks(means)[self.ranked.index(row)])

    def _colours(self, column: str) -> tuple[dict[str, str | None], dict[str, bool]]:
        """Medals and red cells among the ranked rows; none until all of them were run on this graph."""
        rows = self.ranked
        if not rows or column in EMPTY or any((row, column) not in self.figures for row in rows):
            return {}, {}
        means = np.array([[self._compared(row, column).mean] for row in rows])
        spreads = np.array([[self.figures[row, column].spread] for row in rows])  # of all splits that a row has
        medals = [each[0] for each in ranking.medals(means)]
        red = ranking.red_cells(means, spreads)[:, 0].tolist()
        return dict(zip(rows, medals, strict=True)), dict(zip(rows, red, strict=True))



def row_title(recipe: Recipe, row: str) -> str:
    """Return the title of a model.

    Returns
    -------
    str
    """
    if recipe.name == "receptive" and row == "slimg":
        return "k_row 2; k_sym 2 (SlimG)"
    if row in ROWS:
        return ROWS[row]
    return kind_of(row).title if row in LINEAR else row


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


def _common(recipe: Recipe, column: str, found: dict[tuple[str, str], dict[int, Record]]) -> set[int]:
    """The splits that every ranked row has on a column, among those that were run there."""
    rows = [set(there) for (row, where), there in found.items() if where == column and row not in recipe.unranked]
    return set.intersection(*rows) if rows else set()


def _row_of_paper(row: str) -> str:
    """SlimG is one row of the paper, however its penalties are searched."""
    return "slimg" if row == "slimg-path" else row


def _figures(records: list[Record]) -> Figures:
    """Accuracies of the seeds that gave one; an error only if none did."""
    accuracies = tuple(record["accuracy"] for record in records if record["status"] == "ok")
    seconds = sum(record.get("wall", 0.0) for record in records)
    if accuracies:
        return Figures(accuracies, None, seconds)
    ran_out = any(record["status"] == "oom" for record in records)
    return Figures((), OOM if ran_out else str(records[0].get("error", "failed")), seconds)
