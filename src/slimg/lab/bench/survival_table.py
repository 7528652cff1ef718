"""What GnnExp predicts of the sanity checks, from a propagator's formula alone, beside what was measured.

    predicted    `slimg.lab.gnnexp.survival`: the filter at the default hyperparameters; of a network, that of its linear form
    measured     mean accuracy of the model with its grid, ✓ from the mark of the report
"""

from __future__ import annotations

from slimg.lab.bench.page import Entry, Table, entry
from slimg.lab.gnnexp.properties import properties
from slimg.lab.propagators.registry import names
from slimg.lab.sanity.report import SanityReport

MARKS = {True: "✓", False: "✗", None: "?"}


def survival_table(report: SanityReport, titles: dict[str, str], title: str) -> Table | None:
    """Rows are models that are propagators, or become one; None if there is none."""
    cases = [case.name for case in report.informative]
    predicted = predictions(report)
    if not predicted or not cases:
        return None
    rows = [
        [entry(titles[model]), *(_compared(report, model, case, predicted[model][case]) for case in cases)]
        for model in predicted
    ]
    return Table(title, ("", *cases), rows)


def agreement(report: SanityReport, titles: dict[str, str]) -> str:
    """How many predictions came true, and which did not, in one paragraph."""
    right, wrong, unknown = 0, [], 0
    for model, survives in predictions(report).items():
        for case in report.informative:
            told, cell = survives[case.name], report.cells[model, case.name]
            if told is None or cell.error:
                unknown += 1
            elif told == report.passed(model, case.name):
                right += 1
            else:
                wrong.append(f"{titles[model]} on {case.name} ({MARKS[told]} predicted, {100 * cell.mean:.1f} % measured)")
    if not right and not wrong:
        return ""
    open_ = f"; {unknown} were not predicted or not measured" if unknown else ""
    missed = f" Not so: {', '.join(wrong)}." if wrong else ""
    return f"{right} of {right + len(wrong)} predictions of `slimg gnnexp table` came true{open_}.{missed}"


def predictions(report: SanityReport) -> dict[str, dict[str, bool | None]]:
    """Model → case → whether its filter lets what helps through; None where the filter does not tell."""
    known = set(names())
    return {model: properties(model).survives for model in report.models if model in known}


def _compared(report: SanityReport, model: str, case: str, told: bool | None) -> Entry:
    if report.cells[model, case].error:
        return entry(f"{MARKS[told]} (failed)")
    measured = report.passed(model, case)
    if told is None or told == measured:
        return entry(MARKS[told] if told is not None else f"? ({MARKS[measured]})")
    return entry(f"{MARKS[told]}, measured {MARKS[measured]}", style="bold")
