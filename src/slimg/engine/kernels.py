"""Sparse × row matrix, compiled. Kernels take arrays, work on a run of rows, and release the interpreter lock.

For rows i in [start, stop) of M, with T (n × k):

    out_i = after_i · ( loop · before_i · T_i  +  Σ_j w_ij · before_j · T_j )

Weights, ``before`` and ``after`` may be None (ones): numba compiles one version for each combination, without the
multiplication. Entries are added in the order in which they are stored, each column by itself, so that the bits of a row
depend on nothing else.

The rows T_j are scattered over memory: each is asked for `AHEAD` entries before it is needed (`prefetch`), which hides most
of the latency that a plain loop waits for. Sums stay in registers (`Vector`): two vectors of ``lanes`` columns
cover a tile of the row, overlapping when the tile is not a multiple of them (columns in both get the same sum twice).

Short vectors of float32 inside compiled kernels.

Numba leaves it to the compiler to find vectors in loops, and for a few dozen columns it finds poor ones: sums travel through
memory, and columns left over are added one by one. Here a vector is a value of its own: `load`, `add` and `scale` become
single instructions on any width the machine has, and a sum over many rows stays in registers.

Each lane is one column: nothing is added across lanes, so the bits are those of the plain loop.

Compiled functions, kept on disk so that a kernel is compiled once per machine.

A file ends in the SHA-256 of what is before it. One that is damaged is compiled again, and one that cannot be written (a
full or read-only disk) is passed over, each with a warning.

Numba numbers the files of a function's versions in the order in which they are saved. Two processes that compile for the
first time at once give one number to two versions, and from then on one is loaded in place of the other: wrong results,
without a word. Here the name of a file is made from what it holds, so a name cannot stand for two things, and there is no
index that processes could overwrite for one another.
"""

from __future__ import annotations

import hashlib
import pickle
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.extending import intrinsic, models, register_model

from slimg.engine.base import Array, Scaling

SUMS = {"reassoc", "contract"}
"""For ``fastmath``: sums may be taken in vectors; infinities and what is no number stay what they are."""


LAYOUT = 2
"""Of the files: those of another layout are not read."""
DIGEST = 32
"""Bytes of a SHA-256."""


def compiled(name: str | None = None, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: ``numba.njit`` without the interpreter lock, kept on disk where there is a folder to write to.

    Functions made in a loop or by a factory each need a ``name``: numba tells two apart by a counter of the process, so
    that two compiled in two processes and loaded by a third would be one and the same symbol.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        function.__qualname__ = name or function.__qualname__
        dispatcher = numba.njit(nogil=True, **options)(function)
        with suppress(RuntimeError):  # Nowhere to write: each process compiles for itself.
            dispatcher._cache = _Cache(function)
        return dispatcher

    return decorate


class _Cache(FunctionCache):
    def __init__(self, function: Callable[..., Any]):
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _FilesByContent(self._cache_path, self._impl.filename_base, stamp)

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as error:  # the folder cannot be made
            _warn_once(f"compiled kernels are not kept: {self._cache_path} cannot be written ({error.strerror})")


class _FilesByContent(IndexDataCacheFile):
    def save(self, key: Any, data: Any) -> None:
        content = self._dump(data)
        path = self._data_path(self._name(key))
        try:
            with self._open_for_write(path) as file:
                file.write(content + hashlib.sha256(content).digest())
        except OSError as error:
            _warn_once(f"compiled kernels are not kept: {self._cache_path} cannot be written ({error.strerror})")

    def load(self, key: Any) -> Any:
        path = self._data_path(self._name(key))
        try:
            with open(path, "rb") as file:
                content = file.read()
            if hashlib.sha256(content[:-DIGEST]).digest() == content[-DIGEST:]:
                return pickle.loads(content[:-DIGEST])
        except FileNotFoundError:
            return None
        except Exception:  # what cannot be read is compiled again
            pass
        _warn_once(f"a compiled kernel in {self._cache_path} is damaged and is compiled again")
        return None

    def flush(self) -> None:
        """Files of other keys are never read again: nothing has to be forgotten."""

    def _name(self, key: Any) -> str:
        """The key holds the types, the processor, the byte code and what the function closes over."""
        digest = hashlib.sha256(repr((LAYOUT, self._version, self._source_stamp, key)).encode()).hexdigest()
        return self._index_name.removesuffix(".nbi") + f".{digest[:32]}.nbc"


@cache
def _warn_once(message: str) -> None:
    warnings.warn(message, RuntimeWarning, stacklevel=2)


class Vector(types.Type):
    """``lanes`` consecutive float32."""

    def __init__(self, lanes: int):
        self.lanes = lanes
        super().__init__(name=f"Vector({lanes})")


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Vector):
        super().__init__(manager, kind, ir.VectorType(ir.FloatType(), kind.lanes))


