"""The examples of docstrings run, and the check of docstrings finds what it is for."""

import doctest
import importlib
import sys
from types import ModuleType

import pytest

pytest.importorskip("numpydoc", reason="NUMPYDOC IS NOT INSTALLED: pip install '.[lint]'")

from tools.check_docstrings import findings, packages
from tools.imports import SOURCE

WITH_EXAMPLES = sorted(path for path in SOURCE.rglob("*.py") if ">>>" in path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_examples_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = ".".join(("slimg", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")
    done = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert done.attempted > 0
    assert done.failed == 0, "see the captured output"


@pytest.mark.parametrize("package", packages())
def test_docstrings_of_public_names_are_complete(package):
    assert list(findings(package)) == []


def test_the_check_walks_every_package():
    assert {"slimg", "slimg.graph", "slimg.learn", "slimg.lab", "slimg.lab.datasets"} <= set(packages())


SAMPLE = '''
"""A package."""
__all__ = ["complete", "parameters", "result", "unknown"]

def complete(a: int) -> int:
    """Return a number.

    Parameters
    ----------
    a : int
        A number.

    Returns
    -------
    int
        The same.
    """
    return a

def parameters(a: int) -> None:
    """Take a number."""

def result() -> int:
    """Return a number."""
    return 1

def unknown() -> None:
    """Do nothing.

    Outputs
    -------
    int
        Nothing.
    """
'''


@pytest.mark.filterwarnings("ignore:Unknown section")
def test_the_check_finds_missing_parameters_results_examples_and_unknown_sections(tmp_path, monkeypatch):
    (tmp_path / "slimg_sample.py").write_text(SAMPLE)
    monkeypatch.syspath_prepend(str(tmp_path))
    found = [line.split(" ")[:2] for line in findings("slimg_sample")]
    assert [name.removeprefix("slimg_sample.").rstrip(":") + " " + code for name, code in found] == [
        "complete EX01",
        "parameters PR01",
        "parameters EX01",
        "result RT01",
        "result EX01",
        "unknown GL06",
        "unknown GL07",
        "unknown EX01",
    ]
    assert isinstance(sys.modules.pop("slimg_sample"), ModuleType)


FAMILY = '''
"""A package."""
__all__ = ["Child"]

class Base:
    """A base class."""

    def method(self, a: int) -> int:
        """Return a number.

        Parameters
        ----------
        a : int
            A number.

        Returns
        -------
        int
            The same.
        """
        return a

    inherited = silent = method

    def bare(self) -> int:
        return 1

class Child(Base):
    """A subclass."""

    def method(self, a: int) -> int:
        """Return the number after it."""
        return a + 1

    def silent(self, a: int) -> int:
        return a + 2

    def bare(self) -> int:
        """Return two."""
        return 2

    def new(self, a: int) -> int:
        """Return a number."""
        return a
'''


def test_an_override_inherits_the_sections_of_the_base_class(tmp_path, monkeypatch):
    (tmp_path / "slimg_family.py").write_text(FAMILY)
    monkeypatch.syspath_prepend(str(tmp_path))
    found = {line.split(" ", 2)[0].rstrip(":").removeprefix("slimg_family.Child.") for line in findings("slimg_family")}
    assert found == {"slimg_family.Child", "bare", "new"}, "the class itself has no example"
    sys.modules.pop("slimg_family")
