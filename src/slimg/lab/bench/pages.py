"""Pages that are more than a table of accuracies: on the sanity cases, where it is known what helps, and about time.

Checks: the ✓/✗ matrix, accuracies beside the paper's, verdicts, the paper's observations, and what GnnExp predicts from a
propagator's formula. The rules are those of `slimg.lab.sanity.report.SanityReport`, filled from the records.

    predicted    from the filter at the default hyperparameters (`slimg.lab.gnnexp`); of a network, that of its linear form
    measured     mean accuracy of the model with its grid, ✓ from the threshold of the report

Weights: share of component g = ‖W_g‖_F / Σ_h ‖W_h‖_F, mean over the seeds; "zero" counts the seeds in which W_g is
exactly zero.

Time: accuracy against time, and how time grows with features and edges. Seconds are those of the features and of training
with the chosen values alone, as the paper counts them; the search over the grid has a column of its own. Means over the
seeds.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from slimg.lab.bench.figures import Measured, accuracy_against_time, component_weights, growth, structures
from slimg.lab.bench.grid import Grid, accuracy_table, column_title, legend, marked_title, protocols, signed
from slimg.lab.bench.store import Record
from slimg.lab.gnnexp.table import MARKS, properties
from slimg.lab.propagators.registry import names
from slimg.lab.sanity.case import draw_clusters, helps, scaled
from slimg.lab.sanity.report import CaseFacts, SanityReport, differences_from_paper, mean_and_sd
from slimg.lab.shared.paper import tables
from slimg.lab.shared.tables import Entry, Page, Picture, Table

OURS = "slimg"
CLASSES = 4
EXPECTED = {
    "semantic-uniform": ("no network effects", "X"),
    "random-homophily": ("useless features, homophily", "U"),
    "random-heterophily": ("useless features, heterophily", "U"),
}
"""Case → the scenario's name in the paper, and the component that should have the largest weight."""
_HEADER = ("", "accuracy", "features, s", "training, s", "sum, s", "search, s", "iterations", "peak memory, MiB")


def sanity_page(grid: Grid) -> Page:
    """Make the page of the checks.

    Returns
    -------
    Page
        Tables, paragraphs, and the adjacency matrices of the three structures.
    """
    page, report, quick = Page(grid.recipe.title), report_of(grid), grid.recipe.label
    if report is not None:
        rule = f"✓ from {report.at_least:.0%} where something helps, at chance where nothing does"
        cases = [case.name for case in report.cases]
        rows: list[list[Entry | str]] = [
            [marked_title(grid.recipe, model), *(report.mark(model, case) for case in cases)] for model in report.models
        ]
        page.add(Table(("", *cases), rows, quick + rule))
    page.add(*legend(grid), accuracy_table(grid))
    if report is not None:
        page.add(_averages(grid, report, f"{quick}Averages over the cases in which something helps"))
        page.add(*map(report.verdict, report.models), *differences_from_paper(report))
        if len(report.models) > 1:
            page.add(*map(str, report.observations()))
        titles = {model: grid.title(model) for model in report.models}
        page.add(*survival(report, titles, f"{quick}Predicted from the formulas; where it came otherwise, both"))
    caption = "Adjacency matrices of the three structures, nodes in the order of their clusters"
    draw = partial(structures, nodes=_nodes(grid.recipe.data))
    return page.add(Picture(f"structures{grid.recipe.suffix}.svg", caption, draw))


def report_of(grid: Grid) -> SanityReport | None:
    """Fill a report from the rows and columns that were run in full.

    Returns
    -------
    SanityReport or None
        None if there are none.
    """
    rows = grid.rows
    columns = [column for column in grid.recipe.data if all((row, column) in grid.figures for row in rows)]
    if not rows or not columns:
        return None
    n = _nodes(grid.recipe.data)
    chance = np.bincount(draw_clusters(n, CLASSES, 1.0, np.random.default_rng(0))).max() / n
    tested = math.ceil(grid.recipe.split[2] * n)
    facts = tuple(CaseFacts(column, helps(column), chance, tested, {**scaled(n)}, ()) for column in columns)
    cells = {(row, column): grid.figures[row, column] for row in rows for column in columns}
    return SanityReport(tuple(rows), facts, grid.recipe.seeds, cells)


