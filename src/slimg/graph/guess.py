"""Which column is which: by name, else by what the values are.

source, target   columns of these names (or usual ones); else the two whose values are most often ids of nodes; else
                 the first two
weight           a column of this name (or weights, w)
id               a column of this name (or usual ones); else the one whose values are distinct and most often ends of
                 edges; else the first
label            a column of this name (or class, labels, y)

``prefix`` stands before the names of parameters in what is said: "--" where they are options of a command.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from slimg.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

SOURCES = ("source", "src", "from", "follower", "start", "head")
TARGETS = ("target", "dst", "to", "followee", "followed", "end", "tail")
WEIGHTS = ("weight", "weights", "w")
IDS = ("id", "node", "node_id", "nodeid", "ids", "name")
LABELS = ("label", "class", "labels", "y")


def edge_columns(
    frame: pd.DataFrame, source: Any, target: Any, weight: Any, ids: pd.Index | None, prefix: str = ""
) -> tuple[Any, Any, Any, list[str]]:
    """Names of source, target and weight (or None), and which of them were guessed."""
    asked = {"source": source, "target": target, "weight": weight}
    given = {what: named(frame, name, prefix + what) for what, name in asked.items()}
    first = _first(given["source"], usual(frame, SOURCES))
    second = _first(given["target"], usual(frame, TARGETS))
    weigh = _first(given["weight"], usual(frame, WEIGHTS))
    candidates = [name for name in _by_overlap(frame, ids) if name not in (first, second, weigh)]
    if (first is None) + (second is None) > len(candidates):
        raise InputError(f"columns for source and target cannot be told among {listed(frame.columns)}: name both")
    first = candidates.pop(0) if first is None else first
    second = candidates.pop(0) if second is None else second
    if first == second:
        raise InputError(f"{prefix}source and {prefix}target name the same column {first!r}: name two")
    found = zip(asked.items(), (first, second, weigh), strict=True)
    guessed = [f"{what} = {name!r}" for (what, said), name in found if said is None and name is not None]
    return first, second, weigh, guessed


def id_column(frame: pd.DataFrame, name: Any, ends: pd.Index | None, prefix: str = "") -> tuple[Any, bool]:
    """The column of ids, and whether it was guessed."""
    if name is not None:
        return named(frame, name, f"{prefix}id"), False
    likely = usual(frame, IDS)
    if likely is not None and (ends is None or _share(frame[likely], ends) > 0):
        return likely, True
    distinct = [column for column in frame.columns if _is_distinct(frame[column])]
    return next(iter(_by_overlap(frame[distinct], ends)), _first(likely, frame.columns[0])), True


def label_column(frame: pd.DataFrame, name: Any, prefix: str = "") -> tuple[Any, bool]:
    """The column of labels, and whether it was guessed."""
    found = _first(named(frame, name, f"{prefix}label"), usual(frame, LABELS))
    if found is None:
        raise InputError(f"say which column holds the labels with {prefix}label: the columns are {listed(frame.columns)}")
    return found, name is None


def named(frame: pd.DataFrame, name: Any, what: str) -> Any:
    """``name`` if it is a column, None if it is None; else the sentence that lists the columns."""
    if name is None or name in frame.columns:
        return name
    raise InputError(f"there is no column {name!r} for {what}: the columns are {listed(frame.columns)}")


def usual(frame: pd.DataFrame, names: Sequence[str]) -> Any:
    """The column with the first of these names that there is, in any case; None if there is none."""
    lower = {str(column).strip().lower(): column for column in reversed(frame.columns)}
    return next((lower[name] for name in names if name in lower), None)


def listed(names: Sequence[str] | pd.Index, most: int = 30) -> str:
    """All names, or the first thirty."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(str(name) for name in names[:most]) + more


def as_text(values: pd.Series) -> pd.Index:
    """Ids as text, so that those of a CSV file can be compared with those of a typed table."""
    import pandas as pd

    return pd.Index(text_of(values.astype(object).to_numpy()), dtype=object)


def text_of(values: np.ndarray) -> np.ndarray:
    """Each value as text; whole floats as integers; what is missing stays missing."""
    return np.fromiter((_text(value) for value in values), object, len(values))


def _text(value: object) -> object:
    if isinstance(value, str) or value is None:
        return value
    if isinstance(value, (float, np.floating)):
        return None if value != value else str(int(value)) if float(value).is_integer() else str(value)
    import pandas as pd

    return None if value is pd.NA else str(value)


def _first(given: Any, guessed: Any) -> Any:
    return guessed if given is None else given


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
