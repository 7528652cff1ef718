"""Derived propagators among the registered ones, against the same in double precision."""

import gnnexp_graphs as graphs
import numpy as np
import pytest
from scipy import sparse

from slimg.errors import InputError
from slimg.graph.graph import Graph
from slimg.lab.gnnexp.algebra import IDENTITY, Polynomial
from slimg.lab.gnnexp.derived import concatenation, register
from slimg.lab.gnnexp.evaluate import Propagator
from slimg.lab.gnnexp.linearize import Linearization
from slimg.lab.gnnexp.symbols import Laplacian, normalised
from slimg.lab.propagators import get, names, registry

S, R, P = normalised("A", "sym", 1), normalised("A", "row"), normalised("A", "none")


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    """What a test registers is forgotten after it; the families are loaded before."""
    names()
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "blocks",
    [
        (IDENTITY, S, S**2, S**5 * 0.9 + S**4 * 0.1),
        (R * S, S * R**2 * S, R * S * 0.25 - IDENTITY * 2),
        (P, P + IDENTITY, normalised("A", "row", 1), normalised("A", "sym")),
    ],
    ids=["GCNII", "words", "operators"],
)
def test_blocks_equal_those_in_double_precision(blocks, weighted):
    a, x = graphs.random_graph(80, weighted=weighted)
    exact = list(Propagator(blocks)(a, x).values())
    propagator = register("derived", blocks, "Derived")
    for features in (x, sparse.csr_array(x)):
        components = propagator(Graph.from_arrays(a, features), normalize=None)
        columns = components.labelled_rows(np.arange(80))
        np.testing.assert_allclose(columns, np.hstack(exact), rtol=1e-4, atol=1e-4)


def test_a_linearization_is_known_by_its_name():
    result = Linearization("Network", (IDENTITY, S), ())
    propagator = result.register("network")
    assert "network" in names() and get("network") == propagator and propagator.title == "Network"


@pytest.mark.parametrize(
    "block", [Polynomial.of(Laplacian()), normalised("A", "sym", 2), normalised("A2", "sym"), normalised("A", "col")]
)
def test_operators_that_engines_cannot_apply_are_named(block):
    (symbol,) = block.symbols
    with pytest.raises(InputError) as error:
        concatenation([block])
    assert str(error.value).startswith(f"the operator {symbol.text} is not one of A, A_row")
