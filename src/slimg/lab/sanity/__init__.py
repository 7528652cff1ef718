"""Sanity checks: nine synthetic graphs that show what a model can and cannot do.

Public: `check` runs models on the cases and gives a `SanityReport` of `Cell`; `assert_passes` does so as a test;
`from_sklearn` and `from_torch` adapt models of other libraries; `make` draws a `SanityCase` and `scaled` gives its settings
for any size; `CASES` and `EMPTY` name the informative and the empty cases. ``slimg.lab.sanity.pytest_plugin`` has fixtures.
Everything else in this package is internal.
"""

from slimg.lab.sanity.case import CASES, EMPTY, SanityCase, make, scaled
from slimg.lab.sanity.report import Cell, SanityReport
from slimg.lab.sanity.runner import assert_passes, check, from_sklearn, from_torch

__all__ = [
    "CASES", "EMPTY", "Cell", "SanityCase", "SanityReport", "assert_passes", "check", "from_sklearn", "from_torch", "make",
    "scaled",
]  # fmt: skip
