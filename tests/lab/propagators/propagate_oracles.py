"""What the tests of propagators compare with: four graphs, the paper's formulas formed as dense matrices, and an engine
whose row matrices cannot be touched."""

import numpy as np
import scipy.sparse as sp

from slimg.engine import MemoryEngine
from slimg.graph import Graph


def random_graph(seed, sparse_features=False):
    """Two or more components, three isolated nodes, a node without features; weighted when the seed is odd."""
    rng = np.random.default_rng(seed)
    n, d = 40 + 3 * seed, 6
    part = np.arange(n) % (2 + seed % 3)
    upper = np.triu((rng.random((n, n)) < 0.25) & (part[:, None] == part[None, :]), 1).astype(np.float32)
    if seed % 2:
        upper *= rng.uniform(0.3, 3, (n, n)).astype(np.float32)
    a = upper + upper.T
    a[-3:] = a[:, -3:] = 0
    x = (rng.random((n, d)) * (rng.random((n, d)) < 0.7)).astype(np.float32)
    x[5] = 0
    labels = np.where(rng.random(n) < 0.8, part % 2, 1 - part % 2)
    return Graph.from_arrays(sp.csr_matrix(a), sp.csr_matrix(x) if sparse_features else x, labels)


GRAPHS = [random_graph(seed) for seed in range(4)]


def dense_a(graph):
    return graph.adjacency.to_scipy().toarray().astype(float)


def dense_x(graph, normalize="row"):
    x = np.asarray(graph.features.todense() if sp.issparse(graph.features) else graph.features, float)
    if normalize is None:
        return x
    total = x.sum(1, keepdims=True)
    return np.divide(x, total, out=np.zeros_like(x), where=total > 0)


def sym(a):
    """D^-½ A D^-½, zero on isolated nodes."""
    degree = a.sum(1)
    scale = np.where(degree > 0, degree, np.inf) ** -0.5
    return scale[:, None] * a * scale


def tilde_sym(a):
    return sym(a + np.eye(len(a)))


def row(a):
    degree = a.sum(1)
    return a / np.where(degree > 0, degree, np.inf)[:, None]


def laplacian(a):
    """D^-½ (D − A) D^-½, zero on isolated nodes."""
    degree = a.sum(1)
    scale = np.where(degree > 0, degree, np.inf) ** -0.5
    return scale[:, None] * (np.diag(degree) - a) * scale


def powers(s, x, exponents):
    return [np.linalg.matrix_power(s, k) @ x for k in exponents]


def assert_equals(components, expected, tolerance=1e-5):
    """Each block equals its dense counterpart, in order."""
    assert len(components.blocks) == len(expected)
    for name, dense in zip(components.names, expected, strict=True):
        mine = components.engine.to_array(components.blocks[name])
        assert mine.dtype == np.float32
        np.testing.assert_allclose(mine, dense, atol=tolerance * max(1, np.abs(dense).max()), err_msg=name)


class Opaque:
    """A row matrix of which only the shape can be read."""

    def __init__(self, value):
        self._value, self.shape = value, value.shape


class OpaqueEngine:
    """An engine in memory whose row matrices are no arrays: touching one outside of the engine's operations is an error."""

    def __init__(self):
        self.inner = MemoryEngine(threads=1)
        self.passes = 0

    def row_matrix(self, array):
        return Opaque(self.inner.row_matrix(array))

    def random(self, n, k, random_state):
        return Opaque(self.inner.random(n, k, random_state))

    def products(self, matrix, row_matrix, scalings):
        self.passes += 1
        return [Opaque(each) for each in self.inner.products(matrix, row_matrix._value, scalings)]

    def gram(self, a, b=None):
        return self.inner.gram(a._value, None if b is None else b._value)

    def combine(self, row_matrix, small):
        return Opaque(self.inner.combine(row_matrix._value, small))

    def sketch(self, matrix, k, random_state):
        return Opaque(self.inner.sketch(matrix, k, random_state))

    def map_rows(self, fn, *row_matrices, overwrite_input=False):
        values = (row_matrix._value for row_matrix in row_matrices)
        return Opaque(self.inner.map_rows(fn, *values, overwrite_input=overwrite_input))

    def sum_rows(self, fn, *row_matrices):
        return self.inner.sum_rows(fn, *(row_matrix._value for row_matrix in row_matrices))

    def rows(self, row_matrix, index):
        return self.inner.rows(row_matrix._value, index)

    def is_sparse(self, row_matrix):
        return self.inner.is_sparse(row_matrix._value)

    def to_array(self, row_matrix):
        return self.inner.to_array(row_matrix._value)

    def concurrently(self, *tasks):
        return self.inner.concurrently(*tasks)

    def release_unused(self):
        self.inner.release_unused()
