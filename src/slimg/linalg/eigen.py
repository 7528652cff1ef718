"""Chosen eigenpairs of a dense symmetric matrix M (n × n), in two steps.

    M = Q T Qᵀ         T tridiagonal, Q = H₁ H₂ … a product of reflections                      (`tridiagonalise`)
    T = Z Λ Zᵀ         by divide and conquer; the eigenvectors of M are Q Z, for chosen columns (`Tridiagonal`)

The first step gives all eigenvalues for little more, so that how many vectors are wanted may be decided from them; the
reflections are applied to the wanted columns alone, `PANEL` at a time:

    H_j … H_{j+p−1} = I − V S Vᵀ        V (n × p) the reflections' vectors, S (p × p) upper triangular

so that nearly all of the second step is matrix products.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import numpy as np

from slimg.engine.base import Array
from slimg.engine.blas import char, integer, matmul, one_thread, pointer, routine
from slimg.errors import SlimgError

PANEL = 128
"""Reflections applied together: wide enough for products to run at full speed."""


def tridiagonalise(matrix: Array) -> Tridiagonal:
    """Reduce a symmetric matrix (float32 or float64, row-major; it is overwritten, and only one triangle is read)."""
    matrix = np.ascontiguousarray(matrix)
    n, dtype = len(matrix), matrix.dtype
    diagonal, off, scale = np.empty(n, dtype), np.empty(max(n - 1, 1), dtype), np.zeros(max(n - 1, 1), dtype)
    work = np.empty(64 * max(n, 1), dtype)
    with one_thread():
        _call("sytrd", dtype, char("L"), integer(n), matrix, integer(n), diagonal, off, scale, work, integer(len(work)))
    return Tridiagonal(diagonal, off[: n - 1], matrix, scale[: n - 1])


@dataclass(frozen=True)
class Tridiagonal:
    """T by its diagonal (n) and off-diagonal (n − 1), and Q by its reflections: row j holds the vector of H_j after j."""

    diagonal: Array
    off: Array
    reflections: Array
    scale: Array

    def eigenvalues(self) -> Array:
        """All eigenvalues, rising."""
        values, off = self.diagonal.copy(), self.off.copy()
        with one_thread():
            _call("sterf", values.dtype, integer(len(values)), values, off)
        return values

    def eigenpairs(self, chosen: Array) -> tuple[Array, Array]:
        """Eigenvalues (k) and eigenvectors (n × k) at the chosen places of the rising order."""
        with one_thread():
            values, columns = self._divide_and_conquer()
            vectors = np.ascontiguousarray(columns[chosen].T)
            for start in reversed(range(0, len(self.scale), PANEL)):
                self._reflect(vectors, start, min(start + PANEL, len(self.scale)))
        return values[chosen], vectors

    def _divide_and_conquer(self) -> tuple[Array, Array]:
        """All eigenvalues of T, rising, and its eigenvectors as rows."""
        n, dtype = len(self.diagonal), self.diagonal.dtype
        values, off, columns = self.diagonal.copy(), self.off.copy(), np.empty((n, n), dtype)
        work, places = np.empty(1 + 4 * n + n * n, dtype), np.empty(3 + 5 * n, np.int32)
        sizes = integer(len(work)), integer(len(places))
        _call("stedc", dtype, char("I"), integer(n), values, off, columns, integer(n), work, sizes[0], places, sizes[1])
        return values, columns

    def _reflect(self, vectors: Array, start: int, stop: int) -> None:
        """vectors ← H_start … H_{stop−1} vectors."""
        size = stop - start
        panel = np.triu(self.reflections[start:stop, start + 1 :])
        panel[np.arange(size), np.arange(size)] = 1
        triangle = np.zeros((size, size), panel.dtype)
        rows, n = panel.shape[1], integer(size)
        _call("larft", panel.dtype, char("F"), char("C"), integer(rows), n, panel, integer(rows), self.scale[start:stop],
              triangle, n)  # fmt: skip
        part = vectors[start + 1 :]
        matmul(panel.T, matmul(triangle.T, matmul(panel, part)), out=part, alpha=-1.0, beta=1.0)


def _call(name: str, dtype: np.dtype, *arguments: object) -> None:
    """A LAPACK routine; arrays are passed by address, and its report (all but larft have one) must be zero."""
    info = ctypes.c_int(0)
    addresses = [pointer(each) if isinstance(each, np.ndarray) else each for each in arguments]
    report = [] if name == "larft" else [ctypes.byref(info)]
    routine("lapack", ("s" if dtype == np.float32 else "d") + name)(*addresses, *report)
    if info.value:
        raise SlimgError(f"the eigenvalues did not converge (LAPACK {name} reports {info.value})")
