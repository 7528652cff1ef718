"""CSR rows that are read in runs, and one pass over them.

Beside the gathered rows T (n × w) each thread has a place for the rows of its own block, in front of them:

    own rows of thread 0 | own rows of thread 1 | … | T₀ T₁ … T_{n−1}

A thread's view begins at its own place, so the compiled kernels see a block as rows 0, 1, … of that view, and the indices
are moved by what lies between. Without loops no row needs itself, and there are no such places.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from queue import SimpleQueue

import numpy as np

from slimg.engine.base import Array, Scaling, Sparse
from slimg.engine.blocks import Run, runs
from slimg.engine.files import FileArray, FileTall, stored_at
from slimg.engine.passes import gather_rows
from slimg.engine.threads import Threads
from slimg.engine.workdir import Digest

READ_ENTRIES = 1 << 20
"""Indices of A, or entries of a row matrix, that a thread reads at a time."""
READ_ROWS = 1 << 14
"""Most rows of a block of a product."""


class FileMatrix:
    """CSR rows, in memory or in the files they are mapped from; with ``digested``, ``key`` tells them from others."""

    def __init__(self, matrix: Sparse, digested: bool):
        self.matrix, self.n = matrix, len(matrix.indptr) - 1
        self._indptr = np.asarray(matrix.indptr)
        self._indices = _reader(matrix.indices)
        self._weights = None if matrix.weights is None else _reader(matrix.weights)
        entries = int(self._indptr[-1])
        parts = [self._indices] if self._weights is None else [self._indices, self._weights]
        self.key = str(Digest(self._indptr, *(content(each, entries) for each in parts))) if digested else ""

    def blocks(self) -> list[Run]:
        """Runs of rows with a bounded number of entries and of rows."""
        cuts = np.searchsorted(self._indptr, np.arange(0, int(self._indptr[-1]), READ_ENTRIES))
        edges = np.unique(np.concatenate([cuts, np.arange(0, self.n, READ_ROWS), [self.n]]))
        return list(pairwise(edges.tolist()))

    def read(self, start: int, stop: int, shift: int) -> tuple[Array, Array, Array | None]:
        """indptr from 0 on, indices plus ``shift``, and weights of a run of rows."""
        begin, end = int(self._indptr[start]), int(self._indptr[stop])
        weights = None if self._weights is None else _taken(self._weights, begin, end)
        indices = _taken(self._indices, begin, end)
        wide = indices.dtype if self.n + shift <= np.iinfo(np.int32).max else np.dtype(np.int64)
        return self._indptr[start : stop + 1] - begin, indices + wide.type(shift), weights


class Pass:
    """All scalings of one slice of columns [first, last) of a row matrix; ``room(rows, columns)`` is the place to gather them."""

    def __init__(self, threads: Threads, rows: FileMatrix, scalings: Sequence[Scaling], room: Callable[[int, int], Array]):
        self._threads, self._rows, self._scalings, self._room = threads, rows, scalings, room
        self._blocks = rows.blocks()
        loops = any(each.loop for each in scalings)
        self._own = max(stop - start for start, stop in self._blocks) if loops else 0
        self._front = self._own * threads.count
        self._places: SimpleQueue[int] = SimpleQueue()
        for place in range(threads.count):
            self._places.put(place)

    def run(self, row_matrix: FileTall, outs: Sequence[FileTall], first: int, last: int) -> None:
        """Read the slice, then stream the rows of the matrix."""
        gathered, front = self._room(self._rows.n + self._front, last - first), self._front
        self._threads.for_each(
            lambda start, stop: row_matrix.read(start, stop, first, last, gathered[front + start : front + stop]),
            runs(self._rows.n, max(1, READ_ENTRIES // (last - first))),
        )
        befores = [_behind(each.before, front) for each in self._scalings]

        def block(start: int, stop: int) -> None:
            place = self._places.get()
            try:
                results = self._block(gathered, befores, place * self._own, start, stop)
            finally:
                self._places.put(place)
            for out, result in zip(outs, results, strict=True):
                out.write(start, result, first)

        self._threads.for_each(block, self._blocks, worth=last - first)

    def _block(self, gathered: Array, befores: Sequence[Array | None], place: int, start: int, stop: int) -> list[Array]:
        """Rows [start, stop) of each product."""
        count, front = stop - start, self._front
        view, scalings = gathered[place:], []
        if self._own:
            view[:count] = gathered[front + start : front + stop]
        for (before, after, loop), behind in zip(self._scalings, befores, strict=True):
            if before is not None and behind is not None:
                behind = behind[place:]
                if self._own:
                    behind[:count] = before[start:stop]
            scalings.append(Scaling(behind, None if after is None else after[start:stop], loop))
        results = [np.empty((count, gathered.shape[1]), np.float32) for _ in scalings]
        gather_rows(*self._rows.read(start, stop, front - place), view, scalings, results, 0, count)
        return results


def content(source: FileArray | Array, size: int) -> str:
    """A digest of the first ``size`` entries."""
    digest = Digest(size)
    for start, stop in runs(size, READ_ENTRIES):
        digest.add(_taken(source, start, stop))
    return str(digest)


def _reader(array: Array) -> FileArray | Array:
    stored = stored_at(array)
    return array if stored is None else FileArray(stored[0], array.dtype, stored[1])


def _taken(source: FileArray | Array, start: int, stop: int) -> Array:
    return source.read(start, stop) if isinstance(source, FileArray) else source[start:stop]


def _behind(vector: Array | None, front: int) -> Array | None:
    """The vector behind ``front`` free places."""
    return vector if vector is None or not front else np.concatenate([np.zeros(front, np.float32), vector])
