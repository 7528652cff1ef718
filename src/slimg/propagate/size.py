"""Whether a result fits into memory, said before the work begins."""

from __future__ import annotations

import os
from pathlib import Path

from slimg.engine.base import Engine
from slimg.engine.memory import MemoryEngine
from slimg.errors import InputError

MEMINFO = Path("/proc/meminfo")


def check_size(engine: Engine, needed: int, what: str) -> None:
    """Refuse what an engine that keeps its talls in memory cannot hold; ``needed`` in bytes."""
    free = available_memory()
    if isinstance(engine, MemoryEngine) and free is not None and needed > free:
        raise InputError(
            f"{what} needs {_gigabytes(needed)} of memory and {_gigabytes(free)} are free:"
            " ask for fewer hops or columns, or use an engine that keeps its arrays in files"
        )


def available_memory() -> int | None:
    """Bytes that can be had without swapping; None where the system does not say."""
    if MEMINFO.exists():
        for line in MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return None


def _gigabytes(size: int) -> str:
    return f"{size / 2**30:,.1f} GiB"
