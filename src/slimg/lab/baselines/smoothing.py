"""Spreading values over a graph, as label propagation and Correct & Smooth do.

    spread(B, α) = (1 − α) Σ_{k≥0} αᵏ A_sym^k B = (1 − α) (I − α A_sym)⁻¹ B           B: n × c, 0 ≤ α < 1

The limit of H ← α A_sym H + (1 − α) B, taken by conjugate gradients: I − α A_sym is positive definite.
"""

from __future__ import annotations

import numpy as np

from slimg.engine.base import Array, Engine, RowMatrix
from slimg.errors import InputError
from slimg.graph.adjacency import Adjacency
from slimg.lab.propagators.inverse import solve
from slimg.linalg.operators import operator

LEAST = 1e-12
"""Probability that stands for zero in a logarithm."""


def spread(engine: Engine, adjacency: Adjacency, values: Array, alpha: float) -> Array:
    """Values of all nodes after spreading (n × c, float32)."""
    matrix = operator("A_sym", adjacency)

    def system(row_matrix: RowMatrix) -> RowMatrix:
        return engine.map_rows(lambda a, b: a - np.float32(alpha) * b, row_matrix, matrix.apply(engine, row_matrix))

    right = engine.row_matrix(np.ascontiguousarray((1 - alpha) * values, np.float32))
    try:
        return engine.to_array(solve(engine, system, right))
    except InputError as error:
        raise InputError(f"α = {alpha!r} is too near to 1 for this graph, choose a smaller one ({error})") from None


def log_probabilities(values: Array, otherwise: Array) -> Array:
    """Logarithms of rows divided by their sum, entries below zero taken as zero; rows without any get ``otherwise``."""
    positive = np.maximum(values, 0).astype(np.float64)
    total = positive.sum(axis=1, keepdims=True)
    share = np.where(total > 0, positive / np.where(total > 0, total, 1), otherwise)
    return np.log(np.maximum(share, LEAST)).astype(np.float32)


def one_hot(codes: Array, rows: Array, classes: int) -> Array:
    """n × classes, 1 at the class of each of the rows."""
    found = np.zeros((len(codes), classes), np.float32)
    found[rows, codes[rows]] = 1
    return found
