"""Pages on the sanity cases: predictions from formulas beside measured checks."""

import pytest

from slimg.lab.bench.pages import survival
from slimg.lab.sanity.case import CASES, helps
from slimg.lab.sanity.report import CaseFacts, Cell, SanityReport
from slimg.lab.shared import paper

FIGURES = {model: list(map(tuple, row.values())) for model, row in paper.tables()["accuracy"]["sanity"].items()}
TITLES = {name: name.upper() for name in FIGURES}


def report(models, changes=None):
    """The paper's own figures as a report, with some cells replaced."""
    facts = tuple(CaseFacts(case, helps(case), 0.25, 1200, {"n": 6000}, ()) for case in CASES)
    figures = {(name, case): each for name in models for case, each in zip(CASES, FIGURES[name], strict=True)}
    cells = {place: Cell((mean / 100,) * 2) for place, (mean, _) in figures.items()}
    return SanityReport(tuple(models), facts, 2, {**cells, **(changes or {})})


def test_of_the_papers_own_figures_every_miss_is_named():
    table, said = survival(report(["lr", "sgc", "slimg"]), TITLES, "T")
    marks = [[cell.lines[0] for cell in row] for row in table.rows]
    assert ["".join(row) for row in marks] == ["LR✓✗✗✗✗✓✓", "SGC✗✗✗✓✓✓✓", "SLIMG✓✓✓✓✓✓✓"]
    assert said == "21 of 21 predictions of `slimg gnnexp table` came true."
    changes = {("lr", "random-homophily"): Cell((0.9, 0.92)), ("slimg", "semantic-uniform"): Cell((), "O.O.M.")}
    changed = report(["lr", "slimg"], changes)
    table, said = survival(changed, TITLES, "T")
    assert said == (
        "12 of 13 predictions of `slimg gnnexp table` came true; 1 were not predicted or not measured."
        " Not so: LR on random-homophily (✗ predicted, 91.0 % measured)."
    )
    text = table.markdown()
    assert "| LR | ✓ | **✗, measured ✓** | ✗ |" in text and "| SLIMG | ✓ (failed) | ✓ |" in text


@pytest.mark.parametrize("models", [[], ["gat"]])
def test_models_that_are_not_propagators_or_cannot_be_predicted(models):
    found = report(models)
    parts = survival(found, TITLES, "T")
    assert bool(parts) == bool(models)
    if models:
        assert "? (" in parts[0].markdown()
