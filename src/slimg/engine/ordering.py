"""An order of the nodes in which neighbours lie close together.

Communities come from label propagation: every node begins with a label of its own and takes, node after node and sweep after
sweep, the label that is most frequent among its neighbours. Nodes are then sorted by label.
"""

from __future__ import annotations

import numpy as np

from slimg.engine.base import Array, Sparse
from slimg.engine.compiled import compiled

SWEEPS = 2
"""One sweep gives most of the gain; a third gives nothing more (benchmarks/scale/locality.py)."""


def community_order(matrix: Sparse, sweeps: int = SWEEPS) -> Array:
    """Old row numbers in their new order: a permutation of 0 … n − 1 (int64)."""
    indptr, indices = np.asarray(matrix.indptr), np.asarray(matrix.indices)
    labels = np.arange(len(indptr) - 1, dtype=indices.dtype)
    counts, near = np.zeros(len(labels), np.int32), np.empty(int(np.diff(indptr).max(initial=0)), labels.dtype)
    for _ in range(sweeps):
        _sweep(indptr, indices, labels, counts, near)
    return np.argsort(labels, kind="stable")


def places_of(order: Array) -> Array:
    """New row number of each old one."""
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return places


@compiled()
def _sweep(indptr, indices, labels, counts, near):
    """The first of the most frequent labels wins, so that the result is the same everywhere."""
    for i in range(len(labels)):
        begin, end = indptr[i], indptr[i + 1]
        best, most = labels[i], 0
        for j in range(begin, end):
            label = labels[indices[j]]
            near[j - begin] = label
            counts[label] += 1
            if counts[label] > most:
                best, most = label, counts[label]
        for j in range(end - begin):
            counts[near[j]] = 0
        labels[i] = best


@compiled()
def move_rows(old_indptr, old_indices, old_weights, order, places, indptr, indices, weights, start, stop):
    """Rows [start, stop) of the matrix in the new order; entries keep their order within a row."""
    for i in range(start, stop):
        begin = old_indptr[order[i]]
        for j in range(indptr[i + 1] - indptr[i]):
            indices[indptr[i] + j] = places[old_indices[begin + j]]
            if weights is not None:
                weights[indptr[i] + j] = old_weights[begin + j]
