"""Row matrices as partitions of rows on the workers of a Dask cluster.

A row matrix is a list of futures, one for each partition. The partitions depend on the number of rows alone, so any number
of workers gives the same bits. Every operation submits functions of `slimg.engine.dask_tasks`; only small arrays (sums, Gram
matrices, chosen rows) come back, sums through a tree.

Workers read the graph themselves, from files that all of them see: arrays in memory are written to ``folder`` first. So the
scheduler's record of tasks is enough to compute again what a lost worker held.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import getitem
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from slimg import __version__
from slimg.engine import dask_tasks as work
from slimg.engine.base import Array, Engine, RowMatrix, Scaling, Sparse
from slimg.engine.blocks import PART_ROWS, Run, Threads, random_rows, runs, signed_rows
from slimg.engine.files import stored_at
from slimg.engine.memory import as_row_matrix
from slimg.errors import InputError, SlimgError, require
from slimg.progress import SILENT, Progress
from slimg.system import require_room

FEWEST_PARTS = 4
PATIENCE = 30
"""Seconds to wait for the first worker."""
FAN_IN = 8
"""Partial sums that are added in one task."""


class LostWorker(SlimgError, RuntimeError):
    """Workers died repeatedly on the same task."""


@dataclass(frozen=True)
class DaskRowMatrix:
    """A row matrix whose partitions are futures."""

    parts: list[Any]
    shape: tuple[int, int]
    is_sparse: bool = False


class DaskEngine(Engine):
    """The engine of several machines; see `slimg.engine.Engine` for the operations.

    As a context manager it removes its files at the end, and stops the cluster if it started one.

    Parameters
    ----------
    client : dask.distributed.Client or None, default None
        A client of the cluster; None starts one process per core on this machine.
    folder : path-like or None, default None
        Where arrays are written that are not in files yet; all workers must see it. None takes a temporary folder, which is
        enough on one machine.
    partitions : int or None, default None
        Partitions of the rows; None takes one for every 131,072 rows and at least four.

    Raises
    ------
    InputError
        If ``partitions`` is no positive integer, or the cluster has no workers or workers with another version of slimg.
    LostWorker
        By any operation, when workers died repeatedly on the same task.
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
        self._temporary = tempfile.TemporaryDirectory(prefix="slimg-dask-", dir=folder)
        self._place = Path(self._temporary.name)
        self._stored: dict[int, tuple[Any, work.Stored]] = {}
        self._matrices: list[tuple[Any, _Partitioned]] = []
        self._finalizer = weakref.finalize(self, _close, self._client if self._own else None, self._temporary)
        self._check_workers()

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
        cuts = self._cuts(array.shape[0])
        if sparse.issparse(array):
            matrix = as_row_matrix(array)
            parts = [self._file(np.asarray(part)) for part in (matrix.indptr, matrix.indices, matrix.data)]
            futures = [self._submit(work.load_sparse_rows, *parts, array.shape[1], *cut) for cut in cuts]
            return DaskRowMatrix(futures, array.shape, True)
        source = self._file(np.asarray(array, np.float32))
        return DaskRowMatrix([self._submit(work.load_rows, source, *cut) for cut in cuts], array.shape)

    def random(self, n: int, k: int, random_state: int) -> RowMatrix:
        parts = [self._submit(random_rows, *cut, k, random_state) for cut in self._cuts(n)]
        return DaskRowMatrix(parts, (n, k))

    def rows(self, row_matrix: RowMatrix, index: Any) -> Array:
        index = np.asarray(index)
        if index.dtype == bool:
            index = np.flatnonzero(index)
        cuts = self._cuts(row_matrix.shape[0])
        which = np.searchsorted([start for start, _ in cuts], index, "right") - 1
        chosen = [np.flatnonzero(which == part) for part in range(len(cuts))]
        futures = {
            part: self._submit(work.operate, "rows", row_matrix.parts[part], index[rows] - cuts[part][0])
            for part, rows in enumerate(chosen)
            if len(rows)
        }
        out = np.empty((len(index), row_matrix.shape[1]), np.float32)
        for part, future in futures.items():
            out[chosen[part]] = self._result(future)
        return out

    def is_sparse(self, row_matrix: RowMatrix) -> bool:
        return row_matrix.is_sparse

    def to_array(self, row_matrix: RowMatrix) -> Array:
        return self.rows(row_matrix, np.arange(row_matrix.shape[0]))

    def release_unused(self) -> None:
        """Do nothing: workers free the memory of unreferenced futures by themselves."""

    def concurrently(self, *tasks: Callable[[], Any]) -> list[Any]:
        return self._threads.concurrently(*tasks)

    # products -------------------------------------------------------------------------------------------------------

    def products(self, matrix: Sparse, row_matrix: RowMatrix, scalings: Sequence[Scaling]) -> list[RowMatrix]:
        rows = self._matrix(matrix)
        count, loops = len(rows.parts), [each.loop for each in scalings]
        outs = []
        for i, part in enumerate(rows.parts):
            halo = [self._submit(getitem, row_matrix.parts[j], rows.needed[i][j]) for j in range(count) if j != i]
            befores = [self._at(rows, each.before, i) for each in scalings]
            afters = [self._at(rows, each.after, i) for each in scalings]
            outs.append(self._submit(work.product, part, row_matrix.parts[i], halo, befores, afters, loops))
        if self.progress is not SILENT:
            advance, share = self.progress.advance, row_matrix.shape[1] / count
            for each in outs:
                each.add_done_callback(lambda _: advance(share))
        return [
            DaskRowMatrix([self._submit(getitem, each, which) for each in outs], (rows.n, row_matrix.shape[1]))
            for which in range(len(scalings))
        ]

    def _at(self, rows: _Partitioned, vector: Array | None, which: int) -> Any:
        """A vector over the nodes at the columns of one partition; cached, since scalings are used repeatedly."""
        if vector is None:
            return None
        known = rows.vectors.get(id(vector))
        if known is None:
            source = self._file(vector)
            known = vector, [self._submit(work.vector_at, source, part) for part in rows.parts]
            rows.vectors[id(vector)] = known
        return known[1][which]

    def sketch(self, matrix: Sparse, k: int, random_state: int) -> RowMatrix:
        draws = self.random(len(matrix.indptr) - 1, 1, random_state)
        return self.products(matrix, self.map_rows(partial(signed_rows, k=k), draws), [Scaling()])[0]

    def gram(self, a: RowMatrix, b: RowMatrix | None = None) -> Array:
        row_matrices = (a,) if b is None else (a, b)
        return self._added([self._submit(work.operate, "gram", *parts) for parts in _together(row_matrices)])

    def combine(self, row_matrix: RowMatrix, small: Array) -> RowMatrix:
        small = np.ascontiguousarray(small, np.float32)
        parts = [self._submit(work.operate, "combine", part, small) for part in row_matrix.parts]
        return DaskRowMatrix(parts, (row_matrix.shape[0], small.shape[1]))

    # maps and sums --------------------------------------------------------------------------------------------------

    def map_rows(self, fn: Callable[..., Any], *row_matrices: RowMatrix, overwrite_input: bool = False) -> RowMatrix:
        parts = [self._submit(work.operate, "map_rows", fn, *each) for each in _together(row_matrices)]
        columns, is_sparse = self._result(self._submit(work.kind_of, parts[0]))
        return DaskRowMatrix(parts, (row_matrices[0].shape[0], columns), is_sparse)

    def sum_rows(self, fn: Callable[..., Any], *row_matrices: RowMatrix) -> Array:
        return self._added([self._submit(work.operate, "sum_rows", fn, *each) for each in _together(row_matrices)])

    def for_each_row_chunk(
        self, fn: Callable[..., Any], row_matrices: Sequence[RowMatrix], vectors: Sequence[Array] = ()
    ) -> list[Any]:
        cuts = self._cuts(row_matrices[0].shape[0])
        files = [None if each.dtype.hasobject else self._file(each) for each in vectors]
        futures = []
        for which, (cut, parts) in enumerate(zip(cuts, _together(row_matrices), strict=True)):
            entries = [each[slice(*cut)] if file is None else file for file, each in zip(files, vectors, strict=True)]
            futures.append(self._submit(work.run_part, fn, which, cut, entries, *parts))
        return [self._result(future) for future in futures]

    def _added(self, parts: list[Any]) -> Array:
        """The sum of futures, added as a tree."""
        while len(parts) > 1:
            parts = [self._submit(work.add, *parts[first:last]) for first, last in runs(len(parts), FAN_IN)]
        return np.array(self._result(parts[0]), np.float64)

    # the cluster ----------------------------------------------------------------------------------------------------

    def _submit(self, fn: Callable[..., Any], *arguments: Any) -> Any:
        return self._client.submit(fn, *arguments, pure=False)

    def _result(self, future: Any) -> Any:
        try:
            return future.result()
        except self._distributed.KilledWorker as error:
            raise LostWorker(
                f"workers died {error.allowed_failures + 1} times on the same block, most likely because memory ran out:"
                " give the workers more memory, or DaskEngine more partitions"
            ) from None

    def _cuts(self, n: int) -> list[Run]:
        count = self.partitions or max(FEWEST_PARTS, -(-n // PART_ROWS))
        return runs(n, max(1, -(-n // count)))

    def _file(self, array: Array) -> work.Stored:
        """The file of an array; it is written first if it is in memory."""
        known = self._stored.get(id(array))
        if known is not None and known[0] is array:
            return known[1]
        place = stored_at(array)
        if place is None:
            require_room(self._place, array.nbytes, "handing an array to the workers")
            with tempfile.NamedTemporaryFile(dir=self._place, suffix=".bin", delete=False) as file:  # tasks may run at once
                np.ascontiguousarray(array).tofile(file)
            place = Path(file.name), 0
        columns = array.shape[1] if array.ndim == 2 else 1
        stored = work.Stored(str(place[0].absolute()), array.dtype.str, place[1], columns)
        self._stored[id(array)] = array, stored
        return stored

    def _matrix(self, matrix: Sparse) -> _Partitioned:
        for known, rows in self._matrices:
            if known is matrix:
                return rows
        self._matrices = [*self._matrices[-1:], (matrix, _Partitioned(self, matrix))]
        return self._matrices[-1][1]

    def _local(self) -> Any:
        cluster = self._distributed.LocalCluster(
            n_workers=self._threads.count, threads_per_worker=1, processes=True, dashboard_address=":0"
        )
        return self._distributed.Client(cluster)

    def _check_workers(self) -> None:
        """Raise an `InputError` for a cluster without workers, or with workers that lack this version of slimg."""
        from importlib.metadata import version

        try:
            self._client.wait_for_workers(1, timeout=PATIENCE)
        except (TimeoutError, OSError):
            raise InputError("the Dask cluster has no workers: start some, then try again") from None
        for address, found in self._client.run(version, "slimg", on_error="return").items():
            if isinstance(found, Exception):
                raise InputError(f"worker {address} has no slimg: install slimg {__version__} on every worker")
            if found != version("slimg"):
                raise InputError(f"worker {address} has slimg {found}, this is {version('slimg')}: install the same")


class _Partitioned:
    """A matrix on the workers: its partitions, the rows each needs of the others, and vectors at its columns."""

    def __init__(self, engine: DaskEngine, matrix: Sparse):
        self.n = len(matrix.indptr) - 1
        cuts = engine._cuts(self.n)
        files = [None if each is None else engine._file(each) for each in (matrix.indptr, matrix.indices, matrix.weights)]
        self.parts = [engine._submit(work.load_part, *files, cuts, which) for which in range(len(cuts))]
        self.needed = [[engine._submit(work.needed_of, part, which) for which in range(len(cuts))] for part in self.parts]
        self.vectors: dict[int, tuple[Array, list[Any]]] = {}


def _together(row_matrices: Sequence[DaskRowMatrix]) -> list[tuple[Any, ...]]:
    return list(zip(*(row_matrix.parts for row_matrix in row_matrices), strict=True))


def _close(client: Any, temporary: Any) -> None:
    if client is not None:
        cluster = client.cluster
        client.close()
        cluster.close()
    temporary.cleanup()
