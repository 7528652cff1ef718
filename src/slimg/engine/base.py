"""The contract between mathematics and machines: what an engine offers, and the blocks and threads that all engines share.

A *row matrix* is an n × k matrix owned by an engine: dense float32, or sparse (CSR) when it was handed over sparse. Only its
``shape`` may be read outside of the engine; all numerics of `slimg.linalg` and `slimg.components` go through the operations
below, so that an engine may keep its row matrices in memory, in files or on other machines.

*Blocks* are runs of consecutive rows: how rows are cut into them, how those of a sparse matrix are read, and the pool of
threads that computes them are the same for all engines. Layouts are functions of shapes and of the sparsity pattern alone.
Each block is computed by one thread and results are taken in order, so neither the number of threads nor the engine changes a
bit. A call from inside a block or a task runs on the calling thread: the pool never waits for itself.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from slimg.engine.blas import Array as Array
from slimg.engine.blas import one_thread
from slimg.errors import InputError, check_whole_number, choices
from slimg.progress import SILENT, Progress
from slimg.system import check_stamp, cores, require_unchanged, stamp

RowMatrix = Any
"""An engine's own n × k matrix, of which only ``shape`` may be read outside of the engine."""


class Scaling(NamedTuple):
    """One operator over a matrix M (n × n):   T  ↦  after ⊙ (M + loop·I)(before ⊙ T).

    Attributes
    ----------
    before : ndarray of shape (n,), float32, or None
        Factors of the rows of T; None stands for ones.
    after : ndarray of shape (n,), float32, or None
        Factors of the rows of the product; None stands for ones.
    loop : float
        What is added to the diagonal of M.

    Examples
    --------
    >>> from slimg import Graph
    >>> ring = Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")])
    >>> import numpy as np
    >>> from slimg.engine import MemoryEngine, Scaling
    >>> half = Scaling(after=np.full(4, 0.5, np.float32))
    >>> engine = MemoryEngine()
    >>> (means,) = engine.products(ring.adjacency, engine.row_matrix(np.arange(4, dtype=np.float32)[:, None]), [half])
    >>> means.ravel()
    array([2., 1., 2., 1.], dtype=float32)
    """

    before: Array | None = None
    after: Array | None = None
    loop: float = 0.0


class Sparse(Protocol):
    """A square sparse matrix (n × n) in CSR form: the columns of row i are ``indices[indptr[i]:indptr[i+1]]``.

    Examples
    --------
    >>> from slimg import Graph
    >>> ring = Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")])
    >>> ring.adjacency.indptr, ring.adjacency.indices[:2]
    (array([0, 2, 4, 6, 8]), array([1, 3], dtype=int32))
    """

    @property
    def indptr(self) -> Array:
        """Where the rows begin, and where the last one ends: ndarray of shape (n + 1,), int64."""

    @property
    def indices(self) -> Array:
        """Columns of the stored entries: ndarray of shape (nnz,), int32 or int64."""

    @property
    def weights(self) -> Array | None:
        """Values of the stored entries: ndarray of shape (nnz,), float32; None if all are one."""


