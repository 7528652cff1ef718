"""Principal components of a dense row matrix B (n × k), and the few columns that stand for a wide X (n × d).

With μ = Bᵀ1/n, the centred B̄ = B − 1μᵀ is never formed:

    B̄ᵀB̄ = BᵀB − n μμᵀ   (k × k, float64):   eigenvectors C, eigenvalues σ²;   scores  B C − 1(μᵀC)

A direction with σ ≤ 4ε‖B‖_F, ε that of float32, is rounding of B and is dropped: a component keeps the directions it has.
Signs are fixed: the loading of largest magnitude is positive.

When d is much larger than the number of components wanted, X is replaced by X V, with V (d × l, orthonormal) from a few
steps of subspace iteration:

    V ← orthonormal(M V),    M = XᵀX + s XᵀÃ²X,    s = tr XᵀX / tr XᵀÃ²X

X is not centred, so that the direction of its mean is kept: the sums of rows of Ã_sym² differ. The second term weighs as
much as the first and makes V hold what remains of X after propagation, which X alone would not show (docs/design.md has
the figures). The cost is that of a few products of X, and of A, with l columns; a sparse X stays sparse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from slimg.engine.base import Array, Engine, RowMatrix
from slimg.engine.blas import matmul, one_thread, self_gram, tridiagonalise
from slimg.engine.memory import MemoryEngine
from slimg.linalg.krylov import RankRule, leading_eigenpairs
from slimg.linalg.operators import Operator, Weighted

MOMENTS_AT_MOST = 512
"""Columns up to which the Gram matrix and the mean come from one pass over the rows."""
SINGLE_FROM, SINGLE_RANGE = 1_024, 1e-4
"""A Gram matrix larger than the first is decomposed in float32 as long as λ_r ≥ the second · λ₁, which keeps the
relative error of every kept direction below 1 %."""
SPARE, SWEEPS = 64, 2
"""Columns of V beyond the rank, and steps of the iteration."""
WORTH = 1.25
"""Times by which d exceeds the columns of V before the reduction costs less than it saves."""

RowMap = Callable[[Array, "PCA"], Array]


@dataclass(frozen=True)
class PCA:
    """A fitted projection b ↦ (b − mean)·componentsᵀ.

    Attributes
    ----------
    mean : ndarray of shape (k,), float64
        Column means of B.
    components : ndarray of shape (r, k)
        Orthonormal directions; the entry of largest magnitude in each is positive.
    singular_values : ndarray of shape (r,)
        Of the centred B, in descending order.
    length : float
        Root mean square of the lengths of the rows of B, of which rounding is a share.

    Examples
    --------
    >>> import numpy as np
    >>> from slimg.linalg import PCA
    >>> PCA(np.zeros(2), np.eye(1, 2), np.ones(1)).components.shape
    (1, 2)
    """

    mean: Array
    components: Array
    singular_values: Array
    length: float = 0.0


def reduced_width(n: int, d: int, rank: int) -> int | None:
    """The number of columns that X is reduced to, for components of a rank.

    Parameters
    ----------
    n, d : int
        Rows and columns of X.
    rank : int
        The largest rank of a component.

    Returns
    -------
    int or None
        None where X is taken as it is, since a reduction would cost more than it saves.

    Examples
    --------
    >>> from slimg.linalg import reduced_width
    >>> reduced_width(20_000, 5_000, 256), reduced_width(20_000, 400, 256)
    (320, None)
    """
    width = min(n, rank + SPARE)
    return None if d <= WORTH * width else width


def leading_directions(
    engine: Engine, x: RowMatrix, width: int, smoothing: Operator | None = None, random_state: int = 0
) -> Array:
    """Find directions that hold most of X, and of X after propagation, by subspace iteration.

    Parameters
    ----------
    engine : Engine
        Where X lives.
    x : RowMatrix of shape (n, d)
        X, dense or sparse.
    width : int
        The number of directions, l.
    smoothing : Operator or None, default None
        Ã, symmetric; None for X alone.
    random_state : int, default 0
        Seed of the first block.

    Returns
    -------
    ndarray of shape (d, l), float32
        Orthonormal columns; fewer than ``width`` where X has fewer directions.

    Examples
    --------
    >>> import numpy as np
    >>> from slimg.engine import MemoryEngine
    >>> from slimg.linalg import leading_directions
    >>> engine = MemoryEngine(threads=1)
    >>> np.abs(leading_directions(engine, engine.row_matrix([[3, 0, 0], [0, 0, 0.001]]), 1)).round(3).ravel()
    array([1., 0., 0.], dtype=float32)
    """
    basis = MemoryEngine(threads=1).random(x.shape[1], width, random_state)
    transposed_times, share = transposed_product(engine, x), 0.0
    for _ in range(SWEEPS):
        rows = engine.combine(x, basis)
        if smoothing is not None:
            smooth = smoothing.power(engine, rows, 2)
            if not share:
                own, far = engine.sum_rows(_traces, rows, smooth)
                share = float(own / far) if far > 0 else 0.0
            rows = engine.map_rows(Weighted(1.0, share), rows, smooth, overwrite_input=True)
            del smooth
        basis = _orthonormal(transposed_times(rows))
    return basis


def principal_components(
    engine: Engine, row_matrix: RowMatrix, rank: int, then: RowMap | None = None, overwrite_input: bool = False
) -> tuple[PCA, RowMatrix]:
    """Compute the first principal components of a dense row matrix.

    Parameters
    ----------
    engine : Engine
        Where the row matrix lives.
    row_matrix : RowMatrix of shape (n, k)
        B.
    rank : int
        Components to keep; fewer are returned where B has fewer directions above rounding.
    then : callable, optional
        A function of blocks of scores and of the `PCA`, row by row independent, that is applied to them.
    overwrite_input : bool, default False
        B is not needed any more: the scores may be written over it.

    Returns
    -------
    pca : PCA
        Mean, components (r × k) and singular values (r,).
    scores : RowMatrix of shape (n, r)
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
    n, d = row_matrix.shape
    if d <= MOMENTS_AT_MOST:
        moments = engine.sum_rows(_moments, row_matrix)
        mean, gram = moments[-1] / n, moments[:-1]
    else:
        mean, gram = engine.sum_rows(_column_sums, row_matrix) / n, engine.gram(row_matrix)
    norm = float(np.trace(gram))
    gram -= n * np.outer(mean, mean)
    values, vectors = _eigenpairs(gram, min(rank, d))
    keep = values > _floor(norm)
    values, vectors = values[keep], vectors[:, keep]
    components = np.ascontiguousarray((vectors * _signs(vectors)).T, np.float32)
    shift = (components @ mean).astype(np.float32)
    length = float(np.sqrt(norm / max(n, 1)))
    pca = PCA(mean, components, np.sqrt(values), length)
    return pca, engine.map_rows(_Scores(pca, shift, then), row_matrix, overwrite_input=overwrite_input)


