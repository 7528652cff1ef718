"""Row matrices as partitions of rows in files, computed by the workers of a Dask cluster.

    folder/7-2.rows      partition 2 of the row matrix that operation 7 made
    folder/7.job         what operation 7 is to do: one function and its arguments for every partition

A row matrix is a list of files, one for each partition, in a folder that the client and all workers see. An operation writes
its job there once (so the scheduler carries names and numbers, no arrays), submits a few tasks for each thread of the cluster
(`slimg.engine.dask_tasks`), each for a run of partitions, and waits. So there are never more tasks than partitions, a worker
that dies costs what it was computing and nothing else, and memory is taken for blocks of rows and for the columns that a
product gathers, as many as fit.

Partitions depend on the number of rows alone and are added in their order, so any number of workers gives the same bits.
"""

from __future__ import annotations

import os
import tempfile
import time
import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from functools import partial
from itertools import count
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
from scipy import sparse

from slimg import __version__
from slimg.engine import dask_tasks as work
from slimg.engine.base import Array, Engine, RowMatrix, Scaling, Sparse
from slimg.engine.blocks import PART_ROWS, Run, Threads, runs, signed_rows
from slimg.engine.files import stored_at
from slimg.engine.memory import as_row_matrix
from slimg.errors import InputError, SlimgError, require
from slimg.progress import SILENT, Progress
from slimg.system import require_room, show_bytes

FEWEST_PARTS = 4
TASKS = 2
"""Tasks of an operation on rows for each thread of the cluster; a product has one."""
MOST_SUMS = 128
"""Sums of partitions, or of runs of them, that are returned to be added."""
PATIENCE = 30
"""Seconds to wait for the first worker, and for workers of which none is computing."""
POLL = 2
"""Seconds between looks at the workers."""
SHARE = 0.7
"""Share of a worker's memory limit to plan with; Dask pauses a worker at 0.8."""
NODE_BYTES = 16
"""Bytes for each node that a task holds beside the gathered columns, at most: its halo, vectors, renumbering."""


class ClusterError(SlimgError, RuntimeError):
    """The cluster cannot finish: workers die or stay paused, or the scheduler is gone."""


class DaskRowMatrix:
    """A row matrix as a list of files, `dask_tasks.Dense` or `dask_tasks.Csr`; ``released`` gets those of dense ones back."""

    parts: list[Any]
    shape: tuple[int, int]

    def __init__(self, parts: list[Any], n: int, released: list[work.Dense] | None = None):
        self.parts, self.shape = parts, (n, parts[0].shape[1])
        if released is not None and not self.is_sparse:
            weakref.finalize(self, released.extend, parts).atexit = False

    @property
    def is_sparse(self) -> bool:
        """Whether its rows are sparse."""
        return isinstance(self.parts[0], work.Csr)


