"""How rows are cut into blocks, how those of a sparse matrix are read, and the pool of threads that computes them.

Layouts are functions of shapes and of the sparsity pattern alone. Each block is computed by one thread and results are taken
in order, so neither the number of threads nor the engine changes a bit: engines that share a layout add the same numbers in
the same order. A call from inside a block or a task runs on the calling thread: the pool never waits for itself.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from slimg.engine.base import Array, RowMatrix, Sparse
from slimg.engine.blas import one_thread
from slimg.errors import InputError
from slimg.progress import SILENT, Progress
from slimg.system import check_stamp, cores, require_unchanged, stamp

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


READ_ENTRIES = 1 << 20
"""Indices of A, or entries of a row matrix, that a thread reads at a time."""
READ_ROWS = 1 << 14
"""Most rows of a block of a product."""


@dataclass(frozen=True)
class FileArray:
    """A vector or matrix of any type stored row-major from a byte of a file on; its slices are those of the flattened array.

    A file with a ``stamp`` must not change.
    """

    path: Path
    dtype: str
    offset: int = 0
    stamp: tuple[int, ...] | None = None

    def __getitem__(self, entries: slice) -> Array:
        out = np.empty(entries.stop - entries.start, self.dtype)
        read_into(out, self.path, self.offset + entries.start * out.itemsize, self.stamp)
        return out


class FileMatrix:
    """CSR rows, in memory or in the files they are mapped from, which are read block by block."""

    matrix: Sparse
    n: int
    indices: FileArray | Array
    weights: FileArray | Array | None

    def __init__(self, matrix: Sparse):
        self.matrix, self.n, self._indptr = matrix, len(matrix.indptr) - 1, np.asarray(matrix.indptr)
        self.indices, self.weights = reader(matrix.indices), None if matrix.weights is None else reader(matrix.weights)

    def blocks(self) -> list[Run]:
        """Runs of rows with a bounded number of entries and of rows."""
        return entry_blocks(self._indptr)

    def read(self, start: int, stop: int) -> tuple[Array, Array, Array | None]:
        """indptr from 0 on, indices and weights of a run of rows."""
        begin, end = int(self._indptr[start]), int(self._indptr[stop])
        weights = None if self.weights is None else self.weights[begin:end]
        return self._indptr[start : stop + 1] - begin, self.indices[begin:end], weights


def reader(array: Array) -> FileArray | Array:
    """A vector whose slices are read by plain reads if it is mapped from a file; else the vector itself.

    Pages of a mapped file count as memory of the process, those of the system's cache do not.
    """
    stored = stored_at(array)
    if stored is None:
        return array
    path, offset = stored
    try:
        return FileArray(path, array.dtype.str, offset, stamp(path))
    except FileNotFoundError:
        raise _gone(path) from None


def stored_at(array: Array) -> tuple[Path, int] | None:
    """File and byte where a contiguous memory-mapped array (or a view of one) is stored; None for arrays in memory."""
    owner: Any = array
    while owner is not None and not isinstance(owner, np.memmap):
        owner = getattr(owner, "base", None)
    if owner is None or not array.flags.c_contiguous:
        return None
    require_unchanged(owner)
    while isinstance(owner.base, np.memmap):  # a view's own offset is that of the whole
        owner = owner.base
    if owner.filename is None:
        return None
    distance = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    return Path(owner.filename), owner.offset + distance


def read_into(out: Array, path: Path, offset: int, before: tuple[int, ...] | None = None) -> None:
    """Fill a contiguous array from a byte of a file on, which must be as it was ``before``."""
    view, done = out.reshape(-1).view(np.uint8).data, 0
    try:
        with open(path, "rb", buffering=0) as file:
            file.seek(offset)
            while done < len(view):
                count = file.readinto(view[done:])
                if not count:
                    lacking = len(view) - done
                    raise InputError(f"{path} ends at byte {offset + done}, but {lacking} more are needed: it was cut off")
                done += count
            if before is not None:
                check_stamp(path, path, before)
    except FileNotFoundError:
        raise _gone(path) from None


def _gone(path: Path | str) -> InputError:
    advice = "start the run again, on a cluster in a folder that all workers share"
    return InputError(f"{path} is gone or cannot be seen from here: {advice}")


def entry_blocks(indptr: Array) -> list[Run]:
    """Runs of rows with a bounded number of entries and of rows."""
    n = len(indptr) - 1
    cuts = np.searchsorted(indptr, np.arange(int(indptr[0]), int(indptr[-1]), READ_ENTRIES))
    edges = np.unique(np.concatenate([cuts, np.arange(0, n, READ_ROWS), [n]]))
    return list(pairwise(edges.tolist()))


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
