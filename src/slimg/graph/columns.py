"""Columns of values of any type, and which column of a table holds what.

A column is a one-dimensional numpy array. Columns of integers, floats or booleans keep their numpy type; anything else
(text, tuples, mixtures) is an array of Python objects, so that no value changes: ``[1, "a"]`` stays an integer and a string.

Columns of a table that are not named by the user are chosen by name, else by their values:

    source, target   the usual names; else the two columns whose values are most often ids of nodes, or, if no ids are known,
                     are most often in each other; else the first two that are not different in every row
    weight           the usual names
    id               the usual names; else the column of distinct values that are most often ends of edges; else the first
    label            the usual names

The argument ``prefix`` stands before the names of parameters in messages: "--" where they are options of a command.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from slimg.errors import InputError, near

if TYPE_CHECKING:
    import pandas as pd

LONGEST = 60
"""Characters of a value in a message."""
SHOWN = 5
SOURCES = ("source", "src", "from", "follower", "start", "head", "source_id", "from_id", "sender", "payer")
TARGETS = ("target", "dst", "to", "followee", "followed", "end", "tail", "target_id", "to_id", "receiver", "payee")
WEIGHTS = ("weight", "weights", "w")
RELATIONS = ("relation", "rel", "edge_type", "kind", "type", "predicate")
IDS = ("id", "node", "node_id", "nodeid", "ids", "name")
DOUBT = "Check "
"""How a note on what is rather not meant begins."""
INDEX = "(index)"
"""Column of the row numbers of a frame, which may be ids; it is dropped if they are not."""
LABELS = ("label", "class", "labels", "y")


def as_column(values: Any, what: str) -> np.ndarray:
    """Make a one-dimensional array.

    Parameters
    ----------
    values : sequence, or numpy, pandas, arrow, polars or torch vector, of n values
        An array of shape (n, 1), or a frame of one column, is taken as a vector.
    what : str
        What the values are, for error messages.

    Returns
    -------
    array of shape (n,)
        Of integers, floats or booleans if all values are, else of Python objects.
    """
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise InputError(f"{what} must be a sequence of values, not {type(values).__name__}")
    names = getattr(values, "columns", None)
    if names is not None:  # of a frame, of pandas or polars
        if len(names) != 1:
            raise InputError(f"{what} must be one column, not a table of {len(names)}")
        values = values[names[0]]  # type: ignore[index]
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
    if isinstance(column, np.ndarray) and column.dtype.kind in "biuSU":
        return np.zeros(len(column), bool)
    if isinstance(column, np.ndarray) and column.dtype.kind == "f":
        return np.isnan(column)
    import pandas as pd

    return np.asarray(pd.isna(column), bool)


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
    distinct = np.asarray(distinct, object) if is_text(distinct) else distinct
    order = _sorted_order(distinct)
    rank = np.empty(len(distinct), np.int64)
    rank[order] = np.arange(len(distinct))
    codes = np.full(len(column), -1, np.int64)
    codes[~absent] = rank[places]
    return _natural(distinct[order]), codes


def rows_in(known: Any, what: str, *columns: np.ndarray) -> list[np.ndarray]:
    """Return the places of the ids of each column among the known ones (an array or index), -1 where one is not there."""
    import pandas as pd

    if columns and all(map(is_text, columns)):
        text = arrow_text(known)
        if text is not None:
            return _rows_in_text(text.combine_chunks() if hasattr(text, "chunks") else text, columns)
    index = pd.Index(np.asarray(known, object) if is_text(known) else known, tupleize_cols=False)
    try:
        return [index.get_indexer(pd.Index(_plain(column), tupleize_cols=False)) for column in columns]
    except TypeError:
        raise InputError(f"{what} must be single values that are hashable (text, numbers, tuples), not lists of them") from None


def stacked(*columns: np.ndarray) -> np.ndarray:
    """Concatenate columns; if their types differ, as objects, so that no value changes."""
    if len({column.dtype for column in columns}) == 1:
        text = is_text(columns[0])
        return columns[0]._concat_same_type(columns) if text else np.concatenate(columns)  # type: ignore[attr-defined]
    return as_column(np.concatenate([_plain(column).astype(object) for column in columns]), "values")


def is_text(column: Any) -> bool:
    """Return whether a column is text in arrow's layout (`text_column`), which functions of this module take unchanged."""
    kinds = ("string[pyarrow]", "large_string[pyarrow]")
    return type(column).__name__ == "ArrowExtensionArray" and str(column.dtype) in kinds


