"""Rows of X and of components: preparation and normalisation.

    row        x = (x − min x) / Σ(x − min x)      the minimum only if any entry of X is negative
    counts     x = x w / Σ x w                     w_j = √log((n + 1) / rows that have j): rare words say more
    standard   x = (x − mean) / deviation          by columns
    bins       x_jq = 1/k if x_j is in the q-th range   k · 8 columns for k numbers; ranges end at quantiles
    unit       x = x / ‖x‖₂
    soft       x = x / √(a ‖x‖² + (1 − a) r²)     a = 0.2, r² the mean of ‖x‖²: rows near the mean stay short

A row of zeros stays zero in all. A number of a table is two features, u and 1 − u with u = ½ + (x − mean) / (6 sd), both
zero where it is missing (`Numbers`); a missing number is in the last range, which no other number of its column is in then, and
a number that a node of another type has not is in none.
Dense rows go through compiled loops: a row is finished while it is in the cache, where numpy would walk over the whole block
four times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import null_space

from slimg.engine.base import Array, Engine, RowMatrix
from slimg.engine.blas import matmul
from slimg.engine.kernels import SUMS, compiled

Rows = Any
"""A block of a row matrix: a numpy array or scipy CSR."""


NORMALIZATIONS = ("auto", "row", "standard", "bins", None)
"""How X may be prepared; "auto" takes "row" for counts, whose columns it weights, and "standard" for measured numbers."""
BINS = 8
"""Ranges of a column of numbers; a column with fewer distinct values has one for each, and the others are empty."""
SAMPLE = 1 << 16
"""Rows, evenly spaced, that quantiles are taken from."""
ROUNDING = 1e-5
"""Length up to which a row of features is rounding, as a share of the root mean square of their lengths before the mean is
subtracted. Rows that equal the mean in exact arithmetic have up to 6e-7 of it (320 columns, 30,000 neighbours), so that the
direction of a row that stays is known to a few percent; on seven published graphs no row is shorter than 6e-2."""
SPARSE = 0.5
"""Share of entries that are not zero below which non-negative features count as counts."""


UNIT, SOFT = (1.0, 0.0), 0.2
"""What ‖x‖² counts for in the square of what a row is divided by, and what is added; a of soft rows."""
MOST = float(np.finfo(np.float32).max)
"""Of float32: one over the sum of a row near 1e-44 is larger."""


class Numbers(NamedTuple):
    """Features that are numbers of a table: u beside 1 − u.

    Attributes
    ----------
    names : tuple of k str
        Of the columns of the table.
    places : int64 array of shape (k, 3)
        Of u, of 1 − u and of the missing among the features; −1 where none was missing.
    mean, scale : arrays of shape (k,)
        x = mean + scale (u − ½).
    """

    names: tuple[str, ...]
    places: Array
    mean: Array
    scale: Array


def numbers_of(reading: Mapping[str, Any] | None) -> Numbers | None:
    """Find the features that are numbers of a table.

    Parameters
    ----------
    reading : mapping or None
        How a graph was read (`Graph.reading`).

    Returns
    -------
    Numbers or None
        None for a graph that was not read from a table, whose features are as they are.
    """
    if not reading or not reading.get("plan"):
        return None
    from slimg.io.features import FeaturePlan  # loads pandas, which a graph from arrays does without

    found = FeaturePlan.from_dict(reading["plan"]).numbers
    names, places, mean, spread = zip(*found, strict=True) if found else ((),) * 4
    return Numbers(names, np.array(places, np.int64).reshape(-1, 3), np.array(mean, np.float64), 6 * np.array(spread, np.float64))


class Preparation(NamedTuple):
    """What is done to X, so that rows that come later are prepared alike.

    Attributes
    ----------
    normalize : "row", "standard", "bins" or None
        As it was decided.
    shifted : bool
        Whether the minimum of a row is subtracted before it is divided by its sum.
    mean, scale : arrays of shape (d,) or None
        Of the columns, for "standard".
    edges : array of shape (k, 7), float32, or None
        Where ranges begin after the first, for "bins"; infinite where a column has fewer of them.
    places : int64 array of shape (k, 3), or None
        Of u, 1 − u and the missing of numbers of a table, for "bins"; None if every feature is a number.
    weights : array of shape (d,), float32, or None
        w, for "row" of counts.
    """

    normalize: str | None = "row"
    shifted: bool = False
    mean: Array | None = None
    scale: Array | None = None
    edges: Array | None = None
    places: Array | None = None
    weights: Array | None = None

    @property
    def length(self) -> float:
        """Root mean square of the lengths of standardised rows, whose sums may cancel; 0 for others, which are not negative."""
        return 0.0 if self.scale is None else float(np.sqrt(np.count_nonzero(np.isfinite(self.scale))))


def uneven_numbers(block: Array, places: Array) -> Array:
    """The number of rows in which the features of some number add up to something else than those of the first."""
    sums = matmul(block, _members(places, block.shape[1]))
    return np.array(np.count_nonzero((np.abs(sums - sums[:, :1]) > 1e-5 * sums[:, :1]).any(axis=1)), np.float64)


def basis_of_numbers(places: Array, d: int) -> Array:
    """An orthonormal basis (d × l) of the rows in which the features of every number of a table add up to the same.

    With k ≥ 2 numbers of two features, and m other features, l = k + 1 + m: what the differences of sums are orthogonal to.

    Examples
    --------
    >>> basis = basis_of_numbers(np.array([[0, 1, -1], [2, 3, 4]]), 6)
    >>> x = np.array([0.3, 0.2, 0.1, 0.1, 0.3, 7])  # 0.3 + 0.2 = 0.1 + 0.1 + 0.3
    >>> basis.shape, (x @ basis @ basis.T).round(3)
    ((6, 5), array([0.3, 0.2, 0.1, 0.1, 0.3, 7. ]))
    """
    member = _members(places, d)
    return null_space((member[:, 1:] - member[:, :1]).T).astype(np.float32)


def _members(places: Array, d: int) -> Array:
    """Which of d features are of which number (d × k)."""
    return (places == np.arange(d)[:, None, None]).any(axis=2).astype(np.float32)


def prepare_features(engine: Engine, features: Rows, normalize: str | None = "row", numbers: Numbers | None = None) -> RowMatrix:
    """X as a row matrix, prepared; a sparse X without negatives stays sparse.

    Parameters
    ----------
    engine : Engine
    features : array or CSR matrix of shape (n, d)
    normalize : "auto", "row", "standard", "bins" or None, default="row"
        "row" makes rows sum to one, "standard" gives columns mean 0 and variance 1, "bins" has eight columns for the ranges
        of each, None takes them as they are.
    numbers : Numbers, default=None
        Features that "bins" is made of; by default all.

    Returns
    -------
    RowMatrix of shape (n, d), or (n, 8 k) for "bins" of k numbers
    """
    return prepared_matrix(engine, features, preparation_of(engine, engine.row_matrix(features), normalize, numbers))


def prepared_matrix(engine: Engine, features: Rows, how: Preparation) -> RowMatrix:
    """X as a row matrix, prepared."""
    row_matrix = engine.row_matrix(features)
    return row_matrix if how.normalize is None else engine.map_rows(lambda block: prepared_rows(block, how), row_matrix)


def preparation_of(
    engine: Engine, row_matrix: RowMatrix, normalize: str | None = "row", numbers: Numbers | None = None
) -> Preparation:
    """What is to be done to the rows of X, so that rows that come later are prepared alike."""
    if normalize == "auto":
        normalize, several = _kind_of(engine, row_matrix)
        if several:
            return Preparation(normalize, weights=_weights_of_words(engine, row_matrix))
    if normalize == "bins":
        sample = np.unique(np.linspace(0, row_matrix.shape[0] - 1, SAMPLE).astype(np.int64))
        places = None if numbers is None else numbers.places
        edges = _quantile_edges(numbers_in(engine.rows(row_matrix, sample), places))
        return Preparation(normalize, edges=edges, places=places)
    if normalize == "standard":
        n = row_matrix.shape[0]
        total, square = engine.sum_rows(_moments, row_matrix) / n
        scale = np.sqrt(np.maximum(square - total**2, 0))
        flat = scale <= 1e-6 * np.sqrt(square)  # a constant column says nothing
        return Preparation(normalize, False, total, np.where(flat, np.inf, scale))
    return Preparation(normalize, normalize is not None and bool(engine.sum_rows(_has_negative, row_matrix)))


def _kind_of(engine: Engine, row_matrix: RowMatrix) -> tuple[str, bool]:
    """"row" for counts, a bag of words, or rows of equal sums: not negative, and whole, sparse, or with one sum; and whether X is
    sparse counts of which some are above one."""
    negative, fractions, nonzero, several, sums, squares = engine.sum_rows(_kinds_of_entries, row_matrix)
    n, d = row_matrix.shape
    spread, sparse_ = squares / n - (sums / n) ** 2, nonzero < SPARSE * n * d
    even = spread <= 1e-6 * (sums / n) ** 2
    counts = negative == 0 and bool(fractions == 0 or sparse_ or even)
    return ("row", bool(fractions == 0 and sparse_ and several)) if counts else ("standard", False)


def _weights_of_words(engine: Engine, row_matrix: RowMatrix) -> Array:
    """w of the columns of X, above zero even for a word that each row has; one that no row has is as one that one row has."""
    rows_with = engine.sum_rows(_nonzero_by_column, row_matrix)
    return np.sqrt(np.log((row_matrix.shape[0] + 1) / np.maximum(rows_with, 1))).astype(np.float32)


def prepared_rows(block: Rows, how: Preparation) -> Rows:
    """Rows of X, prepared."""
    if how.normalize is None:
        return block
    if how.edges is not None:
        return in_bins(numbers_in(block, how.places), how.edges)
    if how.mean is not None and how.scale is not None:
        rows = dense_rows(block)
        return ((rows - how.mean) / how.scale).astype(np.result_type(rows, np.float32), copy=False)
    if how.weights is not None:
        block = _weighted(block, how.weights)
    if sparse.issparse(block) and not how.shifted:
        total = _row_sums(block)
        scale = np.divide(1, total, out=np.zeros_like(total), where=total > 0)
        if scale.max(initial=0) > MOST:
            return _scaled(block.astype(np.float64), scale).astype(np.float32)
        return _scaled(block, scale.astype(np.float32))
    rows = dense_rows(block)
    out = np.empty(rows.shape, np.result_type(rows, np.float32))
    _to_sum_one(rows, how.shifted, out)
    return out


def unit_rows(block: Array, floor: float = 0.0, scaling: tuple[float, float] = UNIT) -> Array:
    """Each row divided by its length, or by `lengths_of`; rows no longer than ``floor`` become zero, and are not blown up."""
    out = np.empty_like(block)
    _to_length_one(block, block.dtype.type(floor), *map(block.dtype.type, scaling), out)
    return out


def lengths_of(rows: Array, scaling: tuple[float, float] = UNIT) -> Array:
    """What rows are divided by: √(a ‖x‖² + b), their length for (1, 0)."""
    return np.sqrt(scaling[0] * np.einsum("ij,ij->i", rows, rows) + scaling[1])


def without_noise(block: Array, floor: float) -> Array:
    """Rows no longer than ``floor`` become zero."""
    return block * (np.einsum("ij,ij->i", block, block) > floor**2)[:, None]


def rounding_of(singular_values: Array) -> float:
    """Length up to which a row of U·Σ is only rounding."""
    return 1e-6 * float(np.linalg.norm(singular_values.astype(np.float32)))


def dense_rows(block: Rows) -> Array:
    """A block of a row matrix as an array.

    Returns
    -------
    array of shape (rows, k)
        The block itself where it is dense.
    """
    return block.toarray() if sparse.issparse(block) else block


def format_value(value: float) -> str:
    """A number of a table as text, with four digits or more: ``0.02``, ``344.8``, ``12,340``."""
    return f"{value:.4g}" if abs(value) < 10_000 else f"{value:,.0f}"


def range_names(names: Sequence[str], edges: Array) -> tuple[str, ...]:
    """Name the columns of "bins": ``age below 3``, ``age 3 to 7``, ``age 7 or more``, ``age missing``; k · 8 names."""
    found = []
    for name, row in zip(names, edges, strict=True):
        ends = [format_value(edge) for edge in row if np.isfinite(edge)]
        between = [f"{name} {a} to {b}" for a, b in pairwise(ends)]
        told = [f"{name} below {ends[0]}", *between, f"{name} {ends[-1]} or more"] if ends else [f"{name}, any"]
        rest = BINS - len(told)
        found += told + [f"{name}, none"] * (rest - 1) + [f"{name} missing"] * (rest > 0)
    return tuple(found)


def numbers_in(block: Rows, places: Array | None) -> Array:
    """The numbers of some rows (rows × k): all features, or u, infinite where it is missing, NaN where a node has none."""
    if places is None:
        return dense_rows(block)
    high, low, missing = (dense_rows(block[:, place]) for place in places.T)
    missing = (missing > 0) & (places[:, 2] >= 0)
    return np.where(missing, np.inf, np.where(high + low > 0, high, np.nan))


def _quantile_edges(rows: Array) -> Array:
    """Where the ranges of each column begin after the first (k × 7): at its distinct quantiles; one less with missing ones."""
    edges = np.full((rows.shape[1], BINS - 1), np.inf, np.float32)
    for column, found in zip(rows.T, edges, strict=True):
        known = column[np.isfinite(column)]
        ranges = BINS - bool(np.isinf(column).any())
        values = np.unique(known)
        if len(values) > ranges:
            values = np.unique(np.quantile(known, np.arange(ranges) / ranges, method="averaged_inverted_cdf"))
        found[: max(len(values) - 1, 0)] = values[1:]
    return edges


def in_bins(rows: Array, edges: Array) -> Rows:
    """1/k in the column of the range that each entry is in (rows × k · 8), CSR; none for NaN."""
    m, d = rows.shape
    columns, there = np.empty((m, d), np.int32), ~np.isnan(rows)
    for j in range(d):
        columns[:, j] = np.searchsorted(edges[j], rows[:, j], "right") + j * BINS
    indptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    entries = np.full(indptr[-1], 1 / max(d, 1), np.float32)
    return sparse.csr_matrix((entries, columns[there], indptr), (m, d * BINS))


def _kinds_of_entries(block: Rows) -> Array:
    """Counts of entries: negative, fractional, not zero, above one; the sum of the rows' sums, and of their squares."""
    entries = np.asarray(block.data if sparse.issparse(block) else block)
    sums = _row_sums(block)
    counts = [np.count_nonzero(found) for found in (entries < 0, entries != np.floor(entries), entries, entries > 1)]
    return np.array([*counts, sums.sum(), np.square(sums).sum()], np.float64)


