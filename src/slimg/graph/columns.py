"""Columns of values of any type, and which column of a table holds what.

A column is a one-dimensional numpy array. Columns of integers, floats or booleans keep their numpy type; anything else
(text, tuples, mixtures) is an array of Python objects, so that no value changes: ``[1, "a"]`` stays an integer and a string.

Columns of a table that are not named by the user are chosen by name, else by their values:

    source, target   the usual names; else the two columns whose values are most often ids of nodes; else the first two
    weight           the usual names
    id               the usual names; else the column of distinct values that are most often ends of edges; else the first
    label            the usual names

The argument ``prefix`` stands before the names of parameters in messages: "--" where they are options of a command.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from slimg.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 5
SOURCES = ("source", "src", "from", "follower", "start", "head")
TARGETS = ("target", "dst", "to", "followee", "followed", "end", "tail")
WEIGHTS = ("weight", "weights", "w")
RELATIONS = ("relation", "rel", "edge_type", "kind", "type", "predicate")
IDS = ("id", "node", "node_id", "nodeid", "ids", "name")
LABELS = ("label", "class", "labels", "y")


def as_column(values: Any, what: str) -> np.ndarray:
    """Make a one-dimensional array.

    Parameters
    ----------
    values : sequence, or numpy, pandas, arrow, polars or torch vector, of n values
        An array of shape (n, 1) is taken as a vector.
    what : str
        What the values are, for error messages.

    Returns
    -------
    array of shape (n,)
        Of integers, floats or booleans if all values are, else of Python objects.
    """
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


def from_torch(values: Any) -> Any:
    """Return the array of a torch tensor, and anything else as it is."""
    return values.detach().cpu().numpy() if type(values).__module__.startswith("torch") else values


def missing(column: np.ndarray) -> np.ndarray:
    """Find missing values: None, NaN, NaT and pandas' NA.

    Returns
    -------
    bool array of shape (n,)
    """
    if column.dtype.kind in "biuSU":
        return np.zeros(len(column), bool)
    if column.dtype.kind == "f":
        return np.isnan(column)
    import pandas as pd

    return pd.isna(column)


def codes_of(column: np.ndarray, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Encode values by their place among the distinct ones.

    Parameters
    ----------
    column : array of shape (n,)
    what : str
        What the values are, for error messages.

    Returns
    -------
    distinct : array
        The distinct values, sorted.
    codes : int64 array of shape (n,)
        Place of each value in ``distinct``, −1 where it is missing.
    """
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


def rows_in(known: Any, what: str, *columns: np.ndarray) -> list[np.ndarray]:
    """Return the places of the ids of each column among the known ones (an array or index), -1 where one is not there."""
    import pandas as pd

    index = pd.Index(known, tupleize_cols=False)
    try:
        return [index.get_indexer(pd.Index(column, tupleize_cols=False)) for column in columns]
    except TypeError:
        raise InputError(f"{what} must be hashable values (text, numbers, tuples)") from None


def stacked(*columns: np.ndarray) -> np.ndarray:
    """Concatenate columns; if their types differ, as objects, so that no value changes."""
    if len({column.dtype for column in columns}) == 1:
        return np.concatenate(columns)
    return as_column(np.concatenate([column.astype(object) for column in columns]), "values")


def show(values: Iterable[Any]) -> str:
    """Format the first five values for a message.

    Returns
    -------
    str
        Values separated by commas.

    Examples
    --------
    >>> show("abcdefg")
    "'a', 'b', 'c', 'd', 'e' …"
    """
    items = [v.item() if isinstance(v, np.generic) else v for _, v in zip(range(SHOWN + 1), values, strict=False)]
    return ", ".join(repr(v) for v in items[:SHOWN]) + (" …" if len(items) > SHOWN else "")


