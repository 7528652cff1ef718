"""Rows of X and of components: preparation and normalisation.

    prepared x = (x − min x) / Σ(x − min x)        the minimum only if any entry of X is negative
    unit     x = x / ‖x‖₂

A row of zeros stays zero in both.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from slimg.engine.base import Array, Engine, Tall

Rows = Any
"""A block of a tall: a numpy array or scipy CSR."""


class Preparation(NamedTuple):
    """What is done to each row of X: ``normalize`` as given; ``shifted`` if the minimum is subtracted first."""

    normalize: str | None = "row"
    shifted: bool = False


def prepare_features(engine: Engine, features: Rows, normalize: str | None = "row") -> Tall:
    """X as a tall, its rows summing to one; ``normalize=None`` takes it as it is. A sparse X without negatives stays so."""
    tall = engine.tall(features)
    how = preparation_of(engine, tall, normalize)
    return tall if normalize is None else engine.map_rows(lambda block: prepared_rows(block, how), tall)


def preparation_of(engine: Engine, tall: Tall, normalize: str | None = "row") -> Preparation:
    """What is to be done to the rows of X, so that rows that come later are prepared alike."""
    return Preparation(normalize, normalize is not None and bool(engine.sum_rows(_has_negative, tall)))


def prepared_rows(block: Rows, how: Preparation) -> Rows:
    """Rows of X, prepared."""
    if how.normalize is None:
        return block
    return _to_sum_one(_above_minimum(dense_rows(block)) if how.shifted else block)


def unit_rows(block: Array, floor: float = 0.0) -> Array:
    """Each row divided by its length; rows no longer than ``floor`` become zero, instead of being blown up."""
    length = np.sqrt(np.einsum("ij,ij->i", block, block))
    return block * np.divide(1, length, out=np.zeros_like(length), where=length > floor)[:, None]


def without_noise(block: Array, floor: float) -> Array:
    """Rows no longer than ``floor`` become zero."""
    return block * (np.einsum("ij,ij->i", block, block) > floor**2)[:, None]


def rounding_of(singular_values: Array) -> float:
    """Length up to which a row of U·Σ is only rounding."""
    return 1e-6 * float(np.linalg.norm(singular_values.astype(np.float32)))


def dense_rows(block: Rows) -> Array:
    """A block of a tall as an array."""
    return block.toarray() if sparse.issparse(block) else block


def _has_negative(block: Rows) -> Array:
    entries = np.asarray(block.data if sparse.issparse(block) else block)
    return np.asarray(entries.min(initial=0.0) < 0)


def _above_minimum(block: Array) -> Array:
    return block - block.min(axis=1, keepdims=True)


def _to_sum_one(block: Rows) -> Rows:
    total = np.asarray(block.sum(axis=1, dtype=np.float64)).ravel()
    scale = np.divide(1, total, out=np.zeros_like(total), where=total > 0).astype(np.float32)
    return sparse.diags(scale) @ block if sparse.issparse(block) else block * scale[:, None]
