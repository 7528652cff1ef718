"""Sanity checks: nine synthetic graphs on which a model shows what it can and cannot do."""

from slimg.lab.sanity.adapters import from_sklearn, from_torch
from slimg.lab.sanity.assertion import assert_passes
from slimg.lab.sanity.case import SanityCase, make, scaled
from slimg.lab.sanity.report import Cell, SanityReport
from slimg.lab.sanity.runner import check
from slimg.lab.sanity.scenarios import CASES, EMPTY

__all__ = [
    "CASES",
    "EMPTY",
    "Cell",
    "SanityCase",
    "SanityReport",
    "assert_passes",
    "check",
    "from_sklearn",
    "from_torch",
    "make",
    "scaled",
]
