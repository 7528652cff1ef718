"""Sanity checks: nine synthetic graphs on which a model shows what it can and cannot do."""

from slimg.sanity.adapters import from_sklearn, from_torch
from slimg.sanity.assertion import assert_passes
from slimg.sanity.case import SanityCase, make, scaled
from slimg.sanity.report import Cell, SanityReport
from slimg.sanity.runner import check
from slimg.sanity.scenarios import CASES, EMPTY

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
