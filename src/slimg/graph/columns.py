"""Vectors of any type: ids and labels as people have them.

A column is a one-dimensional numpy array. Whole columns of integers, floats or booleans keep their numpy type; anything
else (text, tuples, mixtures) is an array of Python objects, so that no value changes on the way in: ``[1, "a"]`` stays
an integer and a string.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from slimg.errors import InputError

SHOWN = 5


def as_column(values: Any, what: str) -> np.ndarray:
    """A one-dimensional array of ``values`` (sequence, numpy, pandas, arrow, torch, …); n × 1 becomes n."""
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise InputError(f"{what} must be a sequence of values, not {type(values).__name__}")
    array = _from_library(values)
    if array is None:
        items = list(values)
        return _natural(np.fromiter(items, dtype=object, count=len(items)))
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(f"{what} must be a vector with one value per node, not an array of shape {array.shape}")
    return _natural(array)


def missing(column: np.ndarray) -> np.ndarray:
    """Boolean mask of the values that stand for nothing: None, NaN, NaT and pandas' NA."""
    if column.dtype.kind in "biuSU":
        return np.zeros(len(column), bool)
    if column.dtype.kind == "f":
        return np.isnan(column)
    import pandas as pd

    return np.fromiter((v is None or v is pd.NA or v is pd.NaT or v != v for v in column), bool, len(column))


def codes_of(column: np.ndarray, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Distinct values, sorted, and for each value its place among them (int64; −1 where missing)."""
    if column.dtype.kind in "biu":
        distinct, codes = np.unique(column, return_inverse=True)
        return distinct, codes.astype(np.int64, copy=False)
    import pandas as pd

    absent = missing(column)
    present = column[~absent] if absent.any() else column
    try:
        places, distinct = pd.factorize(present)
    except TypeError:
        culprit = _first_unhashable(present)
        raise InputError(f"{what} must be hashable values (text, numbers, tuples), not {culprit}") from None
    order = _sorted_order(distinct)
    rank = np.empty(len(distinct), np.int64)
    rank[order] = np.arange(len(distinct))
    codes = np.full(len(column), -1, np.int64)
    codes[~absent] = rank[places]
    return _natural(distinct[order]), codes


def show(values: Iterable[Any]) -> str:
    """The first few values, for a sentence: ``'a', 'b', 'c' …``."""
    items = [v.item() if isinstance(v, np.generic) else v for _, v in zip(range(SHOWN + 1), values, strict=False)]
    return ", ".join(repr(v) for v in items[:SHOWN]) + (" …" if len(items) > SHOWN else "")


def number_of(count: int, noun: str, plural: str | None = None) -> str:
    """``1 node``, ``2,000 nodes``."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def _from_library(values: Any) -> np.ndarray | None:
    """The array behind a numpy, pandas, arrow, polars or torch vector; None for plain Python sequences."""
    if isinstance(values, np.ndarray):
        return values
    if type(values).__module__.startswith("torch"):
        return values.detach().cpu().numpy()
    if type(values).__module__.startswith(("pyarrow", "polars")):
        items = values.to_pylist() if hasattr(values, "to_pylist") else values.to_list()
        return np.fromiter(items, object, len(items))
    if hasattr(values, "dtype") and hasattr(values, "__array__"):
        plain = isinstance(values.dtype, np.dtype)
        return np.asarray(values if plain else values.astype(object))  # else nullable integers would become floats
    return None


def _natural(column: np.ndarray) -> np.ndarray:
    """Give a whole column of Python integers, floats or booleans its numpy type; turn numpy text into str objects."""
    if column.dtype.kind in "SU":
        return column.astype(object)
    if column.dtype != object or len(column) == 0:
        return column
    kinds = {type(v) for v in column}
    if kinds <= {bool, np.bool_}:
        return column.astype(bool)
    if all(issubclass(k, (int, np.integer)) and k is not bool for k in kinds):
        try:
            return column.astype(np.int64)
        except OverflowError:
            return column
    if all(issubclass(k, (float, np.floating)) for k in kinds):
        return column.astype(np.float64)
    return column


def _sorted_order(distinct: np.ndarray) -> np.ndarray:
    """Ascending order; values that cannot be compared are ordered by type, then as text."""
    try:
        return np.argsort(distinct, kind="stable")
    except TypeError:
        keys = [(type(v).__name__, repr(v)) for v in distinct]
        return np.array(sorted(range(len(distinct)), key=keys.__getitem__), dtype=np.int64)


def _first_unhashable(values: np.ndarray) -> str:
    for value in values:
        try:
            hash(value)
        except TypeError:
            return f"{type(value).__name__} (the first is {value!r})"
    return "these"
