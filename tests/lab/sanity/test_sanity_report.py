"""The report: rules of passing, averages, and its text, Markdown and JSON."""

import io
import json

import numpy as np
import pytest
from rich.console import Console
from sanity_reports import cell, facts, paper_report, report

from slimg.errors import InputError
from slimg.lab.sanity import CASES
from slimg.lab.sanity.report import Cell, SanityReport


def test_mean_and_spread_of_a_cell():
    one = Cell((0.8, 0.9, 1.0))
    assert one.mean == pytest.approx(0.9) and one.spread == pytest.approx(np.std([0.8, 0.9, 1.0]))
    assert np.isnan(Cell((0.8,)).spread) and np.isnan(Cell((), "broken").mean)


def test_passes_from_eighty_percent():
    found = report({"m": {"semantic-uniform": 80.0, "random-homophily": 79.9}})
    assert found.passed("m", "semantic-uniform") and not found.passed("m", "random-homophily")
    assert not found.passes("m")


@pytest.mark.parametrize(("accuracy", "honest"), [(25.0, True), (28.0, True), (28.6, False), (90.0, False)])
def test_where_nothing_helps_a_model_passes_at_chance(accuracy, honest):
    assert report({"m": {"random-uniform": accuracy}}).passed("m", "random-uniform") is honest


def test_small_graphs_allow_for_the_noise_of_few_judged_nodes():
    small = SanityReport(("m",), (facts("random-uniform", 200),), 1, {("m", "random-uniform"): Cell((0.40,))})
    assert small.passed("m", "random-uniform")


def test_the_mark_can_be_moved():
    row = {("m", "semantic-uniform"): cell(77)}
    assert SanityReport(("m",), (facts("semantic-uniform"),), 2, row, at_least=0.75).passes("m")


def test_failures_pass_nothing_and_rank_last():
    broken = Cell((), "RuntimeError: no")
    found = report({"a": {"semantic-uniform": broken}, "b": {"semantic-uniform": 30.0}})
    assert not found.passed("a", "semantic-uniform") and np.isnan(found.average("a")[0])
    assert found.average_rank("a")[0] == 2 and found.medal("a", "semantic-uniform") is None


def test_the_papers_table():
    found = paper_report()
    assert found.average("slimg") == pytest.approx((0.889, 0.045), abs=0.001)
    assert found.average_rank("slimg") == pytest.approx((2.6, 1.8), abs=0.05)
    assert found.medal("slimg", "random-heterophily") == "gold"
    assert not any(found.is_red("slimg", case) for case in CASES)
    assert [case for case in CASES if found.passed("sage", case)] == [
        "semantic-uniform", "structural-homophily", "structural-heterophily", "semantic-homophily",
        "semantic-heterophily",
    ]  # fmt: skip
    assert found.is_red("dgc", "semantic-uniform") and not found.is_red("dgc", "semantic-homophily")


def test_empty_cases_have_no_medals_and_no_part_in_averages():
    found = report({m: {"semantic-uniform": 90.0, "random-uniform": 25.0} for m in "abc"})
    assert found.average("a")[0] == pytest.approx(0.9) and found.medal("a", "random-uniform") is None


def test_reduced_protocols_say_so():
    cells = {("m", "random-uniform"): cell(25)}
    full = SanityReport(("m",), (facts("random-uniform"),), 5, cells)
    assert not full.reduced
    assert SanityReport(("m",), (facts("random-uniform"),), 2, cells).reduced
    assert SanityReport(("m",), (facts("random-uniform", 1200),), 5, cells).reduced


def test_unknown_names_are_answered_with_the_choices():
    found = report({"m": {"random-uniform": 25.0}})
    with pytest.raises(InputError, match="choose one of m"):
        found.cell("x", "random-uniform")
    with pytest.raises(InputError, match="choose one of random-uniform"):
        found.passed("m", "x")


def test_json_is_complete_and_written(tmp_path):
    path = tmp_path / "report.json"
    paper_report().to_json(path)
    read = json.loads(path.read_text())
    sage = read["models"]["sage"]["cases"]["semantic-uniform"]
    assert sage["mean"] == pytest.approx(0.803) and sage["passed"] and sage["sd"] == pytest.approx(0.011)
    assert len(read["observations"]) == 4 and "sage" in read["models"]["sage"]["verdict"]
    assert repr(paper_report(("lr",))) == "SanityReport(passed: lr 3/7)"


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