def survival(report: SanityReport, titles: dict[str, str], title: str) -> list[Table | str]:
    """Compare what the filters of the models predict with what was measured.

    Returns
    -------
    list of Table and str
        A row for each model that is a propagator, or becomes one, and how many predictions came true and which did not;
        empty if there is no such model.
    """
    models, cases = [model for model in report.models if model in names()], [case.name for case in report.informative]
    if not models or not cases:
        return []
    passed = {place: None if cell.error else report.passed(*place) for place, cell in report.cells.items()}
    survives = {model: properties(model).survives for model in models}
    pairs = {(model, case): (survives[model][case], passed[model, case]) for model in models for case in cases}
    rows = [[titles[model], *(_compared(*pairs[model, case]) for case in cases)] for model in models]
    known = {place: pair for place, pair in pairs.items() if None not in pair}
    means = {place: f"{100 * cell.mean:.1f} %" for place, cell in report.cells.items()}
    wrong = [f"{titles[model]} on {case} ({MARKS[expected]} predicted, {means[model, case]} measured)"
             for (model, case), (expected, measured) in known.items() if expected != measured]  # fmt: skip
    open_ = f"; {len(pairs) - len(known)} were not predicted or not measured" if len(known) < len(pairs) else ""
    missed = f" Not so: {', '.join(wrong)}." if wrong else ""
    right = f"{len(known) - len(wrong)} of {len(known)}"
    said = f"{right} predictions of `slimg gnnexp table` came true{open_}.{missed}" if known else ""
    return [Table(("", *cases), rows, title), said]


def weights_page(grid: Grid) -> Page:
    """Make the page of component weights.

    Returns
    -------
    Page
        A table per model, and its figure.
    """
    recipe = grid.recipe
    page = Page(recipe.title).add(
        "Shares of the components in the learned weights, ‖W_g‖_F / Σ ‖W_h‖_F, mean over the seeds; in brackets the seeds in"
        " which the component is exactly zero. The paper's figure says: without network effects the weight is on X, with"
        " useless features on U."
    )
    for row in recipe.models:
        found = {column: shares for column in recipe.data if (shares := _shares(grid, row, column))}
        if not found:
            continue
        lines = [_weights_row(grid, row, column, shares) for column, shares in found.items()]
        header = ("", "accuracy", *next(iter(found.values())), "expected", "largest")
        page.add(Table(header, lines, f"{recipe.label}Components of {grid.title(row)}"))
        scenarios = {_scenario(column): shares for column, shares in found.items()}
        draw = partial(component_weights, scenarios=scenarios, title=recipe.label.removesuffix(": "))
        caption = f"Weights of the components of {grid.title(row)}, shares of the sum"
        page.add(Picture(f"interpret-{row}{recipe.suffix}.svg", caption, draw))
    return page


def _compared(expected: bool | None, measured: bool | None) -> Entry | str:
    if measured is None:
        return f"{MARKS[expected]} (failed)"
    if expected is None or expected == measured:
        return f"? ({MARKS[measured]})" if expected is None else MARKS[expected]
    return Entry(f"{MARKS[expected]}, measured {MARKS[measured]}", style="bold")


def _averages(grid: Grid, report: SanityReport, title: str) -> Table:
    """Average accuracy, ours and the paper's; the ranks are in the table of accuracies."""
    theirs: dict[str, list[float]] = tables()["average_accuracy"]["sanity"]
    complete = len(report.informative) == 7
    rows = []
    for model in report.models:
        mean, spread = report.average(model)
        printed = theirs.get("slimg" if model.startswith("slimg") else model) if complete else None
        difference = signed(100 * mean - printed[0]) if printed and not math.isnan(mean) else "–"
        paper = mean_and_sd(*printed) if printed else "–"
        rows.append([grid.title(model), mean_and_sd(mean, spread, 100), paper, difference])
    return Table(("", "average accuracy (sd)", "paper", "difference"), rows, title)


def _nodes(data: dict[str, Any]) -> int:
    return int(next(iter(data.values()))["n"])


def _shares(grid: Grid, row: str, column: str) -> dict[str, float]:
    """Component → share; empty if no seed has weights."""
    weights = [each["weights"] for each in grid.records.get((row, column), ()) if each.get("weights")]
    if not weights:
        return {}
    table = np.array([[each[block] for block in weights[0]] for each in weights])
    sums = table.sum(axis=1, keepdims=True)
    shares = np.divide(table, sums, out=np.zeros_like(table), where=sums > 0).mean(axis=0)
    return dict(zip(weights[0], shares.tolist(), strict=True))