class DaskEngine(Engine):
    """The engine of several machines; see `slimg.engine.Engine` for the operations.

    As a context manager it removes its files at the end, and stops the cluster if it started one.

    Parameters
    ----------
    client : dask.distributed.Client or None, default None
        A client of the cluster; None starts one process per core on this machine.
    folder : path-like or None, default None
        Where row matrices are written; this process and all workers must see it. None takes a temporary folder, which is
        enough on one machine.
    partitions : int or None, default None
        Partitions of the rows; None takes one for every 131,072 rows and at least four.

    Raises
    ------
    InputError
        If ``partitions`` is no positive integer, or the cluster has no workers, workers that cannot import this version of
        slimg or do not see the folder, or too little memory.
    ClusterError
        By any operation, when workers die repeatedly or stay paused, or the scheduler is gone.
    """

    client: Any
    folder: str | os.PathLike[str] | None
    partitions: int | None

    def __init__(self, client: Any = None, folder: str | os.PathLike[str] | None = None, partitions: int | None = None):
        if partitions is not None and (not isinstance(partitions, (int, np.integer)) or partitions < 1):
            raise InputError(f"partitions must be a positive integer or None, not {partitions!r}")
        self.client, self.folder, self.partitions = client, folder, partitions
        self._distributed = require("distributed", "dask", "the Dask engine")
        self._threads = Threads()
        self.progress: Progress = SILENT
        self._own = client is None
        self._client = self._local() if client is None else client
        self._temporary = tempfile.TemporaryDirectory(prefix="slimg-dask-", dir=folder, ignore_cleanup_errors=True)
        self._place = Path(self._temporary.name).absolute()
        self._numbers = count()
        self._stored: dict[int, tuple[Any, work.Stored]] = {}
        self._released: list[work.Dense] = []
        self._matrices: list[tuple[Any, _Partitioned]] = []
        self._finalizer = weakref.finalize(self, _close, self._client if self._own else None, self._temporary)
        try:
            self._room = self._check_workers()
        except BaseException:
            self.close()
            raise

    def __reduce__(self) -> tuple[Any, ...]:
        return DaskEngine, (None, self.folder, self.partitions)

    def __enter__(self) -> DaskEngine:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Remove the work files, and stop the cluster if this engine started it."""
        self._finalizer()

    # arrays in and out ----------------------------------------------------------------------------------------------

    def row_matrix(self, array: Any) -> RowMatrix:
        n, k = array.shape
        if sparse.issparse(array):
            matrix = as_row_matrix(array)
            files = self._file(matrix.indptr), self._file(matrix.indices), self._file(matrix.data)
            return DaskRowMatrix([work.Csr(files, start, (stop - start, k)) for start, stop in self._cuts(n)], n)
        path, _, offset = self._file(np.asarray(array, np.float32))
        return DaskRowMatrix([work.Dense(path, (b - a, k), k, offset + 4 * a * k) for a, b in self._cuts(n)], n)

    def random(self, n: int, k: int, random_state: int) -> RowMatrix:
        cuts = self._cuts(n)
        targets = self._targets(cuts, k)
        fixed = partial(work.draw, k, random_state, self._panel(n))
        parts = self._run(fixed, [(*cut, target) for cut, target in zip(cuts, targets, strict=True)])
        return DaskRowMatrix(parts, n, self._released)

    def rows(self, row_matrix: RowMatrix, index: Any) -> Array:
        index = np.asarray(index)
        if index.dtype == bool:
            index = np.flatnonzero(index)
        order = None if np.all(index[1:] >= index[:-1]) else np.argsort(index, kind="stable")
        n, k = row_matrix.shape
        out = np.empty((len(index), k), np.float32)
        work.gather(row_matrix.parts, self._cuts(n), index if order is None else index[order], 0, k, out)
        if order is None:
            return out
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return out[back]

    def is_sparse(self, row_matrix: RowMatrix) -> bool:
        return row_matrix.is_sparse

    def to_array(self, row_matrix: RowMatrix) -> Array:
        return self.rows(row_matrix, np.arange(row_matrix.shape[0]))

    def release_unused(self) -> None:
        """Remove the files of row matrices that are no longer referenced."""
        while self._released:
            Path(self._released.pop().path).unlink(missing_ok=True)

    def concurrently(self, *tasks: Callable[[], Any]) -> list[Any]:
        return self._threads.concurrently(*tasks)

    # products -------------------------------------------------------------------------------------------------------

    def products(self, matrix: Sparse, row_matrix: RowMatrix, scalings: Sequence[Scaling]) -> list[RowMatrix]:
        rows, k = self._matrix(matrix), row_matrix.shape[1]
        stored = [(self._vector(before), self._vector(after), loop) for before, after, loop in scalings]
        job = work.Product(rows.indptr, rows.weights, row_matrix.parts, rows.cuts, stored, self._room, self._panel(rows.n))
        each = [self._targets(rows.cuts, k) for _ in scalings]
        targets = [(cut, listed) for cut, *listed in zip(rows.cuts, *each, strict=True)]
        arguments = [(part, targets[first:last]) for part, (first, last) in zip(rows.parts, rows.runs, strict=True)]
        found = [files for run in self._run(job, arguments, worth=k) for files in run]
        return [DaskRowMatrix([files[which] for files in found], rows.n, self._released) for which in range(len(scalings))]

    def sketch(self, matrix: Sparse, k: int, random_state: int) -> RowMatrix:
        draws = self.random(len(matrix.indptr) - 1, 1, random_state)
        return self.products(matrix, self.map_rows(partial(signed_rows, k=k), draws), [Scaling()])[0]

    def gram(self, a: RowMatrix, b: RowMatrix | None = None) -> Array:
        return self._total(None, (a,) if b is None else (a, b))

    def combine(self, row_matrix: RowMatrix, small: Array) -> RowMatrix:
        return self.map_rows(partial(work.multiply, np.ascontiguousarray(small, np.float32)), row_matrix)

    # maps and sums --------------------------------------------------------------------------------------------------

    def map_rows(self, fn: Callable[..., Any], *row_matrices: RowMatrix, overwrite_input: bool = False) -> RowMatrix:
        n, k = row_matrices[0].shape
        targets = self._targets(self._cuts(n), k)
        arguments = list(zip(_together(row_matrices), targets, strict=True))
        return DaskRowMatrix(self._run(partial(work.map_rows, fn, self._panel(n)), arguments), n, self._released)

    def sum_rows(self, fn: Callable[..., Any], *row_matrices: RowMatrix) -> Array:
        return self._total(fn, row_matrices)

    def for_each_row_chunk(
        self, fn: Callable[..., Any], row_matrices: Sequence[RowMatrix], vectors: Sequence[Array] = ()
    ) -> list[Any]:
        files = [None if each.dtype.hasobject else self._file(each) for each in vectors]
        arguments = []
        for which, (cut, parts) in enumerate(zip(self._cuts(row_matrices[0].shape[0]), _together(row_matrices), strict=True)):
            pairs = zip(files, vectors, strict=True)
            entries = [self._publish(each[slice(*cut)]) if file is None else file for file, each in pairs]
            arguments.append((which, cut, parts, entries))
        return self._run(partial(work.call, fn), arguments)

    def _total(self, fn: Callable[..., Any] | None, row_matrices: Sequence[RowMatrix]) -> Array:
        """The sum over all partitions, added in their order; see `dask_tasks.total`."""
        parts = _together(row_matrices)
        pieces = [(parts[first:last],) for first, last in runs(len(parts), -(-len(parts) // MOST_SUMS))]
        results = self._run(partial(work.total, fn), pieces)
        for each in results[1:]:
            results[0] += each
        return results[0]

    # files ----------------------------------------------------------------------------------------------------------

    def _cuts(self, n: int) -> list[Run]:
        parts = self.partitions or max(FEWEST_PARTS, -(-n // PART_ROWS))
        return runs(n, max(1, -(-n // parts)))

    def _panel(self, n: int) -> int:
        """Columns that stay together in a file, so that a product can take them apart from the others."""
        return max(1, (self._room - work.RESERVE - NODE_BYTES * n) // (4 * max(1, n)))

    def _targets(self, cuts: list[Run], k: int) -> list[work.Target]:
        """New files for the partitions of a row matrix with about k columns, each over one that was released, if any."""
        number = next(self._numbers)
        names = (str(self._place / f"{number}-{part}.rows") for part in range(len(cuts)))
        return [work.Target(name, self._reused(4 * k * (stop - start))) for name, (start, stop) in zip(names, cuts, strict=True)]

    def _reused(self, size: int) -> str | None:
        """A released file, the nearest in size: fresh pages of a file cost several times as much as those it has.

        Tasks claim it by renaming it, so that one which two are given (or one that is repeated) serves the first alone.
        """
        listed = list(self._released)
        if not listed:
            return None
        nearest = min(listed, key=lambda file: abs(4 * file.shape[0] * file.shape[1] - size))
        try:
            self._released.remove(nearest)
        except ValueError:  # taken by a concurrent task
            return None
        return nearest.path

    def _file(self, array: Array) -> work.Stored:
        """The file of an array; it is written first if it is in memory."""
        known = self._stored.get(id(array))
        if known is not None and known[0]() is array:
            return known[1]
        place = stored_at(array)
        if place is None:
            require_room(self._place, array.nbytes, "handing an array to the workers")
            place = self._place / f"{next(self._numbers)}.bin", 0
            with open(place[0], "wb") as file:
                np.ascontiguousarray(array).tofile(file)
        stored = work.Stored(str(place[0].absolute()), array.dtype.str, place[1])
        self._stored[id(array)] = weakref.ref(array), stored
        return stored

    def _vector(self, vector: Array | None) -> work.Stored | None:
        return None if vector is None else self._file(vector)

    def _publish(self, what: Any) -> str:
        """The name of a file that holds an object, for all tasks that need it."""
        path = self._place / f"{next(self._numbers)}.job"
        path.write_bytes(require("cloudpickle", "dask", "the Dask engine").dumps(what))
        return str(path)

    def _matrix(self, matrix: Sparse) -> _Partitioned:
        for known, rows in self._matrices:
            if known is matrix:
                return rows
        self._matrices = [*self._matrices[-1:], (matrix, _Partitioned(self, matrix))]
        return self._matrices[-1][1]

    # the cluster ----------------------------------------------------------------------------------------------------

    def _run(self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], worth: float = 0.0) -> list[Any]:
        """Results of a function for each of its arguments, in order; a few tasks for each thread of the cluster."""
        job = self._publish((function, list(arguments)))
        try:
            tasks = self._shares(len(arguments))
            futures = self._client.map(work.run, [job] * len(tasks), *zip(*tasks, strict=True), pure=False)
            results = self._wait(futures, worth)
            return [each for run in results for each in run]
        except self._distributed.KilledWorker as error:
            raise ClusterError(
                f"workers died {error.allowed_failures + 1} times on the same partitions, most likely because memory ran out:"
                " give the workers more memory, or fewer threads"
            ) from None
        except (CancelledError, OSError, MemoryError) as error:
            if isinstance(error, MemoryError) or getattr(error, "errno", None):
                raise ClusterError(f"a worker failed ({type(error).__name__}: {error}): see its log") from error
            address = getattr(self._client.scheduler, "address", "its address")
            raise ClusterError(
                f"the connection to the scheduler at {address} was lost: see why it ended, start the cluster and run again"
            ) from None
        finally:
            Path(job).unlink(missing_ok=True)

    def _wait(self, futures: list[Any], worth: float) -> list[Any]:
        """Results of futures; raises when no worker computes any more."""
        heard, told = time.monotonic(), 0
        while told < len(futures):
            try:
                self._distributed.wait(futures, timeout=POLL)
            except self._distributed.TimeoutError:
                if self._is_computing():
                    heard = time.monotonic()
                elif time.monotonic() - heard > PATIENCE:
                    raise self._stuck() from None
            done = sum(each.done() for each in futures)
            if self.progress is not SILENT:
                self.progress.advance(worth * (done - told) / len(futures))
            told = done
        return self._client.gather(futures)

    def _workers(self) -> dict[str, Any]:
        return self._client.scheduler_info()["workers"]

    def _is_computing(self) -> bool:
        counts = (each.get("metrics", {}).get("task_counts", {}) for each in self._workers().values())
        return any(each.get("executing", 0) or each.get("long-running", 0) for each in counts)

    def _stuck(self) -> ClusterError:
        workers = self._workers()
        paused = [each for each in workers.values() if each["status"] == "paused"]
        if not paused:
            return ClusterError(f"none of {len(workers)} workers has computed for {PATIENCE} s: start workers, and run again")
        limit = show_bytes(min(each["memory_limit"] for each in paused))
        return ClusterError(
            f"{len(paused)} of {len(workers)} workers are paused near their memory limit of {limit}, and none has computed for"
            f" {PATIENCE} s: give them more memory"
        )

    def _shares(self, size: int, tasks: int = TASKS) -> list[Run]:
        """Runs of about equal length, ``tasks`` for each thread of the cluster."""
        threads = sum(each["nthreads"] for each in self._workers().values())
        return runs(size, -(-size // max(1, tasks * threads)))

    def _local(self) -> Any:
        cluster = self._distributed.LocalCluster(
            n_workers=self._threads.count, threads_per_worker=1, processes=True, dashboard_address=":0"
        )
        return self._distributed.Client(cluster)

    def _check_workers(self) -> int:
        """Bytes that one task may hold; raises an `InputError` for a cluster that cannot be used."""
        try:
            self._client.wait_for_workers(1, timeout=PATIENCE)
        except (TimeoutError, OSError):
            raise InputError("the Dask cluster has no workers: start some, then try again") from None
        for address, version in self._ask(resolve_name, "slimg.engine.dask_tasks:__version__", on_error="return").items():
            if isinstance(version, BaseException):
                reason = f"{type(version).__name__}: {version}"
                raise InputError(f"worker {address} cannot import slimg ({reason}): install slimg[dask] {__version__} there")
            if version != __version__:
                raise InputError(f"worker {address} has slimg {version}, this is {__version__}: install the same")
        held = self._ask(work.check_in, self._publish(None))
        workers = self._workers()
        hosts = Counter(each["host"] for each in workers.values())
        rooms = {}
        for address, (resident, free) in held.items():
            worker = workers[address]
            limit = worker["memory_limit"] or resident + free // hosts[worker["host"]]
            rooms[address] = (int(SHARE * limit) - resident) // worker["nthreads"]
            if rooms[address] < work.RESERVE:
                least = (resident + 2 * work.RESERVE * worker["nthreads"]) / SHARE
                raise InputError(
                    f"worker {address} has a memory limit of {show_bytes(limit)} and holds {show_bytes(resident)} before any"
                    f" work: give it at least {show_bytes(least)}"
                )
        return min(rooms.values())

    def _ask(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> dict[str, Any]:
        """What a function returns on each worker."""
        try:
            return self._client.run(function, *arguments, **options)
        except OSError as error:
            limits = [show_bytes(each["memory_limit"]) for each in self._workers().values()]
            raise ClusterError(
                f"a worker ended while it loaded slimg ({error}): its memory limit may be too small"
                f" ({', '.join(sorted(set(limits))) or 'none is left'}), or see its log"
            ) from None


class _Partitioned:
    """A matrix as the workers read it: runs of partitions that one task multiplies, with their halos."""

    def __init__(self, engine: DaskEngine, matrix: Sparse):
        self.n = n = len(matrix.indptr) - 1
        least = work.RESERVE + (NODE_BYTES + 4) * n
        if engine._room < least:
            raise InputError(
                f"a product over {n:,} nodes needs {show_bytes(least)} for each thread of a worker beside what it holds, and"
                f" there are {show_bytes(engine._room)}: give the workers {show_bytes((least - engine._room) / SHARE)} more"
                " for each thread, or fewer threads"
            )
        self.cuts = engine._cuts(n)
        self.indptr, self.weights = engine._file(matrix.indptr), engine._vector(matrix.weights)
        self.runs = engine._shares(len(self.cuts), 1)  # the fewer, the fewer rows are gathered twice
        targets = engine._targets([(0, 0)] * len(self.runs), 0)
        bounds = [(self.cuts[first][0], self.cuts[last - 1][1]) for first, last in self.runs]
        fixed = partial(work.renumber, self.indptr, engine._file(matrix.indices), n)
        self.parts = engine._run(fixed, [(*cut, target) for cut, target in zip(bounds, targets, strict=True)])


def _together(row_matrices: Sequence[DaskRowMatrix]) -> list[tuple[Any, ...]]:
    return list(zip(*(row_matrix.parts for row_matrix in row_matrices), strict=True))


def _close(client: Any, temporary: Any) -> None:
    if client is not None:
        cluster = client.cluster
        client.close()
        cluster.close()
    temporary.cleanup()
