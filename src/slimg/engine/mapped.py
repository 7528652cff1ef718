"""Row matrices as files: graphs larger than memory, under a budget.

    memory ≥ what the process holds + one slice of gathered columns (4 n bytes each) + a few blocks

Operations on rows read and write runs of rows, in the layout of the engine in memory (`slimg.engine.base`): the bits are
the same. A sparse product needs all rows of the row matrix, but not all columns: it takes as many columns as fit, reads the
indices of A from beginning to end, and does so once for each such slice. A sparse row matrix is kept in memory.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from slimg.engine import kernels
from slimg.engine.base import (
    PART_ROWS,
    RANDOM_ROWS,
    READ_ENTRIES,
    READ_ROWS,
    Array,
    FileArray,
    FileMatrix,
    RowMatrix,
    Run,
    Scaling,
    Sparse,
    Threads,
    random_rows,
    reader,
    row_blocks,
    runs,
    signed_rows,
)
from slimg.engine.blas import matmul
from slimg.engine.files import Digest, FileRowMatrix, Steps, Workdir, content, parts_of
from slimg.engine.memory import MemoryEngine, ThreadedEngine, aligned, sparse_product
from slimg.errors import InputError
from slimg.system import as_bytes, require_room, resident, show_bytes

RESERVE = 48 << 20
"""Bytes for blocks being computed and for the interpreter itself."""
RUN_BYTES = 48
"""Bytes that an entry of a chunk takes while a function works on it: float64, and a few copies."""


class MappedEngine(ThreadedEngine):
    """The engine of one machine whose memory is too small; see `slimg.engine.Engine` for the operations.

    As a context manager it removes its files at the end, and keeps them after an error so that the run can continue.
    Otherwise they are removed with the engine, or when the interpreter exits.

    Parameters
    ----------
    memory : str or int, default "4GB"
        The most that the process may hold, everything included: a size such as "4GB", or bytes.
    folder : path-like or None, default None
        Where work files go. With a folder, a run that was killed continues from its last finished operation when it is
        started again; None takes a temporary folder.
    threads : int or None, default None
        As in `MemoryEngine`.

    Raises
    ------
    InputError
        If the memory is no size, the folder is in use or cannot be made, or the system cannot read files at an offset.

    Examples
    --------
    >>> import numpy as np
    >>> from slimg.engine.mapped import MappedEngine
    >>> with MappedEngine("1GB", threads=1) as engine:
    ...     engine.gram(engine.row_matrix(np.eye(3)[:, :2]))
    array([[1., 0.],
           [0., 1.]])
    """

    memory: str | int
    folder: str | os.PathLike[str] | None
    threads: int | None
    budget: int

    def __init__(self, memory: str | int = "4GB", folder: str | os.PathLike[str] | None = None, threads: int | None = None):
        if not hasattr(os, "pwrite"):
            raise InputError("engine='mapped' needs os.pwrite, which this system does not have: use engine='memory'")
        self.memory, self.folder, self.threads = memory, folder, threads
        self.budget = budget = as_bytes(memory)
        self._threads = Threads(threads)
        self._memory = MemoryEngine(threads=1)
        self._work = Workdir(folder)
        self._steps = Steps(self._work, lambda rows: budget // (8 * max(rows, 1)))
        self._room = np.empty(0, np.float32)
        self._matrices: list[tuple[FileMatrix, str]] = []
        self._finalizer = weakref.finalize(self, self._work.close)

    def __reduce__(self) -> tuple[Any, ...]:
        return MappedEngine, (self.memory, self.folder, self.threads)

    def __enter__(self) -> MappedEngine:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        self._work.keep = self._work.journaled and kind is not None
        self.close()

    def close(self) -> None:
        """Remove the work files; row matrices of this engine cannot be read afterwards."""
        self._finalizer()

    def require_room(self, size: int) -> None:
        """Raise an `InputError` unless ``size`` bytes of work files fit on the disk, counting those of a killed run."""
        there = sum(path.stat().st_size for path in self._work.path.iterdir())
        require_room(self._work.path, max(0, size - there), "fitting this graph")

    # arrays in and out ----------------------------------------------------------------------------------------------

    def row_matrix(self, array: Any) -> RowMatrix:
        if sparse.issparse(array):
            matrix = self._memory.row_matrix(array)
            return _sparse(matrix, self._digest(matrix.indptr, matrix.indices, matrix.data))
        stored = reader(array) if isinstance(array, np.ndarray) and array.dtype == np.float32 else None
        if isinstance(stored, FileArray):
            key = content(stored, array.size) if self._work.journaled else ""
            shape = array.shape[0], array.shape[1]
            return FileRowMatrix(stored.path, shape, shape[1], stored.offset, key, stamp=stored.stamp)
        array = np.asarray(array)
        rows, blocks = lambda start, stop: array[start:stop], row_blocks([array])
        return self._filled("row_matrix", [self._digest(array)], (array.shape[0], array.shape[1]), rows, blocks)

    def random(self, n: int, k: int, random_state: int) -> RowMatrix:
        rows = lambda start, stop: random_rows(start, stop, k, random_state)  # noqa: E731
        return self._filled("random", [n, k, random_state], (n, k), rows, runs(n, RANDOM_ROWS))

    def _filled(
        self, what: str, inputs: list[Any], shape: Run, rows: Callable[[int, int], Array], blocks: Sequence[Run]
    ) -> FileRowMatrix:
        """A step whose result is made of rows(start, stop) for each block."""

        def compute(new: Callable[..., list[FileRowMatrix]]) -> list[FileRowMatrix]:
            (out,) = new(shape)
            self._threads.for_each(lambda start, stop: out.write(start, rows(start, stop)), blocks)
            return [out]

        return self._steps.row_matrices(what, inputs, 1, compute)[0]

    def rows(self, row_matrix: RowMatrix, index: Any) -> Array:
        if sparse.issparse(row_matrix):
            return self._memory.rows(row_matrix, index)
        index = np.asarray(index)
        if index.dtype == bool:
            index = np.flatnonzero(index)
        self._work.pin(row_matrix.path)
        out = np.empty((len(index), row_matrix.shape[1]), np.float32)
        order = np.argsort(index, kind="stable")
        for chosen in np.split(order, np.flatnonzero(np.diff(index[order] // RANDOM_ROWS)) + 1):
            if len(chosen):
                start, stop = int(index[chosen[0]]), int(index[chosen[-1]]) + 1
                out[chosen] = row_matrix.read(start, stop)[index[chosen] - start]
        return out

    def to_array(self, row_matrix: RowMatrix) -> Array:
        if sparse.issparse(row_matrix):
            return row_matrix.toarray()
        self._work.pin(row_matrix.path)
        out = np.empty(row_matrix.shape, np.float32)
        read = lambda start, stop: row_matrix.read(start, stop, out=out[start:stop])  # noqa: E731
        self._threads.for_each(read, row_blocks([row_matrix]))
        return out

    def release_unused(self) -> None:
        self._room = np.empty(0, np.float32)

    def concurrently(self, *tasks: Callable[[], Any]) -> list[Any]:
        return [task() for task in tasks]  # so that the journal has their steps in one order

    # products -------------------------------------------------------------------------------------------------------

    def products(self, matrix: Sparse, row_matrix: RowMatrix, scalings: Sequence[Scaling]) -> list[RowMatrix]:
        rows, key = self._matrix(matrix)
        n, k = rows.n, row_matrix.shape[1]
        computed: list[FileRowMatrix] = []

        def compute(new: Callable[..., list[FileRowMatrix]]) -> list[FileRowMatrix]:
            slices = self._slices(n, k)
            computed.extend(new((n, k), panel=slices[0][1]))
            for first, last in slices:
                self._multiply(rows, row_matrix, scalings, computed, first, last)
            return computed

        inputs = [key, row_matrix.key, self._digest(*(part for each in scalings for part in each))]
        outs = self._steps.row_matrices("products", inputs, len(scalings), compute)
        if not computed:
            self.progress.advance(k)  # done by the run that was killed
        return outs

    def _multiply(
        self, rows: FileMatrix, row_matrix: RowMatrix, scalings: Sequence[Scaling], outs: list[Any], first: int, last: int
    ) -> None:
        """Columns [first, last) of all products: they are gathered in memory, and the rows of the matrix are streamed."""
        width = last - first
        gathered = self._gathered(rows.n, width)
        self._threads.for_each(
            lambda start, stop: row_matrix.read(start, stop, first, last, gathered[start:stop]),
            runs(rows.n, max(1, READ_ENTRIES // width)),
        )

        def block(start: int, stop: int) -> None:
            results = [np.empty((stop - start, width), np.float32) for _ in scalings]
            kernels.gather_rows(*rows.read(start, stop), gathered, scalings, results, 0, stop - start, shift=start)
            for out, result in zip(outs, results, strict=True):
                out.write(start, result, first)

        self._threads.for_each(block, rows.blocks(), worth=width)

    def sketch(self, matrix: Sparse, k: int, random_state: int) -> RowMatrix:
        draws = self.random(len(matrix.indptr) - 1, 1, random_state)
        return self.products(matrix, self.map_rows(lambda block: signed_rows(block, k), draws), [Scaling()])[0]

    def _sparse_gram(self, a: RowMatrix, b: RowMatrix | None) -> Array:
        inputs, whole = ([a.key], self._memory.gram) if b is None else ([a.key, b.key], sparse_product)
        return self._steps.array("gram", inputs, lambda: whole(a, b))

    def combine(self, row_matrix: RowMatrix, small: Array) -> RowMatrix:
        small = np.ascontiguousarray(small, np.float32)
        multiply = self._memory.combine if sparse.issparse(row_matrix) else matmul
        return self.map_rows(lambda block: multiply(block, small), row_matrix)

    # maps and sums --------------------------------------------------------------------------------------------------

    def map_rows(self, fn: Callable[..., Any], *row_matrices: RowMatrix, overwrite_input: bool = False) -> RowMatrix:
        inputs, n = self._inputs(fn, row_matrices), row_matrices[0].shape[0]
        kept: list[RowMatrix] = []

        def compute(new: Callable[..., list[FileRowMatrix]]) -> list[FileRowMatrix]:
            result = self._map(fn, row_matrices, lambda k: new((n, k))[0])
            if not sparse.issparse(result):
                return [result]
            kept.append(_sparse(result, str(Digest(*inputs))))
            return []

        return [*self._steps.row_matrices("map_rows", inputs, 1, compute), *kept][0]

    def _sum(self, fn: Callable[..., Any], row_matrices: Sequence[RowMatrix], blocks: Sequence[Run]) -> Array:
        total = super()._sum
        return self._steps.array("sum", self._inputs(fn, row_matrices), lambda: total(fn, row_matrices, blocks))

    def _inputs(self, fn: Callable[..., Any], row_matrices: Sequence[RowMatrix]) -> list[str]:
        return [self._digest(*parts_of(fn)), *(t.key for t in row_matrices)]

    def _chunk_rows(self, width: int) -> int:
        self.release_unused()
        room = max(0, self.budget - resident() - RESERVE) // (2 * self._threads.count)
        return int(np.clip(room // (RUN_BYTES * width), 1 << 10, PART_ROWS))

    # memory ---------------------------------------------------------------------------------------------------------

    def _slices(self, n: int, k: int) -> list[Run]:
        """Runs of as many columns as the budget has room for, of about equal width."""
        blocks = 4 * self._threads.count * (2 * READ_ENTRIES + 3 * READ_ROWS * min(k, 64))
        free = self.budget - (resident() - self._room.nbytes) - RESERVE - blocks
        most = free // (4 * max(n, 1))
        if most < 1:
            raise InputError(
                f"memory={self.memory!r} is too small for one column of {n:,} nodes beside what the process holds:"
                f" give at least {show_bytes(1.02 * (self.budget - free + 4 * n))}"
            )
        return runs(k, -(-k // -(-k // min(most, k))))

    def _gathered(self, rows: int, columns: int) -> Array:
        """The buffer for gathered rows, used again by the next product."""
        if self._room.size < rows * columns:
            self.release_unused()
            self._room = aligned(rows, columns)
        return self._room.reshape(-1)[: rows * columns].reshape(rows, columns)

    def _matrix(self, matrix: Sparse) -> tuple[FileMatrix, str]:
        """The rows of a matrix, and a digest of them."""
        for known in self._matrices:
            if known[0].matrix is matrix:
                return known
        rows, key = FileMatrix(matrix), ""
        if self._work.journaled:
            parts = [rows.indices] if rows.weights is None else [rows.indices, rows.weights]
            key = str(Digest(np.asarray(matrix.indptr), *(content(each, int(matrix.indptr[-1])) for each in parts)))
        self._matrices = [*self._matrices[-1:], (rows, key)]
        return rows, key

    def _digest(self, *parts: Any) -> str:
        """A digest of inputs, which only a journal needs."""
        return str(Digest(*parts)) if self._work.journaled else ""


def _sparse(matrix: sparse.csr_matrix, key: str) -> RowMatrix:
    """A sparse row matrix, in memory, with the key that identifies it within its run."""
    matrix = sparse.csr_matrix(matrix)
    matrix.key = key
    return matrix