@intrinsic(prefer_literal=True)
def zeros(typing: Any, lanes: Any):
    """A vector of zeros; ``lanes`` is a constant."""
    kind = Vector(lanes.literal_value)

    def build(context: Any, builder: Any, signature: Any, args: Any):
        return ir.Constant(context.get_value_type(kind), None)

    return kind(lanes), build


@intrinsic
def load(typing: Any, vector: Any, array: Any, row: Any, column: Any):
    """array[row, column : column + lanes]; ``vector`` only says how many."""

    def build(context: Any, builder: Any, signature: Any, args: Any):
        address = _address(context, builder, signature.args[1:], args[1:])
        value = builder.load(builder.bitcast(address, context.get_value_type(vector).as_pointer()))
        value.align = 4
        return value

    return vector(vector, array, row, column), build


@intrinsic
def store(typing: Any, vector: Any, array: Any, row: Any, column: Any):
    """array[row, column : column + lanes] = vector."""

    def build(context: Any, builder: Any, signature: Any, args: Any):
        address = _address(context, builder, signature.args[1:], args[1:])
        builder.store(args[0], builder.bitcast(address, args[0].type.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(vector, array, row, column), build


@intrinsic
def add(typing: Any, a: Any, b: Any):
    """a + b."""

    def build(context: Any, builder: Any, signature: Any, args: Any):
        return builder.fadd(*args)

    return a(a, b), build


@intrinsic
def scale(typing: Any, a: Any, factor: Any):
    """a · factor, for a float32 factor."""

    def build(context: Any, builder: Any, signature: Any, args: Any):
        kind, word = args[0].type, ir.IntType(32)
        number = context.cast(builder, args[1], signature.args[1], types.float32)
        first = builder.insert_element(ir.Constant(kind, ir.Undefined), number, ir.Constant(word, 0))
        same = ir.Constant(ir.VectorType(word, kind.count), None)
        return builder.fmul(args[0], builder.shuffle_vector(first, first, same))

    return a(a, factor), build


@intrinsic
def prefetch(typing: Any, array: Any, place: Any):
    """Ask for the cache line of array[place], a tuple of indices, in the second level of the cache.

    The first level has places for only a dozen lines under way, two rows of a row matrix; the second for four times as many.
    """

    def build(context: Any, builder: Any, signature: Any, args: Any):
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        index = cgutils.unpack_tuple(builder, args[1])
        address = _address(context, builder, (array, *place.types), (args[0], *index))
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        read, second_level, data = (ir.Constant(word, value) for value in (0, 2, 1))
        builder.call(function, [builder.bitcast(address, byte), read, second_level, data])
        return context.get_dummy_value()

    return types.void(array, place), build


def _address(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    """Where the entry of an array is: ``args`` are the array and its indices."""
    array = kinds[0]
    view = context.make_array(array)(context, builder, args[0])
    index = [context.cast(builder, each, kind, types.intp) for each, kind in zip(args[1:], kinds[1:], strict=True)]
    shapes, strides = cgutils.unpack_tuple(builder, view.shape), cgutils.unpack_tuple(builder, view.strides)
    return cgutils.get_item_pointer2(context, builder, view.data, shapes, strides, array.layout, index)


AHEAD = 48
LINE = 16
"""float32 per cache line."""
MOST_LANES = 64


def lanes_for(columns: int) -> int:
    """The fewest lanes, a power of two, of which two vectors cover the columns; at most `MOST_LANES`."""
    return min(MOST_LANES, 1 << max((columns - 1).bit_length() - 1, 0))


def gather_rows(
    indptr: Array,
    indices: Array,
    weights: Array | None,
    row_matrix: Array,
    scalings: Sequence[Scaling],
    outs: Sequence[Array],
    start: int,
    stop: int,
    shift: int = 0,
) -> None:
    """Rows [start, stop) of after ⊙ (M + loop·I)(before ⊙ T) for each scaling, into its out.

    Row i of ``indptr`` and of the outs is row i + ``shift`` of M, of T, and of the vectors of the scalings.
    """
    kernel, data = gather(lanes_for(row_matrix.shape[1])), (indptr, indices, weights, row_matrix)
    for a in range(0, len(scalings) - 1, 2):
        kernel(*data, *scalings[a + 1], outs[a + 1], start, stop, shift, *scalings[a], outs[a])
    if len(scalings) % 2:
        kernel(*data, *scalings[-1], outs[-1], start, stop, shift)


@cache
def gather(lanes: int) -> Callable[..., None]:
    """The kernel of one scaling, or of two of the same gathered rows: the second one's arguments are the last four."""

    @compiled(f"gather_{lanes}")
    def kernel(
        indptr, indices, weights, row_matrix, before, after, loop, out, start, stop, shift=0,
        before2=None, after2=None, loop2=0.0, out2=None,
    ):  # fmt: skip
        k = row_matrix.shape[1]
        safe = len(indices) - AHEAD
        for i in range(start, stop):
            me = i + shift
            for tile in range(0, k, 2 * lanes):
                left = max(min(tile, k - 2 * lanes), 0)
                right = min(left + lanes, k - lanes)
                a, b, a2, b2 = zeros(lanes), zeros(lanes), zeros(lanes), zeros(lanes)
                if loop != 0.0:
                    own = np.float32(loop) if before is None else np.float32(loop) * before[me]
                    a, b = scale(load(a, row_matrix, me, left), own), scale(load(b, row_matrix, me, right), own)
                if loop2 != 0.0:
                    own = np.float32(loop2) if before2 is None else np.float32(loop2) * before2[me]
                    a2, b2 = scale(load(a, row_matrix, me, left), own), scale(load(b, row_matrix, me, right), own)
                for p in range(indptr[i], indptr[i + 1]):
                    if p < safe:
                        coming = indices[p + AHEAD]
                        for c in range(left, right + lanes, LINE):
                            prefetch(row_matrix, (coming, c))
                        if before is not None:
                            prefetch(before, (coming,))
                    j = indices[p]
                    x, y = load(a, row_matrix, j, left), load(b, row_matrix, j, right)
                    if weights is not None:
                        x, y = scale(x, weights[p]), scale(y, weights[p])
                    if before2 is not None:
                        a2, b2 = add(a2, scale(x, before2[j])), add(b2, scale(y, before2[j]))
                    elif out2 is not None:
                        a2, b2 = add(a2, x), add(b2, y)
                    if before is not None:
                        x, y = scale(x, before[j]), scale(y, before[j])
                    a, b = add(a, x), add(b, y)
                if after is not None:
                    a, b = scale(a, after[me]), scale(b, after[me])
                if after2 is not None:
                    a2, b2 = scale(a2, after2[me]), scale(b2, after2[me])
                store(a, out, i, left)
                store(b, out, i, right)
                if out2 is not None:
                    store(a2, out2, i, left)
                    store(b2, out2, i, right)

    return kernel


@compiled()
def sketch(indptr, indices, weights, code, out, start, stop):
    """Rows [start, stop) of M S, where row j of S has 1 (-1 if its code is odd) in column code_j // 2 alone."""
    k = out.shape[1]
    for i in range(start, stop):
        for c in range(k):
            out[i, c] = 0
        for p in range(indptr[i], indptr[i + 1]):
            place = code[indices[p]]
            value = np.float32(1) if weights is None else weights[p]
            out[i, place >> 1] += -value if place & 1 else value


@compiled()
def scatter(indptr, indices, values, row_matrix, out, first, last):
    """out += MᵀT for columns [first, last) of T and out, in float64."""
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            for c in range(first, last):
                out[j, c] += np.float64(values[p]) * row_matrix[i, c]


@compiled()
def scatter_self(indptr, indices, values, out, first, last):
    """Rows [first, last) of out += MᵀM, in float64; the indices of each row of M rise."""
    for i in range(len(indptr) - 1):
        start, stop = indptr[i], indptr[i + 1]
        begin = start + np.searchsorted(indices[start:stop], first)
        for p in range(begin, stop):
            j = indices[p]
            if j >= last:
                break
            value = np.float64(values[p])
            for q in range(start, stop):
                out[j, indices[q]] += value * values[q]
