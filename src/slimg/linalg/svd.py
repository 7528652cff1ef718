"""Truncated SVD of a symmetric A, its rank chosen by energy.

A = Σ_i λ_i q_i q_iᵀ with |λ₁| ≥ |λ₂| ≥ …, so σ_i = |λ_i|, u_i = q_i and v_i = sign(λ_i)·q_i.

    r = the largest rank with  σ₁² + … + σ_r²  <  energy · ‖A‖_F²,  at least 1, at most ``max_rank``

Twins are merged and connected parts split off first (`slimg.linalg.reduction`). Then

- dense, exactly: LAPACK gives all eigenvalues of each part, hence r, and only then r vectors;
- block Lanczos, to a tolerance (on a large graph in sketched Lanczos), when parts are large or r is small beside them, which
  is known beforehand: since (Σ_{i≤r} σ_i²)² ≤ r Σ σ_i⁴,

      r ≥ (energy · ‖A‖_F²)² / ‖A²‖_F²,        on real graphs about a third of r,

  where ‖A²‖_F² = E ‖A(A z)‖² over random z, estimated from `PROBES` of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from slimg.engine.base import Array, Engine, Scaling, Sparse
from slimg.graph.adjacency import Adjacency
from slimg.linalg.krylov import RankRule, lanczos_layout
from slimg.linalg.reduction import reduce
from slimg.linalg.svd_plans import DenseSVD, FewPassesSVD, KrylovSVD, Spectrum, SVDPlan

DENSE_ALWAYS, DENSE_AT_MOST = 1_500, 6_000
"""Parts up to the first size are always dense; up to the second, if more than a sixth of the spectrum is wanted."""
REDUCE_AT_MOST = 1 << 23
"""Stored entries up to which twins are looked for."""
TOLERANCES = 1e-3, 0.1
"""Of residuals: in parts small enough to be dense, and in larger ones."""
PROBES = 16


def truncated_svd(
    engine: Engine,
    adjacency: Adjacency,
    *,
    energy: float = 0.9,
    max_rank: int = 2048,
    tolerance: float | None = None,
    random_state: int = 0,
) -> Spectrum:
    """The leading singular triplets of A that the energy rule asks for; A must have edges.

    ``tolerance`` bounds ‖A q − λ q‖ / |λ| where the decomposition is not exact (None: `TOLERANCES`, by size).
    """
    plan = plan_svd(
        engine, adjacency, energy=energy, max_rank=max_rank, tolerance=tolerance, random_state=random_state
    )
    plan.prepare()
    return plan.solve()


def plan_svd(
    engine: Engine,
    adjacency: Adjacency,
    *,
    energy: float = 0.9,
    max_rank: int = 2048,
    tolerance: float | None = None,
    random_state: int = 0,
) -> SVDPlan:
    """Choose the way; nothing that takes long."""
    rule = RankRule(energy * squared_norm(adjacency.weights, adjacency.nnz), min(max_rank, adjacency.n))
    if adjacency.nnz > REDUCE_AT_MOST:
        if lanczos_layout(adjacency.n, rule.cap).is_sketched:
            return FewPassesSVD(engine, adjacency, rule, random_state)
        return KrylovSVD(engine, adjacency, None, rule, tolerance or TOLERANCES[1], random_state)
    reduction = reduce(adjacency)
    size, matrix = len(reduction.parts[0]), _Rows.of(reduction.matrix)
    expected = int(min(rule.cap, 3 * rule.target**2 / _fourth_moment(engine, matrix)))
    if size <= DENSE_ALWAYS or (size <= DENSE_AT_MOST and expected > size / 6):
        return DenseSVD(engine, reduction, rule, expected)
    if lanczos_layout(len(matrix.indptr), rule.cap).is_sketched:
        return FewPassesSVD(engine, adjacency, rule, random_state)
    tolerance = tolerance or TOLERANCES[size > DENSE_AT_MOST]
    return KrylovSVD(engine, matrix, reduction, rule, tolerance, random_state, expected)


def squared_norm(weights: Array | None, count: int) -> float:
    """‖A‖_F² from the stored entries."""
    return float(count) if weights is None else float(np.square(weights, dtype=np.float64).sum())


def _fourth_moment(engine: Engine, matrix: Sparse) -> float:
    """Σ σ⁴ = ‖A²‖_F², estimated."""
    probes = engine.random(len(matrix.indptr) - 1, PROBES, 0)
    for _ in range(2):
        (probes,) = engine.products(matrix, probes, [Scaling()])
    return float(np.trace(engine.gram(probes))) / PROBES


class _Rows(NamedTuple):
    """CSR rows as the engine takes them."""

    indptr: Array
    indices: Array
    weights: Array | None

    @classmethod
    def of(cls, matrix: csr_array) -> _Rows:
        return cls(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data.astype(np.float32))
