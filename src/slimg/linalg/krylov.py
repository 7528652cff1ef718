"""Leading eigenpairs, by magnitude, of a symmetric operator A (n × n): block Lanczos with thick restarts.

With Q = [Q₁ … Q_s] orthonormal (n × m) and T = QᵀAQ, each step appends a block, an orthonormal basis of what A Q_s has
outside of Q:

    A Q_s = Q H + R,        H = QᵀA Q_s the new columns of T,        Q_{s+1} spans R

Ritz pairs (θ, Q y), with T y = θ y, have the residual ‖A Q y − θ Q y‖ = ‖R y_s‖, y_s the last rows of y: known without
a pass over A. The basis grows until the wanted pairs have residuals below tolerance · |θ|; at its limit the leading
Ritz vectors replace it, and it grows on from there (after `RESTARTS` of these the pairs are returned as they are).
When R vanishes, as it does for eigenvalues of higher multiplicity than a block is wide, a random block takes its place,
and the search ends when R has vanished again without finding more. Signs are fixed by a random vector h: hᵀq > 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from slimg.engine.base import Array, Engine, RowMatrix
from slimg.engine.blas import matmul, one_thread, self_gram, tridiagonalise

GROWTH = 1.03, 1.25
"""Least and most that the basis grows from one solution of the small eigenproblem, which costs m³, to the next."""
RESIDUALS_FALL = 0.4
"""Residuals fall about as m^(-1/this) with the basis, so it must grow by their excess to this power."""
TOGETHER = 8
"""Narrow blocks that are joined to one: products with 8 · 64 columns take half the time of 8 products with 64."""
RESTARTS = 50
"""How often the basis may be replaced by Ritz vectors."""
SINGLE_FROM = 512
"""Size of T from which float32 is enough: its rounding is that of the blocks."""
ROUNDING = 1e-6
"""Size, relative to A, of what is float32 rounding."""
INDEPENDENT = 1e-4
"""Least over largest eigenvalue of RᵀR from which R is normalised in the pass that forms it."""

SKETCHED_BEYOND = 1 << 26
"""Entries of the vectors, n · r (256 MiB), beyond which sketched Lanczos is used: restarts would cost too much."""
COLUMNS_PER_PAIR = 4.5
"""Columns that converged Lanczos multiplies by A for each eigenpair, measured on real graphs."""


@dataclass(frozen=True)
class RankRule:
    """How many singular values to keep:

        r = the largest rank with  σ₁² + … + σ_r²  <  target,   at least 1, at most ``cap``

    With target = 0.9 ‖A‖_F² this is the paper's energy rule; with target = ∞ it is a fixed rank.

    Attributes
    ----------
    target : float
        Sum of squares that the kept singular values stay below.
    cap : int
        The largest rank.
    """

    target: float
    cap: int

    def rank(self, singular_values: Array) -> int:
        """r for singular values in descending order; those that are missing must not matter."""
        held = np.cumsum(np.square(singular_values, dtype=np.float64))
        return max(1, min(int(np.searchsorted(held, self.target, side="left")), self.cap))

    def is_decided(self, count: float, squared_sum: float) -> bool:
        """Whether the ``count`` leading values, with that sum of squares, are enough to know r."""
        return count >= self.cap or squared_sum >= self.target


class LanczosLayout(NamedTuple):
    """Sizes of a block Lanczos decomposition.

    Attributes
    ----------
    width : int
        Columns of a block.
    basis : int
        Columns of the basis that is held.
    columns : float
        Columns that are multiplied by A: as many as convergence takes on average, or exactly those of the sketched basis
        except its last block.
    is_sketched : bool
        Whether the basis has a fixed size (`slimg.linalg.sketched_lanczos`) instead of growing until the pairs converge.

    Examples
    --------
    >>> from slimg.linalg import LanczosLayout
    >>> LanczosLayout(width=8, basis=64, columns=120.0, is_sketched=False).basis
    64
    """

    width: int
    basis: int
    columns: float
    is_sketched: bool

    @classmethod
    def converged(cls, rank: int) -> LanczosLayout:
        """Lay out `leading_eigenpairs`: blocks of 16 to 64 columns, twice as many columns as pairs.

        Parameters
        ----------
        rank : int
            The number of eigenpairs.

        Returns
        -------
        LanczosLayout
            Its sizes.
        """
        width = int(np.clip(-(-rank // 128) * 16, 16, 64))
        return cls(width, 2 * rank + 4 * width, COLUMNS_PER_PAIR * rank, False)

    @classmethod
    def sketched(cls, rank: int) -> LanczosLayout:
        """Lay out sketched Lanczos: at least four blocks of at least 32 columns, 5/4 as many columns as pairs.

        Parameters
        ----------
        rank : int
            The number of eigenpairs.

        Returns
        -------
        LanczosLayout
            Its sizes.
        """
        width = max(32, cls.converged(rank).width)
        basis = width * max(4, -(-5 * rank // (4 * width)))
        return cls(width, basis, basis - width, True)


def lanczos_layout(nodes: int, rank: int) -> LanczosLayout:
    """Choose between converged and sketched Lanczos, and the sizes of either.

    Parameters
    ----------
    nodes : int
        Rows of A.
    rank : int
        Eigenpairs that may be kept, the cap of the `RankRule`.

    Returns
    -------
    LanczosLayout
        Block width, columns of the basis, columns multiplied by A, and whether it is sketched.

    Examples
    --------
    >>> from slimg.linalg import lanczos_layout
    >>> lanczos_layout(20_000, 500)
    LanczosLayout(width=64, basis=1256, columns=2250.0, is_sketched=False)
    >>> lanczos_layout(2_449_029, 100)
    LanczosLayout(width=32, basis=128, columns=96, is_sketched=True)
    """
    return LanczosLayout.sketched(rank) if nodes * rank > SKETCHED_BEYOND else LanczosLayout.converged(rank)


def leading_eigenpairs(
    engine: Engine,
    apply: Callable[[RowMatrix], RowMatrix],
    n: int,
    rule: RankRule,
    tolerance: float = 1e-2,
    random_state: int = 0,
) -> tuple[Array, RowMatrix]:
    """The leading eigenpairs of a symmetric operator; about 2 cap columns are held.

    Parameters
    ----------
    engine : Engine
        Where the row matrices live.
    apply : callable
        The operator: row matrix (n × k) → row matrix (n × k).
    n : int
        Rows of the operator.
    rule : RankRule
        How many pairs to return.
    tolerance : float, default 0.01
        Bound of ‖A q − λ q‖ / |λ|.
    random_state : int, default 0
        Seed of the first block.

    Returns
    -------
    values : ndarray of shape (r,), float64
        Eigenvalues by falling magnitude.
    vectors : RowMatrix of shape (n, r)
        Orthonormal eigenvectors q with hᵀq > 0.
    """
    width, basis, *_ = LanczosLayout.converged(rule.cap)
    limit, restarts = min(n, basis), RESTARTS
    with one_thread():
        search = _Search(engine, apply, n, min(width, n), random_state)
        due, held_before = np.nan, np.nan
        while True:
            search.grow()
            complete, full = search.size >= n, search.size + width > limit
            decided = rule.is_decided(search.size / 1.5, search.energy)
            if decided and np.isnan(due):  # by energy: then all of the basis is needed to hold it, and no pair is good yet
                due = search.size * (1.0 if search.size >= 1.5 * rule.cap else GROWTH[1])
            if complete or full or search.exhausted or search.size >= due:
                rank, ritz = search.ritz(rule, spare=width if full else 0)
                values, held = ritz.values[:rank], float(np.square(ritz.values[:rank]).sum())
                if search.exhausted:
                    done, held_before = decided and held <= (1 + ROUNDING) * held_before, held
                else:
                    small = tolerance * np.abs(values) + ROUNDING * np.abs(values[0])
                    excess = float((ritz.residuals[:rank] / np.maximum(small, np.finfo(float).tiny)).max())
                    done = decided and np.isnan(held_before) and excess <= 1
                    due = search.size * float(np.clip(excess**RESIDUALS_FALL, *GROWTH))
                if complete or done or (full and not restarts):
                    return values, search.vectors(search.fix_signs(ritz.coordinates[:, :rank]))
                if full:
                    search.restart(ritz)
                    restarts -= 1


class Ritz(NamedTuple):
    """Leading values by falling magnitude, coordinates of the vectors in the basis (m × k), and residuals."""

    values: Array
    coordinates: Array
    residuals: Array


class _Search:
    """The state of the iteration: the blocks of Q, T, and the block that comes next."""

    def __init__(self, engine: Engine, apply: Callable[[RowMatrix], RowMatrix], n: int, width: int, random_state: int):
        self._engine, self._apply, self._n, self._width = engine, apply, n, width
        self._seed = random_state
        self._basis: list[RowMatrix] = []
        self._small = np.zeros((0, 0))
        start = apply(engine.random(n, width, random_state))
        self._next = orthonormal(engine, start, engine.gram(start), 0.0)
        self._gram = np.zeros((0, 0))

    @property
    def size(self) -> int:
        return len(self._small)

    @property
    def exhausted(self) -> bool:
        """Whether A Q has nothing outside of Q."""
        return self._next.shape[1] == 0

    @property
    def energy(self) -> float:
        """Σθ² over all Ritz values, without computing them."""
        return float(np.square(self._small).sum())

    def grow(self) -> None:
        """Append a block to Q and its columns to T; find the next.

        A Q_s is freed of the last two blocks, where exact arithmetic has all that it has in Q, then of what rounding
        has left in all of them.
        """
        self._basis.append(self._fresh() if self.exhausted else self._next)
        self._join()
        image = self._apply(self._basis[-1])
        local = self._engine.sum_rows(project, image, *self._basis[-2:])
        far, square = self._rounding(image, local)
        self._gram = square - far.T @ far
        columns = far.copy()
        columns[-len(local) :] += local
        own = columns[self.size :]
        self._small = bordered(self._small, np.vstack([columns[: self.size], (own + own.T) / 2]))
        values, vectors = np.linalg.eigh(self._gram)
        if values[0] > max(INDEPENDENT * values[-1], (10 * ROUNDING) ** 2 * np.square(local).sum()):
            self._next = _polished(self._engine, self._without(image, local, far, factor=vectors / np.sqrt(values)))
        else:
            self._next = self._reorthogonalize(image, columns)

    def _join(self) -> None:
        """Make the narrow blocks before the last two one, once they are `TOGETHER`."""
        narrow = self._basis[-2 - TOGETHER : -2]
        if len(narrow) == TOGETHER and narrow[0].shape[1] <= self._width:
            self._basis[-2 - TOGETHER : -2] = [self._engine.map_rows(lambda *blocks: np.hstack(blocks), *narrow)]

    def _reorthogonalize(self, image: RowMatrix, columns: Array) -> RowMatrix:
        """The next block when what is left of the image is small or nearly dependent, so that rounding shows."""
        remainder = self._without(image, columns)
        self._gram = self._engine.gram(remainder)
        scale = np.sqrt(np.square(self._small).sum(axis=0).max())
        return self._outside(orthonormal(self._engine, remainder, self._gram, ROUNDING * scale))

    def ritz(self, rule: RankRule, spare: int) -> tuple[int, Ritz]:
        """The rank by the rule, and that many pairs and some to spare."""
        rank, values, coordinates = small_eigenpairs(self._small, rule, spare)
        last = coordinates[-len(self._gram) :].astype(np.float64)
        residuals = np.sqrt(np.maximum(np.einsum("ij,ij->j", last, matmul(self._gram, last)), 0))
        return rank, Ritz(values, coordinates, residuals)

    def fix_signs(self, coordinates: Array) -> Array:
        """Coordinates of ±q such that hᵀq > 0."""
        inner = self._coordinates(self._engine.random(self._n, 1, 0))[:, 0] @ coordinates
        return coordinates * np.where(inner < 0, -1, 1).astype(coordinates.dtype)

    def vectors(self, coordinates: Array) -> RowMatrix:
        """Q · coordinates."""
        return combine_basis(self._engine, self._basis, coordinates)

    def restart(self, ritz: Ritz) -> None:
        """Replace the basis by the Ritz vectors; the next block stays as it is."""
        self._basis = [self.vectors(ritz.coordinates)]
        self._small = np.diag(ritz.values)

    def _fresh(self) -> RowMatrix:
        """Random columns outside of Q."""
        self._seed += 1
        engine = self._engine
        block = engine.random(self._n, min(self._width, self._n - self.size), self._seed)
        return self._outside(orthonormal(engine, block, engine.gram(block), 0.0))

    def _outside(self, block: RowMatrix) -> RowMatrix:
        """An orthonormal block freed of what it has inside of Q, twice if need be; directions mostly inside are dropped."""
        for _ in range(3):
            inside = self._coordinates(block) if block.shape[1] else np.zeros(0)
            if not inside.size or np.abs(inside).max() <= ROUNDING:
                break
            rest = self._without(block, inside)
            block = orthonormal(self._engine, rest, self._engine.gram(rest), 0.1)
        return block

    def _coordinates(self, row_matrix: RowMatrix) -> Array:
        """Qᵀ row matrix, in one pass: float32 products of row blocks, added in float64."""
        return self._engine.sum_rows(project, row_matrix, *self._basis)

    def _rounding(self, row_matrix: RowMatrix, local: Array) -> tuple[Array, Array]:
        """Qᵀ rest and restᵀ rest, where rest is what the last two blocks leave of row matrix, in one pass."""
        parts = split(local, self._basis)

        def moments(rows: Array, *blocks: Array) -> Array:
            rest = subtract_projection(rows, blocks, parts)
            return project(rest, *blocks, rest)

        both = self._engine.sum_rows(moments, row_matrix, *self._basis)
        return both[: -row_matrix.shape[1]], both[-row_matrix.shape[1] :]

    def _without(self, row_matrix: RowMatrix, *coordinates: Array, factor: Array | None = None) -> RowMatrix:
        """(row matrix − Q · coordinates) · factor, in one pass; several coordinates are taken away one after the other."""
        steps = [split(each, self._basis) for each in coordinates]
        small = None if factor is None else np.ascontiguousarray(factor, np.float32)

        def subtract(rows: Array, *blocks: Array) -> Array:
            for parts in steps:
                rows = subtract_projection(rows, blocks, parts)
            return rows if small is None else matmul(rows, small)

        return self._engine.map_rows(subtract, row_matrix, *self._basis)


def project(rows: Array, *blocks: Array) -> Array:
    """Qᵀ rows for one block of rows."""
    return np.vstack([matmul(block.T, rows) for block in blocks])


def subtract_projection(rows: Array, blocks: Sequence[Array], parts: list[Array]) -> Array:
    """rows − Q · coordinates for one block of rows, the coordinates in parts for the last blocks."""
    rest = rows.copy()
    for block, part in zip(blocks[-len(parts) :], parts, strict=True):
        matmul(block, part, out=rest, alpha=-1.0, beta=1.0)
    return rest


def split(coordinates: Array, basis: list[RowMatrix]) -> list[Array]:
    """The rows of coordinates that belong to each of the last blocks of the basis, as many as they cover."""
    parts, stop = [], len(coordinates)
    for block in reversed(basis):
        if stop:
            parts.append(np.ascontiguousarray(coordinates[stop - block.shape[1] : stop], np.float32))
            stop -= block.shape[1]
    return parts[::-1]


def bordered(small: Array, columns: Array) -> Array:
    """A symmetric matrix with new columns, and their transposes as rows."""
    old, size = len(small), len(columns)
    grown = np.zeros((size, size))
    grown[:old, :old] = small
    grown[:, old:] = columns
    grown[old:, :old] = columns[:old].T
    return grown


def small_eigenpairs(small: Array, rule: RankRule, spare: int = 0) -> tuple[int, Array, Array]:
    """Rank by the rule, and that many eigenpairs (and ``spare`` more) of a symmetric matrix, by falling magnitude."""
    form = tridiagonalise(small.astype(np.float32 if len(small) > SINGLE_FROM else np.float64))
    values = form.eigenvalues()
    order = np.argsort(-np.abs(values), kind="stable")
    rank = rule.rank(np.abs(values[order]))
    values, vectors = form.eigenpairs(order[: rank + spare])
    return rank, values.astype(np.float64), vectors


def combine_basis(engine: Engine, basis: list[RowMatrix], coordinates: Array) -> RowMatrix:
    """Q · coordinates (n × k) for the blocks Q of a basis, in one pass over them."""
    parts = split(coordinates, basis)

    def combined(*blocks: Array) -> Array:
        out = matmul(blocks[0], parts[0])
        for block, part in zip(blocks[1:], parts[1:], strict=True):
            matmul(block, part, out=out, beta=1.0)
        return out

    return engine.map_rows(combined, *basis)


def _polished(engine: Engine, row_matrix: RowMatrix) -> RowMatrix:
    """A nearly orthonormal block made orthonormal to rounding, if it is not."""
    gram = engine.sum_rows(self_gram, row_matrix)
    if np.abs(gram - np.eye(len(gram))).max() <= 10 * ROUNDING:
        return row_matrix
    values, vectors = np.linalg.eigh(gram)
    return engine.combine(row_matrix, vectors / np.sqrt(values))


def orthonormal(engine: Engine, row_matrix: RowMatrix, gram: Array, floor: float) -> RowMatrix:
    """An orthonormal basis of the columns, twice through the Gram matrix, without directions no longer than ``floor``."""
    for _ in range(2):
        values, vectors = np.linalg.eigh(gram)
        keep = values > max(floor**2, ROUNDING**2 * max(values[-1], 0.0))
        row_matrix = engine.combine(row_matrix, vectors[:, keep] / np.sqrt(values[keep]))
        if not keep.any():
            return row_matrix
        gram, floor = engine.gram(row_matrix), 0.0
    return row_matrix
