"""Tables of the laboratory, and pages of paragraphs, tables and figures: as text, Markdown and LaTeX.

A cell is one or more lines with a style. Where there is no colour, medals and low values keep a mark:

    gold ①   silver ②   bronze ③   red ▼      with a mark, for ranked values
    good     bad       bold                   without

Public: `Entry`, `Table`, `Picture`, `Page`. The terminal form is drawn by rich.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["Entry", "Page", "Picture", "Table"]

MARKS = {"gold": "①", "silver": "②", "bronze": "③", "red": "▼"}
_TERMINAL = {"gold": "bold green", "silver": "green", "bronze": "dim green", "red": "red", "bold": "bold", "good": "green",
             "bad": "red"}  # fmt: skip
_LATEX = {"gold": r"\cellcolor{green}", "silver": r"\cellcolor{green!40}", "bronze": r"\cellcolor{green!20}",
          "red": r"\cellcolor{red!30}"}  # fmt: skip
_ESCAPES = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "$": r"\$", "±": r"$\pm$", "−": r"$-$",
    "×": r"$\times$", "–": "--", "…": r"\dots{}", "①": "", "②": "", "③": "", "▼": "", "≥": r"$\geq$",
    "→": r"$\to$", "²": r"$^2$", "₂": r"$_2$", "✓": r"\checkmark{}", "✗": r"$\times$", "λ": r"$\lambda$",
    "‖": r"$\|$", "σ": r"$\sigma$", "†": r"$\dagger$", "Ã": r"\~A",
}  # fmt: skip
_JUSTIFY = {"l": "left", "c": "center", "r": "right"}
_RULES = {"l": "---", "c": ":-:", "r": "---:"}
_NO_LIMIT = 100_000


class Entry:
    """A cell of a table: its lines, a style, and optionally its own LaTeX.

    Parameters
    ----------
    *lines : str
        Text, one or more lines.
    style : str, default=""
        "gold", "silver", "bronze", "red", "good", "bad", "bold" or none.
    latex : str or None, default=None
        LaTeX of the cell, used as it is; by default the lines are escaped.

    Examples
    --------
    >>> Entry("81.3±0.4", style="gold").marked()
    ('81.3±0.4 ①',)
    """

    lines: tuple[str, ...]
    style: str

    def __init__(self, *lines: str, style: str = "", latex: str | None = None):
        self.lines, self.style, self._latex = lines, style, latex

    def __repr__(self) -> str:
        return f"Entry({', '.join(map(repr, self.lines))}, style={self.style!r})"

    def marked(self) -> tuple[str, ...]:
        """The lines, the first with the mark of its style.

        Returns
        -------
        tuple of str
        """
        mark = MARKS.get(self.style, "")
        return (f"{self.lines[0]} {mark}".rstrip(), *self.lines[1:]) if self.lines else ("",)

    def markdown(self) -> str:
        """The cell in Markdown: lines divided by ``<br>``, the first in bold for "bold" and "gold".

        Returns
        -------
        str
        """
        first, *rest = (line.replace("|", "\\|") for line in self.marked())
        return "<br>".join([f"**{first}**" if self.style in ("bold", "gold") and first else first, *rest])

    def latex(self) -> str:
        """The cell in LaTeX, with the colour of its style.

        Returns
        -------
        str
        """
        lines = [escape_latex(line) for line in self.lines]
        text = r"\makecell[r]{" + r" \\ ".join(lines) + "}" if len(lines) > 1 else "".join(lines)
        text = text if self._latex is None else self._latex
        return _LATEX.get(self.style, "") + (rf"\textbf{{{text}}}" if self.style == "bold" else text)


Cell: TypeAlias = "str | Entry"


class Table:
    r"""A header and rows, written as text, Markdown or LaTeX.

    Parameters
    ----------
    header : sequence of str or Entry
        One per column.
    rows : sequence of sequences of str or Entry
        As many cells in each as the header has.
    title : str, default=""
        Printed above the table. In LaTeX it is the caption; without it only the ``tabular`` is written.
    align : str, optional
        A letter per column, "l", "c" or "r". By default the label columns are left-aligned, the others right-aligned.
    n_labels : int, default=1
        Leading columns that name the row. They are repeated where a wide table is printed in several parts.

    Examples
    --------
    >>> table = Table(["model", "accuracy"], [["lr", "61.2"], ["slimg", Entry("81.3", style="bold")]])
    >>> print(table.text(ruled=False))
    model  accuracy
    lr         61.2
    slimg      81.3
    >>> print(table.markdown())
    | model | accuracy |
    | --- | ---: |
    | lr | 61.2 |
    | slimg | **81.3** |
    """

    header: list[Entry]
    rows: list[list[Entry]]
    title: str
    n_labels: int

    def __init__(
        self, header: Sequence[Cell], rows: Iterable[Sequence[Cell]], title: str = "", align: str | None = None,
        n_labels: int = 1,
    ):  # fmt: skip
        self.header = [_entry(cell) for cell in header]
        self.rows = [[_entry(cell) for cell in row] for row in rows]
        self.title, self.n_labels = title, n_labels
        self.align = align or "l" * n_labels + "r" * (len(self.header) - n_labels)
        for row in self.rows:
            if len(row) != len(self.header):
                raise ValueError(f"rows of this table have {len(self.header)} cells, but one has {len(row)}")

    def renderables(self, width: int = _NO_LIMIT, *, ruled: bool = True) -> Iterator[RenderableType]:
        """Pieces for a rich console: the title, then the table in as many parts as the width demands.

        Parameters
        ----------
        width : int, optional
            Columns of the terminal; unlimited by default.
        ruled : bool, default=True
            Whether a line divides header and rows; otherwise columns are divided by two spaces only.

        Yields
        ------
        rich renderable
        """
        from rich import box
        from rich.table import Table as RichTable
        from rich.text import Text

        if self.title:
            yield Text(self.title, style="bold")
        for columns in self._parts(width):
            drawn = RichTable(box=box.SIMPLE_HEAD) if ruled else RichTable(box=None, padding=(0, 2, 0, 0), pad_edge=False)
            for place in columns:
                header = Text("\n".join(self.header[place].lines))
                drawn.add_column(header, justify=_JUSTIFY[self.align[place]], no_wrap=True)  # type: ignore[arg-type]
            for row in self.rows:
                shown = [row[place] for place in columns]
                drawn.add_row(*(Text("\n".join(each.marked()), style=_TERMINAL.get(each.style, "")) for each in shown))
            yield drawn

    def text(self, width: int = _NO_LIMIT, *, ruled: bool = True) -> str:
        """The table as a terminal shows it, without colour; parameters as in `renderables`.

        Returns
        -------
        str
            Lines without trailing spaces or a final line end.
        """
        return plain_text(self.renderables(width, ruled=ruled), width)

    def markdown(self) -> str:
        """The table in Markdown.

        Returns
        -------
        str
            Lines without a final line end.
        """
        lines = [[each.markdown() for each in self.header], [_RULES[letter] for letter in self.align]]
        lines += [[each.markdown() for each in row] for row in self.rows]
        title = [f"**{self.title}**", ""] if self.title else []
        return "\n".join([*title, *("| " + " | ".join(line) + " |" for line in lines)])

    def latex(self) -> str:
        """The table in LaTeX; it may need the packages booktabs, colortbl with xcolor, makecell and graphicx.

        Returns
        -------
        str
            Lines without a final line end.
        """
        columns = "|".join(filter(None, (self.align[: self.n_labels], self.align[self.n_labels :])))
        header, *rows = (" & ".join(each.latex() for each in row) + r" \\" for row in (self.header, *self.rows))
        body = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", header, r"\midrule", *rows, r"\bottomrule"]
        if not self.title:
            return "\n".join([*body, r"\end{tabular}"])
        caption = rf"\caption{{{escape_latex(self.title)}}}"
        start = [r"\begin{table*}", r"\centering", caption, r"\resizebox{\textwidth}{!}{%"]
        return "\n".join([*start, *body, r"\end{tabular}}", r"\end{table*}"])

    def _parts(self, width: int) -> Iterator[list[int]]:
        """Columns of each part: the labels, and as many others as there is room for."""
        contents = zip(self.header, *self.rows, strict=True)
        needed = [3 + max(len(line) for each in column for line in each.marked()) for column in contents]
        labels = list(range(self.n_labels))
        columns = labels
        for place in range(self.n_labels, len(needed)):
            if columns != labels and sum(needed[each] for each in [*columns, place]) > width:
                yield columns
                columns = labels
            columns = [*columns, place]
        yield columns


@dataclass(frozen=True)
class Picture:
    """A figure, by its path as seen from the page, its caption, and what draws it into a file (`Page.draw`)."""

    path: str
    caption: str
    draw: Callable[[Path], Any] | None = None

    def markdown(self) -> str:
        """The figure with its caption in Markdown.

        Returns
        -------
        str
        """
        return f"![{self.caption}]({self.path})\n\n*{self.caption}*"

    def latex(self) -> str:
        """The figure with its caption in LaTeX.

        Returns
        -------
        str
        """
        image = rf"\includegraphics[width=\columnwidth]{{{self.path}}}"
        caption = rf"\caption{{{escape_latex(self.caption)}}}"
        return "\n".join([r"\begin{figure}", r"\centering", image, caption, r"\end{figure}"])


@dataclass
class Page:
    """A title, then paragraphs (str), tables and pictures in order.

    Attributes
    ----------
    title : str
        Heading of the page; "" for none.
    parts : list of str, Table or Picture
        What follows it.

    Examples
    --------
    >>> page = Page("Results").add("One model.", Table(["model"], [["lr"]]), "")
    >>> len(page.parts)
    2
    """

    title: str = ""
    parts: list[str | Table | Picture] = field(default_factory=list)

    def add(self, *parts: str | Table | Picture) -> Page:
        """Append parts; empty paragraphs are left out.

        Returns
        -------
        Page
            The page itself.
        """
        self.parts += [part for part in parts if part]
        return self

    def draw(self, folder: Path, seen_from: Path | None = None) -> Page:
        """Draw the figures into a folder.

        Parameters
        ----------
        folder : Path
            Where the files go, by the paths of the pictures.
        seen_from : Path or None, default=None
            Folder of the page, from which its paths lead to the files; None if the page is in ``folder``.

        Returns
        -------
        Page
            The page itself.
        """
        for place, part in enumerate(self.parts):
            if isinstance(part, Picture) and part.draw:
                part.draw(folder / part.path)
                self.parts[place] = replace(part, path=os.path.relpath(folder / part.path, seen_from or folder))
        return self

    def renderables(self, width: int = 200) -> Iterator[RenderableType]:
        """Pieces for a rich console of that width; wider tables come in several parts.

        Yields
        ------
        rich renderable
        """
        from rich.text import Text

        if self.title:
            yield Text(self.title, style="bold underline")
        for part in self.parts:
            if isinstance(part, Table):
                yield from part.renderables(width)
            elif isinstance(part, Picture):
                yield Text(f"Figure: {part.path} ({part.caption})")
            else:
                yield Text(part + "\n")

    def text(self, width: int = 200) -> str:
        """The page as a terminal of that width shows it, without colour.

        Returns
        -------
        str
        """
        return plain_text(self.renderables(width), width) + "\n"

    def markdown(self, level: int = 1) -> str:
        """The page in Markdown, with its title as a heading of that level.

        Returns
        -------
        str
        """
        out = ["#" * level + f" {self.title}", ""] if self.title else []
        for part in self.parts:
            out += [part if isinstance(part, str) else part.markdown(), ""]
        return "\n".join(out)

    def latex(self) -> str:
        """The page in LaTeX, for the packages that `Table.latex` names.

        Returns
        -------
        str
        """
        out = [f"% {self.title}"] if self.title else []
        for part in self.parts:
            out += [escape_latex(part) if isinstance(part, str) else part.latex(), ""]
        return "\n".join(out)


def plain_text(pieces: Iterable[Any], width: int) -> str:
    """Return rich renderables as printed in that many columns, without colour, trailing spaces or a final line end."""
    from rich.console import Console

    buffer = io.StringIO()
    console = Console(file=buffer, width=width, no_color=True, highlight=False)
    for piece in pieces:
        console.print(piece)
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines())


def escape_latex(text: str) -> str:
    """Return the text without what LaTeX reads as commands, and signs that its fonts lack."""
    return "".join(_ESCAPES.get(letter, letter) for letter in text)


def _entry(cell: Cell) -> Entry:
    return cell if isinstance(cell, Entry) else Entry(cell)
