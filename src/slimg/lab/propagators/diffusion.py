"""Personalised PageRank that stays sparse.

    S = f(Ã_sym),  kept: entries S_ij ≥ ε             f(λ) = α / (1 − (1 − α) λ)

A block of columns of S is f(Ã_sym) times columns of the identity (`slimg.lab.propagators.recurrence`: some thirty hops),
exact to float32. S is symmetric, so its columns are its rows; only entries from ε on are kept, and n × `COLUMNS` is all
that is ever dense. The work is O(n · nnz), as that of any method that decides every entry of S.

The size of S is estimated from a sample of its columns before the work begins.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from slimg.engine.base import Array, Engine
from slimg.graph.adjacency import Adjacency
from slimg.lab.propagators.expressions import At_sym, Expression
from slimg.lab.propagators.recurrence import functions_of
from slimg.lab.propagators.size import check_size
from slimg.linalg.operators import operator

COLUMNS = 1 << 9
SAMPLE = 1 << 5
ENTRY_BYTES = 8


def diffused(engine: Engine, adjacency: Adjacency, function: Expression, threshold: float) -> Adjacency:
    """S as CSR with weights, its diagonal included; ``function`` is f as an expression in Ã_sym."""
    n = adjacency.n
    sample = np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.int64))
    per_row = _rows(engine, adjacency, function, threshold, sample).nnz / len(sample)
    check_size(engine, int(2 * n * per_row * ENTRY_BYTES), f"a diffusion with about {per_row:,.0f} entries per node")
    starts = range(0, n, COLUMNS)
    parts = [_rows(engine, adjacency, function, threshold, np.arange(s, min(s + COLUMNS, n))) for s in starts]
    whole = sparse.vstack(parts, format="csr")
    return Adjacency(whole.indptr.astype(np.int64), whole.indices.astype(adjacency.indices.dtype), whole.data)


def _rows(
    engine: Engine, adjacency: Adjacency, function: Expression, threshold: float, nodes: Array
) -> sparse.csr_array:
    """These rows of S."""
    units = np.zeros((adjacency.n, len(nodes)), np.float32)
    units[nodes, np.arange(len(nodes))] = 1
    hops = operator(At_sym.name, adjacency)
    x = engine.row_matrix(units)
    (columns,) = functions_of(engine, At_sym.name, lambda row_matrix: hops.apply(engine, row_matrix), [function], x)
    dense = engine.to_array(columns).T
    return sparse.csr_array(np.where(dense >= threshold, dense, np.float32(0)))