def _eigenpairs(gram: Array, rank: int) -> tuple[Array, Array]:
    """The largest eigenvalues, falling, and eigenvectors (columns), float64, of a symmetric matrix.

    By block Lanczos where they are few, else dense; a large matrix in float32 as long as that is good enough for the
    smallest pair, see `SINGLE_RANGE`.
    """
    size = len(gram)
    if size > SINGLE_FROM:
        single = gram.astype(np.float32)
        if 8 * rank < size:
            apply = lambda block: matmul(single, block)  # noqa: E731
            found = leading_eigenpairs(MemoryEngine(threads=1), apply, size, RankRule(np.inf, rank), tolerance=1e-3)
        else:
            found = tridiagonalise(single).eigenpairs(np.arange(size - rank, size)[::-1])
        if found[0][-1] >= SINGLE_RANGE * found[0][0]:
            return found[0].astype(np.float64), found[1].astype(np.float64)
    return tridiagonalise(gram.copy()).eigenpairs(np.arange(size - rank, size)[::-1])


def _orthonormal(columns: Array) -> Array:
    """An orthonormal basis of the columns (d × l), float32, without directions that are only rounding."""
    with one_thread():
        columns = columns.astype(np.float64)
        columns /= np.maximum(np.linalg.norm(columns, axis=0), np.finfo(np.float32).tiny)
        gram = self_gram(columns)
        try:
            factor = np.linalg.cholesky(gram)
            if np.diagonal(factor).min() > 1e-5:
                return matmul(columns, np.linalg.inv(factor).T).astype(np.float32)
        except np.linalg.LinAlgError:
            pass
        values, vectors = np.linalg.eigh(gram)
        if values[-1] <= 0:  # X is zero: any direction will do
            return np.eye(len(columns), 1, dtype=np.float32)
        keep = values > 1e-10 * values[-1]
        return np.ascontiguousarray(matmul(columns, vectors[:, keep] / np.sqrt(values[keep])), np.float32)


def transposed_product(engine: Engine, x: RowMatrix) -> Callable[[RowMatrix], Array]:
    """Prepare products with Xᵀ: float32 products of blocks added in float64, or through a transposed copy of a sparse X.

    Parameters
    ----------
    engine : Engine
        Where X lives.
    x : RowMatrix of shape (n, d)
        X, dense or sparse.

    Returns
    -------
    callable
        Row matrix (n × l) → array (d × l), its product with Xᵀ.
    """
    if not engine.is_sparse(x):
        return lambda rows: engine.sum_rows(_product, x, rows)
    if isinstance(engine, MemoryEngine):
        flipped = engine.row_matrix(x.T)
        return lambda rows: engine.combine(flipped, rows)
    return lambda rows: engine.gram(x, rows)


def _product(a: Array, b: Array) -> Array:
    return matmul(a.T, b)


def _traces(own: Array, far: Array) -> Array:
    """tr ownᵀown and tr ownᵀfar of one block of rows."""
    wide = own.astype(np.float64)
    return np.array([np.vdot(wide, wide), np.vdot(wide, far)])


@dataclass(frozen=True)
class _Scores:
    """(b − μ) Cᵀ, then a function, for blocks of rows."""

    pca: PCA
    shift: Array
    then: RowMap | None

    def __call__(self, block: Array) -> Array:
        out = matmul(block, self.pca.components.T)
        out -= self.shift
        return out if self.then is None else self.then(out, self.pca)


def _floor(squared_norm: float) -> float:
    """σ² of rounding in a matrix of that ‖B‖_F²."""
    return (4 * float(np.finfo(np.float32).eps)) ** 2 * squared_norm


def _moments(block: Array) -> Array:
    """BᵀB of one block of rows, and its column sums below, in float64."""
    rows = block.astype(np.float64)
    return np.vstack([self_gram(rows), rows.sum(axis=0)])


def _column_sums(block: Array) -> Array:
    return np.asarray(block.sum(axis=0, dtype=np.float64)).ravel()


def _signs(vectors: Array) -> Array:
    """±1 for each column so that its entry of largest magnitude becomes positive (the first one on ties)."""
    largest = np.argmax(np.abs(vectors), axis=0)
    return np.where(vectors[largest, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
