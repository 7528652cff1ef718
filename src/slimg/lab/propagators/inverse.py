"""M⁻¹ B for a symmetric positive definite M that is only ever applied: conjugate gradients, all columns side by side.

    x₀ = 0, r₀ = p₀ = b;     α = r·r / p·Mp,     x ← x + αp,     r ← r − αMp,     β = r₊·r₊ / r·r,     p ← r + βp

Each column of B (n × k) has its own α and β, and one application of M serves all of them. At the end the residual
b − Mx is computed afresh: what the recurrence believes is no proof.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from slimg.engine.base import Array, Engine, RowMatrix
from slimg.errors import InputError

TOLERANCE = 1e-7
"""Residual of the recurrence at which a column is finished, relative to its right-hand side."""
ACCEPTED = 1e-5
"""Residual that float32 must reach, computed afresh."""
MOST_ITERATIONS = 1000


def solve(
    engine: Engine,
    apply: Callable[[RowMatrix], RowMatrix],
    right: RowMatrix,
    tolerance: float = TOLERANCE,
    most_iterations: int = MOST_ITERATIONS,
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
        x = _plus(engine, x, step, direction) if x is not None else _times(engine, step, direction)
        residual = _plus(engine, residual, -step, image)
        before, squares = squares, _squares(engine, residual)
        direction = _plus(engine, residual, _ratio(squares, before, left), direction)
    if x is None:
        return right  # all zeros
    _check(engine, apply, right, x, size, iterations, most_iterations)
    return x


def _check(
    engine: Engine, apply: Callable[[RowMatrix], RowMatrix], right: RowMatrix, x: RowMatrix, size: Array, iterations: int, most: int
) -> None:
    rest = engine.sum_rows(lambda b, image: _products(b - image, b - image), right, apply(x))
    worst = float(np.sqrt(np.max(rest / np.where(size > 0, size, 1))))
    if not worst <= ACCEPTED:
        raise InputError(
            f"conjugate gradients did not converge: relative residual {worst:.1e} after {iterations} of at most {most}"
            f" iterations, {ACCEPTED:.0e} needed; a larger alpha or a smaller sigma makes the system easier"
        )


def _times(engine: Engine, factors: Array, row_matrix: RowMatrix) -> RowMatrix:
    return engine.map_rows(lambda a: factors * a, row_matrix)


def _plus(engine: Engine, row_matrix: RowMatrix, factors: Array, other: RowMatrix) -> RowMatrix:
    """row matrix + factors ⊙ other, one factor per column."""
    return engine.map_rows(lambda a, b: a + factors * b, row_matrix, other)


def _squares(engine: Engine, row_matrix: RowMatrix) -> Array:
    return engine.sum_rows(lambda rows: _products(rows, rows), row_matrix)


def _products(a: Array, b: Array) -> Array:
    """Σ over rows of a ⊙ b, in float64."""
    return np.einsum("ij,ij->j", a, b, dtype=np.float64)


def _ratio(above: Array, below: Array, where: Array) -> Array:
    return np.divide(above, below, out=np.zeros_like(above), where=where & (below > 0)).astype(np.float32)
