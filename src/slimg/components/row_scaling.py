"""Rows of X and of components: preparation and normalisation.

    prepared x = (x − min x) / Σ(x − min x)        the minimum only if any entry of X is negative
    unit     x = x / ‖x‖₂

A row of zeros stays zero in both. Dense rows go through compiled loops: a row is finished while it is in the cache, where
numpy would walk over the whole block four times.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from slimg.engine.base import Array, Engine, RowMatrix
from slimg.engine.kernels import SUMS, compiled

Rows = Any
"""A block of a row matrix: a numpy array or scipy CSR."""


class Preparation(NamedTuple):
    """What is done to each row of X: ``normalize`` as given; ``shifted`` if the minimum is subtracted first."""

    normalize: str | None = "row"
    shifted: bool = False


def prepare_features(engine: Engine, features: Rows, normalize: str | None = "row") -> RowMatrix:
    """X as a row matrix, prepared; a sparse X without negatives stays sparse.

    Parameters
    ----------
    engine : Engine
    features : array or CSR matrix of shape (n, d)
    normalize : "row" or None, default="row"
        "row" makes rows sum to one; None takes them as they are.

    Returns
    -------
    RowMatrix of shape (n, d)
    """
    row_matrix = engine.row_matrix(features)
    how = preparation_of(engine, row_matrix, normalize)
    return row_matrix if normalize is None else engine.map_rows(lambda block: prepared_rows(block, how), row_matrix)


def preparation_of(engine: Engine, row_matrix: RowMatrix, normalize: str | None = "row") -> Preparation:
    """What is to be done to the rows of X, so that rows that come later are prepared alike."""
    return Preparation(normalize, normalize is not None and bool(engine.sum_rows(_has_negative, row_matrix)))


def prepared_rows(block: Rows, how: Preparation) -> Rows:
    """Rows of X, prepared."""
    if how.normalize is None:
        return block
    if sparse.issparse(block) and not how.shifted:
        total = np.asarray(block.sum(axis=1, dtype=np.float64)).ravel()
        return sparse.diags(np.divide(1, total, out=np.zeros_like(total), where=total > 0).astype(np.float32)) @ block
    rows = dense_rows(block)
    out = np.empty(rows.shape, np.result_type(rows, np.float32))
    _to_sum_one(rows, how.shifted, out)
    return out


def unit_rows(block: Array, floor: float = 0.0) -> Array:
    """Each row divided by its length; rows no longer than ``floor`` become zero, instead of being blown up."""
    out = np.empty_like(block)
    _to_length_one(block, block.dtype.type(floor), out)
    return out


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
        scale = out.dtype.type(1 / total) if total > 0 else zero
        for j in range(rows.shape[1]):
            out[i, j] *= scale


@compiled(fastmath=SUMS)
def _to_length_one(rows, floor, out):
    one, zero = rows.dtype.type(1), rows.dtype.type(0)
    for i in range(len(rows)):
        square = zero
        for j in range(rows.shape[1]):
            square += rows[i, j] * rows[i, j]
        length = np.sqrt(square)
        scale = one / length if length > floor else zero
        for j in range(rows.shape[1]):
            out[i, j] = rows[i, j] * scale
