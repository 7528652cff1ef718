"""Pages of tables and paragraphs, written as text for a terminal, as Markdown or as LaTeX.

A cell of a table is one to three lines with a style: "gold", "silver", "bronze", "red", "bold" or none. Medals and red cells
keep a mark (① ② ③ ▼) where there is no colour.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

MARKS = {"gold": "①", "silver": "②", "bronze": "③", "red": "▼"}
_TERMINAL = {"gold": "bold green", "silver": "green", "bronze": "dim green", "red": "red", "bold": "bold"}
_LATEX = {"gold": r"\cellcolor{green}", "silver": r"\cellcolor{green!40}", "bronze": r"\cellcolor{green!20}",
          "red": r"\cellcolor{red!30}"}  # fmt: skip
_ESCAPES = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "$": r"\$", "±": r"$\pm$", "−": r"$-$",
    "×": r"$\times$", "–": "--", "…": r"\dots{}", "①": "", "②": "", "③": "", "▼": "", "≥": r"$\geq$",
    "→": r"$\to$", "²": r"$^2$", "₂": r"$_2$", "✓": r"\checkmark{}", "✗": r"$\times$", "λ": r"$\lambda$",
    "‖": r"$\|$", "σ": r"$\sigma$", "†": r"$\dagger$", "Ã": r"\~A",
}  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """A cell of a table."""

    lines: tuple[str, ...]
    style: str = ""

    def marked(self) -> tuple[str, ...]:
        """Lines, the first with the mark of its style."""
        mark = MARKS.get(self.style, "")
        return (f"{self.lines[0]} {mark}".rstrip(), *self.lines[1:]) if self.lines else ("",)


@dataclass(frozen=True)
class Table:
    """Title, heading and rows."""

    title: str
    heading: tuple[str, ...]
    rows: list[list[Entry]]


@dataclass
class Page:
    """A title, then paragraphs (text), tables and figures (paths with captions) in order."""

    title: str
    parts: list[str | Table | Picture] = field(default_factory=list)

    def add(self, *parts: str | Table | Picture) -> Page:
        self.parts += [part for part in parts if part]
        return self


@dataclass(frozen=True)
class Picture:
    """A figure by the path it was written to, as seen from the page."""

    path: str
    caption: str


def entry(*lines: str, style: str = "") -> Entry:
    return Entry(tuple(lines), style)


def to_console(page: Page, width: int = 200) -> Iterator[Any]:
    """Pieces for a rich console; a table that is wider than ``width`` is printed in several parts."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    yield Text(page.title, style="bold underline")
    for part in page.parts:
        if isinstance(part, Table):
            yield Text(part.title, style="bold")
            for columns in _fitting(part, width):
                drawn = RichTable(box=box.SIMPLE_HEAD)
                for place in columns:
                    drawn.add_column(part.heading[place], justify="left" if place == 0 else "right", no_wrap=True)
                for row in part.rows:
                    shown = [row[place] for place in columns]
                    drawn.add_row(*(Text("\n".join(each.marked()), style=_TERMINAL.get(each.style, "")) for each in shown))
                yield drawn
        elif isinstance(part, Picture):
            yield Text(f"Figure: {part.path} ({part.caption})")
        else:
            yield Text(part)
            yield Text("")


def to_text(page: Page, width: int = 200) -> str:
    """As a terminal shows it, without colour."""
    from rich.console import Console

    buffer = io.StringIO()
    console = Console(file=buffer, width=width, no_color=True, highlight=False)
    for piece in to_console(page, width):
        console.print(piece)
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()) + "\n"


def to_markdown(page: Page, level: int = 1) -> str:
    """Markdown; lines of a cell are divided by <br>."""
    out = ["#" * level + f" {page.title}", ""]
    for part in page.parts:
        if isinstance(part, Table):
            rule = ["---"] + ["---:"] * (len(part.heading) - 1)
            out += [f"**{part.title}**", "", _line(part.heading), _line(rule)]
            out += [_line(["<br>".join(_shown(each)) for each in row]) for row in part.rows]
            out.append("")
        elif isinstance(part, Picture):
            out += [f"![{part.caption}]({part.path})", "", f"*{part.caption}*", ""]
        else:
            out += [part, ""]
    return "\n".join(out)


def to_latex(page: Page) -> str:
    """LaTeX tables; they need the packages booktabs, colortbl with xcolor, makecell and graphicx."""
    out = [f"% {page.title}"]
    for part in page.parts:
        if isinstance(part, Table):
            columns = "l|" + "r" * (len(part.heading) - 1)
            out += [r"\begin{table*}", r"\centering", rf"\caption{{{escaped(part.title)}}}", r"\resizebox{\textwidth}{!}{%"]
            out += [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", _latex_row(map(escaped, part.heading)), r"\midrule"]
            out += [_latex_row(_latex_cell(each) for each in row) for row in part.rows]
            out += [r"\bottomrule", r"\end{tabular}}", r"\end{table*}", ""]
        elif isinstance(part, Picture):
            out += [r"\begin{figure}", r"\centering", rf"\includegraphics[width=\columnwidth]{{{part.path}}}"]
            out += [rf"\caption{{{escaped(part.caption)}}}", r"\end{figure}", ""]
        else:
            out += [escaped(part), ""]
    return "\n".join(out)


def escaped(text: str) -> str:
    """Text for LaTeX."""
    return "".join(_ESCAPES.get(letter, letter) for letter in text)


def _fitting(table: Table, width: int) -> Iterator[list[int]]:
    """Columns of each part: the first, and as many others as there is room for."""
    lines = [[line for row in table.rows for line in row[place].marked()] for place in range(len(table.heading))]
    needed = [3 + max(map(len, [head, *column])) for head, column in zip(table.heading, lines, strict=True)]
    columns = [0]
    for place in range(1, len(needed)):
        if len(columns) > 1 and sum(needed[each] for each in [*columns, place]) > width:
            yield columns
            columns = [0]
        columns.append(place)
    yield columns


def _shown(each: Entry) -> tuple[str, ...]:
    lines = tuple(line.replace("|", "\\|") for line in each.marked())
    return (f"**{lines[0]}**", *lines[1:]) if each.style in ("bold", "gold") and lines[0] else lines


def _line(cells: Any) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def _latex_row(cells: Any) -> str:
    return " & ".join(cells) + r" \\"


def _latex_cell(each: Entry) -> str:
    lines = [escaped(line) for line in each.lines]
    text = r"\makecell[r]{" + r" \\ ".join(lines) + "}" if len(lines) > 1 else "".join(lines)
    return _LATEX.get(each.style, "") + (rf"\textbf{{{text}}}" if each.style == "bold" else text)
