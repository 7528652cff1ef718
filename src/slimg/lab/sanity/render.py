"""A report as a page of text, in colour for a terminal, as Markdown, or as plain values for JSON.

Both tables have one row per case and one column per model; ① ② ③ are the medals and ▼ a red cell, so that nothing is
lost where there is no colour.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from slimg.lab.sanity import paper
from slimg.lab.sanity.report import Cell, SanityReport

MARKS = {"gold": "①", "silver": "②", "bronze": "③", None: ""}
STYLES = {"gold": "bold green", "silver": "green", "bronze": "dim green", None: ""}
HELPS = {(): "none", ("X",): "X", ("A",): "A", ("X", "A"): "both"}


@dataclass(frozen=True)
class Table:
    """Title, heading and rows of (text, style)."""

    title: str
    heading: tuple[str, ...]
    rows: list[list[tuple[str, str]]]


def as_text(report: SanityReport, width: int = 120) -> str:
    """The page without colour."""
    from rich.console import Console

    buffer = io.StringIO()
    Console(file=buffer, width=width, no_color=True, highlight=False).print(report)
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()) + "\n"


def as_rich(report: SanityReport) -> Iterator[Any]:
    """Tables and paragraphs for a rich console."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    for table in tables(report):
        drawn = RichTable(box=box.SIMPLE_HEAD)
        for place, name in enumerate(table.heading):
            drawn.add_column(name, justify="left" if place < 2 else "center", overflow="fold")
        for row in table.rows:
            drawn.add_row(*(Text(text, style=style) for text, style in row))
        yield Text(table.title, style="bold")
        yield drawn
    for paragraph in paragraphs(report):
        yield Text(paragraph)
        yield Text("")


def as_markdown(report: SanityReport) -> str:
    """The same page in Markdown."""
    lines: list[str] = []
    for table in tables(report):
        rule = ["---"] * 2 + [":-:"] * len(report.models)
        lines += [f"**{table.title}**", "", _line(table.heading), _line(rule)]
        lines += [_line([_emphasis(text, style) for text, style in row]) for row in table.rows]
        lines.append("")
    for paragraph in paragraphs(report):
        lines += [paragraph, ""]
    return "\n".join(lines)


def as_dict(report: SanityReport) -> dict[str, Any]:
    """Everything the page says, as plain values."""
    return {
        "seeds": report.seeds,
        "reduced": report.reduced,
        "at_least": report.at_least,
        "cases": [
            {"name": case.name, "helps": list(case.helps), "chance": case.chance, "settings": case.settings,
             "notes": list(case.notes)}
            for case in report.cases
        ],
        "models": {
            model: {
                "cases": {case.name: _cell_dict(report, model, case.name) for case in report.cases},
                "average": _pair(report.average(model)),
                "average_rank": _pair(report.average_rank(model)),
                "passes": report.passes(model),
                "verdict": report.verdict(model),
            }
            for model in report.models
        },
        "observations": [
            {"number": each.number, "title": each.title, "holds": each.holds, "evidence": each.evidence}
            for each in report.observations()
        ],
    }  # fmt: skip


def tables(report: SanityReport) -> tuple[Table, Table]:
    """The matrix of the paper's first figure, and the accuracies."""
    heading = ("case", "helps", *report.models)
    matrix, accuracy = [], []
    for case in report.cases:
        start = [(case.name, ""), (HELPS[case.helps], "")]
        matrix.append(start + [_mark(report, model, case.name) for model in report.models])
        accuracy.append(start + [_figure(report, model, case.name) for model in report.models])
    if report.informative:
        averages = [report.average(model) for model in report.models]
        accuracy.append([("average", "bold"), ("", ""), *((_average(100 * a, 100 * b), "bold") for a, b in averages)])
        if len(report.models) > 1:
            ranks = [report.average_rank(model) for model in report.models]
            accuracy.append([("average rank", "bold"), ("", ""), *((_average(a, b), "bold") for a, b in ranks)])
    title = f"Sanity checks: ✓ from {report.at_least:.0%} where something helps, at chance where nothing does"
    return (
        Table(title, heading, matrix),
        Table(f"Accuracy in percent, mean ± standard deviation ({_protocol(report)})", heading, accuracy),
    )


def paragraphs(report: SanityReport) -> list[str]:
    """Legend, one paragraph per model, differences from the paper and its observations."""
    told = []
    if len(report.models) > 1:
        red = "; ▼ more than 2σ of the third place below it" if len(report.models) > 2 and report.seeds > 1 else ""
        told.append(f"① ② ③ best three{red}.")
    told += [report.verdict(model) for model in report.models]
    told += unlike_paper(report)
    if len(report.models) > 1:
        told += [str(each) for each in report.observations()]
    return told


def unlike_paper(report: SanityReport) -> list[str]:
    """A sentence per cell whose ✓ or ✗ is not that of the paper's table; none for another protocol."""
    told: list[str] = []
    if report.reduced:
        return told
    for model in report.models:
        for case in report.informative:
            cell, printed = report.cells[model, case.name], paper.figure(model, case.name)
            if printed is None or cell.error or report.passed(model, case.name) == (printed[0] >= 100 * report.at_least):
                continue
            told.append(
                f"Unlike the paper: {model} on {case.name} has {100 * cell.mean:.1f} % here,"
                f" {printed[0]:.1f} ± {printed[1]:.1f} % there."
            )
    return told


def _protocol(report: SanityReport) -> str:
    splits = "one split" if report.seeds == 1 else f"{report.seeds} splits"
    sizes = sorted({case.settings["n"] for case in report.cases})
    reduced = "; a reduced protocol" if report.reduced else ""
    return f"{splits}, {' and '.join(f'{n:,}' for n in sizes)} nodes{reduced}"


def _mark(report: SanityReport, model: str, case: str) -> tuple[str, str]:
    if report.cells[model, case].error:
        return "failed", "red"
    return ("✓", "green") if report.passed(model, case) else ("✗", "red")


def _figure(report: SanityReport, model: str, case: str) -> tuple[str, str]:
    cell = report.cells[model, case]
    if cell.error:
        return "failed", "red"
    medal = report.medal(model, case)
    if report.is_red(model, case):
        return f"{_percent(cell)} ▼", "red"
    return f"{_percent(cell)} {MARKS[medal]}".rstrip(), STYLES[medal]


def _percent(cell: Cell) -> str:
    spread = "" if math.isnan(cell.spread) else f"±{100 * cell.spread:.1f}"
    return f"{100 * cell.mean:.1f}{spread}"


def _average(mean: float, spread: float) -> str:
    if math.isnan(mean):
        return "–"
    return f"{mean:.1f}" + ("" if math.isnan(spread) else f" ({spread:.1f})")


def _cell_dict(report: SanityReport, model: str, case: str) -> dict[str, Any]:
    cell = report.cells[model, case]
    return {
        "accuracies": list(cell.accuracies),
        "mean": _number(cell.mean),
        "sd": _number(cell.spread),
        "passed": report.passed(model, case),
        "medal": report.medal(model, case),
        "red": report.is_red(model, case),
        "error": cell.error,
        "seconds": round(cell.seconds, 3),
    }


def _pair(values: tuple[float, float]) -> dict[str, float | None]:
    return {"mean": _number(values[0]), "sd": _number(values[1])}


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _line(cells: Any) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def _emphasis(text: str, style: str) -> str:
    return f"**{text}**" if "bold" in style and text else text
