"""Forms that are applied from the inside out, and those an operator does not allow."""

import numpy as np
import pytest
from propagate_oracles import GRAPHS, OpaqueEngine, dense_a, dense_x, laplacian, row, sym, tilde_sym

from slimg.engine import MemoryEngine
from slimg.errors import InputError
from slimg.lab.propagators.evaluation import Evaluation
from slimg.lab.propagators.expressions import (
    A_row,
    A_sym,
    At_sym,
    Attention,
    Exponential,
    Gated,
    Hop,
    Inverse,
    L,
    chain,
    identity,
)

GRAPH = GRAPHS[1]


def evaluated(expression, engine=None, rows=None):
    engine = engine or MemoryEngine(threads=1)
    evaluation = Evaluation(engine, GRAPH.adjacency, engine.row_matrix(dense_x(GRAPH)))
    return engine.to_array(evaluation.columns([expression], rows)[0])


def test_operators_of_several_kinds():
    a, x = dense_a(GRAPH), dense_x(GRAPH)
    mixed = 2 * (A_row + 0.5 * At_sym) ** 2 - identity + Inverse(2 * identity + A_sym) + Hop("A")
    m = row(a) + 0.5 * tilde_sym(a)
    dense = 2 * m @ m - np.eye(len(a)) + np.linalg.inv(2 * np.eye(len(a)) + sym(a)) + a
    np.testing.assert_allclose(evaluated(mixed), dense @ x, atol=2e-5)


def test_a_chain_has_its_first_factor_on_the_left():
    a, x = dense_a(GRAPH), dense_x(GRAPH)
    factors = [A_row, At_sym, L]
    product = row(a) @ tilde_sym(a) @ laplacian(a)
    np.testing.assert_allclose(evaluated(chain(0, 2, lambda k: factors[k])), product @ x, atol=1e-6)


def test_only_some_rows():
    rows = np.array([3, 0, 11])
    np.testing.assert_array_equal(evaluated(At_sym**3, rows=rows), evaluated(At_sym**3)[rows])


def test_blocks_of_one_operator_share_their_hops():
    engine = OpaqueEngine()
    evaluation = Evaluation(engine, GRAPH.adjacency, engine.row_matrix(dense_x(GRAPH)))
    evaluation.columns([At_sym**k for k in range(6)] + [(identity + At_sym) ** 4])
    assert engine.passes == 5


@pytest.mark.parametrize("form", [Inverse, Exponential])
def test_inverses_and_exponentials_need_symmetry(form):
    with pytest.raises(InputError, match=r"need a symmetric operator \(A, A_sym, Ã_sym, L\), not A_row"):
        evaluated(form(identity + A_row))


@pytest.mark.parametrize("form", [Attention(1), Gated(At_sym)])
def test_attention_needs_vectors(form):
    with pytest.raises(InputError, match="needs weight vectors: define its method `vectors`"):
        evaluated(form)
