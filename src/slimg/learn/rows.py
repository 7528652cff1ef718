"""The labelled rows F (m × p) and the products that learning needs, cut into blocks of rows.

    times             F V                      (m × c)
    transposed_times  Fᵀ R                     (p × c)
    curvature         Fᵀ D(F V + 1 vᵀ)         D = one c × c block per row, w_i (diag(p_i) − p_i p_iᵀ)

A block of rows fits the cache, so `curvature` reads F once where two products would read it twice. Blocks depend on the
shape alone and are added in order: the bits do not depend on the number of threads.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from slimg.engine.base import Array
from slimg.engine.blas import one_thread
from slimg.learn.kernels import add_curvature

BLOCK_WORK = 1_000_000
"""Multiplications of a block of rows that is read twice while it is in the cache; up to this many, OpenBLAS has kernels that
do not first copy what they multiply, and take half to two thirds of the time."""
TASK_WORK = 1 << 23
"""Multiplications (m·p·c) that are worth a task of their own."""
TASKS = 16


class Rows:
    """F as a float32 or float64 array, row by row in memory, with an engine whose threads share its blocks."""

    def __init__(self, matrix: Array, engine: Any):
        self.matrix, self.engine = np.ascontiguousarray(matrix), engine
        self.shape, self.dtype = matrix.shape, matrix.dtype

    def select(self, columns: Array) -> Rows:
        """F[:, columns], copied."""
        return Rows(np.take(self.matrix, columns, axis=1), self.engine)  # indexing would copy twice

    def times(self, weights: Array) -> Array:
        out = np.empty((self.shape[0], weights.shape[1]), self.dtype)
        self._run(partial(self._times, weights, out), weights.shape[1])
        return out

    def transposed_times(self, residual: Array) -> Array:
        return self._sum(partial(self._transposed_times, residual), residual.shape[1])

    def squared_transposed_times(self, residual: Array) -> Array:
        """(F ∘ F)ᵀ R."""
        return self._sum(partial(self._squared, residual), residual.shape[1])

    def curvature(self, probabilities: Array, row_weights: Array, direction: Array, shift: Array) -> tuple[Array, Array]:
        """Fᵀ Q and 1ᵀ Q for Q = D(F V + 1 vᵀ)."""
        c = direction.shape[1]
        out = self._sum(partial(self._curvature, probabilities, row_weights, direction, shift), c)
        return out[:-1], out[-1]

    def _times(self, weights: Array, out: Array, start: int, stop: int) -> None:
        np.matmul(self.matrix[start:stop], weights, out=out[start:stop])

    def _transposed_times(self, residual: Array, start: int, stop: int) -> Array:
        return self.matrix[start:stop].T @ residual[start:stop]

    def _squared(self, residual: Array, start: int, stop: int) -> Array:
        out = np.zeros((self.shape[1], residual.shape[1]), self.dtype)
        for a, b in _cut(start, stop, self._block_rows(residual.shape[1])):
            out += np.square(self.matrix[a:b]).T @ residual[a:b]
        return out

    def _curvature(self, p: Array, w: Array, direction: Array, shift: Array, start: int, stop: int) -> Array:
        out = np.zeros((self.shape[1] + 1, direction.shape[1]), self.dtype)
        add_curvature(self.matrix, p, w, direction, shift, out, start, stop, self._block_rows(direction.shape[1]))
        return out

    def _block_rows(self, c: int) -> int:
        return max(16, BLOCK_WORK // max(1, self.shape[1] * c))

    def _tasks(self, c: int) -> list[tuple[int, int]]:
        m, p = self.shape
        count = min(TASKS, max(1, m * p * c // TASK_WORK))
        return _cut(0, m, -(-m // count)) if m else [(0, 0)]

    def _run(self, fn: Any, c: int) -> list[Any]:
        tasks = self._tasks(c)
        if len(tasks) == 1:
            with one_thread():
                return [fn(*tasks[0])]
        return self.engine.concurrently(*(partial(fn, *task) for task in tasks))

    def _sum(self, fn: Any, c: int) -> Array:
        first, *rest = self._run(fn, c)
        for part in rest:
            first += part
        return first


def _cut(start: int, stop: int, step: int) -> list[tuple[int, int]]:
    return list(pairwise([*range(start, stop, step), stop]))
