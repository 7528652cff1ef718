"""Centred principal components of B = Opʰ X (n × d), by the cheaper of two Gram matrices or by block Lanczos.

With μ = Bᵀ1/n, the centred B̄ = B − 1μᵀ is never formed when n ≥ d:

    B̄ᵀB̄ = BᵀB − n μμᵀ   (d × d),  n ≥ d:   eigenvectors V, eigenvalues σ²;   scores  B V − 1(μᵀV)
    B̄B̄ᵀ                 (n × n),  n < d:   eigenvectors U, eigenvalues σ²;   scores  U σ,   V = B̄ᵀU σ⁻¹

When both are large, V comes from block Lanczos on v ↦ B̄ᵀ(B̄ v): a sparse X stays sparse, its hops are passes over blocks of a
few columns, and B itself is never formed.

A direction with σ ≤ 4ε‖B‖_F, ε that of float32, is rounding of B and is dropped: a component keeps the directions it has.
Signs are fixed: the loading of largest magnitude is positive.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from slimg.engine.base import Array, Engine, RowMatrix
from slimg.engine.blas import Tridiagonal, matmul, one_thread, self_gram, tridiagonalise
from slimg.engine.memory import MemoryEngine
from slimg.linalg.krylov import RankRule, leading_eigenpairs
from slimg.linalg.operators import Operator

GRAM_AT_MOST = 4_096
"""Largest Gram matrix that is decomposed whole."""
MOMENTS_AT_MOST = 256
"""Columns up to which the Gram matrix and the mean come from one pass over the rows."""
SINGLE_FROM, SINGLE_RANGE = 1_024, 1e-4
"""A Gram matrix larger than the first is decomposed in float32 as long as λ_r ≥ the second · λ₁, which keeps the
relative error of every kept direction below 1 %."""

RowMap = Callable[[Array], Array]


@dataclass(frozen=True)
class PCA:
    """A fitted projection b ↦ (b − mean)·componentsᵀ.

    Attributes
    ----------
    mean : ndarray of shape (d,), float64
        Column means of B.
    components : ndarray of shape (k, d)
        Orthonormal directions; the entry of largest magnitude in each is positive.
    singular_values : ndarray of shape (k,)
        Of the centred B, in descending order.
    """

    mean: Array
    components: Array
    singular_values: Array

    def project(self, rows: Array) -> Array:
        """Compute the scores of rows.

        Parameters
        ----------
        rows : ndarray of shape (m, d)
            Dense rows.

        Returns
        -------
        ndarray of shape (m, k)
            Scores, in the type of the rows.
        """
        components = np.asarray(self.components, rows.dtype)
        with one_thread():
            return matmul(rows, components.T) - (components @ self.mean.astype(rows.dtype))


@dataclass(frozen=True)
class Chain:
    """B = Opʰ X (n × d), which is never formed: only its products with matrices are computed.

    Attributes
    ----------
    features : RowMatrix of shape (n, d)
        X, dense or sparse.
    operator : Operator or None
        Op; None for B = X.
    hops : int
        h.
    """

    features: RowMatrix
    operator: Operator | None = None
    hops: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        """(n, d)."""
        return self.features.shape

    def times(self, engine: Engine, small: Array) -> RowMatrix:
        """Compute B · small.

        Parameters
        ----------
        engine : Engine
            Where X lives.
        small : ndarray of shape (d, k)
            The right factor.

        Returns
        -------
        RowMatrix of shape (n, k)
            The product.
        """
        row_matrix = engine.combine(self.features, small)
        return self.operator.power(engine, row_matrix, self.hops) if self.operator else row_matrix

    def transposed_times(self, engine: Engine, row_matrix: RowMatrix) -> Array:
        """Compute Bᵀ · row_matrix.

        Parameters
        ----------
        engine : Engine
            Where X lives.
        row_matrix : RowMatrix of shape (n, k)
            The right factor, dense.

        Returns
        -------
        ndarray of shape (d, k), float64
            The product.
        """
        if self.operator:
            row_matrix = self.operator.transposed.power(engine, row_matrix, self.hops)
        return engine.gram(self.features, row_matrix)


class PCAPlan(Protocol):
    """A decomposition prepared as far as it can be before the rank is known."""

    def solve(self, rank: int, then: RowMap | None = None) -> tuple[PCA, RowMatrix]:
        """Return the first ``rank`` components and the scores (n × k, k ≤ rank) after the function of rows ``then``."""


def plan_pca(
    engine: Engine, source: RowMatrix | Chain, expected_rank: int | None = None, overwrite_input: bool = False
) -> PCAPlan:
    """Choose the cheapest way to the principal components of a matrix of this shape, and do what needs no rank.

    Parameters
    ----------
    engine : Engine
        Where the row matrices live.
    source : RowMatrix of shape (n, d), or Chain
        B; a `Chain` is always decomposed by block Lanczos, without being formed.
    expected_rank : int or None, default None
        If given, the work that such a rank needs is done now.
    overwrite_input : bool, default False
        The source is not needed any more: the scores may be written over it.

    Returns
    -------
    PCAPlan
        Its ``solve(rank)`` returns the components and the scores.
    """
    n, d = source.shape
    if isinstance(source, Chain):
        return _Implicit(engine, source)
    if min(n, d) > GRAM_AT_MOST:
        return _Implicit(engine, Chain(source))
    return _ByColumns(engine, source, expected_rank, overwrite_input) if n >= d else _ByRows(engine, source, expected_rank)


def principal_components(
    engine: Engine, source: RowMatrix | Chain, rank: int, then: RowMap | None = None
) -> tuple[PCA, RowMatrix]:
    """Compute the first principal components of a row matrix.

    Parameters
    ----------
    engine : Engine
        Where the row matrices live.
    source : RowMatrix of shape (n, d), or Chain
        B.
    rank : int
        Components to keep; fewer are returned where B has fewer directions above rounding.
    then : callable, optional
        A function of blocks of scores, row by row independent, that is applied to them.

    Returns
    -------
    pca : PCA
        Mean, components (k × d) and singular values (k,).
    scores : RowMatrix of shape (n, k)
        The centred rows in the directions of the components.

    Examples
    --------
    >>> import numpy as np
    >>> from slimg.engine import MemoryEngine
    >>> from slimg.linalg import principal_components
    >>> engine = MemoryEngine(threads=1)
    >>> pca, scores = principal_components(engine, engine.row_matrix([[0, 1], [2, 1], [4, 1]]), 2)
    >>> scores.ravel(), pca.mean
    (array([-2.,  0.,  2.], dtype=float32), array([2., 1.]))
    """
    return plan_pca(engine, source).solve(rank, then)


class _ByColumns:
    """Through B̄ᵀB̄."""

    def __init__(self, engine: Engine, row_matrix: RowMatrix, expected_rank: int | None, overwrite_input: bool):
        self._engine, self._rows, self._overwrite_input = engine, row_matrix, overwrite_input
        n, d = row_matrix.shape
        if d <= MOMENTS_AT_MOST and not engine.is_sparse(row_matrix):
            moments = engine.sum_rows(_moments, row_matrix)
            self._mean, gram = moments[-1] / n, moments[:-1]
        else:
            self._mean, gram = engine.sum_rows(_column_sums, row_matrix) / n, engine.gram(row_matrix)
        norm = float(np.trace(gram))
        gram -= n * np.outer(self._mean, self._mean)
        self._top = _Top(gram.astype, d, norm, expected_rank)

    def solve(self, rank: int, then: RowMap | None = None) -> tuple[PCA, RowMatrix]:
        values, vectors = self._top.eigenpairs(rank)
        pca = PCA(self._mean, (vectors * _signs(vectors)).T, np.sqrt(values))
        loadings, shift = _loadings(pca)
        finish = then or _as_is
        if self._engine.is_sparse(self._rows):
            scores = self._engine.combine(self._rows, loadings)
            return pca, self._engine.map_rows(lambda block: finish(block - shift), scores)
        scores = lambda block: finish(_centred_product(block, loadings, shift))  # noqa: E731
        return pca, self._engine.map_rows(scores, self._rows, overwrite_input=self._overwrite_input)


class _ByRows:
    """Through B̄B̄ᵀ: n < d, so B is small enough to be an array."""

    def __init__(self, engine: Engine, row_matrix: RowMatrix, expected_rank: int | None):
        self._engine = engine
        rows = engine.to_array(row_matrix)
        norm = float(np.square(rows, dtype=np.float64).sum())
        self._mean = rows.mean(axis=0, dtype=np.float64)
        self._centred = rows - self._mean.astype(np.float32)
        self._top = _Top(self._gram, len(rows), norm, expected_rank)

    def _gram(self, dtype: type) -> Array:
        with one_thread():
            return self_gram(np.ascontiguousarray(self._centred.T, dtype))

    def solve(self, rank: int, then: RowMap | None = None) -> tuple[PCA, RowMatrix]:
        values, vectors = self._top.eigenpairs(rank)
        sigma = np.sqrt(values)
        with one_thread():
            components = matmul(vectors.T.astype(np.float32), self._centred) / sigma[:, None]
        sign = _signs(components.T)
        pca = PCA(self._mean, components * sign[:, None], sigma)
        scores = self._engine.row_matrix(vectors * (sigma * sign))
        return pca, self._engine.map_rows(then, scores) if then else scores


class _Implicit:
    """By block Lanczos in the space of features; vectors there (d × k) are row matrices of an engine in memory."""

    def __init__(self, engine: Engine, chain: Chain):
        self._engine, self._chain = engine, chain
        n = chain.shape[0]
        self._mean = chain.transposed_times(engine, engine.row_matrix(np.ones((n, 1), np.float32)))[:, 0] / n

    def solve(self, rank: int, then: RowMap | None = None) -> tuple[PCA, RowMatrix]:
        engine, chain = self._engine, self._chain
        memory = engine if isinstance(engine, MemoryEngine) else MemoryEngine()
        n, d = chain.shape
        rule = RankRule(np.inf, min(rank, n, d))
        values, vectors = leading_eigenpairs(memory, self._covariance, d, rule, tolerance=1e-3)
        keep = values > _floor(float(values[0]) + n * float(self._mean @ self._mean))
        values, vectors = values[keep], vectors[:, keep]
        pca = PCA(self._mean, (vectors * _signs(vectors)).T, np.sqrt(values))
        loadings, shift = _loadings(pca)
        finish = then or _as_is
        return pca, engine.map_rows(lambda block: finish(block - shift), chain.times(engine, loadings))

    def _covariance(self, small: RowMatrix) -> RowMatrix:
        """B̄ᵀB̄ · small."""
        engine = self._engine
        shift = (self._mean @ small).astype(np.float32)
        centred = engine.map_rows(lambda block: block - shift, self._chain.times(engine, small))
        sums = engine.sum_rows(_column_sums, centred)
        image = self._chain.transposed_times(engine, centred) - np.outer(self._mean, sums)
        return np.ascontiguousarray(image, np.float32)


class _Top:
    """The largest eigenpairs of a Gram matrix that are above rounding: by block Lanczos when they are few, else dense.

    Large matrices are taken in float32 as long as that is good enough for the smallest pair, see `SINGLE_RANGE`.
    """

    def __init__(self, gram: Callable[[type], Array], size: int, norm: float, expected_rank: int | None):
        self._gram, self._size, self._norm = gram, size, norm
        self._single = size > SINGLE_FROM
        self._form = self._tridiagonal() if expected_rank and not self._are_few(expected_rank) else None

    def eigenpairs(self, rank: int) -> tuple[Array, Array]:
        """Eigenvalues, falling, and eigenvectors (columns), in float64."""
        rank = min(rank, self._size)
        values, vectors = self._krylov(rank) if self._are_few(rank) and not self._form else self._dense(rank)
        if self._single and values[-1] < SINGLE_RANGE * values[0]:
            self._single, self._form = False, None
            values, vectors = self._dense(rank)
        keep = values > _floor(self._norm)
        return values[keep].astype(np.float64), vectors[:, keep].astype(np.float64)

    def _are_few(self, rank: int) -> bool:
        return self._single and 8 * rank < self._size

    def _dense(self, rank: int) -> tuple[Array, Array]:
        form, self._form = self._form or self._tridiagonal(), None
        return form.eigenpairs(np.arange(self._size - rank, self._size)[::-1])

    def _tridiagonal(self) -> Tridiagonal:
        return tridiagonalise(self._gram(np.float32 if self._single else np.float64))

    def _krylov(self, rank: int) -> tuple[Array, Array]:
        memory, gram = MemoryEngine(threads=1), self._gram(np.float32)
        rule = RankRule(np.inf, rank)
        return leading_eigenpairs(memory, lambda block: matmul(gram, block), self._size, rule, tolerance=1e-3)


def _floor(squared_norm: float) -> float:
    """σ² of rounding in a matrix of that ‖B‖_F²."""
    return (4 * float(np.finfo(np.float32).eps)) ** 2 * squared_norm


def _loadings(pca: PCA) -> tuple[Array, Array]:
    """V (d × k) and μᵀV (k) in float32."""
    return np.ascontiguousarray(pca.components.T, np.float32), (pca.components @ pca.mean).astype(np.float32)


def _moments(block: Array) -> Array:
    """BᵀB of one block of rows, and its column sums below, in float64."""
    rows = block.astype(np.float64)
    return np.vstack([self_gram(rows), rows.sum(axis=0)])


def _centred_product(block: Array, loadings: Array, shift: Array) -> Array:
    out = matmul(block, loadings)
    out -= shift
    return out


def _column_sums(block: Array) -> Array:
    return np.asarray(block.sum(axis=0, dtype=np.float64)).ravel()


def _as_is(block: Array) -> Array:
    return block


def _signs(vectors: Array) -> Array:
    """±1 for each column so that its entry of largest magnitude becomes positive (the first one on ties)."""
    largest = np.argmax(np.abs(vectors), axis=0)
    return np.where(vectors[largest, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