def _weights_row(grid: Grid, row: str, column: str, shares: dict[str, float]) -> list[str]:
    records = [each for each in grid.records[row, column] if each.get("weights")]
    zeros = {block: sum(each["weights"][block] == 0 for each in records) for block in shares}
    cells = [f"{share:.2f}" + (f" ({zeros[block]} zero)" if zeros[block] else "") for block, share in shares.items()]
    largest = max(shares, key=lambda block: shares[block])
    expected = EXPECTED.get(column, ("", "–"))[1]
    accuracy = f"{100 * grid.figures[row, column].mean:.1f}"
    return [_scenario(column), accuracy, *cells, expected, f"{largest} {MARKS[largest == expected]}"]


def _scenario(column: str) -> str:
    return EXPECTED.get(column, (column, ""))[0]


# time ---------------------------------------------------------------------------------------------------------------


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
        synthetic = " (generated)" if column in recipe.synthetic else ""
        title = f"{recipe.label}{column_title(column)}{synthetic}"
        draw = partial(accuracy_against_time, models=list(measured.values()), title=title)
        caption = f"Accuracy against time on {title}; beside each model the iterations of its training"
        page.add(Table(_HEADER, [line for _, line in rows.values()], title), _speedup(column, measured))
        page.add(Picture(f"speed-{column}{recipe.suffix}.svg", caption, draw))
    return page


def rivals_page(grid: Grid) -> Page:
    """Make the page with one figure: mean accuracy over the graphs against the processor seconds of a whole fit.

    Returns
    -------
    Page
        The table of accuracies; over the graphs on which most models were run, the table of means (on the splits that all
        models have) and seconds, and the figure.
    """
    recipe = grid.recipe
    page = Page(recipe.title).add(*legend(grid), accuracy_table(grid))
    seconds = {(row, column): _processor(grid, row, column) for row in grid.rows for column in recipe.data}
    run = {column: sum(seconds[row, column] > 0 for row in grid.rows) for column in recipe.data}
    columns = [column for column, models in run.items() if models == max(run.values()) > 0]
    measured, lines = [], []
    for row in grid.rows if columns else ():
        spent = np.array([seconds[row, column] for column in columns])
        if np.isnan(spent).any():
            continue
        compared = [grid.paired.get((row, column), grid.figures[row, column]) for column in columns]
        accuracy, fewest = float(np.mean([each.mean for each in compared])), min(len(each.accuracies) for each in compared)
        title = marked_title(recipe, row)
        measured.append(Measured(title, accuracy, float(spent.mean()), None))
        lines.append((accuracy, [title, f"{100 * accuracy:.1f}", f"{spent.mean():.2f}", f"{spent.max():.2f}", str(fewest)]))
    if not measured:
        return page
    header = ("", "mean accuracy", "whole fit, s", "slowest graph, s", "splits in common")
    title = f"{recipe.label}Mean over {', '.join(map(column_title, columns))}"
    page.add(Table(header, [line for _, line in sorted(lines, key=lambda each: -each[0])], title))
    left = [column_title(column) for column in recipe.data if column not in columns]
    page.add(f"Not in these means, since fewer models were run there yet: {', '.join(left)}." if left else "")
    what = "processor seconds of a whole fit (features, search and prediction)"
    draw = partial(accuracy_against_time, models=measured, title=f"{recipe.label}means over {len(columns)} graphs",
                   seconds="processor, of features, search and prediction")  # fmt: skip
    caption = f"Accuracy against {what}, means over {', '.join(map(column_title, columns))}"
    return page.add(Picture(f"{recipe.name}{recipe.suffix}.svg", caption, draw))


def _processor(grid: Grid, row: str, column: str) -> float:
    """Median over the splits of the processor seconds of a fit, NaN if none has them: the first may load libraries."""
    seconds = [each["processor"] for each in grid.records.get((row, column), ()) if "processor" in each]
    return float(np.median(seconds)) if seconds else float("nan")


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
        theirs = tables()["scalability_seconds"][kind]
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
    whom, theirs = tables()["speedup"].get(column, (None, None))
    beside = f" The paper, on the real graph: {theirs:g} × faster than the {whom}." if whom else ""
    return (
        f"SlimG has {100 * ours.accuracy:.1f} % in {ours.seconds:.2f} s; the best other model, {best.title}, has"
        f" {100 * best.accuracy:.1f} % in {best.seconds:.2f} s: {best.seconds / ours.seconds:.2g} × the time.{beside}"
    )


def _means(records: list[Record], *stages: str) -> list[float]:
    """Mean seconds of each stage."""
    seconds = [each["seconds"] for each in records if each["status"] == "ok"]
    return [float(np.mean([each.get(stage, 0.0) for each in seconds])) for stage in stages]
