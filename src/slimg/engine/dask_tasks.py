"""The tasks of workers in a cluster: functions of partitions of rows, which are files in a folder that all workers see.

A task reads what it needs, a block of rows at a time, and writes a file of its own; only small arrays and descriptions of
files are returned. So a worker holds little, whatever the size of the graph, and nothing is lost with it.

Rows [start, stop) of A need these rows of a row matrix and some rows of the others, their *halo*. Columns are renumbered once,
own rows first, then the halo, ascending:

    0 … stop − start − 1 | columns of these rows outside of [start, stop)

so one product gathers only rows that are needed, as many columns at a time as there is room for, and the compiled kernels run
on what was gathered. Entries keep their order in each row, so the bits are those of the engine in memory.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
from scipy import sparse

from slimg import __version__ as __version__
from slimg.engine import kernels
from slimg.engine.base import DRAWN_ROWS, READ_ENTRIES, Array, FileArray, Run, Scaling, entry_blocks, random_rows, runs
from slimg.engine.blas import one_thread
from slimg.engine.files import FileRowMatrix
from slimg.engine.memory import MemoryEngine, aligned, sparse_product
from slimg.errors import InputError
from slimg.system import available_memory, resident

GAP = 1 << 16
"""Bytes between needed rows that are read rather than skipped."""
RESERVE = 48 << 20
"""Bytes for blocks of rows being computed."""


@dataclass(frozen=True)
class Csr:
    """Rows of a sparse row matrix in files (indptr, indices, data), from row ``start`` of them on."""

    files: tuple[FileArray, FileArray, FileArray]
    start: int
    shape: tuple[int, int]

    def __getitem__(self, rows: slice) -> Any:
        indptr, indices, data = self.files
        pointers = indptr[self.start + rows.start : self.start + rows.stop + 1]
        begin, end = int(pointers[0]), int(pointers[-1])
        parts = data[begin:end], indices[begin:end], pointers - begin
        return sparse.csr_matrix(parts, shape=(rows.stop - rows.start, self.shape[1]))

    def read(self, start: int, stop: int, first: int = 0, last: int | None = None) -> Array:
        return self[start:stop].toarray()[:, first:last]


class Part(NamedTuple):
    """Rows [start, stop) of A: columns of its halo, ascending, and the renumbered columns, by the places of entries in A."""

    start: int
    stop: int
    halo: int
    outside: FileArray
    indices: FileArray


Target = tuple[str, str | None]
"""Where a result goes: a new name, and a file that is not needed any more, whose memory or disk is used again."""


@contextmanager
def writing(target: Target, shape: tuple[int, int] | None = None, panel: int = 1) -> Iterator[Any]:
    """A file, or (with a shape) a row matrix, that takes its name when it is complete.

    A task that is repeated writes the same bytes again. The old file is claimed by renaming it, so that it serves one task alone.
    """
    path, old = target
    name = f"{path}.{uuid4().hex}"
    if shape is not None and old is not None:
        with suppress(FileNotFoundError):  # taken by a task whose worker died
            os.rename(old, name)
            os.truncate(name, min(os.stat(name).st_size, 4 * shape[0] * shape[1]))
    try:
        if shape is None:
            with open(name, "wb") as file:
                yield file
        else:
            yield FileRowMatrix(Path(name), shape, panel)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


# the job of a worker ------------------------------------------------------------------------------------------------------


def run(job: str, start: int, stop: int) -> list[Any]:
    """Calls [start, stop) of a job: a function and a list of its arguments, in a file that all tasks of an operation share.

    An `InputError` is returned and raised by `results_of`: a worker writes what is raised into its log, with a trace.
    """
    try:
        function, arguments = load(job)
        with one_thread():
            return [function(*each) for each in arguments[start:stop]]
    except FileNotFoundError as error:
        return [InputError(f"a worker cannot read {error.filename}: give DaskEngine a folder that all workers share")]
    except InputError as error:
        return [error]


def results_of(tasks: Iterable[list[Any]]) -> list[Any]:
    """What the calls of some tasks returned, in order."""
    results = [each for task in tasks for each in task]
    for error in (each for each in results if isinstance(each, InputError)):
        raise error
    return results


@lru_cache(maxsize=2)
def load(path: str) -> Any:
    """What the client published in a file."""
    return pickle.loads(Path(path).read_bytes())


def check_in() -> tuple[int, int]:
    """Bytes that this process holds with its kernels loaded, and bytes that the system has free."""
    ones, out = np.ones((1, 1), np.float32), np.ones((1, 1), np.float32)
    kernels.gather_rows(np.array([0, 1]), np.zeros(1, np.int32), None, ones, [Scaling()], [out], 0, 1)
    return resident(), available_memory() or 2**62


# operations on rows -------------------------------------------------------------------------------------------------------


def map_rows(fn: Callable[..., Any], panel: int, sources: Sequence[Any], target: Target) -> FileRowMatrix | Csr:
    """fn of one partition of each row matrix, block by block."""
    n = sources[0].shape[0]
    with ExitStack() as stack:
        new = lambda k: stack.enter_context(writing(target, (n, k), panel))  # noqa: E731
        out = MemoryEngine(threads=1)._map(fn, sources, new)
    return _write_csr(out, target) if sparse.issparse(out) else FileRowMatrix(Path(target[0]), out.shape, out.panel)


def _write_csr(matrix: Any, target: Target) -> Csr:
    arrays = matrix.indptr.astype(np.int64), matrix.indices, matrix.data
    places = np.cumsum([0, *(each.nbytes for each in arrays)]).tolist()
    with writing(target) as file:
        for each in arrays:
            each.tofile(file)
    indptr, indices, data = (FileArray(Path(target[0]), each.dtype.str, at) for each, at in zip(arrays, places, strict=False))
    return Csr((indptr, indices, data), 0, matrix.shape)


def draw(k: int, random_state: int, panel: int, start: int, stop: int, target: Target) -> None:
    """Rows [start, stop) of a random row matrix."""
    with writing(target, (stop - start, k), panel) as out:
        for a, b in runs(stop - start, DRAWN_ROWS):
            out[a:b] = random_rows(start + a, start + b, k, random_state)


def total(name: str, arguments: Sequence[Any], partitions: Sequence[Sequence[Any]]) -> Array:
    """The sum of an operation ("sum_rows" or "gram") over some partitions, in their order."""
    results = []
    for sources in partitions:
        is_product = name == "gram" and isinstance(sources[0], Csr) and len(sources) == 2
        operation = sparse_product if is_product else getattr(MemoryEngine(threads=1), name)
        results.append(operation(*arguments, *sources))
    return np.asarray(sum(results[1:], results[0]), np.float64)


def call(fn: Callable[..., Any], which: int, cut: Run, sources: Sequence[Any], vectors: Sequence[FileArray | str]) -> Any:
    """A function of one partition for its effect; vectors are stored whole, or (of objects) the part that belongs here."""
    entries = [each[slice(*cut)] if isinstance(each, FileArray) else load(each) for each in vectors]
    return fn(which, *(each[0 : cut[1] - cut[0]] for each in sources), *entries)


def gather(sources: Sequence[Any], cuts: Sequence[Run], index: Array, first: int, last: int, out: Array) -> None:
    """Rows of a row matrix by ascending number, columns [first, last), from the files of its partitions."""
    edges = np.searchsorted(index, [start for start, _ in cuts] + [cuts[-1][1]])
    for source, (begin, _), a, b in zip(sources, cuts, edges[:-1], edges[1:], strict=True):
        if a == b:
            continue
        rows, width = index[a:b] - begin, max(1, source.shape[1])
        breaks = (np.diff(rows) > max(1, GAP // (4 * width))) | (np.diff(rows // max(1, READ_ENTRIES // width)) > 0)
        for start, stop in zip(*(np.r_[0, np.flatnonzero(breaks) + 1, len(rows)][i:] for i in (0, 1)), strict=False):
            low = int(rows[start])
            block = source.read(low, int(rows[stop - 1]) + 1, first, last)
            np.take(block, rows[start:stop] - low, axis=0, out=out[a + start : a + stop], mode="clip")


# products -----------------------------------------------------------------------------------------------------------------


def renumber(indptr: FileArray, indices: FileArray, n: int, start: int, stop: int, target: Target) -> Part:
    """Find the halo of rows [start, stop) of A, and write it and the renumbered columns."""
    begin, end = (int(indptr[row : row + 1][0]) for row in (start, stop))
    pieces = [slice(begin + a, begin + b) for a, b in runs(end - begin, READ_ENTRIES)]
    seen = np.zeros(n, bool)
    for piece in pieces:
        seen[indices[piece]] = True
    seen[start:stop] = False
    outside = np.flatnonzero(seen).astype(np.int32 if n < 2**31 else np.int64)
    del seen
    place = np.empty(n, np.int32)
    place[start:stop] = np.arange(stop - start)
    place[outside] = np.arange(stop - start, stop - start + len(outside))
    with writing(target) as file:
        outside.tofile(file)
        for piece in pieces:
            place[indices[piece]].tofile(file)
    path = Path(target[0])
    stored = FileArray(path, outside.dtype.str), FileArray(path, place.dtype.str, outside.nbytes - 4 * begin)
    return Part(start, stop, len(outside), *stored)


@dataclass(frozen=True)
class Product:
    """One product: its matrix, row matrix, scalings with vectors in files, and how many columns are gathered at a time."""

    indptr: FileArray
    weights: FileArray | None
    sources: list[Any]
    cuts: list[Run]
    scalings: list[tuple[FileArray | None, FileArray | None, float]]
    panel: int

    def __call__(self, part: Part, targets: Sequence[tuple[Run, Sequence[Target]]]) -> None:
        """Rows of a part: a file for each partition in it and each scaling."""
        own, k, outside = part.stop - part.start, self.sources[0].shape[1], part.outside[0 : part.halo]
        scalings = [Scaling(self._at(b, part, outside), self._at(a, part, outside[:0]), c) for b, a, c in self.scalings]
        with ExitStack() as stack:
            new = lambda cut, target: stack.enter_context(writing(target, (cut[1] - cut[0], k), self.panel))  # noqa: E731
            files = [(cut, [new(cut, target) for target in listed]) for cut, listed in targets]
            for first, last in runs(k, self.panel):
                gathered = aligned(own + part.halo, last - first)
                gather(self.sources, self.cuts, np.arange(part.start, part.stop), first, last, gathered[:own])
                gather(self.sources, self.cuts, outside, first, last, gathered[own:])
                for cut, outs in files:
                    self._multiply(part, cut, gathered, scalings, outs, first)

    def _multiply(self, part: Part, cut: Run, gathered: Array, scalings: list[Scaling], outs: list[Any], first: int) -> None:
        """One partition, in runs of rows whose entries are read together."""
        pointers = self.indptr[cut[0] : cut[1] + 1]
        for start, stop in entry_blocks(pointers):
            begin, end = int(pointers[start]), int(pointers[stop])
            weights = None if self.weights is None else self.weights[begin:end]
            rows = pointers[start : stop + 1] - begin, part.indices[begin:end], weights
            results = [np.empty((stop - start, gathered.shape[1]), np.float32) for _ in scalings]
            kernels.gather_rows(*rows, gathered, scalings, results, 0, stop - start, cut[0] + start - part.start)
            for out, result in zip(outs, results, strict=True):
                out.write(start, result, first)

    def _at(self, vector: FileArray | None, part: Part, outside: Array) -> Array | None:
        """A vector over the nodes at a part's own rows and its halo."""
        if vector is None:
            return None
        whole = vector[0 : self.cuts[-1][1]]
        return np.concatenate([whole[part.start : part.stop], whole[outside]])
