"""Truncated SVD of a symmetric A, its rank chosen by energy, and principal components of row matrices.

A = Σ_i λ_i q_i q_iᵀ with |λ₁| ≥ |λ₂| ≥ …, so σ_i = |λ_i|, u_i = q_i and v_i = sign(λ_i)·q_i.

    r = the largest rank with  σ₁² + … + σ_r²  <  energy · ‖A‖_F²,  at least 1, at most ``max_rank``

Twins are merged and connected parts split off first (`slimg.linalg.operators`). Then one of three plans is chosen:

- `DenseSVD`, exactly: LAPACK gives all eigenvalues of each part, hence r, and only then r vectors;
- `KrylovSVD`, by block Lanczos to a tolerance, when parts are large or r is small beside them, which is known beforehand:
  since (Σ_{i≤r} σ_i²)² ≤ r Σ σ_i⁴,

      r ≥ (energy · ‖A‖_F²)² / ‖A²‖_F²,        on real graphs about a third of r,

  where ‖A²‖_F² = E ‖A(A z)‖² over random z, estimated from `PROBES` of them;
- `SketchedSVD`, by sketched Lanczos, on a large graph (`slimg.linalg.lanczos_layout`).

Signs are fixed by one random vector h: hᵀq > 0. (The largest entry would not do: twins and mirror images tie.)

Principal components of a dense row matrix B (n × k), and the few columns that stand for a wide X (n × d).

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

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from slimg.engine.base import Array, Engine, RowMatrix, Scaling, Sparse
from slimg.engine.blas import matmul, one_thread, self_gram, tridiagonalise
from slimg.engine.memory import MemoryEngine
from slimg.graph.adjacency import Adjacency
from slimg.linalg.krylov import RankRule, lanczos_layout, leading_eigenpairs
from slimg.linalg.operators import Operator, Reduction, Weighted, operator, reduced

DENSE_ALWAYS, DENSE_FIXED, DENSE_AT_MOST = 1_500, 400, 6_000
"""Parts up to the first size (the second, for a fixed rank) are always dense; up to the third, if more than a sixth of the
spectrum is wanted."""
REDUCE_AT_MOST = 1 << 23
"""Stored entries up to which twins are looked for."""
TOLERANCES = 1e-3, 0.1
"""Of residuals: in parts small enough to be dense, and in larger ones."""
PROBES = 16
SINGLE_BEYOND = 1_500
"""Nodes of a part beyond which it is decomposed in float32."""
TINY = 32
"""Parts up to this size are decomposed many at a time."""
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
class Spectrum:
    """The leading eigenpairs of a symmetric A (n × n).

    A ≈ U Σ Vᵀ with U = vectors, Σ = abs(eigenvalues), V = vectors · sign(eigenvalues). A row a of new edges is placed at
    the row a·V of U·Σ.

    Attributes
    ----------
    vectors : RowMatrix of shape (n, r)
        Orthonormal eigenvectors.
    eigenvalues : ndarray of shape (r,), float64
        By falling magnitude.

    Examples
    --------
    >>> from slimg import Graph
    >>> ring = Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")])
    >>> import numpy as np
    >>> from slimg.engine import MemoryEngine
    >>> from slimg.linalg import plan_svd
    >>> plan = plan_svd(MemoryEngine(), ring.adjacency, energy=0.9)
    >>> plan.prepare()
    >>> plan.solve().vectors.shape[0]
    4
    """

    vectors: RowMatrix
    eigenvalues: Array

    @property
    def rank(self) -> int:
        """The number of eigenpairs, r."""
        return len(self.eigenvalues)

    @property
    def singular_values(self) -> Array:
        """Absolute eigenvalues, ndarray of shape (r,)."""
        return np.abs(self.eigenvalues)


def plan_svd(
    engine: Engine,
    adjacency: Adjacency,
    *,
    energy: float = 0.9,
    max_rank: int = 2048,
    tolerance: float | None = None,
    random_state: int = 0,
) -> SVDPlan:
    """Choose the cheapest way to decompose A, without the work itself.

    Parameters
    ----------
    engine : Engine
        Where the vectors live.
    adjacency : Adjacency
        A, n × n, with at least one edge.
    energy : float, default 0.9
        Share of ‖A‖_F² that the kept singular values stay below.
    max_rank : int, default 2048
        The most singular values to keep.
    tolerance : float or None, default None
        Bound of ``‖A q − λ q‖ / |λ|`` where the decomposition is not exact; None takes `TOLERANCES`, by size.
    random_state : int, default 0
        Seed of block Lanczos and of the sketch.

    Returns
    -------
    SVDPlan
        Its ``rank`` is known after ``prepare()``, the vectors after ``solve()``.

    Examples
    --------
    >>> from slimg import Graph
    >>> ring = Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")])
    >>> from slimg.engine import MemoryEngine
    >>> from slimg.linalg import plan_svd
    >>> type(plan_svd(MemoryEngine(), ring.adjacency)).__name__
    'DenseSVD'

    A triangle has the eigenvalues 2, -1 and -1; 90 % of its energy is 5.4:

    >>> triangle = Graph.from_edges([("a", "b"), ("b", "c"), ("c", "a")])
    >>> plan = plan_svd(MemoryEngine(threads=1), triangle.adjacency)
    >>> plan.prepare()
    >>> plan.solve().eigenvalues.round(3)
    array([ 2., -1.])
    """
    rule = RankRule(energy * squared_norm(adjacency.weights, adjacency.nnz), min(max_rank, adjacency.n))
    if adjacency.nnz > REDUCE_AT_MOST:
        if lanczos_layout(adjacency.n, rule.cap).is_sketched:
            return SketchedSVD(engine, adjacency, rule, random_state)
        return KrylovSVD(engine, adjacency, None, rule, tolerance or TOLERANCES[1], random_state)
    reduction = reduced(adjacency)
    size, is_fixed, expected = len(reduction.parts[0]), np.isinf(rule.target), rule.cap
    if not is_fixed:
        expected = int(min(rule.cap, 3 * rule.target**2 / _fourth_moment(engine, _as_adjacency(reduction.matrix))))
    if size <= (DENSE_FIXED if is_fixed else DENSE_ALWAYS) or (size <= DENSE_AT_MOST and expected > size / 6):
        return DenseSVD(engine, reduction, rule)
    if lanczos_layout(len(reduction.root_sizes), rule.cap).is_sketched:
        return SketchedSVD(engine, adjacency, rule, random_state)
    tolerance = tolerance or TOLERANCES[size > DENSE_AT_MOST]
    return KrylovSVD(engine, adjacency, reduction, rule, tolerance, random_state)


def directed_svd(
    engine: Engine, out: Sparse, into: Sparse, rank: int, random_state: int = 0
) -> tuple[Array, RowMatrix, RowMatrix]:
    """Decompose a matrix D that need not be symmetric: D ≈ U Σ Vᵀ, from the leading eigenpairs (σ², u) of D Dᵀ.

    Parameters
    ----------
    engine : Engine
        Where the vectors live.
    out, into : Adjacency
        D and Dᵀ, n × n.
    rank : int
        Singular values to keep; those below a thousandth of the first are rounding of σ² and dropped.
    random_state : int, default 0
        Seed of block Lanczos.

    Returns
    -------
    singular_values : ndarray of shape (r,), float64
        In descending order.
    left, right : RowMatrix of shape (n, r)
        U, orthonormal to the tolerance of the iteration, and V = Dᵀ U Σ⁻¹.

    Examples
    --------
    >>> from slimg import Graph
    >>> from slimg.engine import MemoryEngine
    >>> from slimg.linalg import directed_svd
    >>> edges = Graph.from_edges([("a", "b"), ("a", "c"), ("d", "e")], directed=True).relations[0]
    >>> directed_svd(MemoryEngine(threads=1), edges.out, edges.into, 2)[0].round(3)
    array([1.414, 1.   ])
    """

    def apply(block: RowMatrix) -> RowMatrix:
        (far,) = engine.products(into, block, [Scaling()])
        return engine.products(out, far, [Scaling()])[0]

    values, left = _leading(engine, apply, len(out.indptr) - 1, rank, random_state)
    count = int(np.count_nonzero(values > 1e-6 * max(values[0], 1e-30)))
    sigma = np.sqrt(values[:count])
    if count < len(values):
        left = engine.map_rows(lambda block: np.ascontiguousarray(block[:, :count]), left)
    inverse = (1 / sigma).astype(np.float32)
    (far,) = engine.products(into, left, [Scaling()])
    return sigma, left, engine.map_rows(lambda block: block * inverse, far, overwrite_input=True)


def operator_svd(engine: Engine, matrix: Operator, rank: int, random_state: int = 0) -> Spectrum:
    """The leading eigenpairs of a symmetric operator such as Ã_sym, a fixed number of them."""
    values, vectors = _leading(engine, partial(matrix.apply, engine), len(matrix.matrix.indptr) - 1, rank, random_state)
    return Spectrum(vectors, values)


def _leading(
    engine: Engine, apply: Callable[[RowMatrix], RowMatrix], n: int, rank: int, random_state: int
) -> tuple[Array, RowMatrix]:
    """Eigenvalues by falling magnitude and vectors of a symmetric operator, of a small one exactly."""
    if n > DENSE_FIXED:
        rule, tolerance = RankRule(np.inf, min(rank, n)), TOLERANCES[n > DENSE_AT_MOST]
        return leading_eigenpairs(engine, apply, n, rule, tolerance, random_state)
    matrix = engine.to_array(apply(engine.row_matrix(np.eye(n, dtype=np.float32)))).astype(np.float64)
    with one_thread():
        values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    order = np.argsort(-np.abs(values), kind="stable")[:rank]
    order = order[np.abs(values[order]) > 1e-6 * np.abs(values[order[0]])]
    found = _fix_signs(engine, engine.row_matrix(vectors[:, order].astype(np.float32)), values[order])
    return found.eigenvalues, found.vectors


def squared_norm(weights: Array | None, count: int) -> float:
    """‖A‖_F² from the stored entries."""
    return float(count) if weights is None else float(np.square(weights, dtype=np.float64).sum())


def _as_adjacency(matrix: csr_array) -> Adjacency:
    """CSR rows in the types that engines take."""
    return Adjacency(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data.astype(np.float32))


def _fourth_moment(engine: Engine, matrix: Sparse) -> float:
    """Σ σ⁴ = ‖A²‖_F², estimated."""
    probes = engine.random(len(matrix.indptr) - 1, PROBES, 0)
    for _ in range(2):
        (probes,) = engine.products(matrix, probes, [Scaling()])
    return float(np.trace(engine.gram(probes))) / PROBES


class _SpectrumOfRows(Spectrum):
    """A spectrum from the rows of U·Σ divided by their lengths; its vectors are computed when they are first used."""

    def __init__(self, engine: Engine, rows: RowMatrix, lengths: RowMatrix, eigenvalues: Array):
        self.__dict__.update(engine=engine, rows=rows, lengths=lengths, eigenvalues=eigenvalues)

    @cached_property
    def vectors(self) -> RowMatrix:  # type: ignore[override]
        inverse = (1 / self.singular_values).astype(np.float32)
        engine, rows, lengths = (self.__dict__[name] for name in ("engine", "rows", "lengths"))
        return engine.map_rows(lambda block, length: block * length * inverse, rows, lengths)


Finish = Callable[[Array, Array], Array]
"""(rows of U·Σ, singular values) ↦ rows."""


class SVDPlan:
    """A decomposition in steps: the rank (after `prepare`), then the vectors."""

    engine: Engine
    rank: int

    def prepare(self) -> None:
        """Compute as much as is needed to know the rank."""
        raise NotImplementedError

    def solve(self) -> Spectrum:
        """Return eigenvalues and vectors."""
        raise NotImplementedError

    def solve_rows(self, unit: Finish) -> tuple[Spectrum, RowMatrix]:
        """Return the spectrum, and the rows of U·Σ (n × r) after ``unit``, which divides them by their lengths."""
        spectrum = self.solve()
        sigma = spectrum.singular_values.astype(np.float32)
        return spectrum, self.engine.map_rows(lambda block: unit(block * sigma, sigma), spectrum.vectors)


class _Part(NamedTuple):
    """A part of the graph, all its eigenvalues, and a function that gives the pairs at chosen places."""

    classes: Array
    values: Array
    pairs: Callable[[Array], tuple[Array, Array]]


@dataclass
class DenseSVD(SVDPlan):
    """Part by part: all eigenvalues first, then vectors of the chosen ones.

    float32 is enough for parts beyond `SINGLE_BEYOND`: A is exact in it, and residuals stay near 1e-6 ‖A‖.
    """

    engine: Engine
    reduction: Reduction
    rule: RankRule

    def prepare(self) -> None:
        self._parts = [*self._large(), *_tiny(self.reduction)]
        flat = np.concatenate([each.values for each in self._parts]).astype(np.float64)
        self._order = np.argsort(-np.abs(flat), kind="stable")
        self.rank = self.rule.rank(np.abs(flat[self._order]))

    def _large(self) -> Iterator[_Part]:
        for part in self.reduction.parts:
            if len(part) > TINY:
                dtype = np.float32 if len(part) > SINGLE_BEYOND else np.float64
                form = tridiagonalise(np.ascontiguousarray(self.reduction.dense(part), dtype))
                yield _Part(part, form.eigenvalues(), form.eigenpairs)

    def solve(self) -> Spectrum:
        chosen = np.zeros(len(self._order), bool)
        chosen[self._order[: self.rank]] = True
        vectors = np.zeros((len(self.reduction.classes), self.rank), np.float32)
        eigenvalues, column = np.empty(self.rank), 0
        ends = np.cumsum([len(each.values) for each in self._parts])
        for part, among in zip(self._parts, np.split(chosen, ends[:-1]), strict=True):
            if among.any():
                values, rows = part.pairs(np.flatnonzero(among))
                nodes, rows = self.reduction.expand(part.classes, rows)
                vectors[nodes, column : column + len(values)] = rows
                eigenvalues[column : column + len(values)] = values
                column += len(values)
        order = np.argsort(-np.abs(eigenvalues), kind="stable")
        return _fix_signs(self.engine, self.engine.row_matrix(vectors[:, order]), eigenvalues[order])


def _tiny(reduction: Reduction) -> Iterator[_Part]:
    """Small parts, those of one size decomposed in one call."""
    parts = [part for part in reduction.parts if len(part) <= TINY]
    for size in sorted({len(part) for part in parts}, reverse=True):
        group = [part for part in parts if len(part) == size]
        with one_thread():
            found = np.linalg.eigh(np.stack([reduction.dense(part) for part in group]))
        for part, values, vectors in zip(group, *found, strict=True):
            yield _Part(part, values, lambda pick, values=values, vectors=vectors: (values[pick], vectors[:, pick]))  # type: ignore[misc]


@dataclass
class KrylovSVD(SVDPlan):
    """The rank is known when the pairs are. Rows are A V, as new nodes have them: U Σ differs by the residuals, which may be
    longer than the row of a node that the leading vectors hardly reach."""

    engine: Engine
    adjacency: Adjacency
    reduction: Reduction | None
    rule: RankRule
    tolerance: float
    random_state: int

    def prepare(self) -> None:
        matrix = self.adjacency if self.reduction is None else _as_adjacency(self.reduction.matrix)
        apply = lambda block: self.engine.products(matrix, block, [Scaling()])[0]  # noqa: E731
        self._pairs = leading_eigenpairs(self.engine, apply, matrix.n, self.rule, self.tolerance, self.random_state)
        self.rank = len(self._pairs[0])

    def solve(self) -> Spectrum:
        values, vectors = self._pairs
        del self._pairs  # a row matrix of n × r that is not needed twice
        if self.reduction is None:
            return Spectrum(vectors, values)
        rows = self.engine.rows(vectors, self.reduction.classes)
        scale = (1 / self.reduction.root_sizes[self.reduction.classes]).astype(np.float32)
        return _fix_signs(self.engine, self.engine.row_matrix(rows * scale[:, None]), values)

    def solve_rows(self, unit: Finish) -> tuple[Spectrum, RowMatrix]:
        spectrum = self.solve()
        sign, sigma = np.sign(spectrum.eigenvalues).astype(np.float32), spectrum.singular_values.astype(np.float32)
        finish = lambda block: unit(block * sign, sigma)  # noqa: E731
        return spectrum, operator("A", self.adjacency).finished(self.engine, spectrum.vectors, finish)


@dataclass
class SketchedSVD(SVDPlan):
    """For large graphs. The vectors take as much memory as U·Σ and are seldom needed: rows and their lengths are kept."""

    engine: Engine
    adjacency: Adjacency
    rule: RankRule
    random_state: int

    def prepare(self) -> None:
        from slimg.linalg.sketched_lanczos import sketched_eigenpairs

        self._pairs = sketched_eigenpairs(self.engine, self.adjacency, self.rule, self.random_state)
        self.rank = len(self._pairs.values)

    def solve(self) -> Spectrum:
        return Spectrum(self._pairs.rows(np.ones(self.rank)), self._pairs.values)

    def solve_rows(self, unit: Finish) -> tuple[Spectrum, RowMatrix]:
        values, sigma = self._pairs.values, np.abs(self._pairs.values)
        rows = self._pairs.rows(sigma)
        del self._pairs  # its basis is as large as the rows
        lengths = self.engine.map_rows(_lengths, rows)
        rows = self.engine.map_rows(lambda block: unit(block, sigma), rows, overwrite_input=True)
        return _SpectrumOfRows(self.engine, rows, lengths, values), rows


def _lengths(block: Array) -> Array:
    return np.sqrt(np.einsum("ij,ij->i", block, block))[:, None]


def _fix_signs(engine: Engine, vectors: RowMatrix, values: Array) -> Spectrum:
    """Columns multiplied by ±1 such that hᵀq > 0."""
    inner = engine.gram(engine.random(vectors.shape[0], 1, 0), vectors)[0]
    sign = np.where(inner < 0, -1, 1).astype(np.float32)
    return Spectrum(engine.map_rows(lambda block: block * sign, vectors), values)


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