def text_column(text: Any) -> Any:
    """Return a pandas array of arrow's strings, which holds no Python objects."""
    import pandas as pd

    return pd.array(text, dtype=pd.ArrowDtype(text.type))


def arrow_text(values: Any) -> Any:
    """Return the strings of a column as arrow's, null where missing; None if it holds anything but strings."""
    import pandas as pd
    import pyarrow as pa

    array = getattr(values, "array", values)
    if isinstance(array.dtype, pd.CategoricalDtype) and len(array.categories) and arrow_text(array.categories) is not None:
        array = array.astype(object)
    if isinstance(array.dtype, (pd.StringDtype, pd.ArrowDtype)):
        text = pa.array(array, from_pandas=True) if not hasattr(array, "__arrow_array__") else array.__arrow_array__()
        if not (pa.types.is_string(text.type) or pa.types.is_large_string(text.type)):
            return None
        return text
    plain = np.asarray(array)
    if plain.dtype != object or pd.api.types.infer_dtype(plain, skipna=True) not in ("string", "empty"):
        return None
    return pa.array(plain, pa.string(), from_pandas=True)


def _plain(column: Any) -> Any:
    return column.to_numpy(dtype=object, na_value=None) if is_text(column) else column


def _rows_in_text(known: Any, columns: Sequence[Any]) -> list[np.ndarray]:
    """Places by arrow's hash table, which is built twice: for every other column, in a thread each."""
    from concurrent.futures import ThreadPoolExecutor

    import pyarrow as pa
    import pyarrow.compute as pc

    texts = [column.__arrow_array__() for column in columns]
    kind = known.type if {text.type for text in texts} == {known.type} else pa.large_string()

    def rows(part: Sequence[Any]) -> list[np.ndarray]:
        text = pa.chunked_array([chunk for each in part for chunk in each.cast(kind).chunks], kind)
        places = pc.fill_null(pc.index_in(text, value_set=known.cast(kind)), -1).to_numpy()
        return np.split(places, np.cumsum([len(each) for each in part])[:-1])

    found: list[Any] = [None] * len(texts)
    with ThreadPoolExecutor(2) as pool:
        found[::2], found[1::2] = pool.map(rows, (texts[::2], texts[1::2])) if len(texts) > 1 else (rows(texts), [])
    return found


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
    shown = (f"{text[:LONGEST]}…" if len(text := repr(v)) > LONGEST + 1 else text for v in items[:SHOWN])
    return ", ".join(shown) + (" …" if len(items) > SHOWN else "")


