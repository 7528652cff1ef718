"""Personalised PageRank, sparse: every entry from ε on, and none below."""

import numpy as np
import pytest
from propagate_oracles import GRAPHS, dense_a, tilde_sym

from slimg.engine import MemoryEngine
from slimg.errors import InputError
from slimg.lab.propagators import diffusion
from slimg.lab.propagators.diffusion import diffused
from slimg.lab.propagators.expressions import Diffused


def page_rank(graph, alpha):
    return alpha * np.linalg.inv(np.eye(graph.n) - (1 - alpha) * tilde_sym(dense_a(graph)))


@pytest.mark.parametrize("graph", GRAPHS, ids=range(10))
@pytest.mark.parametrize(("alpha", "threshold"), [(0.15, 1e-2), (0.05, 1e-3)])
def test_it_keeps_the_entries_from_the_threshold_on(graph, alpha, threshold):
    s = diffused(MemoryEngine(), graph.adjacency, Diffused(alpha, threshold).base, threshold)
    dense = page_rank(graph, alpha)
    np.testing.assert_allclose(s.to_scipy().toarray(), np.where(dense >= threshold, dense, 0), atol=1e-6)


def test_blocks_of_columns_do_not_show(monkeypatch):
    adjacency, base = GRAPHS[3].adjacency, Diffused(0.15, 1e-3).base
    whole = diffused(MemoryEngine(), adjacency, base, 1e-3)
    monkeypatch.setattr(diffusion, "COLUMNS", 7)
    parts = diffused(MemoryEngine(), adjacency, base, 1e-3)
    assert np.array_equal(whole.indptr, parts.indptr) and np.array_equal(whole.indices, parts.indices)


def test_its_size_is_said_before_the_work_begins(monkeypatch):
    monkeypatch.setattr("slimg.lab.propagators.size.available_memory", lambda: 1000)
    with pytest.raises(InputError, match=r"a diffusion with about \d+ entries per node needs 0\.0 GiB of memory"):
        diffused(MemoryEngine(), GRAPHS[0].adjacency, Diffused(0.15, 1e-4).base, 1e-4)
