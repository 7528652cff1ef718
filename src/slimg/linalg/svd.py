"""Truncated SVD of a symmetric A, its rank chosen by energy.

A = Σ_i λ_i q_i q_iᵀ with |λ₁| ≥ |λ₂| ≥ …, so σ_i = |λ_i|, u_i = q_i and v_i = sign(λ_i)·q_i.

    r = the largest rank with  σ₁² + … + σ_r²  <  energy · ‖A‖_F²,  at least 1, at most ``max_rank``
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from slimg.engine.base import Array, Engine, Tall
from slimg.engine.blas import one_thread
from slimg.graph.adjacency import Adjacency


@dataclass(frozen=True)
class Spectrum:
    """The leading part of A: vectors (n × r, a tall with orthonormal columns) and eigenvalues by falling magnitude.

    A ≈ U Σ Vᵀ with U = vectors, Σ = |eigenvalues|, V = vectors · sign(eigenvalues). A row a of new edges folds in as
    the row a·V of U·Σ.
    """

    vectors: Tall
    eigenvalues: Array

    @property
    def rank(self) -> int:
        return len(self.eigenvalues)

    @property
    def singular_values(self) -> Array:
        return np.abs(self.eigenvalues)


def truncated_svd(
    engine: Engine, adjacency: Adjacency, *, energy: float = 0.9, max_rank: int = 2048, random_state: int = 0
) -> Spectrum:
    """The leading singular triplets of A that the energy rule asks for."""
    dense = adjacency.to_scipy().toarray()
    with one_thread():
        values, vectors = eigh(dense.astype(np.float64), driver="evd")
    order = np.argsort(-np.abs(values), kind="stable")
    rank = min(rank_for_energy(np.abs(values[order]), squared_norm(adjacency), energy), max_rank)
    chosen = order[:rank]
    vectors = vectors[:, chosen]
    return Spectrum(engine.tall(vectors * signs(vectors)), values[chosen])


def rank_for_energy(singular_values: Array, total: float, energy: float) -> int:
    """The largest r whose leading squares hold less than energy · total, at least 1; values fall."""
    held = np.cumsum(singular_values**2)
    return max(int(np.searchsorted(held, energy * total, side="left")), 1)


def squared_norm(adjacency: Adjacency) -> float:
    """‖A‖_F²."""
    if adjacency.weights is None:
        return float(adjacency.nnz)
    return float(np.square(adjacency.weights, dtype=np.float64).sum())


def signs(vectors: Array) -> Array:
    """±1 for each column so that its entry of largest magnitude becomes positive (the first one on ties)."""
    largest = np.argmax(np.abs(vectors), axis=0)
    return np.where(vectors[largest, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
