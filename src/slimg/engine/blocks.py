"""How rows are cut into blocks, and the pool of threads that computes them.

Layouts are functions of shapes and of the sparsity pattern alone. Each block is computed by one thread and results are taken
in order, so neither the number of threads nor the engine changes a bit: engines that share a layout add the same numbers in
the same order. A call from inside a block or a task runs on the calling thread: the pool never waits for itself.

Large arrays whose memory is reused once they are no longer referenced.

A fresh gigabyte costs the system between 0.2 s and 2 s of page faults, as much as a pass over a graph: an algorithm that
makes and drops row matrices pays it every time. Here the engine keeps a reference to the memory of each large array that it
returns. numpy keeps such a reference in every view as well, so the reference count shows when only the engine's own is left,
and the next array of about that size gets the memory.

Rows begin where cache lines do, as far as their width allows: a row of 32 float32 is two lines, but three when it begins
within one, and a pass that gathers rows takes that much longer.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import islice, pairwise
from typing import Any

import numpy as np

from slimg.engine.base import Array, RowMatrix
from slimg.engine.blas import one_thread
from slimg.errors import InputError
from slimg.progress import SILENT, Progress
from slimg.system import cores

BLOCKS = 16
"""Blocks that a row matrix is cut into, unless they would be too small for a task or too large for the cache."""
BLOCK_ENTRIES = 1 << 17, 1 << 20
"""Fewest and most entries of a block of rows (0.5 to 4 MiB of float32)."""
PRODUCT_WORK = 1 << 18
"""Stored entries (plus eight per row) of one block of a sparse product."""
RANDOM_ROWS = 1 << 12
"""Rows drawn from one stream of random numbers, on every engine."""
DRAWN_ROWS = 8 * RANDOM_ROWS
"""Rows that are drawn at a time: one stream is too little for a task."""
PART_ROWS = 1 << 17
"""Most rows of a partition on a cluster, or of a chunk written to a file of results."""

Run = tuple[int, int]
"""First row, and the row after the last."""


def runs(n: int, step: int) -> list[Run]:
    """(0, step), (step, 2·step), …, up to n."""
    return list(pairwise([*range(0, n, step), n]))


def row_blocks(row_matrices: Sequence[RowMatrix], least: int = 1) -> list[Run]:
    """Runs of at least ``least`` rows; their number follows from `BLOCKS` and `BLOCK_ENTRIES`."""
    n, width = row_matrices[0].shape[0], max(1, sum(t.shape[1] for t in row_matrices))
    low, high = BLOCK_ENTRIES
    step = max(least, min(max(-(-n // BLOCKS), low // width), high // width), 1)
    return runs(n, step) or [(0, 0)]


def gram_blocks(row_matrices: Sequence[RowMatrix]) -> list[Run]:
    """Runs of rows long enough for the products to outweigh adding up the results."""
    return row_blocks(row_matrices, least=2 * max(t.shape[1] for t in row_matrices))


def balanced_blocks(indptr: Array) -> list[Run]:
    """Runs of rows with about equal work; degrees are skewed, so equal numbers of rows would be unbalanced."""
    work = indptr + 8 * np.arange(len(indptr), dtype=np.int64)
    cuts = np.searchsorted(work, np.arange(0, int(work[-1]), PRODUCT_WORK))
    edges = np.unique(np.append(cuts, len(indptr) - 1)).tolist()
    return list(pairwise(edges))


def draw_random(out: Array, random_state: int, start: int) -> None:
    """Fill the rows of a random row matrix from ``start`` on, a multiple of `RANDOM_ROWS`.

    Entries are uniform with mean 0 and variance 1: as good a start for subspaces as normal ones, in a tenth of the time.
    """
    for a, b in runs(len(out), RANDOM_ROWS):
        stream = np.random.SeedSequence(random_state, spawn_key=((start + a) // RANDOM_ROWS,))
        np.random.Generator(np.random.Philox(stream)).random(out=out[a:b], dtype=np.float32)
    out -= np.float32(0.5)
    out *= np.float32(np.sqrt(12))


def random_rows(start: int, stop: int, k: int, random_state: int) -> Array:
    """Rows [start, stop) of a random row matrix with k columns."""
    first = start - start % RANDOM_ROWS
    rows = np.empty((stop - first, k), np.float32)
    draw_random(rows, random_state, first)
    return rows[start - first :]


def signs_of(draws: Array, k: int) -> tuple[Array, Array]:
    """Column (below k) and sign (1 or -1) of the one entry in each row of S, from a random n × 1 matrix (`draw_random`)."""
    code = ((draws[:, 0] / np.float32(np.sqrt(12)) + np.float32(0.5)) * (2 * k)).astype(np.int32)
    code = np.clip(code, 0, 2 * k - 1)
    return code >> 1, np.where(code & 1, np.float32(-1), np.float32(1))


def signed_rows(draws: Array, k: int) -> Array:
    """The rows of S (n × k) themselves, see `signs_of`."""
    column, sign = signs_of(draws, k)
    out = np.zeros((len(draws), k), np.float32)
    out[np.arange(len(draws)), column] = sign
    return out


_POOLS: dict[tuple[int, int], ThreadPoolExecutor] = {}
"""(process, number of threads) → the pool that all engines of the process share: a fit leaves no threads of its own."""
_POOLS_LOCK = threading.Lock()
_WORKER = threading.local()


class Threads:
    """A pool of at most ``count`` threads, each with BLAS limited to one; pools of one size are shared by the process.

    Parameters
    ----------
    count : int or None
        None takes numba's setting (``NUMBA_NUM_THREADS``), at most the available cores.
    """

    count: int

    def __init__(self, count: int | None = None):
        self.count = _checked(count)
        self.progress: Progress = SILENT

    def for_each(self, fn: Callable[..., Any], blocks: Sequence[tuple[int, ...]], worth: float = 0.0) -> None:
        """fn(*block) for each block; all of them together advance the progress by ``worth``."""
        for _ in self.in_order(fn, blocks):
            if worth:
                self.progress.advance(worth / len(blocks))

    def sum(self, fn: Callable[..., Any], blocks: Sequence[tuple[int, ...]]) -> Array:
        """Σ fn(*block) in float64, added in the order of the blocks."""
        results = self.in_order(fn, blocks)
        total = np.array(next(results), dtype=np.float64)
        for part in results:
            total += part
        return total

    def concurrently(self, *tasks: Callable[[], Any]) -> list[Any]:
        """Results of independent tasks, in order."""
        return list(self.in_order(lambda which: tasks[which](), [(which,) for which in range(len(tasks))]))

    def in_order(self, fn: Callable[..., Any], blocks: Sequence[tuple[int, ...]]) -> Iterator[Any]:
        """Results of fn(*block) in the order of the blocks; at most two per thread are computed ahead."""
        with one_thread():
            if self.count == 1 or len(blocks) < 2 or getattr(_WORKER, "busy", False):
                for block in blocks:
                    yield fn(*block)
                return
            pool = self._threads()
            pending = iter(blocks)
            queue: list[Future[Any]] = [pool.submit(fn, *b) for b in islice(pending, 2 * self.count)]
            try:
                while queue:
                    result = queue.pop(0).result()
                    queue.extend(pool.submit(fn, *b) for b in islice(pending, 1))
                    yield result
            finally:
                wait([each for each in queue if not each.cancel()])

    def _threads(self) -> ThreadPoolExecutor:
        """The pool, made on first use and again in a forked process, which inherits the object but not its threads."""
        key = os.getpid(), self.count
        with _POOLS_LOCK:
            if key not in _POOLS:
                _POOLS[key] = ThreadPoolExecutor(self.count, "slimg", lambda: setattr(_WORKER, "busy", True))
            return _POOLS[key]


def _after_fork() -> None:
    """The forked process has none of the threads, and begins on one that is no worker; the lock may have been held."""
    global _POOLS_LOCK, _WORKER
    _POOLS.clear()
    _POOLS_LOCK, _WORKER = threading.Lock(), threading.local()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _checked(count: int | None) -> int:
    if count is None:
        from numba import config

        return max(1, min(int(config.NUMBA_NUM_THREADS), cores()))  # type: ignore[attr-defined]
    if not isinstance(count, (int, np.integer)) or isinstance(count, bool) or count < 1:
        raise InputError(f"threads must be a positive integer or None, not {count!r}")
    return int(count)


LARGE = 1 << 25
"""Bytes from which memory is reused."""
WASTE = 1.25
"""How many times larger than needed reused memory may be."""
LINE = 64
"""Bytes of a cache line."""


class Buffers:
    """Uninitialised float32 matrices; the memory of unreferenced ones is kept until one of another size is needed."""

    def __init__(self) -> None:
        self._places: list[Array] = []
        self._lock = threading.Lock()
        self._alone = _references([np.empty(0)])[0]

    def take(self, rows: int, columns: int) -> Array:
        """An uninitialised rows × columns matrix."""
        size = 4 * rows * columns
        if size < LARGE:
            return aligned(rows, columns)
        with self._lock:
            idle = self._idle()
            fitting = [place for place in idle if size <= place.nbytes - LINE <= WASTE * size]
            if fitting:
                place = fitting[0]
            else:
                self._forget(idle)
                del idle
                place = np.empty(size + LINE, np.uint8)
                self._places.append(place)
        return _matrix_in(place, rows, columns)

    def made(self, array: Array) -> bool:
        """Whether this is a whole matrix from `take`, and not other memory."""
        with self._lock:
            return any(array.base is place for place in self._places)

    def release_unused(self) -> None:
        """Free the memory of unreferenced matrices."""
        with self._lock:
            self._forget(self._idle())

    def _idle(self) -> list[Array]:
        """Memory that only this object references."""
        counts = _references(self._places)
        return [place for place, count in zip(self._places, counts, strict=True) if count <= self._alone]

    def _forget(self, idle: list[Array]) -> None:
        gone = {id(place) for place in idle}
        self._places = [place for place in self._places if id(place) not in gone]


def aligned(rows: int, columns: int) -> Array:
    """An uninitialised float32 matrix that begins with a cache line."""
    return _matrix_in(np.empty(4 * rows * columns + LINE, np.uint8), rows, columns)


def _matrix_in(place: Array, rows: int, columns: int) -> Array:
    begin = -place.ctypes.data % LINE
    return place[begin : begin + 4 * rows * columns].view(np.float32).reshape(rows, columns)


def _references(places: list[Array]) -> list[int]:
    """Reference counts, including the list's own and those of the call (how many depends on the interpreter)."""
    return [sys.getrefcount(place) for place in places]
