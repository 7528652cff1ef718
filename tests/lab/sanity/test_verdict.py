"""The paragraph on what a model cannot do, from patterns of the paper and made-up ones."""

import pytest
from sanity_reports import paper_report, report

from slimg.lab.sanity import CASES
from slimg.lab.sanity.report import Cell

ALL = dict.fromkeys(CASES, 90.0) | {"structural-uniform": 25.0, "random-uniform": 25.0}


def verdict(**changes):
    return report({"m": ALL | {name.replace("_", "-"): value for name, value in changes.items()}}).verdict("m")


def test_who_passes_all_is_told_so():
    assert verdict() == "m passes 7 of the 7 checks. Nothing that was tried here misleads it."


@pytest.mark.parametrize(
    ("model", "said", "unsaid"),
    [
        ("lr", ["passes 3 of the 7", "does not use the edges"], ["neighbours to be", "reads the graph"]),
        ("sgc", ["features are useless", "only through them.", "edges are noise (44.6 %)"], ["neighbours to be"]),
        ("dgc", ["takes neighbours to be alike", "structural and semantic"], ["unlike"]),
        ("sage", ["features are useless (31.1 % and 34.6 %)"], ["edges are noise", "neighbours to be"]),
        ("appnp", ["under heterophily with semantic", "With structural features it fails"], []),
        ("s2gc", ["falls short where the edges are noise", "(79.9 %)"], ["leave the neighbours"]),
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
    assert "takes neighbours to be unlike" in verdict(semantic_homophily=40.0)


def test_nothing_learned_and_nothing_run():
    assert "learns nothing" in report({"m": ALL | dict.fromkeys(CASES, 25.5)}).verdict("m")
    assert "only where nothing helps" in report({"m": {"random-uniform": 25.0}}).verdict("m")


def test_answers_where_there_are_none():
    words = verdict(random_uniform=60.0)
    assert "60.0 % on random-uniform" in words and "must not see" in words


def test_failures_are_grouped_by_reason():
    broken = Cell((), "RuntimeError: no")
    words = verdict(semantic_uniform=broken, random_homophily=broken, random_uniform=Cell((), "predict() gave 3"))
    assert "no answer on semantic-uniform and random-homophily (RuntimeError: no)" in words
    assert "no answer on random-uniform (predict() gave 3)" in words
    assert "any case (" in report({"m": dict.fromkeys(ALL, broken)}).verdict("m")
