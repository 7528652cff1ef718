"""Three ways to the leading part of a symmetric A; `slimg.linalg.svd` chooses among them.

- `DenseSVD`, exactly, part by part; float32 is enough for large parts;
- `KrylovSVD`, by block Lanczos to a tolerance;
- `FewPassesSVD`, on a large graph, from a space of fixed size.

Signs are fixed by one random vector h: hᵀq > 0. (The largest entry would not do: twins and mirror images tie.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from slimg.engine.base import Array, Engine, RowMatrix, Scaling, Sparse
from slimg.engine.blas import one_thread
from slimg.linalg.eigen import Tridiagonal, tridiagonalise
from slimg.linalg.krylov import RankRule, leading_eigenpairs
from slimg.linalg.reduction import Reduction
from slimg.linalg.sketched_lanczos import Pairs, pairs_in_few_passes

SINGLE_BEYOND = 1_500
"""Nodes of a part beyond which it is decomposed in float32."""
TINY = 32
"""Parts up to this size are decomposed many at a time."""


@dataclass(frozen=True)
class Spectrum:
    """The leading part of A: vectors (n × r, a row matrix with orthonormal columns) and eigenvalues by falling magnitude.

    A ≈ U Σ Vᵀ with U = vectors, Σ = |eigenvalues|, V = vectors · sign(eigenvalues). A row a of new edges folds in as
    the row a·V of U·Σ.
    """

    vectors: RowMatrix
    eigenvalues: Array

    @property
    def rank(self) -> int:
        return len(self.eigenvalues)

    @property
    def singular_values(self) -> Array:
        return np.abs(self.eigenvalues)


class _SpectrumOfRows(Spectrum):
    """A spectrum known by the rows of U·Σ divided by their lengths; its vectors are made when they are first asked for."""

    def __init__(self, engine: Engine, rows: RowMatrix, lengths: RowMatrix, eigenvalues: Array):
        self.__dict__.update(engine=engine, rows=rows, lengths=lengths, eigenvalues=eigenvalues)

    @cached_property
    def vectors(self) -> RowMatrix:  # type: ignore[override]
        inverse = (1 / self.singular_values).astype(np.float32)
        engine, rows, lengths = (self.__dict__[name] for name in ("engine", "rows", "lengths"))
        return engine.map_rows(lambda block, length: block * length * inverse, rows, lengths)


Finish = Callable[[Array, Array], Array]
"""(rows of U·Σ, singular values) ↦ rows."""


class SVDPlan(Protocol):
    """A decomposition in steps: what to expect, then the rank (after `prepare`), then the vectors."""

    expected_rank: int
    rank: int

    def prepare(self) -> None:
        """Find the rank."""

    def solve(self) -> Spectrum:
        """The vectors."""

    def solve_rows(self, unit: Finish) -> tuple[Spectrum, RowMatrix]:
        """The vectors, and the rows of U·Σ divided by their lengths (``unit`` does it, and may make rows zero)."""


class _ByVectors:
    """Rows of U·Σ from the vectors."""

    _engine: Engine

    def solve(self) -> Spectrum:
        raise NotImplementedError

    def solve_rows(self, unit: Finish) -> tuple[Spectrum, RowMatrix]:
        spectrum = self.solve()
        sigma = spectrum.singular_values.astype(np.float32)
        return spectrum, self._engine.map_rows(lambda block: unit(block * sigma, sigma), spectrum.vectors)


class DenseSVD(_ByVectors):
    """Part by part: all eigenvalues first, then vectors of the chosen ones.

    float32 is enough for parts beyond `SINGLE_BEYOND`: A is exact in it, and residuals stay near 1e-6 ‖A‖.
    """

    def __init__(self, engine: Engine, reduction: Reduction, rule: RankRule, expected: int):
        self._engine, self._reduction, self._rule, self.expected_rank = engine, reduction, rule, expected
        self._large = [part for part in reduction.parts if len(part) > TINY]

    def prepare(self) -> None:
        self._forms = [self._tridiagonal(part) for part in self._large]
        self._tiny = _decompose_tiny(self._reduction)
        values = [form.eigenvalues() for form in self._forms] + [each.values for each in self._tiny]
        self._sizes = [len(each) for each in values]
        flat = np.concatenate(values).astype(np.float64)
        self._order = np.argsort(-np.abs(flat), kind="stable")
        self.rank = self._rule.rank(np.abs(flat[self._order]))

    def _tridiagonal(self, part: Array) -> Tridiagonal:
        dtype = np.float32 if len(part) > SINGLE_BEYOND else np.float64
        return tridiagonalise(np.ascontiguousarray(self._reduction.dense(part), dtype))

    def solve(self) -> Spectrum:
        chosen = np.zeros(len(self._order), bool)
        chosen[self._order[: self.rank]] = True
        picks = [np.flatnonzero(each) for each in np.split(chosen, np.cumsum(self._sizes)[:-1])]
        vectors = np.zeros((len(self._reduction.classes), self.rank), np.float32)
        eigenvalues, column = np.empty(self.rank), 0
        pairs = [form.eigenpairs(pick) for form, pick in zip(self._forms, picks, strict=False)]
        rest = zip(self._tiny, picks[len(pairs) :], strict=True)
        pairs += [(each.values[pick], each.vectors[:, pick]) for each, pick in rest]
        for part, (values, columns) in zip([*self._large, *(each.part for each in self._tiny)], pairs, strict=True):
            if len(values):
                nodes, rows = self._reduction.expand(part, columns)
                vectors[nodes, column : column + len(values)] = rows
                eigenvalues[column : column + len(values)] = values
                column += len(values)
        order = np.argsort(-np.abs(eigenvalues), kind="stable")
        return _signed(self._engine, self._engine.row_matrix(vectors[:, order]), eigenvalues[order])


class _Tiny(NamedTuple):
    part: Array
    values: Array
    vectors: Array


def _decompose_tiny(reduction: Reduction) -> list[_Tiny]:
    """All eigenpairs of small parts, those of one size in one call."""
    parts = [part for part in reduction.parts if len(part) <= TINY]
    found: list[_Tiny] = []
    with one_thread():
        for size in sorted({len(part) for part in parts}, reverse=True):
            group = [part for part in parts if len(part) == size]
            values, vectors = np.linalg.eigh(np.stack([reduction.dense(part) for part in group]))
            found += [_Tiny(*each) for each in zip(group, values, vectors, strict=True)]
    return found


class KrylovSVD(_ByVectors):
    """The rank is known when the pairs are."""

    def __init__(
        self,
        engine: Engine,
        matrix: Sparse,
        reduction: Reduction | None,
        rule: RankRule,
        tolerance: float,
        random_state: int,
        expected: int | None = None,
    ):
        self._engine, self._matrix, self._reduction, self._rule = engine, matrix, reduction, rule
        self._tolerance, self._random_state = tolerance, random_state
        self.expected_rank = rule.cap if expected is None else expected

    def prepare(self) -> None:
        engine, matrix = self._engine, self._matrix
        apply = lambda block: engine.products(matrix, block, [Scaling()])[0]  # noqa: E731
        n = len(matrix.indptr) - 1
        self._pairs = leading_eigenpairs(engine, apply, n, self._rule, self._tolerance, self._random_state)
        self.rank = len(self._pairs[0])

    def solve(self) -> Spectrum:
        values, vectors = self._pairs
        del self._pairs  # a row matrix of n × r that nobody needs twice
        if self._reduction is not None:
            rows = self._engine.rows(vectors, self._reduction.classes)
            scale = (1 / self._reduction.root_sizes[self._reduction.classes]).astype(np.float32)
            return _signed(self._engine, self._engine.row_matrix(rows * scale[:, None]), values)
        return Spectrum(vectors, values)


class FewPassesSVD:
    """For large graphs. The vectors are a row matrix as large as U·Σ and few ask for them: rows and their lengths are kept."""

    def __init__(self, engine: Engine, matrix: Sparse, rule: RankRule, random_state: int):
        self._engine, self._matrix, self._rule, self._random_state = engine, matrix, rule, random_state
        self.expected_rank = rule.cap

    def prepare(self) -> None:
        self._pairs = pairs_in_few_passes(self._engine, self._matrix, self._rule, self._random_state)
        self.rank = len(self._pairs.values)

    def solve(self) -> Spectrum:
        pairs = self._taken()
        return Spectrum(pairs.rows(np.ones(self.rank), lambda block: block), pairs.values)

    def solve_rows(self, unit: Finish) -> tuple[Spectrum, RowMatrix]:
        pairs = self._taken()
        values, sigma = pairs.values, np.abs(pairs.values)
        rows = pairs.rows(sigma, lambda block: block)
        del pairs  # its basis is as large as the rows
        lengths = self._engine.map_rows(_lengths, rows)
        rows = self._engine.map_rows(lambda block: unit(block, sigma), rows, overwrite_input=True)
        return _SpectrumOfRows(self._engine, rows, lengths, values), rows

    def _taken(self) -> Pairs:
        """The pairs, whose basis goes with them."""
        pairs = self._pairs
        del self._pairs
        return pairs


def _lengths(block: Array) -> Array:
    return np.sqrt(np.einsum("ij,ij->i", block, block))[:, None]


def _signed(engine: Engine, vectors: RowMatrix, values: Array) -> Spectrum:
    """Columns turned so that hᵀq > 0."""
    against = engine.gram(engine.random(vectors.shape[0], 1, 0), vectors)[0]
    sign = np.where(against < 0, -1, 1).astype(np.float32)
    return Spectrum(engine.map_rows(lambda block: block * sign, vectors), values)
