"""M⁻¹ B for a symmetric positive definite M that is only ever applied: conjugate gradients, all columns side by side.

    x₀ = 0, r₀ = p₀ = b;     α = r·r / p·Mp,     x ← x + αp,     r ← r − αMp,     β = r₊·r₊ / r·r,     p ← r + βp

Each column of B (n × k) has its own α and β, and one application of M serves all of them. At the end the residual
b − Mx is computed afresh: what the recurrence believes is no proof.

Personalised PageRank that stays sparse.

    S = f(Ã_sym),  kept: entries S_ij ≥ ε             f(λ) = α / (1 − (1 − α) λ)

A block of columns of S is f(Ã_sym) times columns of the identity (`slimg.lab.propagators.spectrum`: some thirty hops),
exact to float32. S is symmetric, so its columns are its rows; only entries from ε on are kept, and n × `COLUMNS` is all
that is ever dense. The work is O(n · nnz), as that of any method that decides every entry of S.

The size of S is estimated from a sample of its columns before the work begins.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from slimg.engine.base import Array, Engine, RowMatrix
from slimg.engine.memory import MemoryEngine
from slimg.errors import InputError, TooLarge
from slimg.graph.adjacency import Adjacency
from slimg.lab.propagators.expressions import At_sym, Expression
from slimg.lab.propagators.spectrum import Hops, functions_of
from slimg.linalg.operators import operator
from slimg.system import available_memory

TOLERANCE = 1e-7
"""Residual of the recurrence at which a column is finished, relative to its right-hand side."""
ACCEPTED = 1e-5
"""Residual that float32 must reach, computed afresh."""
MOST_ITERATIONS = 1000
COLUMNS = 1 << 9
SAMPLE = 1 << 5
ENTRY_BYTES = 8


def solve(
    engine: Engine, apply: Hops, right: RowMatrix, tolerance: float = TOLERANCE, most_iterations: int = MOST_ITERATIONS
) -> RowMatrix:
    """x with apply(x) = right, column by column."""
    size = _squares(engine, right)
    left = size > 0
    x: RowMatrix | None = None
    residual = direction = right
    squares, iterations = size, 0
    while iterations < most_iterations and np.any(squares > tolerance**2 * size):
        iterations += 1
        image = apply(direction)
        step = _ratio(squares, engine.sum_rows(_products, direction, image), left)
        x = _plus(engine, x, step, direction)
        residual = _plus(engine, residual, -step, image)
        before, squares = squares, _squares(engine, residual)
        direction = _plus(engine, residual, _ratio(squares, before, left), direction)
    if x is None:
        return right  # all zeros
    rest = engine.sum_rows(lambda b, image: _products(b - image, b - image), right, apply(x))
    worst = float(np.sqrt(np.max(rest / np.where(size > 0, size, 1))))
    if not worst <= ACCEPTED:
        reached = f"relative residual {worst:.1e} after {iterations} of at most {most_iterations} iterations"
        advice = "a larger alpha or a smaller sigma makes the system easier"
        raise InputError(f"conjugate gradients did not converge: {reached}, {ACCEPTED:.0e} needed; {advice}")
    return x


def _plus(engine: Engine, row_matrix: RowMatrix | None, factors: Array, other: RowMatrix) -> RowMatrix:
    """row matrix + factors ⊙ other, one factor per column; None counts as zero."""
    if row_matrix is None:
        return engine.map_rows(lambda b: factors * b, other)
    return engine.map_rows(lambda a, b: a + factors * b, row_matrix, other)


def _squares(engine: Engine, row_matrix: RowMatrix) -> Array:
    return engine.sum_rows(lambda rows: _products(rows, rows), row_matrix)


def _products(a: Array, b: Array) -> Array:
    """Σ over rows of a ⊙ b, in float64."""
    return np.einsum("ij,ij->j", a, b, dtype=np.float64)


def _ratio(above: Array, below: Array, where: Array) -> Array:
    return np.divide(above, below, out=np.zeros_like(above), where=where & (below > 0)).astype(np.float32)


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


def _rows(engine: Engine, adjacency: Adjacency, function: Expression, threshold: float, nodes: Array) -> sparse.csr_array:
    """These rows of S."""
    units = np.zeros((adjacency.n, len(nodes)), np.float32)
    units[nodes, np.arange(len(nodes))] = 1
    hops = operator(At_sym.name, adjacency)
    x = engine.row_matrix(units)
    (columns,) = functions_of(engine, At_sym.name, lambda row_matrix: hops.apply(engine, row_matrix), [function], x)
    dense = engine.to_array(columns).T
    return sparse.csr_array(np.where(dense >= threshold, dense, np.float32(0)))


def check_size(engine: Engine, needed: int, what: str) -> None:
    """Refuse what an engine that keeps its row matrices in memory cannot hold; ``needed`` in bytes."""
    free = available_memory()
    if isinstance(engine, MemoryEngine) and free is not None and needed > free:
        sizes = f"{needed / 2**30:,.1f} GiB of memory and {free / 2**30:,.1f} GiB are free"
        advice = "ask for fewer hops or columns, or use an engine that keeps its arrays in files"
        raise TooLarge(f"{what} needs {sizes}: {advice}")
