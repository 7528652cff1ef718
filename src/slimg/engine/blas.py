"""SciPy's BLAS and LAPACK without the interpreter lock, on one thread per call.

SciPy's own wrappers hold the interpreter lock. The functions here call the routines that SciPy exports for Cython through
`ctypes`, which releases it: blocks run in parallel, each on one BLAS thread, so the number of threads never changes a bit.

Row-major arrays are passed as the transposes they are: C = AB is Cᵀ = BᵀAᵀ in the Fortran order of BLAS.

Chosen eigenpairs of a dense symmetric matrix M (n × n), in two steps.

    M = Q T Qᵀ         T tridiagonal, Q = H₁ H₂ … a product of reflections                      (`tridiagonalise`)
    T = Z Λ Zᵀ         by divide and conquer; the eigenvectors of M are Q Z, for chosen columns (`Tridiagonal`)

The first step gives all eigenvalues for little more, so that how many vectors are wanted may be decided from them; the
reflections are applied to the wanted columns alone, `PANEL` at a time:

    H_j … H_{j+p−1} = I − V S Vᵀ        V (n × p) the reflections' vectors, S (p × p) upper triangular

so that nearly all of the second step is matrix products.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from contextlib import ContextDecorator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import OpenBLASController, ThreadpoolController

from slimg.errors import InputError

Array = npt.NDArray[Any]


def matmul(a: Array, b: Array, out: Array | None = None, alpha: float = 1.0, beta: float = 0.0) -> Array:
    """alpha·a b (+ beta·out) for float32 or float64 matrices, row-major result; transposed views cost nothing.

    Returns
    -------
    ndarray of shape (m, n)
        The product; ``out`` if it was given.
    """
    dtype = a.dtype
    b = np.asarray(b, dtype)
    if out is None:
        out = np.empty((a.shape[0], b.shape[1]), dtype)
        beta = 0.0
    if 0 in (*out.shape, a.shape[1]):
        out[...] = beta * out if beta else 0
        return out
    (a, a_lead, a_flip), (b, b_lead, b_flip) = _fortran(a), _fortran(b)
    m, k, n = a.shape[0], a.shape[1], b.shape[1]
    name = "sgemm" if dtype == np.float32 else "dgemm"
    scalar = _scalar(dtype)
    flips, sizes, operands = (b_flip, a_flip), (integer(n), integer(m), integer(k)), (pointer(b), b_lead, pointer(a), a_lead)
    lead = integer(max(out.strides[0] // out.itemsize, 1))
    routine("blas", name)(*flips, *sizes, scalar(alpha), *operands, scalar(beta), pointer(out), lead)
    return out


def self_gram(a: Array) -> Array:
    """aᵀa of a row-major block, both triangles filled.

    Returns
    -------
    ndarray of shape (k, k)
        aᵀa, in the type of a.
    """
    rows, k = a.shape
    out = np.zeros((k, k), a.dtype)
    if rows and k:
        scalar = _scalar(a.dtype)
        name = "ssyrk" if a.dtype == np.float32 else "dsyrk"
        kind = char("L"), char("N"), integer(k), integer(rows)
        lead = integer(a.strides[0] // a.itemsize)
        routine("blas", name)(*kind, scalar(1.0), pointer(a), lead, scalar(0.0), pointer(out), integer(k))
        mirror_upper(out)
    return out


def mirror_upper(a: Array) -> None:
    """Copy the upper triangle of a row-major square matrix (the lower one of Fortran) below its diagonal."""
    step = 256
    for start in range(0, len(a), step):
        stop = min(start + step, len(a))
        a[stop:, start:stop] = a[start:stop, stop:].T
        block = a[start:stop, start:stop]
        block[:] = np.triu(block) + np.triu(block, 1).T


def one_thread() -> _Limit:
    """BLAS on one thread inside (a ``with`` block or a decorated function); many threads may be inside at once."""
    return _limit


@cache
def routine(library: str, name: str) -> Callable[..., None]:
    """A routine of SciPy's BLAS or LAPACK as a ctypes function of pointers.

    Returns
    -------
    callable
        The routine; its arguments are pointers, and it releases the interpreter lock.
    """
    if library == "blas":
        from scipy.linalg import cython_blas as module
    else:
        from scipy.linalg import cython_lapack as module
    capsule = module.__pyx_capi__[name]
    api = ctypes.pythonapi
    title = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
    pointer = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", api))
    signature = title(capsule)
    arguments = [ctypes.c_void_p] * signature.count(b"*")
    return ctypes.CFUNCTYPE(None, *arguments)(pointer(capsule, signature))


class _Limit(ContextDecorator):
    """How many are inside `one_thread`; the setting returns when the last one leaves.

    The only state is that of a setting which is itself global to the process.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._controller: ThreadpoolController | None = None
        self._setting: Any = None
        self._setter = 0

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                if self._controller is None:
                    import scipy.linalg  # noqa: F401  (its BLAS must be loaded to be found)

                    self._controller = ThreadpoolController()
                self._setting = self._controller.limit(limits=1, user_api="blas")
                self._setter = threading.get_ident()
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                _disown(by_force=threading.get_ident() != self._setter)
                self._setting.restore_original_limits()
                _disown()


def _disown(by_force: bool = False) -> None:
    """Let any thread change OpenBLAS's setting: threadpoolctl 3.8 reserves it for the thread that did so first."""
    clear = getattr(OpenBLASController, "clear_controlling_thread", None)
    if clear:
        clear(force=by_force)


_limit = _Limit()


def _fortran(a: Array) -> tuple[Array, Any, Any]:
    """The array (a copy, unless a stride is one element), and leading dimension and flag of its transpose in Fortran."""
    for view, flag in ((a, "N"), (a.T, "T")):
        if view.strides[1] == a.itemsize and view.strides[0] >= view.shape[1] * a.itemsize:
            return a, integer(max(view.strides[0] // a.itemsize, 1)), char(flag)
    return _fortran(np.array(a, order="C"))


def pointer(a: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(a.ctypes.data)


def integer(value: int) -> Any:
    return ctypes.byref(ctypes.c_int(value))


def char(value: str) -> Any:
    return ctypes.byref(ctypes.c_char(value.encode()))


def _scalar(dtype: Any) -> Callable[[float], Any]:
    kind = ctypes.c_float if dtype == np.float32 else ctypes.c_double
    return lambda value: ctypes.byref(kind(value))


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
        raise InputError(
            "the features or weights are too large or too small for a decomposition in float32 (LAPACK"
            f" {name} reports {info.value}): divide them by their largest value"
        )
