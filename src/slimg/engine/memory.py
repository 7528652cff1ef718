"""Talls as numpy arrays (or scipy CSR), blocks on a pool of threads.

A block is computed by one thread and its layout follows from the data's shape alone, so any number of threads gives the
same bits. An operation that is called from inside a block or a task runs on the thread it is called from: the pool never
waits for itself.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from itertools import islice, pairwise
from typing import Any

import numpy as np
from scipy import sparse

from slimg.engine import kernels
from slimg.engine.base import Array, Scaling, Sparse, Tall
from slimg.engine.blas import matmul, one_thread, self_gram
from slimg.engine.buffers import Buffers
from slimg.errors import InputError

BLOCKS = 16
"""Blocks a tall is cut into, when that leaves them neither too small to be worth a task nor too large for the cache."""
BLOCK_ENTRIES = 1 << 17, 1 << 20
"""Fewest and most entries of a block of rows (0.5 to 4 MiB of float32)."""
PRODUCT_WORK = 1 << 18
"""Stored entries (plus eight per row) of one block of a sparse product."""
DENSE_FROM = 0.1
"""Density from which the Gram matrix of a sparse tall is faster through dense blocks."""
RANDOM_ROWS = 1 << 12
"""Rows drawn from one stream of random numbers, on every engine."""


class MemoryEngine:
    """The engine of a single machine with enough memory; see `slimg.engine.base.Engine` for the operations.

    Parameters
    ----------
    threads : int or None
        Threads to use; None takes numba's setting (``NUMBA_NUM_THREADS``), at most the cores that are available.
    """

    def __init__(self, threads: int | None = None):
        self.threads = threads
        self._count = _thread_count(threads)
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0
        self._buffers = Buffers()
        self._worker = threading.local()

    def __reduce__(self) -> tuple[Any, ...]:
        return MemoryEngine, (self.threads,)

    # handing over and back ------------------------------------------------------------------------------------------

    def tall(self, array: Any) -> Tall:
        if sparse.issparse(array):
            matrix = sparse.csr_matrix(array, dtype=np.float32)
            return matrix if matrix.has_sorted_indices else matrix.sorted_indices()
        return np.ascontiguousarray(array, dtype=np.float32)

    def random(self, n: int, k: int, random_state: int) -> Tall:
        out = self._buffers.take(n, k)

        def draw(start: int, stop: int) -> None:
            stream = np.random.SeedSequence(random_state, spawn_key=(start // RANDOM_ROWS,))
            np.random.Generator(np.random.Philox(stream)).standard_normal(out=out[start:stop], dtype=np.float32)

        self._for_each(draw, list(pairwise(_edges(n, RANDOM_ROWS))))
        return out

    def rows(self, tall: Tall, index: Any) -> Array:
        chosen = tall[np.asarray(index)]
        return chosen.toarray() if sparse.issparse(chosen) else chosen

    def is_sparse(self, tall: Tall) -> bool:
        return sparse.issparse(tall)

    def to_array(self, tall: Tall) -> Array:
        return tall.toarray() if sparse.issparse(tall) else tall

    def trim(self) -> None:
        self._buffers.trim()

    # products -------------------------------------------------------------------------------------------------------

    def products(self, matrix: Sparse, tall: Tall, scalings: Sequence[Scaling]) -> list[Tall]:
        outs = [self._buffers.take(len(matrix.indptr) - 1, tall.shape[1]) for _ in scalings]

        tall = self.tall(tall)
        lanes = kernels.lanes_for(tall.shape[1])
        weights = None if matrix.weights is None else np.asarray(matrix.weights)
        data = np.asarray(matrix.indptr), np.asarray(matrix.indices), weights, tall
        pairs = [(place, place + 1) for place in range(0, len(scalings) - 1, 2)]

        def rows(start: int, stop: int) -> None:
            for a, b in pairs:
                kernels.gather_two(lanes)(*data, *scalings[a], outs[a], *scalings[b], outs[b], start, stop)
            if len(scalings) % 2:
                kernels.gather(lanes)(*data, *scalings[-1], outs[-1], start, stop)

        self._for_each(rows, _balanced_blocks(matrix.indptr))
        return outs

    def gram(self, a: Tall, b: Tall | None = None) -> Array:
        if sparse.issparse(a):
            return self._sparse_gram(a, b)
        talls = (a,) if b is None else (a, b)
        blocks = _row_blocks(talls, least=2 * max(t.shape[1] for t in talls))
        return self._sum(_block_gram, talls, blocks)

    def combine(self, tall: Tall, small: Array) -> Tall:
        small = np.ascontiguousarray(small, np.float32)
        if not sparse.issparse(tall):
            return self.map_rows(lambda block: matmul(block, small), tall)
        out = self._buffers.take(tall.shape[0], small.shape[1])

        kernel = kernels.gather(kernels.lanes_for(small.shape[1]))

        def rows(start: int, stop: int) -> None:
            kernel(tall.indptr, tall.indices, tall.data, small, None, None, 0.0, out, start, stop)

        self._for_each(rows, _balanced_blocks(tall.indptr))
        return out

    def _sparse_gram(self, a: Tall, b: Tall | None) -> Array:
        """Threads share out the columns of the result (its rows, without b): nothing needs to be added up."""
        rows = a.indptr, a.indices, a.data
        if b is None and a.nnz > DENSE_FROM * a.shape[0] * a.shape[1]:
            return self._sum(_block_gram, [a], _row_blocks([a], least=2 * a.shape[1]))
        if b is None:
            out = np.zeros((a.shape[1], a.shape[1]))
            self._for_each(partial(kernels.scatter_self, *rows, out), list(pairwise(_edges(a.shape[1], 64))))
        else:
            out = np.zeros((a.shape[1], b.shape[1]))
            self._for_each(partial(kernels.scatter, *rows, b, out), list(pairwise(_edges(b.shape[1], kernels.LINE))))
        return out

    # maps and sums --------------------------------------------------------------------------------------------------

    def map_rows(self, fn: Callable[..., Any], *talls: Tall) -> Tall:
        blocks = _row_blocks(talls)
        first = fn(*(t[slice(*blocks[0])] for t in talls))
        if sparse.issparse(first):
            rest = self._in_order(lambda start, stop: fn(*(t[start:stop] for t in talls)), blocks[1:])
            return self.tall(sparse.vstack([first, *rest], format="csr"))
        out = self._buffers.take(talls[0].shape[0], first.shape[1])
        out[slice(*blocks[0])] = first

        def rows(start: int, stop: int) -> None:
            out[start:stop] = fn(*(t[start:stop] for t in talls))

        self._for_each(rows, blocks[1:])
        return out

    def sum_rows(self, fn: Callable[..., Any], *talls: Tall) -> Array:
        return self._sum(fn, talls, _row_blocks(talls))

    def _sum(self, fn: Callable[..., Any], talls: Sequence[Tall], blocks: Sequence[tuple[int, int]]) -> Array:
        results = self._in_order(lambda start, stop: fn(*(t[start:stop] for t in talls)), blocks)
        total = np.array(next(results), dtype=np.float64)
        for part in results:
            total += part
        return total

    # threads --------------------------------------------------------------------------------------------------------

    def concurrently(self, *tasks: Callable[[], Any]) -> list[Any]:
        return list(self._in_order(lambda which: tasks[which](), [(which,) for which in range(len(tasks))]))

    def _for_each(self, fn: Callable[..., Any], blocks: Sequence[tuple[int, ...]]) -> None:
        for _ in self._in_order(fn, blocks):
            pass

    def _in_order(self, fn: Callable[..., Any], blocks: Sequence[tuple[int, ...]]) -> Iterator[Any]:
        """fn(*block) for each block, in order; at most two results per thread wait to be taken."""
        with one_thread():
            if self._count == 1 or len(blocks) < 2 or getattr(self._worker, "busy", False):
                for block in blocks:
                    yield fn(*block)
                return
            pool = self._threads()
            pending = iter(blocks)
            queue: list[Future[Any]] = [pool.submit(fn, *b) for b in islice(pending, 2 * self._count)]
            try:
                while queue:
                    result = queue.pop(0).result()
                    queue.extend(pool.submit(fn, *b) for b in islice(pending, 1))
                    yield result
            finally:
                wait([each for each in queue if not each.cancel()])

    def _threads(self) -> ThreadPoolExecutor:
        """The pool, made on first use, and anew in a forked process (which has the object but not its threads)."""
        if self._pool is None or self._process != os.getpid():
            self._worker = threading.local()
            self._pool = ThreadPoolExecutor(self._count, "slimg", lambda: setattr(self._worker, "busy", True))
            self._process = os.getpid()
        return self._pool


def _block_gram(a: Any, b: Array | None = None) -> Array:
    left = (a.toarray() if sparse.issparse(a) else a).astype(np.float64)
    return self_gram(left) if b is None else matmul(left.T, b.astype(np.float64))


def _thread_count(threads: int | None) -> int:
    if threads is None:
        from numba import config

        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return max(1, min(int(config.NUMBA_NUM_THREADS), cores))  # type: ignore[attr-defined]
    if not isinstance(threads, (int, np.integer)) or isinstance(threads, bool) or threads < 1:
        raise InputError(f"threads must be a positive integer or None, not {threads!r}")
    return int(threads)


def _edges(n: int, step: int) -> list[int]:
    """0, step, 2·step, …, n."""
    return [*range(0, n, step), n]


def _row_blocks(talls: Sequence[Tall], least: int = 1) -> list[tuple[int, int]]:
    """Runs of at least ``least`` rows, their number set by `BLOCKS` and `BLOCK_ENTRIES`."""
    n, width = talls[0].shape[0], max(1, sum(t.shape[1] for t in talls))
    low, high = BLOCK_ENTRIES
    step = max(least, min(max(-(-n // BLOCKS), low // width), high // width), 1)
    return list(pairwise(_edges(n, step))) or [(0, 0)]


def _balanced_blocks(indptr: Array) -> list[tuple[int, int]]:
    """Runs of rows with about equal work: degrees are skewed, so equal numbers of rows would not do."""
    work = indptr + 8 * np.arange(len(indptr), dtype=np.int64)
    cuts = np.searchsorted(work, np.arange(0, int(work[-1]), PRODUCT_WORK))
    edges = np.unique(np.append(cuts, len(indptr) - 1)).tolist()
    return list(pairwise(edges))
