"""The inner loop of learning, compiled: it releases the interpreter lock, so that folds on several threads do not wait for
one another. Numpy's calls take 10 to 50 µs each here and hand the lock to and fro between them.

    add_curvature     out += (Fᵀ Q, 1ᵀ Q),  Q = D(F V + 1 vᵀ),  block of rows by block        F: m × k, V: k × c
    conjugate_step    one step of conjugate gradients with  S(d) = kept ∘ h + stiffness ∘ d − pull ∘ ⟨u, d⟩_g,  h = H d

A kernel runs on the thread it is called from, so its bits do not depend on how many there are.
"""

from __future__ import annotations

import numpy as np

from slimg.engine.compiled import SUMS, compiled


@compiled(fastmath=SUMS)
def add_curvature(matrix, p, w, direction, shift, out, start, stop, step):
    k, c = direction.shape
    part = np.empty((k, c), matrix.dtype)
    for a in range(start, stop, step):
        b = min(a + step, stop)
        block = matrix[a:b]
        q = np.dot(block, direction)
        for i in range(b - a):
            total = matrix.dtype.type(0)
            for j in range(c):
                q[i, j] = (q[i, j] + shift[j]) * p[a + i, j]
                total += q[i, j]
            for j in range(c):
                q[i, j] = (q[i, j] - p[a + i, j] * total) * w[a + i]
                out[k, j] += q[i, j]
        np.dot(block.T, q, part)
        for i in range(k):
            for j in range(c):
                out[i, j] += part[i, j]


@compiled(fastmath=SUMS)
def conjugate_step(x, hx, r, d, h, kept, stiffness, pull, unit, places, along, diagonal, intercept, size):
    """Move x, h x, the residual r and the direction d (k × c) one step; ``intercept`` holds the same for v (6 × c).

    Returns the new size ⟨r, r/diagonal⟩ of the residual; a negative one says that the direction does not bend upwards, and
    nothing was moved. ``along`` (groups + 1) is scratch, ``places`` (k) the group of each row, the last for rows in none.
    """
    k, c = d.shape
    xb, hxb, rb, db, hb, shift_diagonal = intercept
    along[:] = 0
    for i in range(k):
        total = 0.0
        for j in range(c):
            total += unit[i, j] * d[i, j]
        along[places[i]] += total
    along[-1] = 0
    full = np.empty_like(d)
    bending = 0.0
    for i in range(k):
        pulled = d.dtype.type(along[places[i]])
        for j in range(c):
            full[i, j] = h[i, j] * kept[i, j] + stiffness[i, j] * d[i, j] - pull[i, j] * pulled
            bending += d[i, j] * full[i, j]
    for j in range(c):
        bending += db[j] * hb[j]
    if not 0 < bending < np.inf:
        return -1.0
    length = d.dtype.type(size / bending)
    after = 0.0
    for i in range(k):
        for j in range(c):
            x[i, j] += length * d[i, j]
            hx[i, j] += length * h[i, j]
            r[i, j] -= length * full[i, j]
            after += r[i, j] * (r[i, j] / diagonal[i, j])
    for j in range(c):
        xb[j] += length * db[j]
        hxb[j] += length * hb[j]
        rb[j] -= length * hb[j]
        after += rb[j] * (rb[j] / shift_diagonal[j])
    turn = d.dtype.type(after / size)
    for i in range(k):
        for j in range(c):
            d[i, j] = r[i, j] / diagonal[i, j] + turn * d[i, j]
    for j in range(c):
        db[j] = rb[j] / shift_diagonal[j] + turn * db[j]
    return after
