"""Truncated SVD of a symmetric A, its rank chosen by energy.

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
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from slimg.engine.base import Array, Engine, RowMatrix, Scaling, Sparse
from slimg.engine.blas import Tridiagonal, one_thread, tridiagonalise
from slimg.graph.adjacency import Adjacency
from slimg.linalg.krylov import RankRule, lanczos_layout, leading_eigenpairs
from slimg.linalg.operators import Operator, Reduction, reduced

if TYPE_CHECKING:
    from slimg.linalg.sketched_lanczos import Pairs

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
    >>> from slimg.linalg import truncated_svd
    >>> spectrum = truncated_svd(MemoryEngine(), ring.adjacency, energy=0.9)
    >>> spectrum.vectors.shape[0]
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


def truncated_svd(
    engine: Engine,
    adjacency: Adjacency,
    *,
    energy: float = 0.9,
    max_rank: int = 2048,
    tolerance: float | None = None,
    random_state: int = 0,
) -> Spectrum:
    """Decompose a symmetric adjacency up to a share of its energy ‖A‖_F².

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
    Spectrum
        Eigenvalues (r,) and vectors (n × r).

    Examples
    --------
    A triangle has the eigenvalues 2, -1 and -1; 90 % of its energy is 5.4:

    >>> from slimg.engine import MemoryEngine
    >>> from slimg.graph.adjacency import Adjacency
    >>> from slimg.linalg import truncated_svd
    >>> triangle, _ = Adjacency.from_edges([0, 1, 2], [1, 2, 0], 3)
    >>> truncated_svd(MemoryEngine(threads=1), triangle).eigenvalues.round(3)
    array([ 2., -1.])
    """
    plan = plan_svd(engine, adjacency, energy=energy, max_rank=max_rank, tolerance=tolerance, random_state=random_state)
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
        Its ``expected_rank`` is known at once, its ``rank`` after ``prepare()``, the vectors after ``solve()``.

    Examples
    --------
    >>> from slimg import Graph
    >>> ring = Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")])
    >>> from slimg.engine import MemoryEngine
    >>> from slimg.linalg import plan_svd
    >>> type(plan_svd(MemoryEngine(), ring.adjacency)).__name__
    'DenseSVD'
    """
    rule = RankRule(energy * squared_norm(adjacency.weights, adjacency.nnz), min(max_rank, adjacency.n))
    if adjacency.nnz > REDUCE_AT_MOST:
        if lanczos_layout(adjacency.n, rule.cap).is_sketched:
            return SketchedSVD(engine, adjacency, rule, random_state)
        return KrylovSVD(engine, adjacency, None, rule, tolerance or TOLERANCES[1], random_state, adjacency)
    reduction = reduced(adjacency)
    size, matrix = len(reduction.parts[0]), _as_adjacency(reduction.matrix)
    is_fixed = np.isinf(rule.target)
    expected = rule.cap if is_fixed else int(min(rule.cap, 3 * rule.target**2 / _fourth_moment(engine, matrix)))
    if size <= (DENSE_FIXED if is_fixed else DENSE_ALWAYS) or (size <= DENSE_AT_MOST and expected > size / 6):
        return DenseSVD(engine, reduction, rule, expected)
    if lanczos_layout(len(matrix.indptr), rule.cap).is_sketched:
        return SketchedSVD(engine, adjacency, rule, random_state)
    tolerance = tolerance or TOLERANCES[size > DENSE_AT_MOST]
    return KrylovSVD(engine, matrix, reduction, rule, tolerance, random_state, adjacency, expected)


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

    n = len(out.indptr) - 1
    rule = RankRule(np.inf, min(rank, n))
    values, left = leading_eigenpairs(engine, apply, n, rule, TOLERANCES[n > DENSE_AT_MOST], random_state)
    count = int(np.count_nonzero(values > 1e-6 * max(values[0], 1e-30)))
    sigma = np.sqrt(values[:count])
    if count < len(values):
        left = engine.map_rows(lambda block: np.ascontiguousarray(block[:, :count]), left)
    inverse = (1 / sigma).astype(np.float32)
    (far,) = engine.products(into, left, [Scaling()])
    return sigma, left, engine.map_rows(lambda block: block * inverse, far, overwrite_input=True)


def operator_svd(engine: Engine, matrix: Operator, rank: int, random_state: int = 0) -> Spectrum:
    """The leading eigenpairs of a symmetric operator such as Ã_sym, a fixed number of them."""
    n = len(matrix.matrix.indptr) - 1
    rule, tolerance = RankRule(np.inf, min(rank, n)), TOLERANCES[n > DENSE_AT_MOST]
    values, vectors = leading_eigenpairs(engine, partial(matrix.apply, engine), n, rule, tolerance, random_state)
    return Spectrum(vectors, values)


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
    """A decomposition in steps: what to expect, then the rank (after `prepare`), then the vectors."""

    expected_rank: int
    rank: int
    _engine: Engine

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
        return spectrum, self._engine.map_rows(lambda block: unit(block * sigma, sigma), spectrum.vectors)


