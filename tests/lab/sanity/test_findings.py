"""Verdicts, the paper's observations, and its table."""

import pytest
from sanity_reports import FIGURES, paper_report, report

from slimg.lab.sanity import CASES
from slimg.lab.sanity.report import Cell
from slimg.lab.shared import paper

ALL = dict.fromkeys(CASES, 90.0) | {"structural-uniform": 25.0, "random-uniform": 25.0}


def verdict(**changes):
    return report({"m": ALL | {name.replace("_", "-"): value for name, value in changes.items()}}).verdict("m")


def test_who_passes_all_is_told_so():
    assert verdict() == "m passes 7 of the 7 checks. Nothing that was tried here misleads it."


@pytest.mark.parametrize(
    ("model", "said", "unsaid"),
    [
        ("lr", ["passes 3 of the 7", "does not use the edges"], ["neighbours are", "uses the graph"]),
        ("sgc", ["features are useless", "only through them.", "edges are noise (44.6 %)"], ["neighbours are"]),
        ("dgc", ["assumes that neighbours are alike", "structural and semantic"], ["unlike"]),
        ("sage", ["features are useless (31.1 % and 34.6 %)"], ["edges are noise", "neighbours are"]),
        ("appnp", ["under heterophily with semantic", "With structural features it fails"], []),
        ("s2gc", ["falls short where the edges are noise", "(79.9 %)"], ["ignore the neighbours"]),
        ("slimg", ["passes 7 of the 7"], ["fails"]),
    ],
)
def test_models_of_the_paper(model, said, unsaid):
    words = paper_report().verdict(model)
    assert all(part in words for part in said) and not any(part in words for part in unsaid), words


def test_who_is_at_chance_on_useless_features_may_not_read_the_graph_at_all():
    words = verdict(random_homophily=25.0, random_heterophily=26.0, semantic_uniform=80.0)
    assert "only through them, or not at all." in words


def test_a_model_that_reads_no_features():
    words = verdict(semantic_uniform=25.0)
    assert "does not use the features" in words


def test_one_kind_of_graph_alone():
    assert "under heterophily, help (40.0 %)" in verdict(random_heterophily=40.0)
    assert "assumes that neighbours are unlike" in verdict(semantic_homophily=40.0)


def test_nothing_learned_and_nothing_run():
    assert "learns nothing" in report({"m": ALL | dict.fromkeys(CASES, 25.5)}).verdict("m")
    assert "only where nothing helps" in report({"m": {"random-uniform": 25.0}}).verdict("m")


def test_answers_where_there_are_none():
    words = verdict(random_uniform=60.0)
    assert "60.0 % on random-uniform" in words and "seen test labels" in words


def test_failures_are_grouped_by_reason():
    broken = Cell((), "RuntimeError: no")
    words = verdict(semantic_uniform=broken, random_homophily=broken, random_uniform=Cell((), "predict() gave 3"))
    assert "no prediction on semantic-uniform and random-homophily (RuntimeError: no)" in words
    assert "no prediction on random-uniform (predict() gave 3)" in words
    assert "any case (" in report({"m": dict.fromkeys(ALL, broken)}).verdict("m")


def state(found):
    return [each.holds for each in found.observations()]


def test_all_hold_on_the_papers_table():
    assert state(paper_report()) == [True] * 4


def test_all_hold_on_its_linear_models():
    linear = ("slimg", "lr", "sgc", "dgc", "s2gc", "g2cn", "reg_kernel", "diff_kernel", "rw_kernel")
    assert state(paper_report(linear)) == [True] * 4


def changed(model, case, value):
    rows = {name: dict(zip(CASES, row, strict=True)) for name, row in FIGURES.items()}
    rows[model][case] = value
    return report(rows)


@pytest.mark.parametrize(
    ("model", "case", "value", "number"),
    [
        ("slimg", "semantic-uniform", (70.0, 1.0), 1),
        ("sage", "semantic-uniform", (50.0, 1.0), 2),
        ("gprgnn", "random-homophily", (81.0, 1.0), 3),
        ("g2cn", "structural-heterophily", (70.0, 1.0), 4),
    ],
)
def test_one_number_breaks_one_observation(model, case, value, number):
    expected = [True] * 4
    expected[number - 1] = False
    found = changed(model, case, value)
    assert state(found) == expected
    assert "does not hold" in str(found.observations()[number - 1])


def test_not_judged_without_what_they_speak_of():
    alone = paper_report(("slimg",))
    assert state(alone) == [None] * 4
    assert "three models" in alone.observations()[0].evidence
    assert state(paper_report(("lr", "sgc", "dgc"))) == [None, None, True, None]
    assert "slimg" in paper_report(("lr", "sgc", "dgc")).observations()[0].evidence
    few = report({m: {"semantic-uniform": 90.0} for m in ("slimg", "lr", "sage")})
    assert "random-homophily" in few.observations()[0].evidence


def test_sixteen_models_in_seven_cases():
    assert len(FIGURES) == 16 and all(len(row) == len(CASES) for row in FIGURES.values())


def test_only_slimg_reaches_eighty_percent_everywhere():
    assert [model for model, row in FIGURES.items() if min(mean for mean, _ in row) >= 80] == ["slimg"]


def test_one_figure():
    assert paper.accuracy("sanity", "gprgnn", "random-heterophily") == (65.9, 2.1)
    assert paper.accuracy("sanity", "mine", "random-heterophily") is None
    assert paper.accuracy("sanity", "lr", "random-uniform") is None