def _nonzero_by_column(block: Rows) -> Array:
    columns = block.indices[block.data != 0] if sparse.issparse(block) else np.nonzero(block)[1]
    return np.bincount(columns, minlength=block.shape[1]).astype(np.float64)


def _weighted(block: Rows, weights: Array) -> Rows:
    """Columns times w."""
    if not sparse.issparse(block):
        return block * weights
    return type(block)((block.data * weights[block.indices], block.indices, block.indptr), block.shape)


def _scaled(block: Rows, scale: Array) -> Rows:
    """Rows of a sparse block times their factors."""
    return type(block)((block.data * np.repeat(scale, np.diff(block.indptr)), block.indices, block.indptr), block.shape)


def _row_sums(block: Rows) -> Array:
    """Sums of rows in float64; scipy adds sparse entries in float32, in which those near 1e38 overflow."""
    with np.errstate(over="ignore"):
        sums = np.asarray(block.sum(axis=1, dtype=np.float64)).ravel()
    return sums if np.isfinite(sums).all() else np.asarray(block.astype(np.float64).sum(axis=1)).ravel()


def _moments(block: Rows) -> Array:
    """Column sums of X and of its squares (2 × d)."""
    rows = dense_rows(block).astype(np.float64)
    return np.stack([rows.sum(axis=0), np.square(rows).sum(axis=0)])