class Engine(Protocol):
    """The operations on row matrices.

    Small matrices (k × k, d × k) are numpy arrays. Functions are called with blocks of rows: row-major float32 arrays of
    shape (rows, k), or scipy CSR matrices where the row matrix is sparse. All engines give the same bits for `products` and
    `random`; sums over rows are float64 and agree to rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from slimg.engine import Engine, MemoryEngine
    >>> engine: Engine = MemoryEngine()
    >>> engine.gram(engine.row_matrix(np.eye(3, 2, dtype=np.float32)))
    array([[1., 0.],
           [0., 1.]])
    """

    def row_matrix(self, array: Any) -> RowMatrix:
        """Hand an array over to the engine.

        Parameters
        ----------
        array : array-like or scipy sparse matrix of shape (n, k)
            Kept as float32: dense in C order, or CSR with ascending columns if it is sparse. It may be a memory map.

        Returns
        -------
        RowMatrix of shape (n, k)
            The engine's own matrix; it may share memory with the array.
        """

    def random(self, n: int, k: int, random_state: int) -> RowMatrix:
        """Draw a random row matrix with entries of mean 0 and variance 1.

        Parameters
        ----------
        n, k : int
            Rows and columns.
        random_state : int
            Seed; the same seed gives the same numbers on every engine.

        Returns
        -------
        RowMatrix of shape (n, k)
            Dense; uniformly distributed entries.
        """

    def products(self, matrix: Sparse, row_matrix: RowMatrix, scalings: Sequence[Scaling]) -> list[RowMatrix]:
        """Compute after ⊙ (M + loop·I)(before ⊙ T) for each scaling, in one pass over the gathered rows of T.

        Parameters
        ----------
        matrix : Sparse
            M, of shape (n, n).
        row_matrix : RowMatrix of shape (n, k)
            T, dense.
        scalings : sequence of Scaling
            One for each result.

        Returns
        -------
        list of RowMatrix of shape (n, k)
            One dense row matrix for each scaling.
        """

    def sketch(self, matrix: Sparse, k: int, random_state: int) -> RowMatrix:
        """Compute M S for a random S with one entry, 1 or -1, in each row (`slimg.engine.base.signs_of`).

        Parameters
        ----------
        matrix : Sparse
            M, of shape (n, n).
        k : int
            Columns of S.
        random_state : int
            Seed of S.

        Returns
        -------
        RowMatrix of shape (n, k)
            Dense.
        """

    def gram(self, a: RowMatrix, b: RowMatrix | None = None) -> Array:
        """Compute aᵀb, or aᵀa without b.

        Parameters
        ----------
        a : RowMatrix of shape (n, j)
            Dense or sparse.
        b : RowMatrix of shape (n, k), optional
            Dense.

        Returns
        -------
        ndarray of shape (j, k) or (j, j), float64
            The sum over all rows, in a fixed order.
        """

    def combine(self, row_matrix: RowMatrix, small: Array) -> RowMatrix:
        """Multiply by a small matrix from the right.

        Parameters
        ----------
        row_matrix : RowMatrix of shape (n, j)
            Dense or sparse.
        small : ndarray of shape (j, k)
            Used as float32.

        Returns
        -------
        RowMatrix of shape (n, k)
            Dense.
        """

    def map_rows(self, fn: Callable[..., Any], *row_matrices: RowMatrix, overwrite_input: bool = False) -> RowMatrix:
        """Apply a function to blocks of rows.

        Parameters
        ----------
        fn : callable
            fn(block of each row matrix) → block of the result with as many rows, dense or CSR. Each of its rows must depend
            on that row alone, and it must not keep or change its arguments.
        *row_matrices : RowMatrix of shape (n, …)
            The inputs, with equal numbers of rows.
        overwrite_input : bool, default False
            The first row matrix is not needed any more: the engine may write the result over it.

        Returns
        -------
        RowMatrix of shape (n, k)
            The blocks one below the other; sparse if they are.
        """

    def sum_rows(self, fn: Callable[..., Any], *row_matrices: RowMatrix) -> Array:
        """Add up a function over blocks of rows.

        Parameters
        ----------
        fn : callable
            fn(block of each row matrix) → array of a fixed shape.
        *row_matrices : RowMatrix of shape (n, …)
            The inputs, with equal numbers of rows.

        Returns
        -------
        ndarray, float64
            Σ over blocks of fn(block of each row matrix), in a fixed order.
        """

    def for_each_row_chunk(
        self, fn: Callable[..., Any], row_matrices: Sequence[RowMatrix], vectors: Sequence[Array] = ()
    ) -> list[Any]:
        """Call a function for its effect (such as writing a file) on chunks of rows, where they are.

        Parameters
        ----------
        fn : callable
            ``fn(number of the chunk, *rows of the row matrices, *entries of the vectors)``.
        row_matrices : sequence of RowMatrix of shape (n, …)
            At least one.
        vectors : sequence of ndarray of shape (n,), optional
            Arrays of any type outside of the engine.

        Returns
        -------
        list
            Results of the calls, in the order of the rows.
        """

    def rows(self, row_matrix: RowMatrix, index: Any) -> Array:
        """Select rows.

        Parameters
        ----------
        row_matrix : RowMatrix of shape (n, k)
            Dense or sparse.
        index : array-like of int, or of bool of shape (n,)
            The rows, in any order; they may repeat.

        Returns
        -------
        ndarray of shape (number of rows, k), float32
            The rows, dense.
        """

    def is_sparse(self, row_matrix: RowMatrix) -> bool:
        """Return whether a row matrix is sparse.

        Parameters
        ----------
        row_matrix : RowMatrix of shape (n, k)
            Dense or sparse.

        Returns
        -------
        bool
            True if it was handed over sparse and kept so.
        """

    def to_array(self, row_matrix: RowMatrix) -> Array:
        """Return all rows as an array.

        Parameters
        ----------
        row_matrix : RowMatrix of shape (n, k)
            Dense or sparse.

        Returns
        -------
        ndarray of shape (n, k), float32
            Dense; it may share memory with the row matrix.
        """

    def concurrently(self, *tasks: Callable[[], Any]) -> list[Any]:
        """Run independent tasks at the same time; for problems too small to be cut into blocks.

        Parameters
        ----------
        *tasks : callable
            Functions without arguments, which may call the engine.

        Returns
        -------
        list
            Their results, in order. The first error is raised.
        """

    def release_unused(self) -> None:
        """Give back memory or files of row matrices that are no longer referenced."""


OPERATIONS = tuple(name for name in vars(Engine) if not name.startswith("_"))
NAMES = ("auto", "memory", "mapped", "dask")


def engine_for(engine: Any, memory: str | int | None = None) -> Engine:
    """The engine of a name, a Dask client, or an engine itself.

    "auto" depends on the graph: see `slimg.components.estimate.choose_engine`.

    Parameters
    ----------
    engine : str, Engine or Dask client
        A name of `NAMES` other than "auto".
    memory : str, int or None, default=None
        The budget of "mapped".

    Returns
    -------
    Engine
    """
    check_engine(engine, memory)
    if not isinstance(engine, str) and not _is_client(engine):
        return engine
    if engine in ("auto", "memory"):
        from slimg.engine.memory import MemoryEngine

        return MemoryEngine()
    if engine == "mapped":
        from slimg.engine.mapped import MappedEngine

        return MappedEngine(memory or "4GB")
    from slimg.engine.dask import DaskEngine

    return DaskEngine(None if engine == "dask" else engine)


def check_engine(engine: Any, memory: str | int | None = None) -> None:
    """Raise an `InputError` for anything but a name, a Dask client or an engine, and for a budget that is no size."""
    is_known = engine in NAMES if isinstance(engine, str) else _is_client(engine) or _is_engine(engine)
    if not is_known:
        raise choices("engine", engine, [*NAMES, "an engine object", "a Dask client"])
    if memory is not None:
        from slimg.system import as_bytes

        as_bytes(memory)


def _is_client(engine: Any) -> bool:
    return type(engine).__module__.startswith("distributed")


def _is_engine(engine: Any) -> bool:
    """Whether an object (not a class) has the operations of the `Engine` protocol."""
    return not isinstance(engine, type) and all(hasattr(engine, name) for name in OPERATIONS)


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
    check_whole_number(count, "threads", otherwise=" or None")
    return int(count)
