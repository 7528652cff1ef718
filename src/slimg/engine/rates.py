"""How fast this machine is, by a measurement of about two seconds.

gather   seconds of a stored entry of A = start + line · (cache lines of a gathered row)
single   seconds of a multiply-add in float32 (row matrix × small);    double   the same in float64 (Gram matrices)
stream   seconds of a byte through memory;    disk   of a byte to or from a file in the work folder
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from slimg.engine.base import Scaling
from slimg.engine.memory import MemoryEngine
from slimg.graph.adjacency import Adjacency

NODES, ENTRIES, WIDTHS = 400_000, 4_000_000, (16, 64)
"""Sizes of the measurement: the row matrix is larger than the caches."""
FILE_BYTES = 1 << 26


@dataclass(frozen=True)
class Rates:
    """Seconds per unit, with all threads; see the module's text."""

    entry: float
    line: float
    single: float
    double: float
    stream: float
    disk: float

    def product(self, entries: int, columns: int) -> float:
        """Seconds of one pass over A."""
        return entries * (self.entry + self.line * -(-columns // 16))


def measure(folder: str | Path | None = None) -> Rates:
    """Measure with an engine in memory.

    Returns
    -------
    Rates
        Seconds of one unit of each kind of work.
    """
    engine = MemoryEngine()
    rng = np.random.default_rng(0)
    indices = rng.integers(0, NODES, ENTRIES, dtype=np.int32)
    matrix = Adjacency(np.linspace(0, ENTRIES, NODES + 1).astype(np.int64), indices)
    seconds = []
    for width in WIDTHS:
        row_matrix = np.ones((NODES, width), np.float32)
        seconds.append(_best(lambda row_matrix=row_matrix: engine.products(matrix, row_matrix, [Scaling()])) / ENTRIES)  # type: ignore[misc]
    line = max((seconds[1] - seconds[0]) / (WIDTHS[1] // 16 - 1), 1e-12)
    small = np.ones((WIDTHS[1], WIDTHS[1]), np.float32)
    work = NODES * WIDTHS[1] ** 2
    single, double = _best(lambda: engine.combine(row_matrix, small)) / work, _best(lambda: engine.gram(row_matrix)) / work
    stream = _best(lambda: engine.sum_rows(lambda block: block.sum(axis=0), row_matrix)) / row_matrix.nbytes
    return Rates(max(seconds[0] - line, line / 4), line, single, double, stream, _disk(folder))


def _disk(folder: str | Path | None) -> float:
    """Seconds per byte written, the slower way; the system's cache makes reading faster than this."""
    data = np.zeros(FILE_BYTES, np.uint8)
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        begun = time.perf_counter()
        data.tofile(file)
        file.flush()
        return (time.perf_counter() - begun) / FILE_BYTES


def _best(run: Callable[[], object]) -> float:
    """The better of two, after a first that compiles."""
    run()
    seconds = []
    for _ in range(2):
        begun = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - begun)
    return min(seconds)
