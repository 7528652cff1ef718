"""The fixture ``sanity_passes`` for the tests of a model.

It is not loaded automatically, so that pytest of other projects does not change. Add to ``conftest.py``

    pytest_plugins = ["slimg.lab.sanity.pytest_plugin"]

and write

    def test_model(sanity_passes):
        sanity_passes(MyModel, cases=["semantic-uniform", "random-heterophily"])

``--sanity-n`` and ``--sanity-seeds`` set the size and the number of splits. Cases are drawn once per session.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from slimg.lab.sanity.case import CASES, SanityCase, make, parts, scaled, select
from slimg.lab.sanity.report import SanityReport
from slimg.lab.sanity.runner import LENIENT, SMALL, assert_passes


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("sanity checks of graph models")
    group.addoption("--sanity-n", type=int, default=SMALL, help=f"nodes of each case (default {SMALL})")
    group.addoption("--sanity-seeds", type=int, default=2, help="splits of each case (default 2)")


@pytest.fixture(scope="session")
def sanity_case(request: pytest.FixtureRequest) -> Callable[[str], SanityCase]:
    """``sanity_case(name)``: a case of the given size, drawn once."""
    size = scaled(request.config.getoption("--sanity-n"))
    return cache(lambda name: make(*parts(name), **size))


@pytest.fixture
def sanity_passes(
    request: pytest.FixtureRequest, sanity_case: Callable[[str], SanityCase]
) -> Callable[..., SanityReport]:
    """``sanity_passes(model, cases=…)``: fails the test, with the tables, unless the model passes."""

    def passes(model: Any, cases: Any = CASES, at_least: float = LENIENT) -> SanityReport:
        drawn = [sanity_case(each) if isinstance(each, str) else each for each in select(cases)]
        return assert_passes(model, drawn, seeds=request.config.getoption("--sanity-seeds"), at_least=at_least)

    return passes
