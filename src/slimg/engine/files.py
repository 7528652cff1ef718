"""Matrices in files, read and written in runs of rows by plain reads and writes, and passes over CSR rows in files.

A row matrix (n × k float32) is stored in *panels* of w columns, one after the other, each row-major:

    columns [j·w, j·w + w)  at byte  4·n·j·w

so that both a run of rows (one read per panel) and a slice of columns (one panel) are contiguous. An .npy file is one panel
behind a header. Files are not mapped: pages of a mapped file count as memory of the process, those of the system's cache do
not.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from slimg.engine.base import Array, Sparse
from slimg.engine.blocks import Run, runs
from slimg.errors import InputError
from slimg.system import check_stamp, require_unchanged, stamp

READ_ENTRIES = 1 << 20
"""Indices of A, or entries of a row matrix, that a thread reads at a time."""
READ_ROWS = 1 << 14
"""Most rows of a block of a product."""
DIGEST_BYTES = 1 << 24
"""Bytes digested at a time."""


class FileArray:
    """A vector or matrix of any type stored row-major from a byte of a file on, which must not change from now on."""

    path: Path
    dtype: np.dtype[Any]
    offset: int

    def __init__(self, path: Path, dtype: Any, offset: int = 0):
        self.path, self.dtype, self.offset = path, np.dtype(dtype), offset
        self._descriptor = os.open(path, os.O_RDONLY)
        self._stamp = stamp(self._descriptor)

    def __del__(self) -> None:
        if hasattr(self, "_descriptor"):
            os.close(self._descriptor)

    def __getitem__(self, entries: slice) -> Array:
        """Entries [start, stop) of the flattened array."""
        return self.read(entries.start, entries.stop)

    def read(self, start: int, stop: int) -> Array:
        """Entries [start, stop) of the flattened array."""
        out = np.empty(stop - start, self.dtype)
        read_into(self._descriptor, out, self.offset + start * self.dtype.itemsize, self.path)
        check_stamp(self._descriptor, self.path, self._stamp)
        return out


class FileRowMatrix:
    """A dense row matrix in a file, in panels of ``panel`` columns.

    ``key`` identifies it within its run; ``released`` is called with its path when it is no longer referenced. A file that is
    ``fixed`` must not change from now on.
    """

    path: Path
    shape: tuple[int, int]
    panel: int
    offset: int
    key: str

    def __init__(
        self,
        path: Path,
        shape: tuple[int, int],
        panel: int,
        offset: int = 0,
        writable: bool = False,
        released: Callable[[Path], None] | None = None,
        key: str = "",
        fixed: bool = False,
    ):
        self.path, self.shape, self.panel, self.offset = path, shape, max(1, min(panel, shape[1])), offset
        self._released, self.key = released, key
        self._descriptor: int | None = None
        self._mode = os.O_RDWR | os.O_CREAT if writable else os.O_RDONLY
        self._stamp = stamp(self._open()) if fixed else None

    def read(self, start: int, stop: int, first: int = 0, last: int | None = None, out: Array | None = None) -> Array:
        """Rows [start, stop) and columns [first, last) as an array."""
        last = self.shape[1] if last is None else last
        if out is None:
            out = np.empty((stop - start, last - first), np.float32)
        for left, right, offset in self._panels(first, last):
            place = offset + 4 * start * (right - left)
            if left >= first and right <= last and right - left == out.shape[1] and out.flags.c_contiguous:
                read_into(self._open(), out, place, self.path)
                continue
            panel = np.empty((stop - start, right - left), np.float32)
            read_into(self._open(), panel, place, self.path)
            a, b = max(left, first), min(right, last)
            out[:, a - first : b - first] = panel[:, a - left : b - left]
        if self._stamp is not None:
            check_stamp(self._open(), self.path, self._stamp)
        return out

    def write(self, start: int, rows: Array, first: int = 0) -> None:
        """Rows from ``start`` on, of whole panels from column ``first`` on."""
        for left, right, offset in self._panels(first, first + rows.shape[1]):
            part = np.ascontiguousarray(rows[:, left - first : right - first], np.float32)
            write_from(self._open(), part, offset + 4 * start * (right - left))

    def __getitem__(self, rows: slice) -> Array:
        """Rows [start, stop)."""
        return self.read(rows.start, rows.stop)

    def __setitem__(self, rows: slice, values: Array) -> None:
        """Write rows from ``start`` on."""
        self.write(rows.start, values)

    def _panels(self, first: int, last: int) -> list[tuple[int, int, int]]:
        """(first column, column after the last, byte) of the panels that hold columns [first, last)."""
        n, k = self.shape
        starts = range(first - first % self.panel, last, self.panel)
        return [(left, min(left + self.panel, k), self.offset + 4 * n * left) for left in starts]

    def _open(self) -> int:
        if self._descriptor is None:
            try:
                self._descriptor = os.open(self.path, self._mode, 0o600)
            except FileNotFoundError:
                raise InputError(f"the work file {self.path} is gone: start the run again") from None
        return self._descriptor

    def close(self) -> None:
        """Close the file, which is opened again when it is needed."""
        if getattr(self, "_descriptor", None) is not None:
            os.close(self._descriptor)  # type: ignore[arg-type]
            self._descriptor = None

    def __del__(self) -> None:
        self.close()
        if getattr(self, "_released", None) is not None:
            self._released(self.path)  # type: ignore[misc]


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


def read_into(descriptor: int, out: Array, offset: int, path: Path) -> None:
    """Fill a contiguous array from a byte of a file on."""
    view = out.reshape(-1).view(np.uint8).data
    done = 0
    while done < len(view):
        count = os.preadv(descriptor, [view[done:]], offset + done)
        if count == 0:
            raise InputError(f"{path} ends at byte {offset + done}, but {len(view) - done} more are needed: it was cut off")
        done += count


def write_from(descriptor: int, rows: Array, offset: int) -> None:
    """Write a contiguous array from a byte of a file on."""
    view = rows.reshape(-1).view(np.uint8).data
    done = 0
    while done < len(view):
        done += os.pwrite(descriptor, view[done:], offset + done)


class Digest:
    """A running digest of arrays, numbers and strings."""

    def __init__(self, *parts: Any):
        self._hash = hashlib.blake2b(digest_size=16)
        for part in parts:
            self.add(part)

    def add(self, part: Any) -> None:
        """Add an array, another digest, or anything whose repr is its value."""
        if isinstance(part, np.ndarray):
            self._hash.update(f"{part.dtype}{part.shape}".encode())
            flat = np.ascontiguousarray(part).reshape(-1).view(np.uint8)
            for start in range(0, len(flat), DIGEST_BYTES):
                self._hash.update(flat[start : start + DIGEST_BYTES].data)
        else:
            self._hash.update((str(part) if isinstance(part, Digest) else repr(part)).encode())

    def __str__(self) -> str:
        return self._hash.hexdigest()


class FileMatrix:
    """CSR rows, in memory or in the files they are mapped from; with ``digested``, ``key`` is a digest of the content."""

    matrix: Sparse
    n: int
    key: str

    def __init__(self, matrix: Sparse, digested: bool):
        self.matrix, self.n = matrix, len(matrix.indptr) - 1
        self._indptr = np.asarray(matrix.indptr)
        self._indices = reader(matrix.indices)
        self._weights = None if matrix.weights is None else reader(matrix.weights)
        entries = int(self._indptr[-1])
        parts = [self._indices] if self._weights is None else [self._indices, self._weights]
        self.key = str(Digest(self._indptr, *(content(each, entries) for each in parts))) if digested else ""

    def blocks(self) -> list[Run]:
        """Runs of rows with a bounded number of entries and of rows."""
        return entry_blocks(self._indptr)

    def read(self, start: int, stop: int) -> tuple[Array, Array, Array | None]:
        """indptr from 0 on, indices and weights of a run of rows."""
        begin, end = int(self._indptr[start]), int(self._indptr[stop])
        weights = None if self._weights is None else self._weights[begin:end]
        return self._indptr[start : stop + 1] - begin, self._indices[begin:end], weights


def entry_blocks(indptr: Array) -> list[Run]:
    """Runs of rows with a bounded number of entries and of rows."""
    n = len(indptr) - 1
    cuts = np.searchsorted(indptr, np.arange(int(indptr[0]), int(indptr[-1]), READ_ENTRIES))
    edges = np.unique(np.concatenate([cuts, np.arange(0, n, READ_ROWS), [n]]))
    return list(pairwise(edges.tolist()))


def content(source: FileArray | Array, size: int) -> str:
    """A digest of the first ``size`` entries."""
    digest = Digest(size)
    for start, stop in runs(size, READ_ENTRIES):
        digest.add(source[start:stop])
    return str(digest)


def reader(array: Array) -> FileArray | Array:
    """A vector whose slices are read by plain reads if it is mapped from a file; else the vector itself."""
    stored = stored_at(array)
    return array if stored is None else FileArray(stored[0], array.dtype, stored[1])
