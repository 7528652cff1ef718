"""The engine in memory with rows kept in another order, in which the neighbours of a node lie close together.

A pass over A gathers the rows of neighbours. When the numbers of nodes tell nothing (hashed or shuffled ids), every row
comes from far away; in community order most are still in the caches. Outside of the engine nothing changes: rows are moved
when they are handed over, and moved back when they are asked for. Sums add the same numbers in another order, so results
agree with `MemoryEngine` to rounding; any number of threads gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from slimg.engine.base import Array, RowMatrix, Scaling, Sparse
from slimg.engine.blocks import DRAWN_ROWS, PART_ROWS, balanced_blocks, draw_random, row_blocks, runs
from slimg.engine.memory import MemoryEngine, as_tall
from slimg.engine.ordering import community_order, move_rows, places_of


class _Rows(NamedTuple):
    indptr: Array
    indices: Array
    weights: Array | None


class ReorderedEngine(MemoryEngine):
    """`MemoryEngine` for one graph, its rows in an order of their own.

    Parameters
    ----------
    order : old row numbers in their new order; arrays of as many rows are kept in it, others as they are
    threads : as in `MemoryEngine`
    """

    def __init__(self, order: Array, threads: int | None = None):
        super().__init__(threads)
        self._orders = {len(order): (np.asarray(order), places_of(np.asarray(order)))}
        self._matrices: list[tuple[Sparse, _Rows]] = []
        self._vectors: dict[int, tuple[Array, Array]] = {}

    @classmethod
    def for_matrix(cls, matrix: Sparse, threads: int | None = None) -> ReorderedEngine:
        """In the order of the communities of a graph."""
        return cls(community_order(matrix), threads)

    def __reduce__(self) -> tuple[Any, ...]:
        ((order, _),) = self._orders.values()
        return ReorderedEngine, (order, self.threads)

    # handing over and back ------------------------------------------------------------------------------------------

    def row_matrix(self, array: Any) -> RowMatrix:
        order, _ = self._known(array.shape[0])
        if order is None:
            return as_tall(array)
        if sparse.issparse(array):
            return as_tall(sparse.csr_matrix(array)[order])
        return self._picked(np.asarray(array), order)

    def random(self, n: int, k: int, random_state: int) -> RowMatrix:
        _, places = self._known(n)
        if places is None:
            return super().random(n, k, random_state)
        out = self._buffers.take(n, k)

        def draw(start: int, stop: int) -> None:
            rows = np.empty((stop - start, k), np.float32)
            draw_random(rows, random_state, start)
            out[places[start:stop]] = rows

        self._threads.for_each(draw, runs(n, DRAWN_ROWS))
        return out

    def rows(self, row_matrix: RowMatrix, index: Any) -> Array:
        _, places = self._known(row_matrix.shape[0])
        return super().rows(row_matrix, index if places is None else places[np.asarray(index)])

    def to_array(self, row_matrix: RowMatrix) -> Array:
        _, places = self._known(row_matrix.shape[0])
        if places is None or sparse.issparse(row_matrix):
            return super().to_array(row_matrix if places is None else row_matrix[places])
        return self._picked(row_matrix, places)

    def for_each_row_chunk(self, fn: Callable[..., Any], row_matrices: Sequence[RowMatrix], vectors: Sequence[Array] = ()) -> list[Any]:
        n = row_matrices[0].shape[0]
        _, places = self._known(n)
        if places is None:
            return super().for_each_row_chunk(fn, row_matrices, vectors)

        def run(which: int, start: int, stop: int) -> Any:
            return fn(which, *(row_matrix[places[start:stop]] for row_matrix in row_matrices), *(each[start:stop] for each in vectors))

        return list(self._threads.in_order(run, [(which, *cut) for which, cut in enumerate(runs(n, PART_ROWS))]))

    # products -------------------------------------------------------------------------------------------------------

    def products(self, matrix: Sparse, row_matrix: RowMatrix, scalings: Sequence[Scaling]) -> list[RowMatrix]:
        order, _ = self._known(len(matrix.indptr) - 1)
        if order is None:
            return super().products(matrix, row_matrix, scalings)
        moved = [Scaling(self._vector(each.before), self._vector(each.after), each.loop) for each in scalings]
        return self._passes(self._matrix(matrix), row_matrix, moved)

    def sketch(self, matrix: Sparse, k: int, random_state: int) -> RowMatrix:
        known = self._known(len(matrix.indptr) - 1)[0] is not None
        return super().sketch(self._matrix(matrix) if known else matrix, k, random_state)

    # moving ---------------------------------------------------------------------------------------------------------

    def _known(self, n: int) -> tuple[Array, Array] | tuple[None, None]:
        """Order and places of arrays of n rows."""
        return self._orders.get(n, (None, None))

    def _picked(self, array: Array, index: Array) -> Array:
        out = self._buffers.take(len(index), array.shape[1])

        def pick(start: int, stop: int) -> None:
            out[start:stop] = array[index[start:stop]]

        self._threads.for_each(pick, row_blocks([array]))
        return out

    def _vector(self, vector: Array | None) -> Array | None:
        """A vector over the nodes; kept, as scalings are used again and again."""
        if vector is None:
            return None
        known = self._vectors.get(id(vector))
        if known is None:
            order, _ = self._known(len(vector))
            known = self._vectors[id(vector)] = vector, np.asarray(vector)[order]
        return known[1]

    def _matrix(self, matrix: Sparse) -> _Rows:
        for known, rows in self._matrices:
            if known is matrix:
                return rows
        old_indptr, old_indices = np.asarray(matrix.indptr), np.asarray(matrix.indices)
        order, places = self._known(len(old_indptr) - 1)
        indptr = np.concatenate([[0], np.cumsum(np.diff(old_indptr)[order])])
        old_weights = None if matrix.weights is None else np.asarray(matrix.weights)
        rows = _Rows(indptr, np.empty_like(old_indices), None if old_weights is None else np.empty_like(old_weights))
        move = partial(move_rows, old_indptr, old_indices, old_weights, order, places, *rows)
        self._threads.for_each(move, balanced_blocks(indptr))
        self._matrices = [*self._matrices[-1:], (matrix, rows)]
        return rows
