"""Which column is which: by name, else by what the values are.

source, target   columns of these names (or usual ones); else the two whose values are most often ids of nodes; else
                 the first two
weight           a column of this name (or weights, w)
id               a column of this name (or usual ones); else the one whose values are distinct and most often ends of
                 edges; else the first
label            a column of this name (or class, labels, y)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from slimg.errors import InputError

SOURCES = ("source", "src", "from", "follower", "start", "head")
TARGETS = ("target", "dst", "to", "followee", "followed", "end", "tail")
WEIGHTS = ("weight", "weights", "w")
IDS = ("id", "node", "node_id", "nodeid", "ids", "name")
LABELS = ("label", "class", "labels", "y")


def edge_columns(
    frame: pd.DataFrame, source: str | None, target: str | None, weight: str | None, ids: pd.Index | None
) -> tuple[str, str, str | None, list[str]]:
    """Names of source, target and weight (or None), and which of them were guessed."""
    if frame.shape[1] < 2:
        raise InputError(
            f"edges need two columns, but there is one, {frame.columns[0]!r}: name the separator with --separator"
        )
    given = [named(frame, name, option) for name, option in ((source, "source"), (target, "target"), (weight, "weight"))]
    first, second = given[0] or _usual(frame, SOURCES), given[1] or _usual(frame, TARGETS)
    weigh = given[2] or _usual(frame, WEIGHTS)
    candidates = [name for name in _by_overlap(frame, ids) if name not in (first, second, weigh)]
    if (first is None) + (second is None) > len(candidates):
        raise InputError(f"columns for source and target cannot be told among {list(frame.columns)}: name both")
    first = first or candidates.pop(0)
    second = second or candidates.pop(0)
    if first == second:
        raise InputError(f"--source and --target name the same column {first!r}: name two")
    found = zip((source, target, weight), ("source", "target", "weight"), (first, second, weigh), strict=True)
    guessed = [f"{what} = {name!r}" for asked, what, name in found if asked is None and name is not None]
    return first, second, weigh, guessed


def id_column(frame: pd.DataFrame, name: str | None, ends: pd.Index | None) -> tuple[str, bool]:
    """The column of ids, and whether it was guessed."""
    if name is not None:
        return named(frame, name, "id") or name, False
    usual = _usual(frame, IDS)
    if usual is not None and (ends is None or _share(frame[usual], ends) > 0):
        return usual, True
    distinct = [column for column in frame.columns if _is_distinct(frame[column])]
    return next(iter(_by_overlap(frame[distinct], ends)), usual or frame.columns[0]), True


def label_column(frame: pd.DataFrame, name: str | None) -> tuple[str, bool]:
    """The column of labels, and whether it was guessed."""
    found = named(frame, name, "label") or _usual(frame, LABELS)
    if found is None:
        raise InputError(f"say which column holds the labels with --label: the columns are {listed(frame.columns)}")
    return found, name is None


def named(frame: pd.DataFrame, name: str | None, option: str) -> str | None:
    """``name`` if it is a column, None if it is None; else the sentence that lists the columns."""
    if name is None or name in frame.columns:
        return name
    raise InputError(f"there is no column {name!r} for --{option}: the columns are {listed(frame.columns)}")


def listed(names: Sequence[str] | pd.Index, most: int = 30) -> str:
    """All names, or the first thirty."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(str(name) for name in names[:most]) + more


def as_text(values: pd.Series) -> pd.Index:
    """Ids as text, so that those of a CSV file can be compared with those of a typed table."""
    return pd.Index(text_of(values.astype(object).to_numpy()), dtype=object)


def text_of(values: np.ndarray) -> np.ndarray:
    """Each value as text; whole floats as integers; what is missing stays missing."""
    return np.fromiter((_text(value) for value in values), object, len(values))


def _text(value: object) -> object:
    if isinstance(value, str) or value is None:
        return value
    if isinstance(value, (float, np.floating)):
        return None if value != value else str(int(value)) if float(value).is_integer() else str(value)
    return None if value is pd.NA else str(value)


def _usual(frame: pd.DataFrame, names: Sequence[str]) -> str | None:
    lower = {str(column).strip().lower(): column for column in reversed(frame.columns)}
    return next((lower[name] for name in names if name in lower), None)


def _by_overlap(frame: pd.DataFrame, known: pd.Index | None) -> list[str]:
    """Columns, those first whose values are most often known ids; as they come without any."""
    if known is None:
        return list(frame.columns)
    return sorted(frame.columns, key=lambda column: -_share(frame[column], known))


def _share(column: pd.Series, known: pd.Index) -> float:
    return float(as_text(column.iloc[:1000]).isin(known).mean())


def _is_distinct(column: pd.Series) -> bool:
    try:
        return not column.duplicated().any()
    except TypeError:  # lists
        return False
