"""Hops that touch only the neighbourhood they need.

For chosen rows R₀ and R_{k+1} = the nodes that a row of R_k gathers, Op restricted to the two is a small sparse matrix, so

    (Opʰ T)[R₀]  =  Op[R₀, R₁] · Op[R₁, R₂] ⋯ Op[R_{h−1}, R_h] · T[R_h]
    Opʰ[R₀, R_h] =  the product of the steps alone: the weight of every walk of h hops, summed over walks
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from slimg.engine.base import Array
from slimg.graph.adjacency import Adjacency
from slimg.linalg.operators import Operator


@dataclass(frozen=True)
class Steps:
    """Restricted operators, float64, from the chosen rows outwards, and ``reached``: R_h, ascending."""

    matrices: list[csr_array]
    reached: Array

    def apply(self, rows: Any) -> Any:
        """(Opʰ T)[R₀] from T[R_h], dense or sparse."""
        for matrix in reversed(self.matrices):
            rows = matrix @ rows
        return rows

    def paths(self) -> csr_array:
        """Opʰ[R₀, R_h], columns ascending in each row."""
        found = csr_array(reduce(lambda left, right: left @ right, self.matrices))
        found.sort_indices()
        return found


def steps(operator: Operator, rows: Array, hops: int) -> Steps:
    """The way from R₀ = ``rows`` outwards; at least one hop."""
    here, matrices = np.asarray(rows), []
    for _ in range(hops):
        matrix, here = _step(operator, here)
        matrices.append(matrix)
    return Steps(matrices, here)


def gathered(adjacency: Adjacency, rows: Array) -> csr_array:
    """A[rows, :] in float64, read from these rows alone."""
    starts = adjacency.indptr[rows]
    counts = adjacency.indptr[np.asarray(rows) + 1] - starts
    indptr = np.concatenate([[0], np.cumsum(counts)])
    places = np.arange(indptr[-1]) + np.repeat(starts - indptr[:-1], counts)
    weights = np.ones(len(places)) if adjacency.weights is None else adjacency.weights[places].astype(np.float64)
    return csr_array((weights, adjacency.indices[places], indptr), shape=(len(counts), adjacency.n))


def around(adjacency: Adjacency, rows: Array, hops: int) -> Array:
    """Rows within so many hops of the given ones, themselves included, ascending."""
    inside = np.zeros(adjacency.n, bool)
    inside[rows] = True
    edge = np.flatnonzero(inside)
    for _ in range(hops):
        found = np.unique(gathered(adjacency, edge).indices)
        edge = found[~inside[found]]
        inside[edge] = True
    return np.flatnonzero(inside)


def _step(operator: Operator, rows: Array) -> tuple[csr_array, Array]:
    """Op[rows, reached] and reached."""
    before, after, loop = operator.scaling
    block = gathered(operator.matrix, rows)  # type: ignore[arg-type]  # an operator's matrix is the graph's adjacency
    reached = np.unique(np.concatenate([block.indices, rows]) if loop else block.indices)
    place = np.searchsorted(reached, block.indices)
    block = csr_array((block.data, place, block.indptr), shape=(len(rows), len(reached)))
    if loop:
        own = csr_array(
            (np.full(len(rows), loop), np.searchsorted(reached, rows), np.arange(len(rows) + 1)), shape=block.shape
        )
        block = csr_array(block + own)
    if before is not None:
        block.data *= before[reached][block.indices]
    if after is not None:
        block.data *= np.repeat(after[rows], np.diff(block.indptr))
    return block, reached