def list_names(names: Sequence[str] | pd.Index, most: int = 30) -> str:
    """Format all names for a message, or the first thirty.

    Returns
    -------
    str
        Names separated by commas.
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(str(name) for name in names[:most]) + more


def number_of(count: int, noun: str, plural: str | None = None) -> str:
    """Format a count with its noun.

    Returns
    -------
    str
        For example ``1 node`` or ``2,708 nodes``.

    Examples
    --------
    >>> number_of(1, "node"), number_of(2000, "node")
    ('1 node', '2,000 nodes')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def edge_columns(
    frame: pd.DataFrame, source: Any, target: Any, weight: Any, ids: pd.Index | None, prefix: str = ""
) -> tuple[Any, Any, Any, list[str]]:
    """Choose the columns of a table of edges.

    Parameters
    ----------
    frame : DataFrame
    source, target, weight : column names, or None
        None leaves the choice to this function.
    ids : Index of str, or None
        Ids of the nodes as text, if they are known.
    prefix : str

    Returns
    -------
    source, target, weight : column names
        ``weight`` may be None.
    guessed : list of str
        ``"source = 'from'"`` for each column that was not named.
    """
    given = {"source": source, "target": target, "weight": weight}
    for what, name in given.items():
        require_column(frame, name, prefix + what)
    first = find_column(frame, SOURCES) if source is None else source
    second = find_column(frame, TARGETS) if target is None else target
    weight = find_column(frame, WEIGHTS) if weight is None else weight
    candidates = [name for name in _by_overlap(frame, ids) if name not in (first, second, weight)]
    if (first is None) + (second is None) > len(candidates):
        raise InputError(f"source and target cannot be guessed among the columns {list_names(frame.columns)}: name both")
    first = candidates.pop(0) if first is None else first
    second = candidates.pop(0) if second is None else second
    if first == second:
        raise InputError(f"{prefix}source and {prefix}target name the same column {first!r}: name two")
    chosen = {"source": first, "target": second, "weight": weight}
    guessed = [f"{what} = {name!r}" for what, name in chosen.items() if given[what] is None and name is not None]
    return first, second, weight, guessed


def id_column(frame: pd.DataFrame, name: Any, ends: pd.Index | None, prefix: str = "") -> Any:
    """Choose the column of ids of a table of nodes.

    Parameters
    ----------
    frame : DataFrame
    name : column name, or None
    ends : Index of str, or None
        Ends of edges as text, if they are known.
    prefix : str

    Returns
    -------
    column name
    """
    if name is not None:
        return require_column(frame, name, f"{prefix}id")
    likely = find_column(frame, IDS)
    if likely is not None and (ends is None or _share(frame[likely], ends) > 0):
        return likely
    distinct = [column for column in frame.columns if is_distinct(frame[column])]
    return next(iter(_by_overlap(frame[distinct], ends)), frame.columns[0] if likely is None else likely)


def label_column(frame: pd.DataFrame, name: Any, prefix: str = "") -> Any:
    """Choose the column of labels of a table of nodes: the one named, else one of a usual name.

    Returns
    -------
    object
        The name of the column.

    Raises
    ------
    InputError
        If there is none.
    """
    found = find_column(frame, LABELS) if name is None else require_column(frame, name, f"{prefix}label")
    if found is None:
        raise InputError(f"name the column of labels with {prefix}label: the columns are {list_names(frame.columns)}")
    return found


def require_column(frame: pd.DataFrame, name: Any, what: str) -> Any:
    """Return ``name`` if it is None or a column of the table; else raise an error that lists the columns.

    Returns
    -------
    str or None
        The name that was given.
    """
    if name is None or name in frame.columns:
        return name
    raise InputError(f"there is no column {name!r} for {what}: the columns are {list_names(frame.columns)}")


def find_column(frame: pd.DataFrame, names: Sequence[str]) -> Any:
    """Return the column with the first of these names that the table has, in upper or lower case; None if it has none."""
    lower = {str(column).strip().lower(): column for column in reversed(frame.columns)}
    return next((lower[name] for name in names if name in lower), None)


def as_text(values: pd.Series) -> pd.Index:
    """Return ids as an index of text, so that those of a CSV file can be compared with those of a typed table.

    Returns
    -------
    pandas Index
        One text for each id.
    """
    import pandas as pd

    return pd.Index(text_of(values.astype(object).to_numpy()), dtype=object)


def text_of(values: np.ndarray) -> np.ndarray:
    """Return each value as text: floats that are whole numbers as integers, missing values as None.

    Returns
    -------
    array of shape (n,), object
        One text or None for each value.
    """
    import pandas as pd

    def text(value: object) -> str | None:
        if isinstance(value, str):
            return value
        if isinstance(value, (float, np.floating)):
            return None if value != value else str(int(value)) if float(value).is_integer() else str(value)
        return None if value is None or value is pd.NA else str(value)

    return np.fromiter((text(value) for value in values), object, len(values))


def _by_overlap(frame: pd.DataFrame, known: pd.Index | None) -> list[Any]:
    """Columns in descending order of how many of their values are known ids; in table order if none are known."""
    if known is None:
        return list(frame.columns)
    return sorted(frame.columns, key=lambda column: -_share(frame[column], known))


def _share(column: pd.Series, known: pd.Index) -> float:
    return float(as_text(column.iloc[:1000]).isin(known).mean())


def is_distinct(column: Any) -> bool:
    """Return whether no value is there twice; False if values cannot be compared, as lists cannot."""
    import pandas as pd

    try:
        return len(pd.unique(column)) == len(column)
    except TypeError:
        return False


def _from_library(values: Any) -> np.ndarray | None:
    """The array behind a numpy, pandas, arrow, polars or torch vector; None for plain Python sequences."""
    values = from_torch(values)
    if isinstance(values, np.ndarray):
        return values
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
