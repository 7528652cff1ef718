"""A smaller symmetric matrix with the same non-zero eigenvalues as A (n × n).

*Twins* are nodes with the same row of A. An eigenvector x of λ ≠ 0 is equal on twins, since x_i = (A x)_i / λ. With
s_a twins in class a and one of them to stand for it,

    M_ab = √s_a √s_b A_ab,        M y = λ y    ⇔    A x = λ x  with  x_i = y_a / √s_a  for i in a,   ‖x‖ = ‖y‖

and A has no other eigenvalues but zero. M falls apart into *parts*, the connected components of its graph, each with a
spectrum of its own. Graphs of citations have many of both: the cost of a dense decomposition falls with the cube.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from slimg.engine.base import Array
from slimg.graph.adjacency import Adjacency


@dataclass(frozen=True)
class Reduction:
    """M (n' × n' CSR, float64), the class of each node (n), √ of the class sizes (n'), and the parts: classes of each."""

    matrix: csr_array
    classes: Array
    root_sizes: Array
    parts: list[Array]

    def dense(self, part: Array) -> Array:
        """One part of M as an array."""
        return self.matrix[part][:, part].toarray()

    def expand(self, part: Array, vectors: Array) -> tuple[Array, Array]:
        """Nodes of a part (m) and the rows (m × k) that eigenvectors y (part × k) of it have there."""
        place = np.full(len(self.root_sizes), -1)
        place[part] = np.arange(len(part))
        nodes = np.flatnonzero(place[self.classes] >= 0)
        scaled = vectors / self.root_sizes[part, None].astype(vectors.dtype)
        return nodes, scaled[place[self.classes[nodes]]]


def reduce(adjacency: Adjacency) -> Reduction:
    """Merge twins and split into connected parts, the largest first."""
    first, classes, sizes = np.unique(twins(adjacency), return_inverse=True, return_counts=True)
    roots = np.sqrt(sizes)
    entries = adjacency.to_scipy()[first].tocoo()
    stands = np.zeros(adjacency.n, bool)
    stands[first] = True
    keep = stands[entries.col]
    row, column = entries.row[keep], classes[entries.col[keep]]
    values = entries.data[keep] * roots[row] * roots[column]
    matrix = coo_array((values, (row, column)), shape=(len(first), len(first))).tocsr()
    _, labels = connected_components(matrix, directed=False)
    parts = np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))[:-1])
    return Reduction(matrix, classes, roots, sorted(parts, key=len, reverse=True))


def twins(adjacency: Adjacency) -> Array:
    """For each node the first node with the same row: rows are hashed, then compared entry by entry."""
    n, indptr, indices = adjacency.n, adjacency.indptr, adjacency.indices
    code = np.random.default_rng(0).integers(1, 2**63, n, dtype=np.uint64)[indices]
    if adjacency.weights is not None:
        code = (code ^ adjacency.weights.view(np.uint32)) * np.uint64(0x9E3779B97F4A7C15)
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(code, dtype=np.uint64)])
    _, first, classes = np.unique(sums[indptr[1:]] - sums[indptr[:-1]], return_index=True, return_inverse=True)
    model = first[classes]
    degree = np.diff(indptr)
    model = np.where(degree == degree[model], model, np.arange(n))
    row = np.repeat(np.arange(n), degree)
    there = np.arange(len(indices)) - indptr[row] + indptr[model[row]]
    same = indices == indices[there]
    if adjacency.weights is not None:
        same &= adjacency.weights == adjacency.weights[there]
    model[row[~same]] = row[~same]
    return model
