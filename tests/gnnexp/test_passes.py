"""Derived propagators by an engine against the same ones in double precision."""

import gnnexp_graphs as graphs
import numpy as np
import pytest
import scipy.sparse as sp

from slimg.engine.memory import MemoryEngine
from slimg.errors import InputError
from slimg.gnnexp.algebra import IDENTITY, Polynomial
from slimg.gnnexp.evaluate import Propagator
from slimg.gnnexp.symbols import Laplacian, normalised
from slimg.graph.graph import Graph

NAMES = [(norm, loops) for norm in ("none", "row", "sym", "col") for loops in (0, 1)]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("norm", "loops"), NAMES)
def test_every_pass_equals_its_matrix(norm, loops, weighted):
    a, x = graphs.random_graph(80, weighted=weighted)
    operator = normalised("A", norm, loops)
    propagator = Propagator((IDENTITY, operator, operator**2 * 0.25 - operator * 2, normalised("B", "row") * operator))
    engine = MemoryEngine()
    for features in (x, sp.csr_array(x)):
        blocks = propagator.talls(Graph.from_arrays(a, features), engine)
        for name, exact in propagator(a, x).items():
            np.testing.assert_allclose(engine.to_array(blocks[name]), exact, rtol=1e-4, atol=1e-4)


def test_two_hop_neighbours_are_a_graph_of_their_own():
    a, x = graphs.random_graph(80)
    propagator = Propagator((normalised("A2", "sym"),))
    (block,) = propagator.talls(Graph.from_arrays(a, x), MemoryEngine()).values()
    np.testing.assert_allclose(block, propagator(a, x)["A₂_sym X"], atol=1e-5)


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (Polynomial.of(Laplacian()), "no pass for the operator L"),
        (normalised("A", "sym", 2), r"no pass for the operator Ã\[2I\]_sym"),
        (normalised("C", "sym"), "a further graph C"),
    ],
)
def test_operators_that_are_no_pass_are_named(block, message):
    a, x = graphs.random_graph(20)
    with pytest.raises(InputError, match=message):
        Propagator((block,)).talls(Graph.from_arrays(a, x), MemoryEngine())


def test_features_are_needed():
    a, _ = graphs.random_graph(20)
    with pytest.raises(InputError, match="needs features X"):
        Propagator((IDENTITY,)).talls(Graph.from_arrays(a), MemoryEngine())
