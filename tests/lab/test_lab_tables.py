"""Tables and pages: nothing is lost in any of the three forms, and wide tables are cut into parts that fit."""

import doctest
import unicodedata

import pytest

from slimg.lab.shared import tables
from slimg.lab.shared.tables import Entry, Page, Picture, Table, escape_latex


def page(columns=2):
    heading = ("", *(f"graph {i}" for i in range(columns)))
    rows = [["A|B_1", *(Entry("81.2±0.5", "80.0±1.0", "+1.2", style="gold") for _ in range(columns))]]
    rows.append(["C", *(Entry("12.0", style="red") for _ in range(columns))])
    table = Table(heading, rows, "Table")
    return Page("Title").add("A paragraph with 2.5 %.", "", table, Picture("a.svg", "What it shows"))


def test_the_examples_run():
    assert doctest.testmod(tables).failed == 0


def test_markdown_has_every_line_marks_and_the_figure():
    text = page().markdown(level=2)
    assert text.startswith("## Title\n") and "| A\\|B_1 | **81.2±0.5 ①**<br>80.0±1.0<br>+1.2 |" in text
    assert "| --- | ---: | ---: |" in text and "12.0 ▼" in text and "![What it shows](a.svg)" in text


def test_latex_is_balanced_and_escaped():
    text = page().latex()
    assert r"\cellcolor{green}\makecell[r]{81.2$\pm$0.5 \\ 80.0$\pm$1.0 \\ +1.2}" in text
    assert r"A|B\_1" in text and r"2.5 \%" in text and r"\cellcolor{red!30}12.0" in text and "{l|rr}" in text
    assert text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}")
    assert text.count(r"\begin{") == text.count(r"\end{") == 3
    assert escape_latex("a_b & 5%") == r"a\_b \& 5\%"


def test_a_cell_may_bring_its_own_latex_and_a_table_without_title_is_a_tabular():
    header, row = ["model", Entry("P", latex=r"$\mathcal{P}$")], ["a_b", Entry("X²", latex="$X^2$")]
    table = Table(header, [row], align="ll", n_labels=0)
    assert table.latex().splitlines() == [
        r"\begin{tabular}{ll}", r"\toprule", r"model & $\mathcal{P}$ \\", r"\midrule", r"a\_b & $X^2$ \\", r"\bottomrule",
        r"\end{tabular}",
    ]  # fmt: skip


def test_a_table_wider_than_the_page_is_printed_in_parts_with_its_row_titles():
    text = page(columns=12).text(width=70)
    assert max(map(len, text.splitlines())) <= 70 and "…" not in text
    assert text.count("A|B_1") > 1 and all(f"graph {i}" in text for i in range(12))
    assert text.count("81.2±0.5 ①") == 12


def test_all_label_columns_are_repeated():
    table = Table(["case", "helps", "a" * 30, "b" * 30], [["one", "both", "1", "2"]], n_labels=2)
    parts = [line.split() for line in table.text(60).splitlines() if "one" in line]
    assert parts == [["one", "both", "1"], ["one", "both", "2"]]


def test_accents_that_combine_take_no_place():
    rows = [["A\u0303_sym", "1"], ["A_row", "2"]]
    assert any(unicodedata.combining(letter) for letter in rows[0][0])
    first, second = Table(["", "n"], rows, align="ll").text(ruled=False).splitlines()[1:]
    assert first.index("1") == second.index("2") + 1


def test_rows_must_be_as_long_as_the_header():
    with pytest.raises(ValueError, match=r"2 cells.*3"):
        Table(["a", "b"], [["1", "2", "3"]])
