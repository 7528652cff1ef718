"""Sanity checks as a test: fail with the matrix and the verdict of the model."""

from __future__ import annotations

from typing import Any

from slimg.lab.sanity.report import SanityReport
from slimg.lab.sanity.runner import check
from slimg.lab.sanity.scenarios import CASES

SMALL = 1200
"""Nodes of a check that takes seconds and is about as hard as the paper's 6,000."""
LENIENT = 0.75
"""Mark of a test: below the paper's 80 %, since few judged nodes move the accuracy by a few percent."""


def assert_passes(
    model: Any, cases: Any = CASES, *, n: int = SMALL, seeds: int = 2, at_least: float = LENIENT
) -> SanityReport:
    """Raise `AssertionError` unless the model passes these cases; arguments as in `slimg.lab.sanity.check`."""
    report = check(model, cases, n=n, seeds=seeds, at_least=at_least)
    failing = [name for name in report.models if not report.passes(name)]
    if failing:
        raise AssertionError(f"sanity checks failed by {', '.join(failing)}\n\n{report.to_text(100)}")
    return report
