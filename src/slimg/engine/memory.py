"""Row matrices as numpy arrays (or scipy CSR), their blocks computed by a pool of threads (`slimg.engine.base`).

Large arrays whose memory is reused once they are no longer referenced.

A fresh gigabyte costs the system between 0.2 s and 2 s of page faults, as much as a pass over a graph: an algorithm that
makes and drops row matrices pays it every time. Here the engine keeps a reference to the memory of each large array that it
returns. numpy keeps such a reference in every view as well, so the reference count shows when only the engine's own is left,
and the next array of about that size gets the memory.

Rows begin where cache lines do, as far as their width allows: a row of 32 float32 is two lines, but three when it begins
within one, and a pass that gathers rows takes that much longer.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from slimg.engine import kernels
from slimg.engine.base import (
    DRAWN_ROWS,
    PART_ROWS,
    Array,
    Engine,
    RowMatrix,
    Run,
    Scaling,
    Sparse,
    Threads,
    balanced_blocks,
    draw_random,
    gram_blocks,
    row_blocks,
    runs,
    signs_of,
)
from slimg.engine.blas import matmul, one_thread, self_gram
from slimg.progress import Progress

DENSE_FROM = 0.1
"""Density from which the Gram matrix of a sparse row matrix is faster through dense blocks."""


class ThreadedEngine(Engine):
    """What engines with a pool of threads share: blocks of rows are slices ``t[start:stop]`` of a row matrix t."""

    _threads: Threads

    @property
    def progress(self) -> Progress:
        """What passes over A report to."""
        return self._threads.progress

    @progress.setter
    def progress(self, progress: Progress) -> None:
        self._threads.progress = progress

    def is_sparse(self, row_matrix: RowMatrix) -> bool:
        return sparse.issparse(row_matrix)

    def concurrently(self, *tasks: Callable[[], Any]) -> list[Any]:
        return self._threads.concurrently(*tasks)

    def gram(self, a: RowMatrix, b: RowMatrix | None = None) -> Array:
        row_matrices = (a,) if b is None else (a, b)
        if sparse.issparse(a):
            return self._sparse_gram(a, b)
        return self._sum(block_gram, row_matrices, gram_blocks(row_matrices))

    def sum_rows(self, fn: Callable[..., Any], *row_matrices: RowMatrix) -> Array:
        return self._sum(fn, row_matrices, row_blocks(row_matrices))

    def for_each_row_chunk(
        self, fn: Callable[..., Any], row_matrices: Sequence[RowMatrix], vectors: Sequence[Array] = ()
    ) -> list[Any]:
        def run(which: int, start: int, stop: int) -> Any:
            return fn(which, *(each[start:stop] for each in (*row_matrices, *vectors)))

        step = self._chunk_rows(sum(t.shape[1] for t in row_matrices) + len(vectors))
        cuts = [(which, *cut) for which, cut in enumerate(runs(row_matrices[0].shape[0], step))]
        return list(self._threads.in_order(run, cuts))

    def _sparse_gram(self, a: RowMatrix, b: RowMatrix | None) -> Array:
        """`gram` of a sparse row matrix a."""
        raise NotImplementedError

    def _chunk_rows(self, width: int) -> int:
        """Rows of a chunk with ``width`` entries in each."""
        return PART_ROWS

    def _sum(self, fn: Callable[..., Any], row_matrices: Sequence[RowMatrix], blocks: Sequence[Run]) -> Array:
        return self._threads.sum(lambda start, stop: fn(*(t[start:stop] for t in row_matrices)), blocks)

    def _map(self, fn: Callable[..., Any], row_matrices: Sequence[RowMatrix], new: Callable[[int], Any]) -> Any:
        """fn of all blocks: as CSR if they are sparse, else in new(columns of the result)."""
        call = lambda start, stop: fn(*(t[start:stop] for t in row_matrices))  # noqa: E731
        blocks = row_blocks(row_matrices)
        with one_thread():
            first = call(*blocks[0])
        if sparse.issparse(first):
            return as_row_matrix(sparse.vstack([first, *self._threads.in_order(call, blocks[1:])], format="csr"))
        out = new(first.shape[1])
        out[slice(*blocks[0])] = first

        def rows(start: int, stop: int) -> None:
            out[start:stop] = call(start, stop)

        self._threads.for_each(rows, blocks[1:])
        return out


class MemoryEngine(ThreadedEngine):
    """The engine of a single machine with enough memory; see `Engine` for the operations.

    Parameters
    ----------
    threads : int or None, default None
        Threads to use; None takes numba's setting (``NUMBA_NUM_THREADS``), at most the available cores. Results do not
        depend on it.

    Examples
    --------
    The path 0 - 1 - 2, its adjacency times the identity:

    >>> import numpy as np
    >>> from slimg.engine import MemoryEngine, Scaling
    >>> from slimg.graph.adjacency import Adjacency
    >>> path, _ = Adjacency.from_edges([0, 1], [1, 2], 3)
    >>> engine = MemoryEngine(threads=1)
    >>> engine.products(path, engine.row_matrix(np.eye(3)), [Scaling()])[0]
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]], dtype=float32)
    """

    def __init__(self, threads: int | None = None):
        self.threads = threads
        self._threads = Threads(threads)
        self._buffers = Buffers()

    def __reduce__(self) -> tuple[Any, ...]:
        return MemoryEngine, (self.threads,)

    # arrays in and out ----------------------------------------------------------------------------------------------

    def row_matrix(self, array: Any) -> RowMatrix:
        return as_row_matrix(array)

    def random(self, n: int, k: int, random_state: int) -> RowMatrix:
        out = self._buffers.take(n, k)
        self._threads.for_each(lambda start, stop: draw_random(out[start:stop], random_state, start), runs(n, DRAWN_ROWS))
        return out

    def rows(self, row_matrix: RowMatrix, index: Any) -> Array:
        chosen = row_matrix[np.asarray(index)]
        return chosen.toarray() if sparse.issparse(chosen) else chosen

    def to_array(self, row_matrix: RowMatrix) -> Array:
        return row_matrix.toarray() if sparse.issparse(row_matrix) else np.asarray(row_matrix)

    def release_unused(self) -> None:
        self._buffers.release_unused()

    # products -------------------------------------------------------------------------------------------------------

    def products(self, matrix: Sparse, row_matrix: RowMatrix, scalings: Sequence[Scaling]) -> list[RowMatrix]:
        row_matrix = as_row_matrix(row_matrix)
        outs = [self._buffers.take(len(matrix.indptr) - 1, row_matrix.shape[1]) for _ in scalings]
        rows = partial(kernels.gather_rows, *_csr(matrix), row_matrix, scalings, outs)
        self._threads.for_each(rows, balanced_blocks(matrix.indptr), worth=row_matrix.shape[1])
        return outs

    def sketch(self, matrix: Sparse, k: int, random_state: int) -> RowMatrix:
        n = len(matrix.indptr) - 1
        column, sign = signs_of(self.random(n, 1, random_state), k)
        code = (2 * column + (sign < 0)).astype(np.uint8 if 2 * k <= 256 else np.int32)
        out = self._buffers.take(n, k)
        self._threads.for_each(partial(kernels.sketch, *_csr(matrix), code, out), balanced_blocks(matrix.indptr))
        return out

    def combine(self, row_matrix: RowMatrix, small: Array) -> RowMatrix:
        small = np.ascontiguousarray(small, np.float32)
        if not sparse.issparse(row_matrix):
            return self.map_rows(lambda block: matmul(block, small), row_matrix)
        out = self._buffers.take(row_matrix.shape[0], small.shape[1])
        csr = row_matrix.indptr, row_matrix.indices, row_matrix.data
        rows = partial(kernels.gather_rows, *csr, small, [Scaling()], [out])
        self._threads.for_each(rows, balanced_blocks(row_matrix.indptr))
        return out

    def _sparse_gram(self, a: RowMatrix, b: RowMatrix | None) -> Array:
        """Threads share out the columns of the result (its rows, without b): nothing needs to be added up."""
        rows = a.indptr, a.indices, a.data
        if b is None and a.nnz > DENSE_FROM * a.shape[0] * a.shape[1]:
            return self._sum(block_gram, [a], gram_blocks([a]))
        if b is None:
            out = np.zeros((a.shape[1], a.shape[1]))
            self._threads.for_each(partial(kernels.scatter_self, *rows, out), runs(a.shape[1], 64))
        else:
            out = np.zeros((a.shape[1], b.shape[1]))
            self._threads.for_each(partial(kernels.scatter, *rows, b, out), runs(b.shape[1], kernels.LINE))
        return out

    def map_rows(self, fn: Callable[..., Any], *row_matrices: RowMatrix, overwrite_input: bool = False) -> RowMatrix:
        first = row_matrices[0]

        def new(k: int) -> Array:
            # a narrow result would hold on to a wide array
            own = overwrite_input and k <= first.shape[1] <= WASTE * k and self._buffers.made(first)
            return first[:, :k] if own else self._buffers.take(first.shape[0], k)

        return self._map(fn, row_matrices, new)


@dataclass(frozen=True, eq=False)
class Recomputed:
    """A row matrix (n × k, float32) whose rows are computed, some at a time, whenever they are read.

    Rows of large components that cost one pass are not held beside what they are made of: a fit reads the labelled ones,
    and all of them once if their weights are not zero.
    """

    shape: tuple[int, int]
    compute: Callable[[Array], Array]

    def __getitem__(self, index: Any) -> Array:
        rows = np.arange(*index.indices(self.shape[0])) if isinstance(index, slice) else np.arange(self.shape[0])[index]
        out = np.empty((len(rows), self.shape[1]), np.float32)
        for start, stop in runs(len(rows), RECOMPUTED):
            out[start:stop] = self.compute(rows[start:stop])
        return out

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self[:].astype(dtype or np.float32, copy=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return np.asarray, (self[:],)


def is_large(engine: Engine, row_matrix: RowMatrix) -> bool:
    """Whether such a row matrix is computed again rather than held."""
    return type(engine) is MemoryEngine and row_matrix.shape[0] * row_matrix.shape[1] > HELD


def as_row_matrix(array: Any) -> RowMatrix:
    """The array as float32, without a copy where possible: CSR with ascending columns, or dense in C order."""
    if sparse.issparse(array):
        matrix = sparse.csr_matrix(array, dtype=np.float32)
        return matrix if matrix.has_sorted_indices else matrix.sorted_indices()
    return np.ascontiguousarray(array, dtype=np.float32)


def _csr(matrix: Sparse) -> tuple[Array, Array, Array | None]:
    weights = None if matrix.weights is None else np.asarray(matrix.weights)
    return np.asarray(matrix.indptr), np.asarray(matrix.indices), weights


def block_gram(a: Any, b: Array | None = None) -> Array:
    """aᵀb of one block of rows (aᵀa without b), in float64."""
    left = (a.toarray() if sparse.issparse(a) else a).astype(np.float64)
    return self_gram(left) if b is None else matmul(left.T, b.astype(np.float64))


def sparse_product(a: Any, b: Any) -> Array:
    """aᵀb (j × k, float64) of rows that are read block by block: CSR of a (n × j), dense of b (n × k)."""
    out = np.zeros((a.shape[1], b.shape[1]))
    for start, stop in row_blocks((a, b)):
        part = a[start:stop]
        kernels.scatter(part.indptr, part.indices, part.data, b[start:stop], out, 0, b.shape[1])
    return out


HELD, RECOMPUTED = 1 << 24, 1 << 14
"""Entries of a row matrix beyond which it is computed again whenever it is read, and how many rows at a time."""
LARGE = 1 << 25
"""Bytes from which memory is reused."""
WASTE = 1.1
"""How many times larger than needed reused memory may be: components are kept, and often have four fifths of the columns that
they are made of."""
LINE = 4 * kernels.LINE
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
