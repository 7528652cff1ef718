"""The page of the sanity checks: the ✓/✗ matrix, accuracies beside the paper's, verdicts and the paper's observations.

The judgement is that of `slimg.lab.sanity.report.SanityReport`, filled from the records.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from slimg.lab.baselines import LINEAR
from slimg.lab.bench.accuracy_table import accuracy_table, legend, signed
from slimg.lab.bench.cell import canonical
from slimg.lab.bench.figures import structures
from slimg.lab.bench.grid import Grid
from slimg.lab.bench.page import Entry, Page, Picture, Table, entry
from slimg.lab.bench.protocol import is_reduced
from slimg.lab.bench.survival_table import agreement, survival_table
from slimg.lab.bench.titles import marked_title, title_of_row
from slimg.lab.paper import tables
from slimg.lab.sanity.case import helps, scaled
from slimg.lab.sanity.findings import differences_from_paper
from slimg.lab.sanity.generators import draw_clusters
from slimg.lab.sanity.report import CaseFacts, SanityReport

CLASSES = 4
MINUTES = 45
"""What the checks of the linear models may take on two cores."""


def sanity_page(grid: Grid, folder: Path | None) -> Page:
    """Tables, paragraphs, and the adjacency matrices of the three structures."""
    page = Page(grid.recipe.title)
    report = report_of(grid)
    quick = grid.recipe.label
    if report is not None:
        rule = f"✓ from {report.at_least:.0%} where something helps, at chance where nothing does"
        page.add(_matrix(grid, report, quick + rule))
    page.add(*legend(grid), accuracy_table(grid))
    if report is not None:
        page.add(_averages(grid, report, f"{quick}Averages over the cases in which something helps"))
        page.add(_untrained(grid), *(report.verdict(model) for model in report.models), *differences_from_paper(report))
        if len(report.models) > 1:
            page.add(*map(str, report.observations()))
        titles = {model: title_of_row(grid.recipe, model) for model in report.models}
        predicted = survival_table(report, titles, f"{quick}Predicted from the formulas; where it came otherwise, both")
        if predicted is not None:
            page.add(predicted, agreement(report, titles))
    page.add(_time(grid))
    if folder is not None:
        name = structures(folder / f"structures{'-quick' if grid.recipe.quick else ''}.svg", _nodes(grid.recipe.data))
        page.add(Picture(name.name, "Adjacency matrices of the three structures, nodes in the order of their clusters"))
    return page


def report_of(grid: Grid) -> SanityReport | None:
    """The report over rows and columns that were run in full; None if there are none."""
    rows = [row for row in grid.recipe.models if any(key[0] == row for key in grid.figures)]
    columns = [column for column in grid.recipe.data if all((row, column) in grid.figures for row in rows)]
    if not rows or not columns:
        return None
    n = _nodes(grid.recipe.data)
    sizes = np.bincount(draw_clusters(n, CLASSES, 1.0, np.random.default_rng(0)))
    facts = tuple(
        CaseFacts(column, helps(column), sizes.max() / n, math.ceil(grid.recipe.split[2] * n), {**scaled(n)}, ())
        for column in columns
    )
    cells = {(row, column): grid.figures[row, column] for row in rows for column in columns}
    return SanityReport(tuple(rows), facts, grid.recipe.seeds, cells)


def _untrained(grid: Grid) -> str:
    """What the verdicts on networks with little training are worth; "" where all had the paper's."""
    reduced = [title_of_row(grid.recipe, row) for row, model in grid.recipe.models.items() if is_reduced(model)]
    if not reduced or not grid.recipe.quick:
        return ""
    return f"Of {', '.join(reduced)} the following says what this little training gave, not what they can do."


def _matrix(grid: Grid, report: SanityReport, title: str) -> Table:
    heading = ("", *(case.name for case in report.cases))
    rows = [
        [entry(marked_title(grid.recipe, model)), *(_mark(report, model, case.name) for case in report.cases)]
        for model in report.models
    ]
    return Table(title, heading, rows)


def _mark(report: SanityReport, model: str, case: str) -> Entry:
    return entry("failed" if report.cells[model, case].error else "✓" if report.passed(model, case) else "✗")


def _averages(grid: Grid, report: SanityReport, title: str) -> Table:
    """Average accuracy, ours and the paper's; the ranks stand in the table of accuracies."""
    theirs: dict[str, list[float]] = tables()["average_accuracy"]["sanity"]
    complete = len(report.informative) == 7
    rows = []
    for model in report.models:
        mean, spread = report.average(model)
        printed = theirs.get("slimg" if model.startswith("slimg") else model) if complete else None
        shown: list[Any] = [entry(title_of_row(grid.recipe, model)), entry(_average(100 * mean, 100 * spread))]
        shown.append(entry(_average(*printed) if printed else "–"))
        shown.append(entry(signed(100 * mean - printed[0]) if printed and not math.isnan(mean) else "–"))
        rows.append(shown)
    return Table(title, ("", "average accuracy (sd)", "paper", "difference"), rows)


def _time(grid: Grid) -> str:
    """What the linear models and SlimG took: learning of every cell, features once per model and case."""
    rows = [row for row in grid.ranked if grid.recipe.models[row]["kind"] in ("slimg", *LINEAR)]
    records = [each for (row, _), found in grid.records.items() if row in rows for each in found if each["status"] == "ok"]
    if not records:
        return ""
    shared = {(canonical(each["model"]), canonical(each["data"])): each["seconds"]["features"] for each in records}
    minutes = (sum(each["wall"] for each in records) + sum(shared.values())) / 60
    kept = "within" if minutes < MINUTES else "NOT within"
    limit = "" if grid.recipe.quick else f": {kept} the {MINUTES} that are set for them"
    return (
        f"The {len(rows)} linear models, SlimG among them, took {minutes:.0f} minutes one after the other for the"
        f" {len(records)} cells of this page, features computed once per model and case{limit}."
    )


def _average(mean: float, spread: float) -> str:
    return "–" if math.isnan(mean) else f"{mean:.1f}" + ("" if math.isnan(spread) else f" ({spread:.1f})")


def _nodes(data: dict[str, Any]) -> int:
    return int(next(iter(data.values()))["n"])