def _has_negative(block: Rows) -> Array:
    entries = np.asarray(block.data if sparse.issparse(block) else block)
    return np.asarray(entries.min(initial=0.0) < 0)


@compiled(fastmath=SUMS)
def _to_sum_one(rows, shifted, out):
    zero = out.dtype.type(0)
    for i in range(len(rows)):
        least, total = zero, 0.0
        if shifted:
            least = rows[i, 0]
            for j in range(rows.shape[1]):
                least = min(least, rows[i, j])
        for j in range(rows.shape[1]):
            out[i, j] = rows[i, j] - least
            total += np.float64(out[i, j])
        wide = 1 / total if total > 0 else 0.0
        scale = out.dtype.type(min(wide, MOST))
        for j in range(rows.shape[1]):
            out[i, j] = out[i, j] * scale if wide <= MOST else np.float64(out[i, j]) * wide


@compiled(fastmath=SUMS)
def _to_length_one(rows, floor, share, added, out):
    one, zero = rows.dtype.type(1), rows.dtype.type(0)
    for i in range(len(rows)):
        square = zero
        for j in range(rows.shape[1]):
            square += rows[i, j] * rows[i, j]
        scale = one / np.sqrt(share * square + added) if np.sqrt(square) > floor else zero
        for j in range(rows.shape[1]):
            out[i, j] = rows[i, j] * scale
