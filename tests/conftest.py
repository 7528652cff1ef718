"""Fixtures shared by all tests: where the real graphs are, and how to load one."""

import functools
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real graphs: $SLIMG_DATA, else shared/data beside the project."""
    return Path(os.environ.get("SLIMG_DATA") or ROOT.parent / "shared" / "data").resolve()


@pytest.fixture(scope="session")
def load_real(data_dir):
    """``load_real(name)``: a real graph, loaded once; skips the test if the data folder does not hold it."""

    @functools.cache
    def load(name: str):
        from slimg.lab import datasets

        folder = datasets.info(name).folder
        if not (data_dir / folder).is_dir():
            pytest.skip(f"no folder {folder} in {data_dir}")
        return datasets.load(name, root=data_dir)

    return load
