"""The four observations on the paper's own numbers, and when they are not judged."""

import pytest
from sanity_reports import paper_report, report

from slimg.lab.sanity import CASES
from slimg.lab.sanity.paper import FIGURES


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
