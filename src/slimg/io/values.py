"""What a column of a table holds: its values, None where one is missing, and its kind.

Kinds: number, counts, category, words, values (lists of categories), vector (lists of numbers of one length); dates are
refused, and so are columns with too many different values to be categories.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection

import numpy as np
import pandas as pd

from slimg.errors import InputError
from slimg.graph.columns import show

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL")
"""Strings read as missing, in any column but ids."""
MANY_CATEGORIES = 1000
MANY_CLASSES = 1000
WORDS_PER_TEXT = 2.5
"""From this many words on average a column is text, unless its values are repeated as those of categories are."""
REPEATED = 0.1
"""Different values per row up to which a column is one of categories, however long its texts are."""
KINDS = ("number", "counts", "category", "words", "values", "vector")

_WORD = re.compile(r"[^\W_]{2,}")
_LEADING_ZERO = re.compile(r"[+-]?0\d")
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([T ]\d{1,2}:\d{2}.*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}( \d{1,2}:\d{2}.*)?")


def cleaned(series: pd.Series, absent: Collection[str] = MISSING) -> np.ndarray:
    """Return values as objects, None where one is missing or one of the strings ``absent``."""
    values = series.astype(object).to_numpy(dtype=object, na_value=None) if len(series) else np.empty(0, object)
    return without(values, np.fromiter((isinstance(v, str) and v.strip() in absent for v in values), bool, len(values)))


def present_in(values: np.ndarray) -> np.ndarray:
    """Return the values that are not None."""
    return values[~absent_from(values)]


def absent_from(values: np.ndarray) -> np.ndarray:
    """Return where a value is None (values may be arrays, which cannot be compared as a whole)."""
    return np.fromiter((value is None for value in values), bool, len(values))


def without(values: np.ndarray, gone: np.ndarray) -> np.ndarray:
    """Return a copy with None where ``gone`` is true."""
    kept = values.astype(object)
    kept[gone] = None
    return kept


def markers(series: pd.Series, absent: Collection[str] = MISSING) -> dict[str, int]:
    """Count the strings, other than empty ones, that are read as missing."""
    texts = series[series.map(lambda value: isinstance(value, str) and value.strip() in absent and value.strip() != "")]
    return {str(text): int(count) for text, count in texts.value_counts().items()}


def as_numbers(values: np.ndarray) -> np.ndarray | None:
    """Return float64 with NaN where missing; None if a value is no number, or has leading zeros as codes have."""
    present = present_in(values)
    if any(isinstance(value, (bool, np.bool_)) for value in present[:1]) or len(present) == 0:
        return None
    if any(isinstance(value, str) and _LEADING_ZERO.match(value) and value.strip("+-0123456789") == "" for value in present):
        return None
    try:
        numbers = np.array([np.nan if value is None else float(value) for value in values])
    except (TypeError, ValueError):
        return None
    return None if np.isinf(numbers).any() else numbers


def words_of(text: object) -> list[str]:
    """Return the words of two letters or more in lower case."""
    return _WORD.findall(str(text).lower())


def kind_of(name: str, values: np.ndarray) -> str:
    """Return the kind of a column; dates, and too many categories, are errors."""
    present = present_in(values)
    if len(present) == 0:
        return "category"
    if isinstance(present[0], (list, tuple, np.ndarray)):
        return _kind_of_lists(present)
    _refuse_dates(name, present)
    numbers = as_numbers(values)
    if numbers is not None:
        known = numbers[~np.isnan(numbers)]
        whole = bool(np.all((known >= 0) & (known == np.floor(known))))
        return "counts" if whole and np.mean(known == 0) > 0.5 else "number"
    if all(isinstance(value, str) for value in present[:1000]):
        lengths = [len(words_of(text)) for text in present[:1000]]
        repeated = len(pd.unique(present)) <= min(MANY_CATEGORIES, REPEATED * len(present))
        if np.mean(lengths) >= WORDS_PER_TEXT and not repeated:
            return "words"
    check_categories(name, present, len(values))
    return "category"


def check_categories(name: str, present: np.ndarray, rows: int) -> None:
    """Raise an error for too many categories, or categories that are nearly all different."""
    distinct = len(pd.unique(present))
    if distinct > MANY_CATEGORIES or (distinct > 20 and distinct > 0.9 * len(present)):
        raise InputError(
            f"column {name!r} has {distinct:,} different values in {rows:,} rows, too many for categories: leave it out"
            f" with --ignore {_quoted(name)}, or read the words in it with --text {_quoted(name)}"
        )


def check_label(name: str, labels: np.ndarray) -> None:
    """Raise an error for too many classes."""
    present = present_in(labels)
    distinct = len(pd.unique(present))
    if distinct > MANY_CLASSES:
        raise InputError(
            f"label column {name!r} has {distinct:,} different values, of which {show(pd.unique(present))} are the first:"
            f" at most {MANY_CLASSES:,} classes can be learned, so name another column with --label, or group its values"
        )


def _kind_of_lists(present: np.ndarray) -> str:
    lengths = {len(value) for value in present}
    numeric = all(isinstance(item, (int, float, np.number)) for item in present[0]) and len(present[0]) > 0
    return "vector" if numeric and len(lengths) == 1 else "values"


def _refuse_dates(name: str, present: np.ndarray) -> None:
    first = present[:1000]
    stamps = sum(isinstance(value, (datetime.date, np.datetime64, pd.Timestamp)) for value in first)
    texts = sum(isinstance(value, str) and bool(_DATE.fullmatch(value.strip())) for value in first)
    if max(stamps, texts) >= 0.9 * len(first):
        raise InputError(
            f"column {name!r} holds dates ({show(present[:1])}), which mean nothing to a linear model: turn them into"
            f" numbers (days since) or categories (weekday), or leave them out with --ignore {_quoted(name)}"
        )


def _quoted(name: str) -> str:
    return f"'{name}'" if re.search(r"\W", name) else name