class DenseSVD(SVDPlan):
    """Part by part: all eigenvalues first, then vectors of the chosen ones.

    float32 is enough for parts beyond `SINGLE_BEYOND`: A is exact in it, and residuals stay near 1e-6 ‖A‖.
    """

    expected_rank: int
    rank: int

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
        return _fix_signs(self._engine, self._engine.row_matrix(vectors[:, order]), eigenvalues[order])


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


class KrylovSVD(SVDPlan):
    """The rank is known when the pairs are. Rows are A V, as new nodes have them: U Σ differs by the residuals, which may be
    longer than the row of a node that the leading vectors hardly reach."""

    expected_rank: int
    rank: int

    def __init__(
        self,
        engine: Engine,
        matrix: Sparse,
        reduction: Reduction | None,
        rule: RankRule,
        tolerance: float,
        random_state: int,
        adjacency: Sparse,
        expected: int | None = None,
    ):
        self._engine, self._matrix, self._reduction, self._rule = engine, matrix, reduction, rule
        self._tolerance, self._random_state, self._adjacency = tolerance, random_state, adjacency
        self.expected_rank = rule.cap if expected is None else expected

    def prepare(self) -> None:
        engine, matrix = self._engine, self._matrix
        apply = lambda block: engine.products(matrix, block, [Scaling()])[0]  # noqa: E731
        n = len(matrix.indptr) - 1
        self._pairs = leading_eigenpairs(engine, apply, n, self._rule, self._tolerance, self._random_state)
        self.rank = len(self._pairs[0])

    def solve(self) -> Spectrum:
        values, vectors = self._pairs
        del self._pairs  # a row matrix of n × r that is not needed twice
        if self._reduction is not None:
            rows = self._engine.rows(vectors, self._reduction.classes)
            scale = (1 / self._reduction.root_sizes[self._reduction.classes]).astype(np.float32)
            return _fix_signs(self._engine, self._engine.row_matrix(rows * scale[:, None]), values)
        return Spectrum(vectors, values)

    def solve_rows(self, unit: Finish) -> tuple[Spectrum, RowMatrix]:
        spectrum = self.solve()
        sign, sigma = np.sign(spectrum.eigenvalues).astype(np.float32), spectrum.singular_values.astype(np.float32)
        right = self._engine.map_rows(lambda block: block * sign, spectrum.vectors)
        (rows,) = self._engine.products(self._adjacency, right, [Scaling()])
        return spectrum, self._engine.map_rows(lambda block: unit(block, sigma), rows, overwrite_input=True)


class SketchedSVD(SVDPlan):
    """For large graphs. The vectors take as much memory as U·Σ and are seldom needed: rows and their lengths are kept."""

    expected_rank: int
    rank: int

    def __init__(self, engine: Engine, matrix: Sparse, rule: RankRule, random_state: int):
        self._engine, self._matrix, self._rule, self._random_state = engine, matrix, rule, random_state
        self.expected_rank = rule.cap

    def prepare(self) -> None:
        from slimg.linalg.sketched_lanczos import sketched_eigenpairs

        self._pairs = sketched_eigenpairs(self._engine, self._matrix, self._rule, self._random_state)
        self.rank = len(self._pairs.values)

    def solve(self) -> Spectrum:
        pairs = self._taken()
        return Spectrum(pairs.rows(np.ones(self.rank)), pairs.values)

    def solve_rows(self, unit: Finish) -> tuple[Spectrum, RowMatrix]:
        pairs = self._taken()
        values, sigma = pairs.values, np.abs(pairs.values)
        rows = pairs.rows(sigma)
        del pairs  # its basis is as large as the rows
        lengths = self._engine.map_rows(_lengths, rows)
        rows = self._engine.map_rows(lambda block: unit(block, sigma), rows, overwrite_input=True)
        return _SpectrumOfRows(self._engine, rows, lengths, values), rows

    def _taken(self) -> Pairs:
        """The pairs, of which no other reference is kept: their basis is large."""
        pairs = self._pairs
        del self._pairs
        return pairs


def _lengths(block: Array) -> Array:
    return np.sqrt(np.einsum("ij,ij->i", block, block))[:, None]


def _fix_signs(engine: Engine, vectors: RowMatrix, values: Array) -> Spectrum:
    """Columns multiplied by ±1 such that hᵀq > 0."""
    inner = engine.gram(engine.random(vectors.shape[0], 1, 0), vectors)[0]
    sign = np.where(inner < 0, -1, 1).astype(np.float32)
    return Spectrum(engine.map_rows(lambda block: block * sign, vectors), values)
