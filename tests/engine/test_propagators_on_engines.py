"""Every propagator of the registry on engines that compute otherwise: the columns it has on one thread in memory."""

import numpy as np
import pytest
from propagate_oracles import GRAPHS

from slimg.engine import MemoryEngine
from slimg.lab.propagators import get, names


def columns(parts):
    n = next(iter(parts.blocks.values())).shape[0]
    return parts.labelled_rows(np.arange(n))


@pytest.mark.parametrize("any_engine", ["two threads", "mapped in slices", "dask"], indirect=True)
@pytest.mark.parametrize("name", names())
def test_columns_are_those_of_memory(any_engine, name):
    graph = GRAPHS[3]
    expected = columns(get(name)(graph, MemoryEngine(threads=1)))
    found = columns(get(name)(graph, any_engine))
    np.testing.assert_allclose(found, expected, atol=1e-5, rtol=1e-5)
