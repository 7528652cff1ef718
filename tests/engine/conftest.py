"""Every engine, as a parameter of one suite."""

import pytest

from slimg.engine import MemoryEngine
from slimg.engine import base as blocks
from slimg.engine.dask import DaskEngine
from slimg.engine.mapped import MappedEngine


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks small enough for a test to have several."""
    monkeypatch.setattr(blocks, "BLOCK_ENTRIES", (64, 256))
    monkeypatch.setattr(blocks, "PRODUCT_WORK", 256)


@pytest.fixture(params=["memory", "two threads", "mapped", "mapped in slices", "journaled", "dask"])
def any_engine(request, tmp_path, monkeypatch):
    """One engine after the other; "in slices" has room for three gathered columns at a time."""
    if request.param in ("memory", "two threads"):
        yield MemoryEngine(threads=1 if request.param == "memory" else 2)
    elif request.param == "dask":
        with DaskEngine(request.getfixturevalue("cluster"), folder=tmp_path, partitions=3) as engine:
            yield engine
    else:
        with MappedEngine("8GB", folder=tmp_path if request.param == "journaled" else None, threads=2) as engine:
            if request.param == "mapped in slices":
                monkeypatch.setattr(engine, "_slices", lambda n, k: blocks.runs(k, 3))
            yield engine
