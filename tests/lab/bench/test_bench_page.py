"""Pages: nothing is lost in any of the three forms, and wide tables are cut into parts that fit."""

from slimg.lab.bench.page import Page, Picture, Table, entry, escaped, to_latex, to_markdown, to_text


def page(columns=2):
    heading = ("", *(f"graph {i}" for i in range(columns)))
    rows = [[entry("A|B_1"), *(entry("81.2±0.5", "80.0±1.0", "+1.2", style="gold") for _ in range(columns))]]
    rows.append([entry("C"), *(entry("12.0", style="red") for _ in range(columns))])
    return Page("Title").add("A paragraph with 2.5 %.", "", Table("Table", heading, rows), Picture("a.svg", "What it shows"))


def test_markdown_has_every_line_marks_and_the_figure():
    text = to_markdown(page(), level=2)
    assert text.startswith("## Title\n") and "| A\\|B_1 | **81.2±0.5 ①**<br>80.0±1.0<br>+1.2 |" in text
    assert "12.0 ▼" in text and "![What it shows](a.svg)" in text


def test_latex_is_balanced_and_escaped():
    text = to_latex(page())
    assert r"\cellcolor{green}\makecell[r]{81.2$\pm$0.5 \\ 80.0$\pm$1.0 \\ +1.2}" in text
    assert r"A|B\_1" in text and r"2.5 \%" in text and r"\cellcolor{red!30}12.0" in text
    assert text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}")
    assert text.count(r"\begin{") == text.count(r"\end{") == 3
    assert escaped("a_b & 5%") == r"a\_b \& 5\%"


def test_a_table_wider_than_the_page_is_printed_in_parts_with_its_row_titles():
    text = to_text(page(columns=12), width=70)
    assert max(map(len, text.splitlines())) <= 70 and "…" not in text
    assert text.count("A|B_1") > 1 and all(f"graph {i}" in text for i in range(12))
    assert text.count("81.2±0.5 ①") == 12
