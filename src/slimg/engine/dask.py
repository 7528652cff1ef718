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
import shutil
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
from scipy import sparse

from slimg import __version__
from slimg.engine import dask_tasks as work
from slimg.engine.base import (
    PART_ROWS,
    Array,
    Engine,
    FileArray,
    RowMatrix,
    Run,
    Scaling,
    Sparse,
    Threads,
    reader,
    runs,
    signed_rows,
)
from slimg.engine.files import FileRowMatrix, temporary_folder
from slimg.engine.memory import MemoryEngine, as_row_matrix
from slimg.errors import InputError, SlimgError, check_whole_number, require
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
    """A row matrix as a list of files, `FileRowMatrix` or `dask_tasks.Csr`; ``released`` gets those of dense ones back."""

    def __init__(self, parts: list[Any], n: int, released: list[FileRowMatrix] | None = None):
        self.parts: list[Any] = parts
        self.shape: tuple[int, int] = n, parts[0].shape[1]
        self.is_sparse: bool = isinstance(parts[0], work.Csr)
        if released is not None and not self.is_sparse:
            weakref.finalize(self, released.extend, parts).atexit = False


class DaskEngine(Engine):
    """The engine of several machines; see `slimg.engine.Engine` for the operations.

    As a context manager it removes its files at the end, and stops the cluster if it started one.

    Parameters
    ----------
    client : dask.distributed.Client or None, default None
        A client of the cluster; None starts one process per core on this machine.
    folder : path-like or None, default None
        Where row matrices are written; this process and all workers must see it. None takes a temporary folder, which is
        enough on one machine. A folder that a killed run left there is removed by the next one.
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
        if partitions is not None:
            check_whole_number(partitions, "partitions", otherwise=" or None")
        self.client, self.folder, self.partitions = client, folder, partitions
        self._distributed = require("distributed", "dask", "the Dask engine")
        self._threads = Threads()
        self.progress: Progress = SILENT
        local = {"n_workers": self._threads.count, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
        self._client = self._distributed.Client(**local) if client is None else client
        self._place = temporary_folder("dask", folder)
        self._numbers = count()
        self._stored: dict[int, tuple[Any, FileArray]] = {}
        self._released: list[FileRowMatrix] = []
        self._matrices: list[tuple[Any, _Partitioned]] = []
        self._finalizer = weakref.finalize(self, _close, self._client if client is None else None, self._place)
        self._room = self._check_workers()

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
        file = self._file(np.asarray(array, np.float32))
        return DaskRowMatrix([FileRowMatrix(file.path, (b - a, k), k, file.offset + 4 * a * k) for a, b in self._cuts(n)], n)

    def random(self, n: int, k: int, random_state: int) -> RowMatrix:
        targets, fixed = self._targets(n, k), partial(work.draw, k, random_state, self._panel(n))
        self._run(fixed, [(*cut, target) for cut, target in zip(self._cuts(n), targets, strict=True)])
        return self._written(targets, n, k)

    def rows(self, row_matrix: RowMatrix, index: Any) -> Array:
        index, (n, k) = np.asarray(index), row_matrix.shape
        chosen, back = np.unique(np.flatnonzero(index) if index.dtype == bool else index, return_inverse=True)
        out = np.empty((len(chosen), k), np.float32)
        work.gather(row_matrix.parts, self._cuts(n), chosen, 0, k, out)
        return out if len(out) == len(back) and np.all(back[1:] > back[:-1]) else out[back]

    def is_sparse(self, row_matrix: RowMatrix) -> bool:
        return row_matrix.is_sparse

    def to_array(self, row_matrix: RowMatrix) -> Array:
        return self.rows(row_matrix, np.arange(row_matrix.shape[0]))

    def release_unused(self) -> None:
        """Remove the files of row matrices that are no longer referenced."""
        while self._released:
            self._released.pop().path.unlink(missing_ok=True)

    def concurrently(self, *tasks: Callable[[], Any]) -> list[Any]:
        return self._threads.concurrently(*tasks)

    # products -------------------------------------------------------------------------------------------------------

    def products(self, matrix: Sparse, row_matrix: RowMatrix, scalings: Sequence[Scaling]) -> list[RowMatrix]:
        rows, k = self._matrix(matrix), row_matrix.shape[1]
        stored = [(self._vector(before), self._vector(after), loop) for before, after, loop in scalings]
        job = work.Product(rows.indptr, rows.weights, row_matrix.parts, rows.cuts, stored, self._panel(rows.n))
        outs = [self._targets(rows.n, k) for _ in scalings]
        targets = list(zip(rows.cuts, zip(*outs, strict=True), strict=True))
        self._run(job, [(part, targets[slice(*run)]) for part, run in zip(rows.parts, rows.runs, strict=True)], worth=k)
        return [self._written(each, rows.n, k) for each in outs]

    def sketch(self, matrix: Sparse, k: int, random_state: int) -> RowMatrix:
        draws = self.random(len(matrix.indptr) - 1, 1, random_state)
        return self.products(matrix, self.map_rows(partial(signed_rows, k=k), draws), [Scaling()])[0]

    def gram(self, a: RowMatrix, b: RowMatrix | None = None) -> Array:
        return self._total("gram", (), (a,) if b is None else (a, b))

    def combine(self, row_matrix: RowMatrix, small: Array) -> RowMatrix:
        return self.map_rows(partial(MemoryEngine(threads=1).combine, small=small), row_matrix)

    # maps and sums --------------------------------------------------------------------------------------------------

    def map_rows(self, fn: Callable[..., Any], *row_matrices: RowMatrix, overwrite_input: bool = False) -> RowMatrix:
        n, k = row_matrices[0].shape
        arguments = list(zip(_together(row_matrices), self._targets(n, k), strict=True))
        return DaskRowMatrix(self._run(partial(work.map_rows, fn, self._panel(n)), arguments), n, self._released)

    def sum_rows(self, fn: Callable[..., Any], *row_matrices: RowMatrix) -> Array:
        return self._total("sum_rows", (fn,), row_matrices)

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

    def _total(self, name: str, arguments: tuple[Any, ...], row_matrices: Sequence[RowMatrix]) -> Array:
        """The sum over all partitions, added in their order."""
        parts = _together(row_matrices)
        pieces = [(parts[first:last],) for first, last in runs(len(parts), -(-len(parts) // MOST_SUMS))]
        results = self._run(partial(work.total, name, arguments), pieces)
        return np.asarray(sum(results[1:], results[0]))

    # files ----------------------------------------------------------------------------------------------------------

    def _cuts(self, n: int) -> list[Run]:
        parts = self.partitions or max(FEWEST_PARTS, -(-n // PART_ROWS))
        return runs(n, max(1, -(-n // parts)))

    def _panel(self, n: int) -> int:
        """Columns that stay together in a file, so that a product can take them apart from the others."""
        return max(1, (self._room - work.RESERVE - NODE_BYTES * n) // (4 * max(1, n)))

    def _targets(self, n: int, k: int) -> list[work.Target]:
        """New files for the partitions of a row matrix with about k columns, each over one that was released, if any."""
        number, cuts = next(self._numbers), self._cuts(n)
        return [(str(self._place / f"{number}-{part}.rows"), self._reused(4 * k * (b - a))) for part, (a, b) in enumerate(cuts)]

    def _written(self, targets: list[work.Target], n: int, k: int) -> DaskRowMatrix:
        pairs = zip(targets, self._cuts(n), strict=True)
        parts = [FileRowMatrix(Path(path), (b - a, k), self._panel(n)) for (path, _), (a, b) in pairs]
        return DaskRowMatrix(parts, n, self._released)

    def _reused(self, size: int) -> str | None:
        """A released file, the nearest in size: fresh pages of a file cost several times as much as those it has."""
        nearest = min(list(self._released), key=lambda file: abs(4 * file.shape[0] * file.shape[1] - size), default=None)
        with suppress(ValueError):  # none, or taken by a concurrent operation: the first to rename it has it
            self._released.remove(nearest)  # type: ignore[arg-type]
        return None if nearest is None else str(nearest.path)

    def _file(self, array: Array) -> FileArray:
        """The file of an array; it is written first if it is in memory."""
        known = self._stored.get(id(array))
        if known is not None and known[0]() is array:
            return known[1]
        stored = reader(array)
        if not isinstance(stored, FileArray):
            require_room(self._place, array.nbytes, "handing an array to the workers")
            stored = FileArray(self._place / f"{next(self._numbers)}.bin", array.dtype.str)
            np.ascontiguousarray(array).tofile(stored.path)
        stored = replace(stored, path=stored.path.absolute(), stamp=None)  # which differs from machine to machine
        self._stored[id(array)] = weakref.ref(array), stored
        return stored

    def _vector(self, vector: Array | None) -> FileArray | None:
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
            return work.results_of(self._wait(futures, worth))
        except self._distributed.KilledWorker as error:
            times = error.allowed_failures + 1
            raise ClusterError(f"workers died {times} times on the same rows: give them more memory, or see their logs") from None
        except (CancelledError, OSError, MemoryError) as error:
            if isinstance(error, MemoryError) or getattr(error, "errno", None):
                raise ClusterError(f"a worker failed ({type(error).__name__}: {error}): see its log") from error
            address = getattr(self._client.scheduler, "address", "its address")
            raise ClusterError(f"the scheduler at {address} was lost: see why it ended, start the cluster, run again") from None
        finally:
            Path(job).unlink(missing_ok=True)

    def _wait(self, futures: list[Any], worth: float) -> list[Any]:
        """Results of futures; raises when no worker computes any more."""
        heard, told = time.monotonic(), 0
        while told < len(futures):
            try:
                self._distributed.wait(futures, timeout=POLL)
            except self._distributed.TimeoutError:
                states = [(each["status"], each["metrics"].get("task_counts", {})) for each in self._workers().values()]
                if any(counts.get("executing", 0) for _, counts in states):
                    heard = time.monotonic()
                elif time.monotonic() - heard > PATIENCE:
                    paused = sum(status == "paused" for status, _ in states)
                    raise ClusterError(
                        f"none of {len(states)} workers has computed for {PATIENCE} s, and {paused} are paused near their memory"
                        f" limit: {'give them more memory' if paused else 'start workers'}, and run again"
                    ) from None
            done = sum(each.done() for each in futures)
            self.progress.advance(worth * (done - told) / len(futures))
            told = done
        return self._client.gather(futures)

    def _workers(self) -> dict[str, Any]:
        return self._client.scheduler_info()["workers"]

    def _shares(self, size: int, tasks: int = TASKS) -> list[Run]:
        """Runs of about equal length, ``tasks`` for each thread of the cluster."""
        threads = sum(each["nthreads"] for each in self._workers().values())
        return runs(size, -(-size // max(1, tasks * threads)))

    def _check_workers(self) -> int:
        """Bytes that one task may hold; raises an `InputError` for a cluster that cannot be used."""
        advice = "start some"
        try:
            self._client.wait_for_workers(1, timeout=PATIENCE)
            advice = "give them more memory, or see their logs"
            versions = self._client.run(resolve_name, "slimg.engine.dask_tasks:__version__", on_error="return")
            for address, version in versions.items():
                if version != __version__:
                    found = f"{type(version).__name__}: {version}" if isinstance(version, BaseException) else version
                    raise InputError(f"worker {address} cannot import slimg {__version__} ({found}): install it on every worker")
            held = self._client.run(work.run, self._publish((work.check_in, [()])), 0, 1)
        except OSError as error:
            raise InputError(f"the Dask cluster has no workers that stay while slimg is loaded ({error}): {advice}") from None
        rooms, workers = [], self._workers()
        for address, (resident, free) in zip(held, work.results_of(held.values()), strict=True):
            limit, threads = workers[address]["memory_limit"] or resident + free, workers[address]["nthreads"]
            rooms.append((int(SHARE * limit) - resident) // threads)
            if rooms[-1] < work.RESERVE:
                least = show_bytes((resident + 2 * work.RESERVE * threads) / SHARE)
                has = f"a memory limit of {show_bytes(limit)} and holds {show_bytes(resident)} before any work"
                raise InputError(f"worker {address} has {has}: give it at least {least}")
        return min(rooms)


class _Partitioned:
    """A matrix as the workers read it: runs of partitions that one task multiplies, with their halos."""

    def __init__(self, engine: DaskEngine, matrix: Sparse):
        self.n = n = len(matrix.indptr) - 1
        least = work.RESERVE + (NODE_BYTES + 4) * n
        if engine._room < least:
            more = show_bytes((least - engine._room) / SHARE)
            has = f"{show_bytes(least)} for each thread of a worker, which has {show_bytes(engine._room)} beside what it holds"
            raise InputError(f"a product over {n:,} nodes needs {has}: give {more} more for each thread")
        self.cuts = engine._cuts(n)
        self.indptr, self.weights = engine._file(matrix.indptr), engine._vector(matrix.weights)
        self.runs = engine._shares(len(self.cuts), 1)  # the fewer, the fewer rows are gathered twice
        bounds = [(self.cuts[first][0], self.cuts[last - 1][1]) for first, last in self.runs]
        job, number = partial(work.renumber, self.indptr, engine._file(matrix.indices), n), next(engine._numbers)
        self.parts = engine._run(job, [(*cut, (f"{engine._place}/{number}-{cut[0]}.part", None)) for cut in bounds])


def _together(row_matrices: Sequence[DaskRowMatrix]) -> list[tuple[Any, ...]]:
    return list(zip(*(row_matrix.parts for row_matrix in row_matrices), strict=True))


def _close(client: Any, place: Path) -> None:
    if client is not None:
        client.close()
    shutil.rmtree(place, ignore_errors=True)