def hint_of_ids(name: Any, ids: Iterable[Any]) -> str:
    """Say for a message which ids begin like one that no node has or are spelled alike, else how ids look.

    Examples
    --------
    >>> hint_of_ids("Ann", ["anna", "bob"]), hint_of_ids("x", [1, 2])
    ("did you mean 'anna'?", 'ids look like 1, 2')
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    low, values = str(name)[:40].lower(), list(ids)
    texts = pc.utf8_ltrim(pc.utf8_lower(pa.array(map(str, values), pa.string())), "" if low[:1] == "0" else "0")  # 7 may be 007

    def hits(match: Any, part: str) -> np.ndarray:
        return match(texts, part).to_numpy(zero_copy_only=False)

    begin = np.flatnonzero(hits(pc.starts_with, low))[:3].tolist() if low else []
    if low.isdigit() and not begin:  # digits in common say nothing
        return f"ids look like {show(values)}"
    if begin:
        return f"did you mean {' or '.join(repr(values[row]) for row in begin)}?"
    pairs = sorted({low[k : k + 2] for k in range(len(low) - 1)})  # alike are those that share most pairs of letters
    shared = sum((hits(pc.match_substring, pair).astype(float) for pair in pairs), np.zeros(len(values)))
    few = np.argsort(-shared / (pc.utf8_length(texts).to_numpy() + len(low) + 1e-9), kind="stable")[:200]
    return near(name, (values[row] for row in few), f"ids look like {show(values)}")


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
    lacking = first is None or second is None
    candidates = [name for name in _by_overlap(frame, ids) if name not in (first, second, weight)] if lacking else []
    if ids is None and first is None and second is None:
        candidates = _likely_ends(frame, candidates)
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
    if likely is not None and likely == find_column(frame, IDS[-1:]) and not is_distinct(frame[likely]):
        likely = None  # two people of one name
    if ends is None and likely is not None:
        return likely
    distinct = [column for column in frame.columns if is_distinct(frame[column])]
    best = next(iter(_by_overlap(frame[distinct], ends)), frame.columns[0])
    if ends is None:
        return best
    if _share(frame[best], ends) == 0:  # ids that are there twice are told as such; numbers such as ages are few of the ids
        found_in = {column: (rows_in(as_text(frame[column]), "ids", ends[:1000])[0] >= 0).sum() for column in frame.columns}
        best = next((column for column, count in found_in.items() if 2 * count >= len(ends[:1000])), best)
    found, usual = _share(frame[best], ends), 0.0 if likely is None else _share(frame[likely], ends)
    chance = found < 0.5  # a number that is an id too
    return likely if likely is not None and (chance or 0 < usual >= found / 2) else best


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


def as_text(values: Any) -> Any:
    """Return ids as text without blanks around it: whole numbers as integers, missing values and empty texts as missing.

    Ids of a CSV file can then be compared with those of a typed table. Texts such as ``12.0`` are whole numbers if all are.

    Returns
    -------
    pandas array of n strings, in arrow's layout
    """
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc

    text = arrow_text(values)
    if text is None:
        array = getattr(values, "array", values)
        try:
            codes, distinct = pd.factorize(array)
        except TypeError:  # lists
            codes, distinct = np.where(missing(np.asarray(array)), -1, np.arange(len(array))), array
        texts = pa.array([text_of(value) for value in distinct], pa.string())
        text = texts.take(pa.array(codes, mask=np.asarray(codes) < 0))
    if _has_byte(text, b" \t"):
        text = pc.utf8_trim_whitespace(text)
    if _has_byte(text, b".") and pc.all(pc.match_substring_regex(text, r"^(-?\d+\.0+)?$")).as_py():
        text = pc.replace_substring_regex(text, r"\.0+$", "")
    empty = pc.equal(text, "")
    return text_column(pc.if_else(empty, pa.scalar(None, text.type), text) if pc.any(empty).as_py() else text)


def _has_byte(text: Any, wanted: bytes) -> bool:
    """Whether one of these bytes is in arrow's strings, whose memory is searched as a whole."""
    for chunk in text.chunks if hasattr(text, "chunks") else [text]:
        _, places, values = chunk.buffers()
        if len(chunk) and values is not None:
            ends = np.frombuffer(places, np.int32 if str(chunk.type) == "string" else np.int64)[chunk.offset :]
            data = values.slice(ends[0], ends[len(chunk)] - ends[0]).to_pybytes()
            if any(data.find(byte) >= 0 for byte in wanted):
                return True
    return False


def text_of(value: Any) -> str:
    """Return a value as text: a float that is a whole number as an integer."""
    whole = isinstance(value, (float, np.floating)) and float(value).is_integer()
    return str(int(value)) if whole else str(value)


def _by_overlap(frame: pd.DataFrame, known: pd.Index | None) -> list[Any]:
    """Columns in descending order of how many of their values are known ids; in table order if none are known."""
    if known is None:
        return list(frame.columns)
    return sorted(frame.columns, key=lambda column: -_share(frame[column], known))


def _likely_ends(frame: pd.DataFrame, names: list[Any]) -> list[Any]:
    """Columns, the likely ends of edges first: those that share most values, else those with values that are repeated."""
    if len(names) <= 2:
        return names
    texts = {name: as_text(frame[name].iloc[:100_000]).dropna() for name in names}
    repeated = [name for name in names if not is_distinct(texts[name])]
    shares = {}
    for place, first in enumerate(names):
        for second in names[place + 1 :]:
            there = [rows_in(texts[a].unique(), "ids", texts[b])[0] >= 0 for a, b in ((first, second), (second, first))]
            shares[first, second] = min(float(part.mean()) if len(part) else 0.0 for part in there)
    best = max(shares, key=lambda pair: (shares[pair], sum(name in repeated for name in pair)))
    chosen = list(best) if shares[best] > 0 else repeated[:2]
    return [*chosen, *(name for name in names if name not in chosen)]


def _share(column: pd.Series, known: pd.Index) -> float:
    (rows,) = rows_in(as_text(known), "ids", as_text(column.iloc[:1000]))
    return float((rows >= 0).mean()) if len(rows) else 0.0


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
    import pandas as pd

    kind = pd.api.types.infer_dtype(column, skipna=False)
    try:
        return column.astype({"boolean": bool, "integer": np.int64, "floating": np.float64}.get(kind, object), copy=False)
    except OverflowError:
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
