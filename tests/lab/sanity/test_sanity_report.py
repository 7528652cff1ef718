"""The report's numbers: means, passes, averages, medals and red cells."""

import json

import numpy as np
import pytest
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
