"""Records of a recipe as a grid: rows are models, columns are graphs, with the paper's figures beside ours.

cell     mean and standard deviation of the accuracies over the seeds, or why there is none
rank     over the columns in which every ranked row was run, among the ranked rows; stand-ins have no part in it
paper    the paper's average rank over the same columns among the same rows, computed from its table by the same rule
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from slimg.bench import paper
from slimg.bench.recipe import Recipe
from slimg.bench.store import Record, Store
from slimg.sanity import ranking
from slimg.sanity.report import Cell as Figures
from slimg.sanity.scenarios import EMPTY

OOM = "O.O.M."


@dataclass(frozen=True)
class Grid:
    """What is known of each (row, column) of a recipe; cells that were not run are not in ``figures``."""

    recipe: Recipe
    figures: dict[tuple[str, str], Figures]
    records: dict[tuple[str, str], list[Record]]

    @classmethod
    def of(cls, recipe: Recipe, store: Store) -> Grid:
        figures, records = {}, {}
        for row in recipe.models:
            for column in recipe.data:
                cells = [recipe.cell(row, column, seed) for seed in range(recipe.seeds_of(row))]
                found = [record for cell in cells if (record := store.get(cell.key)) is not None]
                if found:
                    figures[row, column], records[row, column] = _figures(found), found
        return cls(recipe, figures, records)

    def paper(self, row: str, column: str) -> tuple[float, float] | str | None:
        """The paper's cell; none for a stand-in, which is another graph."""
        if self.recipe.paper is None or column in self.recipe.standins:
            return None
        return paper.figure(self.recipe.paper, _row_of_paper(row), column)

    @property
    def ranked(self) -> list[str]:
        """Rows that have a place: those of the paper that were run at all."""
        rows = [row for row in self.recipe.models if row not in self.recipe.unranked]
        return [row for row in rows if any(key[0] == row for key in self.figures)]

    @cached_property
    def judged(self) -> list[str]:
        """Columns over which ranks are averaged."""
        real = [column for column in self.recipe.data if column not in self.recipe.standins and column not in EMPTY]
        return [column for column in real if all((row, column) in self.figures for row in self.ranked)]

    def medal(self, row: str, column: str) -> str | None:
        return self._colours(column)[0].get(row)

    def is_red(self, row: str, column: str) -> bool:
        return self._colours(column)[1].get(row, False)

    def average_rank(self, row: str) -> tuple[float, float]:
        """Ours, over `judged`."""
        means = np.array([[self.figures[each, column].mean for column in self.judged] for each in self.ranked])
        return self._averaged(row, means)

    def rank_instead(self, row: str, of: str) -> tuple[float, float]:
        """The average rank that an unranked row would have in the place of a ranked one; NaN unless it was run there."""
        if of not in self.ranked or any((row, column) not in self.figures for column in self.judged):
            return float("nan"), float("nan")
        rows = [row if each == of else each for each in self.ranked]
        means = np.array([[self.figures[each, column].mean for column in self.judged] for each in rows])
        return self._averaged(of, means)

    def paper_rank(self, row: str) -> tuple[float, float] | None:
        """The paper's, over the same rows and columns; None where its table lacks one of them."""
        cells = [[self.paper(each, column) for column in self.judged] for each in self.ranked]
        if not self.judged or any(cell is None for line in cells for cell in line):
            return None
        means = np.array([[np.nan if isinstance(cell, str) or cell is None else cell[0] for cell in line] for line in cells])
        return self._averaged(row, means)

    def _averaged(self, row: str, means: np.ndarray) -> tuple[float, float]:
        if not self.judged or row not in self.ranked:
            return float("nan"), float("nan")
        return ranking.over_cases(ranking.ranks(means)[self.ranked.index(row)])

    def _colours(self, column: str) -> tuple[dict[str, str | None], dict[str, bool]]:
        """Medals and red cells among the ranked rows; none until all of them were run on this graph."""
        rows = self.ranked
        if not rows or column in EMPTY or any((row, column) not in self.figures for row in rows):
            return {}, {}
        means, spreads = (
            np.array([[getattr(self.figures[row, column], what)] for row in rows]) for what in ("mean", "spread")
        )
        medals = [each[0] for each in ranking.medals(means)]
        red = ranking.red_cells(means, spreads)[:, 0].tolist()
        return dict(zip(rows, medals, strict=True)), dict(zip(rows, red, strict=True))


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
