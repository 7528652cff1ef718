"""Sparse × row matrix, compiled. Kernels take arrays, work on a run of rows, and release the interpreter lock.

For rows i in [start, stop) of M, with T (n × k):

    out_i = after_i · ( loop · before_i · T_i  +  Σ_j w_ij · before_j · T_j )

Weights, ``before`` and ``after`` may be None (ones): numba compiles one version for each combination, without the
multiplication. Entries are added in the order in which they are stored, each column by itself, so that the bits of a row
depend on nothing else.

The rows T_j are scattered over memory: each is asked for `AHEAD` entries before it is needed (`prefetch`), which hides most
of the latency that a plain loop waits for. Sums stay in registers (`slimg.engine.vectors`): two vectors of ``lanes`` columns
cover a tile of the row, overlapping when the tile is not a multiple of them (columns in both get the same sum twice).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from slimg.engine import buffers
from slimg.engine.base import Array, Scaling
from slimg.engine.compiled import compiled
from slimg.engine.vectors import add, load, prefetch, scale, store, zeros

AHEAD = 48
LINE = buffers.LINE // 4
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
) -> None:
    """Rows [start, stop) of after ⊙ (M + loop·I)(before ⊙ T) for each scaling, into its out."""
    data, lanes = (indptr, indices, weights, row_matrix), lanes_for(row_matrix.shape[1])
    for a in range(0, len(scalings) - 1, 2):
        gather_two(lanes)(*data, *scalings[a], outs[a], *scalings[a + 1], outs[a + 1], start, stop)
    if len(scalings) % 2:
        gather(lanes)(*data, *scalings[-1], outs[-1], start, stop)


@cache
def gather(lanes: int) -> Callable[..., None]:
    """The kernel of one scaling: (indptr, indices, weights, row matrix, before, after, loop, out, start, stop)."""

    @compiled(f"gather_{lanes}")
    def kernel(indptr, indices, weights, row_matrix, before, after, loop, out, start, stop):
        k = row_matrix.shape[1]
        safe = len(indices) - AHEAD
        for i in range(start, stop):
            for tile in range(0, k, 2 * lanes):
                left = max(min(tile, k - 2 * lanes), 0)
                right = min(left + lanes, k - lanes)
                a, b = zeros(lanes), zeros(lanes)
                if loop != 0.0:
                    own = np.float32(loop) if before is None else np.float32(loop) * before[i]
                    a = scale(load(a, row_matrix, i, left), own)
                    b = scale(load(b, row_matrix, i, right), own)
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
                    if before is not None:
                        x, y = scale(x, before[j]), scale(y, before[j])
                    a, b = add(a, x), add(b, y)
                if after is not None:
                    a, b = scale(a, after[i]), scale(b, after[i])
                store(a, out, i, left)
                store(b, out, i, right)

    return kernel


@cache
def gather_two(lanes: int) -> Callable[..., None]:
    """Two scalings of the same gathered rows, the second with a ``before``:
    (indptr, indices, weights, row matrix, before, after, loop, out, before2, after2, loop2, out2, start, stop)."""

    @compiled(f"gather_two_{lanes}")
    def kernel(indptr, indices, weights, row_matrix, before, after, loop, out, before2, after2, loop2, out2, start, stop):
        k = row_matrix.shape[1]
        safe = len(indices) - AHEAD
        for i in range(start, stop):
            for tile in range(0, k, 2 * lanes):
                left = max(min(tile, k - 2 * lanes), 0)
                right = min(left + lanes, k - lanes)
                a, b, a2, b2 = zeros(lanes), zeros(lanes), zeros(lanes), zeros(lanes)
                if loop != 0.0:
                    own = np.float32(loop) if before is None else np.float32(loop) * before[i]
                    a, b = scale(load(a, row_matrix, i, left), own), scale(load(b, row_matrix, i, right), own)
                if loop2 != 0.0:
                    own = np.float32(loop2) if before2 is None else np.float32(loop2) * before2[i]
                    a2, b2 = scale(load(a, row_matrix, i, left), own), scale(load(b, row_matrix, i, right), own)
                for p in range(indptr[i], indptr[i + 1]):
                    if p < safe:
                        coming = indices[p + AHEAD]
                        for c in range(left, right + lanes, LINE):
                            prefetch(row_matrix, (coming, c))
                        if before2 is not None:
                            prefetch(before2, (coming,))
                    j = indices[p]
                    x, y = load(a, row_matrix, j, left), load(b, row_matrix, j, right)
                    if weights is not None:
                        x, y = scale(x, weights[p]), scale(y, weights[p])
                    if before is None:
                        a, b = add(a, x), add(b, y)
                    else:
                        a, b = add(a, scale(x, before[j])), add(b, scale(y, before[j]))
                    if before2 is None:
                        a2, b2 = add(a2, x), add(b2, y)
                    else:
                        a2, b2 = add(a2, scale(x, before2[j])), add(b2, scale(y, before2[j]))
                if after is not None:
                    a, b = scale(a, after[i]), scale(b, after[i])
                if after2 is not None:
                    a2, b2 = scale(a2, after2[i]), scale(b2, after2[i])
                store(a, out, i, left)
                store(b, out, i, right)
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
