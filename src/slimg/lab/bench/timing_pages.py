"""Pages about time: accuracy against time, and how time grows with features and edges.

Seconds are those of the features and of training with the chosen values alone, as the paper counts them; the search over
the grid has a column of its own. Means over the seeds.
"""

from __future__ import annotations

from functools import partial

import numpy as np

import slimg.lab.paper as paper
from slimg.lab.bench.figures import Measured, accuracy_against_time, growth
from slimg.lab.bench.grid import Grid, column_title, marked_title, protocols
from slimg.lab.bench.store import Record
from slimg.lab.tables import Entry, Page, Picture, Table

OURS = "slimg"


def speed_page(grid: Grid) -> Page:
    """Make the page with a table of accuracy, seconds, iterations and memory, and a figure, for each graph.

    Returns
    -------
    Page
    """
    recipe = grid.recipe
    page = Page(recipe.title).add(
        "Test accuracy in percent; seconds of features and of training with the chosen values alone (the paper's measure)"
        " and of the search over the grid; iterations of that training; peak memory."
        f" {'One split' if recipe.seeds == 1 else f'Means over {recipe.seeds} splits'} of 2.5 / 2.5 / 95 %."
        f" {' '.join([*protocols(grid), recipe.about])}"
        " An iteration is a Newton step of SlimG, an epoch (20 steps of L-BFGS) of the other linear models, or an epoch of"
        " Adam."
    )
    for column in recipe.data:
        rows = {row: _measured(grid, row, column) for row in recipe.models if (row, column) in grid.records}
        if not rows:
            continue
        measured = {row: each for row, (each, _) in rows.items()}
        synthetic = " (generated stand-in)" if column in recipe.synthetic else ""
        title = f"{recipe.label}{column_title(column)}{synthetic}"
        draw = partial(accuracy_against_time, models=list(measured.values()), title=title)
        caption = f"Accuracy against time on {title}; beside each model the iterations of its training"
        page.add(Table(_HEADER, [line for _, line in rows.values()], title), _speedup(column, measured))
        page.add(Picture(f"speed-{column}{recipe.suffix}.svg", caption, draw))
    return page


def scalability_page(grid: Grid) -> Page:
    """Make the page with seconds of SlimG for growing numbers of features and edges, and the exponent of the growth.

    Returns
    -------
    Page
    """
    recipe = grid.recipe
    page = Page(recipe.title).add(
        "Generated graphs: the paper removes features and edges of ogbn-Products, whose files are not here. Seconds of"
        " features and of training with the chosen pair, mean over the seeds; the paper's are of its own machine and of the"
        " whole graph, so that only the growth can be compared.",
        recipe.about,
    )
    series = {}
    for kind in ("features", "edges"):
        columns = [column for column in recipe.data if column.endswith(kind) and (OURS, column) in grid.records]
        if len(columns) < 2:
            continue
        sizes = np.array([recipe.data[column][kind] for column in columns], float)
        seconds = np.array([sum(_means(grid.records[OURS, column], "features", "training")) for column in columns])
        theirs = paper.tables()["scalability_seconds"][kind]
        series[kind] = (sizes, seconds)
        printed = list(theirs.values())
        rows = [
            ["seconds", *(f"{each:.2f}" for each in seconds)],
            ["relative to the largest", *(f"{each / seconds[-1]:.2f}" for each in seconds)],
            ["paper, seconds", *(f"{each:g}" for each in printed)],
            ["paper, relative to the largest", *(f"{each / printed[-1]:.2f}" for each in printed)],
        ]
        header = (f"{kind} (the paper's in brackets)", *(f"{int(a):,} ({b})" for a, b in zip(sizes, theirs, strict=True)))
        page.add(Table(header, rows, f"{recipe.label}Time by the number of {kind}"))
        power = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
        page.add(f"Seconds grow as the number of {kind} to the power {power:.2f} (least squares, logarithms).")
    if series:
        draw = partial(growth, series=series, title=recipe.label.removesuffix(": "))
        caption = "Seconds of SlimG by the number of features and of edges, on generated graphs"
        page.add(Picture(f"scalability{recipe.suffix}.svg", caption, draw))
    return page


_HEADER = ("", "accuracy", "features, s", "training, s", "sum, s", "search, s", "iterations", "peak memory, MiB")


def _measured(grid: Grid, row: str, column: str) -> tuple[Measured, list[Entry | str]]:
    """A model on a graph, and its row of the table."""
    records = [each for each in grid.records[row, column] if each["status"] == "ok"]
    title = marked_title(grid.recipe, row)
    if not records:
        failed = Entry(grid.figures[row, column].error or "failed", style="red")
        return Measured(title, None, None, None), [title, failed, *["–"] * 6]
    features, training, search = _means(records, "features", "training", "tuning")
    steps = [each["iterations"] for each in records if each.get("iterations") is not None]
    accuracy = float(np.mean([each["accuracy"] for each in records]))
    measured = Measured(title, accuracy, features + training, float(np.mean(steps)) if steps else None)
    seconds = [f"{each:.2f}" for each in (features, training, features + training, search)]
    peak = np.max([each.get("peak_memory") or 0 for each in records]) / 2**20
    iterations = f"{measured.iterations:.0f}" if steps else "–"
    return measured, [title, f"{100 * accuracy:.1f}", *seconds, iterations, f"{peak:,.0f}"]


def _speedup(column: str, measured: dict[str, Measured]) -> str:
    """SlimG against the most accurate other model, as the paper's text states it."""
    ours = measured.get(OURS)
    others = [each for row, each in measured.items() if each.accuracy is not None and not row.startswith(OURS)]
    if ours is None or ours.seconds is None or not others:
        return ""
    best = max(others, key=lambda each: each.accuracy or 0.0)
    assert best.accuracy is not None and best.seconds is not None and ours.accuracy is not None
    whom, theirs = paper.tables()["speedup"].get(column, (None, None))
    beside = f" The paper, on the real graph: {theirs:g} × faster than the {whom}." if whom else ""
    return (
        f"SlimG has {100 * ours.accuracy:.1f} % in {ours.seconds:.2f} s; the best other model, {best.title}, has"
        f" {100 * best.accuracy:.1f} % in {best.seconds:.2f} s: {best.seconds / ours.seconds:.2g} × the time.{beside}"
    )


def _means(records: list[Record], *stages: str) -> list[float]:
    """Mean seconds of each stage."""
    seconds = [each["seconds"] for each in records if each["status"] == "ok"]
    return [float(np.mean([each.get(stage, 0.0) for each in seconds])) for stage in stages]
