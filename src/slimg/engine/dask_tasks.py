"""The tasks of workers in a cluster: functions of one partition of rows, without state.

A partition of A (rows [start, stop) of n) needs its own rows of a row matrix and some rows of every other partition, its
*halo*. Its columns are renumbered, own rows first, then the halo by partition, each ascending:

    0 … stop − start − 1 | needed rows of partition 0 | needed rows of partition 1 | …

so one product moves only rows that are needed, and the compiled kernels run on what arrived. Entries keep their order in
each row, so the bits are those of the engine in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from slimg.engine.base import Array, Scaling
from slimg.engine.blas import one_thread
from slimg.engine.blocks import Run, aligned
from slimg.engine.files import FileArray
from slimg.engine.kernels import gather_rows
from slimg.engine.memory import MemoryEngine
from slimg.errors import InputError


@dataclass(frozen=True)
class Stored:
    """An array in a file that every worker can read: type, byte of its first entry, and columns (1 for a vector)."""

    path: str
    dtype: str
    offset: int
    columns: int = 1

    def read(self, start: int, stop: int) -> Array:
        """Rows [start, stop)."""
        try:
            return FileArray(Path(self.path), self.dtype, self.offset).read(start * self.columns, stop * self.columns)
        except FileNotFoundError:
            raise InputError(f"a worker cannot read {self.path}: give DaskEngine a folder that all workers share") from None


@dataclass(frozen=True)
class Part:
    """Rows [start, stop) of A with renumbered columns.

    ``needed[j]`` are the rows that it needs of partition j, counted from the first of j; ``columns`` the original columns.
    """

    start: int
    stop: int
    indptr: Array
    indices: Array
    weights: Array | None
    needed: tuple[Array, ...]
    columns: Array


def load_rows(source: Stored, start: int, stop: int) -> Array:
    """Rows of a dense row matrix."""
    return source.read(start, stop).reshape(stop - start, source.columns)


def load_sparse_rows(indptr: Stored, indices: Stored, data: Stored, columns: int, start: int, stop: int) -> Any:
    """Rows of a sparse row matrix."""
    pointers = indptr.read(start, stop + 1)
    begin, end = int(pointers[0]), int(pointers[-1])
    parts = data.read(begin, end), indices.read(begin, end), pointers - begin
    return sparse.csr_matrix(parts, shape=(stop - start, columns))


def load_part(indptr: Stored, indices: Stored, weights: Stored | None, cuts: Sequence[Run], which: int) -> Part:
    """One partition of A."""
    start, stop = cuts[which]
    pointers = indptr.read(start, stop + 1)
    begin, end = int(pointers[0]), int(pointers[-1])
    columns = indices.read(begin, end)
    outside = np.unique(columns[(columns < start) | (columns >= stop)])
    edges = np.searchsorted(outside, [first for first, _ in cuts] + [cuts[-1][1]])
    needed = tuple(outside[a:b] - first for a, b, (first, _) in zip(edges[:-1], edges[1:], cuts, strict=True))
    inside = (columns >= start) & (columns < stop)
    places = np.where(inside, columns - start, (stop - start) + np.searchsorted(outside, columns))
    own = np.arange(start, stop, dtype=outside.dtype)
    values = None if weights is None else weights.read(begin, end)
    return Part(start, stop, pointers - begin, places.astype(np.int32), values, needed, np.concatenate([own, outside]))


def needed_of(part: Part, which: int) -> Array:
    """Rows that a partition needs of partition ``which``."""
    return part.needed[which]


def vector_at(source: Stored, part: Part) -> Array:
    """Entries of a vector over the nodes at a partition's columns."""
    whole = np.memmap(source.path, source.dtype, "r", source.offset)
    return np.array(whole[part.columns])


def product(
    part: Part, own: Array, halo: list[Array], befores: list[Array | None], afters: list[Array | None], loops: list[float]
) -> list[Array]:
    """All scalings of one partition's rows."""
    row_matrix = np.concatenate([own, *halo], out=aligned(len(own) + sum(map(len, halo)), own.shape[1]))
    scalings = [Scaling(*each) for each in zip(befores, afters, loops, strict=True)]
    outs = [np.empty(own.shape, np.float32) for _ in scalings]
    gather_rows(part.indptr, part.indices, part.weights, row_matrix, scalings, outs, 0, len(own))
    return outs


def operate(name: str, *arguments: Any) -> Any:
    """An operation of `MemoryEngine` on one partition of each row matrix."""
    return getattr(MemoryEngine(threads=1), name)(*arguments)


def run_part(fn: Callable[..., Any], which: int, cut: Run, entries: list[Stored | Array], *row_matrices: Any) -> Any:
    """A function of one partition for its effect; vectors as their entries, or where these are stored."""
    vectors = [each.read(*cut) if isinstance(each, Stored) else each for each in entries]
    with one_thread():
        return fn(which, *row_matrices, *vectors)


def add(*parts: Array) -> Array:
    """Sum in the order given."""
    total = np.array(parts[0], np.float64)
    for part in parts[1:]:
        total += part
    return total


def kind_of(rows: Any) -> tuple[int, bool]:
    """Number of columns, and whether sparse."""
    return int(rows.shape[1]), bool(sparse.issparse(rows))
