"""Sanity checks as a test: fail with the matrix and the verdict of the model."""

from __future__ import annotations

from typing import Any

from slimg.sanity.report import SanityReport
from slimg.sanity.runner import check
from slimg.sanity.scenarios import CASES

SMALL = 1200
"""Nodes of a check that takes seconds and is as hard as the paper's 6,000."""


def assert_passes(model: Any, cases: Any = CASES, *, n: int = SMALL, seeds: int = 2) -> SanityReport:
    """Raise `AssertionError` unless the model passes these cases; arguments as in `slimg.sanity.check`."""
    report = check(model, cases, n=n, seeds=seeds)
    failing = [name for name in report.models if not report.passes(name)]
    if failing:
        raise AssertionError(f"sanity checks failed by {', '.join(failing)}\n\n{report.to_text(100)}")
    return report
