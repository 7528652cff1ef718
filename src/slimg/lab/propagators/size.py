"""Whether a result fits into memory, said before the work begins."""

from __future__ import annotations

from slimg.engine.base import Engine
from slimg.engine.memory import MemoryEngine
from slimg.errors import TooLarge
from slimg.sizes import available_memory


def check_size(engine: Engine, needed: int, what: str) -> None:
    """Refuse what an engine that keeps its row matrices in memory cannot hold; ``needed`` in bytes."""
    free = available_memory()
    if isinstance(engine, MemoryEngine) and free is not None and needed > free:
        raise TooLarge(
            f"{what} needs {_gigabytes(needed)} of memory and {_gigabytes(free)} are free:"
            " ask for fewer hops or columns, or use an engine that keeps its arrays in files"
        )


def _gigabytes(size: int) -> str:
    return f"{size / 2**30:,.1f} GiB"
