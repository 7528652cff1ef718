"""The page as text, Markdown and colour."""

import io

from rich.console import Console
from sanity_reports import facts, paper_report, report

from slimg.lab.sanity.report import Cell, SanityReport


def full(model, accuracy):
    """One case at the paper's size and number of splits."""
    cells = {(model, "semantic-uniform"): Cell((accuracy,) * 5)}
    return SanityReport((model,), (facts("semantic-uniform"),), 5, cells)


def test_text_holds_matrix_accuracies_words_and_observations():
    text = paper_report(("slimg", "lr", "sgc")).to_text(110)
    row = next(line for line in text.splitlines() if "random-homophily" in line)
    assert row.split() == ["random-homophily", "A", "✓", "✗", "✗"]
    assert "87.1±1.4 ①" in text and "24.2±0.7 ③" in text and "88.9 (4.5)" in text
    assert "does not use the edges" in text and "Observation 3 (useless features): holds" in text
    assert max(map(len, text.splitlines())) <= 110


def test_red_cells_are_marked():
    text = paper_report().to_text(250)
    assert "25.2±0.3 ▼" in text and "▼ more than 2σ" in text


def test_one_model_has_no_medals_or_ranks():
    text = paper_report(("lr",)).to_text()
    assert not any(mark in text for mark in ("①", "rank", "Observation", "▼"))


def test_colours_in_a_terminal():
    buffer = io.StringIO()
    Console(file=buffer, force_terminal=True, width=120, color_system="standard").print(paper_report(("slimg", "lr")))
    assert "\x1b[1;32m87.1±1.4 ①" in buffer.getvalue() and "\x1b[31m✗" in buffer.getvalue()


def test_markdown_tables_have_as_many_cells_in_each_row():
    text = report({"a|b": {"semantic-uniform": 90.0}, "c": {"semantic-uniform": Cell((), "no")}}).to_markdown()
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {row.replace("\\|", "").count("|") for row in rows} == {5}
    assert "| semantic-uniform | X | **90.0±0.0 ①** | failed |" in rows


def test_reduced_protocols_are_labelled_and_not_set_beside_the_paper():
    text = report({"lr": {"semantic-uniform": 10.0}}).to_text()
    assert "2 splits, 6,000 nodes; a reduced protocol" in text and "Unlike the paper" not in text


def test_differences_from_the_paper_are_listed():
    assert "Unlike the paper: lr on semantic-uniform has 10.0 % here, 83.7 ± 0.6 % there." in full("lr", 0.1).to_text()
    assert "Unlike" not in full("lr", 0.85).to_text() and "Unlike" not in full("mine", 0.1).to_text()
