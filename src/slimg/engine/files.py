"""Dense row matrices as files, read and written in runs of rows by plain reads and writes.

A row matrix (n × k float32) is stored in *panels* of w columns, one after the other, each row-major:

    columns [j·w, j·w + w)  at byte  4·n·j·w

so that both a run of rows (one read per panel) and a slice of columns (one panel) are contiguous. An .npy file is one panel
behind a header. Files are not mapped: pages of a mapped file count as memory of the process, those of the system's cache do
not.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from slimg.engine.base import Array
from slimg.errors import InputError


class FileArray:
    """A vector or matrix of any type stored row-major from a byte of a file on."""

    def __init__(self, path: Path, dtype: Any, offset: int = 0):
        self.path, self.dtype, self.offset = path, np.dtype(dtype), offset
        self._descriptor = os.open(path, os.O_RDONLY)

    def __del__(self) -> None:
        if hasattr(self, "_descriptor"):
            os.close(self._descriptor)

    def read(self, start: int, stop: int) -> Array:
        """Entries [start, stop) of the flattened array."""
        out = np.empty(stop - start, self.dtype)
        read_into(self._descriptor, out, self.offset + start * self.dtype.itemsize, self.path)
        return out


class FileTall:
    """A dense row matrix in a file; see the module's text. ``key`` tells it from others of its run, ``released`` is
    called with its path when nobody holds it any more."""

    def __init__(
        self,
        path: Path,
        shape: tuple[int, int],
        panel: int,
        offset: int = 0,
        writable: bool = False,
        released: Callable[[Path], None] | None = None,
        key: str = "",
    ):
        self.path, self.shape, self.panel, self.offset = path, shape, max(1, min(panel, shape[1])), offset
        self._released, self.key = released, key
        self._descriptor: int | None = None
        self._mode = os.O_RDWR | os.O_CREAT if writable else os.O_RDONLY

    @property
    def size(self) -> int:
        """Bytes of the entries."""
        return 4 * self.shape[0] * self.shape[1]

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
        return out

    def write(self, start: int, rows: Array, first: int = 0) -> None:
        """Rows from ``start`` on, of whole panels from column ``first`` on."""
        for left, right, offset in self._panels(first, first + rows.shape[1]):
            part = np.ascontiguousarray(rows[:, left - first : right - first], np.float32)
            write_from(self._open(), part, offset + 4 * start * (right - left))

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
                raise InputError(f"the work file {self.path} is gone: start the run anew") from None
        return self._descriptor

    def __del__(self) -> None:
        if getattr(self, "_descriptor", None) is not None:
            os.close(self._descriptor)  # type: ignore[arg-type]
        if getattr(self, "_released", None) is not None:
            self._released(self.path)  # type: ignore[misc]


def stored_at(array: Array) -> tuple[Path, int] | None:
    """File and byte where a contiguous memory-mapped array (or a view of one) is stored; None for arrays in memory."""
    owner: Any = array
    while owner is not None and not isinstance(owner, np.memmap):
        owner = getattr(owner, "base", None)
    if owner is None or not array.flags.c_contiguous:
        return None
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
            raise InputError(f"{path} ends at byte {offset + done}, but {len(view) - done} more were needed: it was cut off")
        done += count


def write_from(descriptor: int, rows: Array, offset: int) -> None:
    """Write a contiguous array from a byte of a file on."""
    view = rows.reshape(-1).view(np.uint8).data
    done = 0
    while done < len(view):
        done += os.pwrite(descriptor, view[done:], offset + done)
