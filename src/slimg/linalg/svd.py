"""Truncated SVD of a symmetric A, its rank chosen by energy.

A = Σ_i λ_i q_i q_iᵀ with |λ₁| ≥ |λ₂| ≥ …, so σ_i = |λ_i|, u_i = q_i and v_i = sign(λ_i)·q_i.

    r = the largest rank with  σ₁² + … + σ_r²  <  energy · ‖A‖_F²,  at least 1, at most ``max_rank``

Twins are merged and connected parts split off first (`slimg.linalg.reduction`). Then, exactly or to a tolerance:

- dense, when the largest part is small: LAPACK gives all eigenvalues, hence r, and only then r vectors;
- block Lanczos otherwise, or when r is certainly much smaller than the part: since (Σ_{i≤r} σ_i²)² ≤ r Σ σ_i⁴,

      r ≥ (energy · ‖A‖_F²)² / ‖A²‖_F²        says so beforehand.

Signs are fixed by one random vector h: hᵀq > 0. (The largest entry would not do: twins and mirror images tie.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from scipy.sparse import csr_array

from slimg.engine.base import Array, Engine, Scaling, Sparse, Tall
from slimg.engine.blas import one_thread
from slimg.graph.adjacency import Adjacency
from slimg.linalg.eigen import Tridiagonal, tridiagonalise
from slimg.linalg.krylov import leading_eigenpairs
from slimg.linalg.rank import RankRule
from slimg.linalg.reduction import Reduction, reduce

DENSE_ALWAYS, DENSE_AT_MOST = 1_500, 6_000
"""Parts up to the first size are always dense; up to the second, unless r is far smaller."""
REDUCE_AT_MOST = 1 << 24
"""Stored entries up to which twins are looked for."""
TINY = 32
"""Parts up to this size are decomposed many at a time."""


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


class SVDPlan(Protocol):
    """A decomposition of which the rank is known, before its vectors are computed."""

    rank: int

    def solve(self) -> Spectrum:
        """The vectors."""


def truncated_svd(
    engine: Engine,
    adjacency: Adjacency,
    *,
    energy: float = 0.9,
    max_rank: int = 2048,
    tolerance: float = 1e-2,
    random_state: int = 0,
) -> Spectrum:
    """The leading singular triplets of A that the energy rule asks for; A must have edges."""
    return plan_svd(
        engine, adjacency, energy=energy, max_rank=max_rank, tolerance=tolerance, random_state=random_state
    ).solve()


def plan_svd(
    engine: Engine,
    adjacency: Adjacency,
    *,
    energy: float = 0.9,
    max_rank: int = 2048,
    tolerance: float = 1e-2,
    random_state: int = 0,
) -> SVDPlan:
    """Everything up to the rank."""
    rule = RankRule(energy * squared_norm(adjacency.weights, adjacency.nnz), min(max_rank, adjacency.n))
    reduction = reduce(adjacency) if adjacency.nnz <= REDUCE_AT_MOST else None
    if reduction is not None and _is_dense(reduction, rule):
        return _DenseSVD(engine, reduction, rule)
    return _KrylovSVD(engine, adjacency, reduction, rule, tolerance, random_state)


def squared_norm(weights: Array | None, count: int) -> float:
    """‖A‖_F² from the stored entries."""
    return float(count) if weights is None else float(np.square(weights, dtype=np.float64).sum())


def _is_dense(reduction: Reduction, rule: RankRule) -> bool:
    size = len(reduction.parts[0])
    if size <= DENSE_ALWAYS:
        return True
    if size > DENSE_AT_MOST:
        return False
    square = reduction.matrix @ reduction.matrix
    least = rule.target**2 / squared_norm(square.data, square.nnz)
    return min(least, rule.cap) > size / 16


class _DenseSVD:
    """Part by part: all eigenvalues in the plan, vectors of the chosen ones in the solution.

    float32 is enough for parts beyond `DENSE_ALWAYS`: A is exact in it, and residuals stay near 1e-6 ‖A‖.
    """

    def __init__(self, engine: Engine, reduction: Reduction, rule: RankRule):
        self._engine, self._reduction = engine, reduction
        tiny = [part for part in reduction.parts if len(part) <= TINY]
        self._large = [part for part in reduction.parts if len(part) > TINY]
        self._forms = [self._tridiagonal(part) for part in self._large]
        self._tiny = _decompose_tiny(reduction, tiny)
        values = [form.eigenvalues() for form in self._forms] + [each.values for each in self._tiny]
        self._sizes = [len(each) for each in values]
        flat = np.concatenate(values).astype(np.float64)
        self._order = np.argsort(-np.abs(flat), kind="stable")
        self.rank = rule.rank(np.abs(flat[self._order]))

    def _tridiagonal(self, part: Array) -> Tridiagonal:
        dtype = np.float32 if len(part) > DENSE_ALWAYS else np.float64
        return tridiagonalise(np.ascontiguousarray(self._reduction.dense(part), dtype))

    def solve(self) -> Spectrum:
        chosen = np.zeros(len(self._order), bool)
        chosen[self._order[: self.rank]] = True
        picks = [np.flatnonzero(each) for each in np.split(chosen, np.cumsum(self._sizes)[:-1])]
        vectors = np.zeros((len(self._reduction.classes), self.rank), np.float32)
        eigenvalues, column = np.empty(self.rank), 0
        pairs = [form.eigenpairs(pick) for form, pick in zip(self._forms, picks, strict=False)]
        pairs += [(each.values[pick], each.vectors[:, pick]) for each, pick in zip(self._tiny, picks[len(pairs) :], strict=True)]
        for part, (values, columns) in zip([*self._large, *(each.part for each in self._tiny)], pairs, strict=True):
            if len(values):
                nodes, rows = self._reduction.expand(part, columns)
                vectors[nodes, column : column + len(values)] = rows
                eigenvalues[column : column + len(values)] = values
                column += len(values)
        order = np.argsort(-np.abs(eigenvalues), kind="stable")
        return _signed(self._engine, self._engine.tall(vectors[:, order]), eigenvalues[order])


class _Tiny(NamedTuple):
    part: Array
    values: Array
    vectors: Array


def _decompose_tiny(reduction: Reduction, parts: list[Array]) -> list[_Tiny]:
    """All eigenpairs of small parts, those of one size in one call."""
    found: list[_Tiny] = []
    with one_thread():
        for size in sorted({len(part) for part in parts}, reverse=True):
            group = [part for part in parts if len(part) == size]
            values, vectors = np.linalg.eigh(np.stack([reduction.dense(part) for part in group]))
            found += [_Tiny(*each) for each in zip(group, values, vectors, strict=True)]
    return found


class _KrylovSVD:
    """All of the work is in the plan: the rank is known when the pairs are."""

    def __init__(
        self,
        engine: Engine,
        adjacency: Adjacency,
        reduction: Reduction | None,
        rule: RankRule,
        tolerance: float,
        random_state: int,
    ):
        self._engine, self._reduction = engine, reduction
        matrix: Sparse = adjacency if reduction is None else _Rows.of(reduction.matrix)
        self._pairs = leading_eigenpairs(
            engine,
            lambda block: engine.products(matrix, block, [Scaling()])[0],
            len(matrix.indptr) - 1,
            rule,
            tolerance=tolerance,
            random_state=random_state,
        )
        self.rank = len(self._pairs[0])

    def solve(self) -> Spectrum:
        values, vectors = self._pairs
        if self._reduction is not None:
            rows = self._engine.rows(vectors, self._reduction.classes)
            scale = (1 / self._reduction.root_sizes[self._reduction.classes]).astype(np.float32)
            vectors = self._engine.tall(rows * scale[:, None])
        return _signed(self._engine, vectors, values)


class _Rows(NamedTuple):
    """CSR rows as the engine takes them."""

    indptr: Array
    indices: Array
    weights: Array | None

    @classmethod
    def of(cls, matrix: csr_array) -> _Rows:
        return cls(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data.astype(np.float32))


def _signed(engine: Engine, vectors: Tall, values: Array) -> Spectrum:
    """Columns turned so that hᵀq > 0."""
    against = engine.gram(engine.random(vectors.shape[0], 1, 0), vectors)[0]
    sign = np.where(against < 0, -1, 1).astype(np.float32)
    return Spectrum(engine.map_rows(lambda block: block * sign, vectors), values)
