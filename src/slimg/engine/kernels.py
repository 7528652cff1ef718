"""Sparse × tall, compiled. Kernels take arrays, work on a run of rows, and release the interpreter lock.

For rows i in [start, stop):   out_i = after_i · ( Σ_j w_ij · before_j · T_j  +  loop · before_i · T_i )

Weights, ``before`` and ``after`` may be None (ones): numba compiles one version per combination, without the multiplication.
Entries are added in the order in which they are stored, column by column independent, so a row's bits depend on nothing else.

The rows T_j are scattered over memory: each is asked for `AHEAD` entries before it is needed (`llvm.prefetch`), which hides
most of the latency that a plain loop waits for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

AHEAD = 16
LINE = 16  # float32 per cache line


@intrinsic
def prefetch(typingctx: Any, array: Any, row: Any, column: Any):
    """Ask for the cache line of array[row, column], to be read soon."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any):
        array_type = signature.args[0]
        view = context.make_array(array_type)(context, builder, args[0])
        index = [context.cast(builder, a, t, types.intp) for a, t in zip(args[1:], signature.args[1:], strict=True)]
        shapes, strides = cgutils.unpack_tuple(builder, view.shape), cgutils.unpack_tuple(builder, view.strides)
        address = cgutils.get_item_pointer2(context, builder, view.data, shapes, strides, array_type.layout, index)
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        read, keep, data = (ir.Constant(word, v) for v in (0, 3, 1))
        builder.call(function, [builder.bitcast(address, byte), read, keep, data])
        return context.get_dummy_value()

    return types.void(array, row, column), codegen


@njit(nogil=True, cache=True)
def gather(indptr, indices, weights, tall, before, after, loop, out, start, stop):
    """One scaling over rows [start, stop)."""
    k = tall.shape[1]
    last = len(indices) - AHEAD
    for i in range(start, stop):
        row = out[i]
        if loop != 0.0:
            scale = np.float32(loop) if before is None else np.float32(loop) * before[i]
            for c in range(k):
                row[c] = scale * tall[i, c]
        else:
            for c in range(k):
                row[c] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            if p < last:
                ahead = indices[p + AHEAD]
                for c in range(0, k, LINE):
                    prefetch(tall, ahead, c)
            j = indices[p]
            if weights is None and before is None:
                for c in range(k):
                    row[c] += tall[j, c]
            else:
                scale = np.float32(1.0)
                if weights is not None:
                    scale *= weights[p]
                if before is not None:
                    scale *= before[j]
                for c in range(k):
                    row[c] += scale * tall[j, c]
        if after is not None:
            for c in range(k):
                row[c] *= after[i]


@njit(nogil=True, cache=True)
def scatter(indptr, indices, values, tall, out, first, last):
    """out += MᵀT for columns [first, last) of T and out, in float64."""
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            for c in range(first, last):
                out[j, c] += np.float64(values[p]) * tall[i, c]


@njit(nogil=True, cache=True)
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
