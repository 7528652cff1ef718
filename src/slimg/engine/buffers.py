"""Large arrays whose memory is reused once they are no longer referenced.

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

import numpy as np

from slimg.engine.base import Array

LARGE = 1 << 25
"""Bytes from which memory is reused."""
WASTE = 1.25
"""How many times larger than needed reused memory may be."""
LINE = 64
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
