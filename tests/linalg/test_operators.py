"""Normalised operators against dense matrices, with isolated nodes and weights."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from slimg.engine import MemoryEngine
from slimg.errors import InputError
from slimg.graph.adjacency import Adjacency
from slimg.linalg import operator, products
from slimg.linalg.operators import OPERATORS

ENGINE = MemoryEngine(threads=2)


def random_matrix(n, seed, weighted):
    rng = np.random.default_rng(seed)
    a = np.triu(rng.random((n, n)) < 0.3, 1) * (rng.random((n, n)) + 0.5 if weighted else 1.0)
    a = (a + a.T).astype(np.float32)
    a[0] = a[:, 0] = 0
    return a, Adjacency.from_scipy(sp.csr_matrix(a))[0]


def dense(name, a):
    """The definition, with numpy."""
    a = a.astype(np.float64) + (np.eye(len(a)) if name.startswith("Ã") else 0)
    degree = a.sum(axis=1)
    inverse = np.divide(1, degree, out=np.zeros_like(degree), where=degree > 0)
    if name == "A":
        return a
    return inverse[:, None] * a if name.endswith("row") else np.sqrt(inverse)[:, None] * a * np.sqrt(inverse)


@given(st.integers(1, 20), st.integers(0, 1000), st.booleans(), st.sampled_from(OPERATORS))
@settings(max_examples=40, deadline=None)
def test_operators_equal_their_definition(n, seed, weighted, name):
    a, adjacency = random_matrix(n, seed, weighted)
    row_matrix = np.random.default_rng(seed).standard_normal((n, 3), dtype=np.float32)
    it = operator(name, adjacency)
    np.testing.assert_allclose(it.apply(ENGINE, row_matrix), dense(name, a) @ row_matrix, atol=1e-4)
    np.testing.assert_allclose(it.transposed.apply(ENGINE, row_matrix), dense(name, a).T @ row_matrix, atol=1e-4)
    cubed = np.linalg.matrix_power(dense(name, a), 3)
    np.testing.assert_allclose(it.power(ENGINE, row_matrix, 3), cubed @ row_matrix, atol=2e-3)


def test_an_isolated_node_has_a_zero_row_or_its_loop_alone():
    _, adjacency = random_matrix(6, 0, False)
    row_matrix = np.arange(12, dtype=np.float32).reshape(6, 2) + 1
    for name in OPERATORS:
        row = operator(name, adjacency).apply(ENGINE, row_matrix)[0]
        np.testing.assert_array_equal(row, row_matrix[0] if name.startswith("Ã") else [0, 0])


def test_rows_of_a_row_sum_to_one():
    _, adjacency = random_matrix(12, 1, True)
    ones = np.ones((12, 1), np.float32)
    has_edges = adjacency.degree() > 0
    np.testing.assert_allclose(operator("A_row", adjacency).apply(ENGINE, ones)[:, 0], has_edges, atol=1e-6)
    np.testing.assert_allclose(operator("Ã_row", adjacency).apply(ENGINE, ones)[:, 0], 1, atol=1e-6)


def test_shared_pass_gives_the_same_bits():
    _, adjacency = random_matrix(15, 2, False)
    row_matrix = np.random.default_rng(0).standard_normal((15, 30), dtype=np.float32)
    both = [operator(name, adjacency) for name in ("A_row", "Ã_sym")]
    for it, out in zip(both, products(ENGINE, both, row_matrix), strict=True):
        np.testing.assert_array_equal(out, it.apply(ENGINE, row_matrix))


def test_zero_hops_change_nothing_and_unknown_names_are_refused():
    _, adjacency = random_matrix(5, 0, False)
    row_matrix = np.ones((5, 1), np.float32)
    assert operator("A_sym", adjacency).power(ENGINE, row_matrix, 0) is row_matrix
    with pytest.raises(InputError, match="A_row"):
        operator("A_column", adjacency)
