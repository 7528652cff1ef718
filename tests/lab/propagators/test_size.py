"""What does not fit into memory is refused with its size; other engines are not asked."""

import pytest
from propagate_oracles import GRAPHS, OpaqueEngine

from slimg.engine import MemoryEngine
from slimg.errors import InputError, TooLarge
from slimg.lab.propagators import get, size
from slimg.lab.propagators.size import check_size


def test_sizes_are_said(monkeypatch):
    monkeypatch.setattr(size, "available_memory", lambda: 3 << 30)
    check_size(MemoryEngine(), 3 << 30, "P")
    with pytest.raises(TooLarge, match=r"P needs 4\.0 GiB of memory and 3\.0 GiB are free: ask for fewer hops"):
        check_size(MemoryEngine(), 4 << 30, "P")
    check_size(OpaqueEngine(), 4 << 30, "P")
    assert issubclass(TooLarge, InputError) and issubclass(TooLarge, MemoryError)


def test_a_propagator_refuses_before_it_starts(monkeypatch):
    monkeypatch.setattr(size, "available_memory", lambda: 1 << 20)
    with pytest.raises(InputError, match=r"P\(A, X\) with 60,006 columns for 40 nodes needs 0\.0 GiB"):
        get("gprgnn", K=10_000)(GRAPHS[0])
