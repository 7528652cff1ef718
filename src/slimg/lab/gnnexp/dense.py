"""Operators formed as dense matrices, for proofs and nothing else.

The library never forms them. A proof that took its operators from where the propagators take theirs would share the
mistakes it is to find, so it has its own: a few lines of numpy, checked against other libraries.
"""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def sym(a: Array) -> Array:
    """D^-½ A D^-½, zero on isolated nodes."""
    degree = a.sum(1)
    scale = np.where(degree > 0, degree, np.inf) ** -0.5
    return scale[:, None] * a * scale


def sym_with_loops(a: Array) -> Array:
    """D̃^-½ (A + I) D̃^-½."""
    return sym(a + np.eye(len(a)))


def row(a: Array) -> Array:
    """D⁻¹ A, zero on isolated nodes."""
    degree = a.sum(1)
    return a / np.where(degree > 0, degree, np.inf)[:, None]


def mean_of_neighbours(a: Array, h: Array) -> Array:
    """Node by node; zero without neighbours."""
    return np.stack([np.average(h, axis=0, weights=row) if row.any() else np.zeros(h.shape[1]) for row in a])


def powers(s: Array, x: Array, exponents: range) -> dict[str, Array]:
    """S^k X for each k, by name."""
    return {f"power {k}": np.linalg.matrix_power(s, k) @ x for k in exponents}


def attention(loops: Array, x: Array, to: Array, source: Array) -> Array:
    """diag(X w₁)Ã + Ã diag(X w₂) for Ã = A + I."""
    return np.diag(x @ to) @ loops + loops @ np.diag(x @ source)
