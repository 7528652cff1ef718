"""Columns of a node table as features.

No entry is negative, and each number, category and word of a row adds one to the row's sum, by which SlimG divides:

    number     (u, 1 − u) with u = clip(½ + z/6, 0, 1), z = (x − mean) / sd;  missing: z = 0
    vector     the same for each of its numbers
    category   one-hot; missing: all zero
    words      counts of the lower-cased words, hashed to 2¹⁸ places
    values     counts of the members of a list
    counts     columns that are counts already (twenty or more: a bag of words laid out in columns), as they are

Places of words are MurmurHash3 (32 bits, of UTF-8 bytes), the same on every machine and in every version.

u is linear in x within three standard deviations. A centred PCA therefore sees the standardised number itself, which
would not survive the subtraction of the row's minimum that negative entries need.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from slimg.errors import InputError
from slimg.graph.columns import missing, number_of, show
from slimg.io.text import MISSING, as_numbers, check_categories, cleaned, kind_of, words_of

HASHED = 1 << 18
FEW_COUNTS = 20
"""Fewer columns of counts than this are encoded as numbers."""
Columns = Mapping[str, np.ndarray]
"""Cleaned values by column name."""
MOST_WORDS = 10_000
"""Words kept of a column: those that occur most often."""


@dataclass(frozen=True)
class Block:
    """How one column (of counts: several) is turned into features; plain values, so that it can be stored.

    Parameters
    ----------
    columns : tuple of str
        The column; all columns of counts.
    kind : str
        One of `slimg.io.text.KINDS`.
    names : tuple of str
        One per feature.
    keys : tuple, default=()
        Of a category its values as text; of words and values their hashed places, ascending; of a number and a vector
        pairs (mean, standard deviation).
    """

    columns: tuple[str, ...]
    kind: str
    names: tuple[str, ...]
    keys: tuple[Any, ...] = ()

    def encode(self, values: Columns) -> sp.csr_array:
        """Encode cleaned columns as a float32 CSR array of shape (n, len(names))."""
        encode = {"number": _shares, "vector": _shares, "category": _one_hot, "counts": _counts}
        return encode.get(self.kind, _bag)(self, [values[name] for name in self.columns]).astype(np.float32)


@dataclass(frozen=True)
class FeaturePlan:
    """How the columns of a table are turned into features.

    Parameters
    ----------
    blocks : tuple of Block
    notes : tuple of str, default=()
        What was decided.
    absent : tuple of str
        Strings read as missing.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"city": ["rome", "oslo", "rome"]})
    >>> plan, features = encode_features(table, ["city"])
    >>> plan.names
    ('city: oslo', 'city: rome')
    >>> plan.encode(pd.DataFrame({"city": ["rome", "lima"]})).toarray()
    array([[0., 1.],
           [0., 0.]], dtype=float32)
    """

    blocks: tuple[Block, ...]
    notes: tuple[str, ...] = ()
    absent: tuple[str, ...] = field(default=MISSING)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(name for block in self.blocks for name in block.names)

    def encode(self, frame: pd.DataFrame) -> sp.csr_array | None:
        """Encode the rows of a table.

        Parameters
        ----------
        frame : DataFrame of n rows
            With the columns of the plan, and perhaps others.

        Returns
        -------
        float32 scipy.sparse.csr_array of shape (n, len(names)), or None
            None if the plan has no columns.
        """
        wanted = [name for block in self.blocks for name in block.columns]
        for name in wanted:
            if name not in frame.columns:
                raise InputError(f"the table of nodes has no column {name!r}: its columns are {show(frame.columns)}")
        return self._encode({name: cleaned(frame[name], self.absent) for name in wanted})

    def _encode(self, values: Columns) -> sp.csr_array | None:
        blocks = [block.encode(values) for block in self.blocks]
        return sp.csr_array(sp.hstack(blocks, format="csr")) if blocks else None

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, from which `from_dict` makes the plan again."""
        return {"blocks": [asdict(block) for block in self.blocks], "absent": list(self.absent)}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> FeaturePlan:
        """Make a plan from the values of `as_dict`, also after JSON."""

        def tuples(value: Any) -> Any:
            return tuple(map(tuples, value)) if isinstance(value, (list, tuple)) else value

        blocks = [Block(**{name: tuples(value) for name, value in block.items()}) for block in stored["blocks"]]
        return cls(tuple(blocks), absent=tuple(stored["absent"]))


def encode_features(
    frame: pd.DataFrame, columns: Sequence[str], kinds: Mapping[str, str] | None = None, absent: Sequence[str] = MISSING
) -> tuple[FeaturePlan, sp.csr_array | None]:
    """Decide how columns become features, and encode them.

    Parameters
    ----------
    frame : DataFrame of n rows
    columns : sequence of str
        The columns to use.
    kinds : mapping of str to str, default=None
        Kinds of columns that are not to be guessed.
    absent : sequence of str
        Strings read as missing.

    Returns
    -------
    plan : FeaturePlan
    features : float32 scipy.sparse.csr_array of shape (n, d), or None
    """
    values = {name: cleaned(frame[name], absent) for name in columns}
    plan = _plan(values, kinds or {}, absent)
    return plan, plan._encode(values)


def _plan(values: Columns, kinds: Mapping[str, str], absent: Sequence[str]) -> FeaturePlan:
    found = {name: kinds.get(name) or kind_of(name, column) for name, column in values.items()}
    counted = [name for name, kind in found.items() if kind == "counts"]
    if len(counted) < FEW_COUNTS and not any(kinds.get(name) == "counts" for name in counted):
        found, counted = {name: "number" if kind == "counts" else kind for name, kind in found.items()}, []
    blocks = [_block(name, values[name], kind) for name, kind in found.items() if kind != "counts"]
    notes = [_note(block, values[block.columns[0]]) for block in blocks]
    if counted:
        blocks.append(Block(tuple(counted), "counts", tuple(counted)))
        notes.append(f"{number_of(len(counted), 'column')} of counts, as they are: {show(counted)}.")
    return FeaturePlan(tuple(blocks), tuple(notes), tuple(absent))


def _note(block: Block, values: np.ndarray) -> str:
    name, gone = block.columns[0], int(missing(values).sum())
    how = {
        "number": "a number, standardised",
        "vector": f"{len(block.keys)} numbers, standardised",
        "category": f"a category of {number_of(len(block.keys), 'value')}, one-hot",
        "words": f"text, a bag of {number_of(len(block.keys), 'word')}",
        "values": f"lists of {number_of(len(block.keys), 'value')}, counted",
    }[block.kind]
    return f"Column {name!r} is read as {how}{f' ({gone:,} missing)' if gone else ''}."


def _block(name: str, values: np.ndarray, kind: str) -> Block:
    """The features of one column; of words and values those that are there more than once, the most frequent first."""
    if kind in ("number", "vector"):
        numbers = _matrix(name, values, kind)
        parts = [name] if kind == "number" else [f"{name}[{place}]" for place in range(numbers.shape[1])]
        names = tuple(f"{part}: {end}" for end in ("high", "low") for part in parts)
        return Block((name,), kind, names, tuple(_moments(column) for column in numbers.T))
    if kind == "category":
        present = values[~missing(values)]
        check_categories(name, present, len(values))
        keys = tuple(sorted({str(value) for value in present}))
        return Block((name,), kind, tuple(f"{name}: {key}" for key in keys), keys)
    found = _tokens(values, kind).value_counts()
    found = found[found > 1] if (found > 1).any() else found  # a word that is there once says nothing of other rows
    places = pd.Series(_places(found.index), index=found.index)
    first = places[~places.duplicated()]
    kept = first.iloc[:MOST_WORDS].sort_values()
    return Block((name,), kind, tuple(f"{name}: {word}" for word in kept.index), tuple(int(place) for place in kept))


def _matrix(name: str, values: np.ndarray, kind: str, width: int | None = None) -> np.ndarray:
    """Numbers or lists of numbers as an n × width array, NaN where missing."""
    present = values[~missing(values)]
    if kind == "number":
        numbers = as_numbers(values)
        if numbers is None and width is None:
            raise InputError(f"column {name!r} holds values that are no numbers ({show(present)})")
        if numbers is None and len(present):
            raise InputError(f"column {name!r} held numbers when the model was fitted, but does not now")
        return np.full((len(values), 1), np.nan) if numbers is None else numbers[:, None]
    width = len(present[0]) if width is None else width
    wrong = [value for value in present if len(value) != width]
    if wrong:
        raise InputError(f"column {name!r} needs lists of {width} numbers, not of {len(wrong[0])}")
    return np.array([np.full(width, np.nan) if value is None else value for value in values], float).reshape(-1, width)


def _moments(numbers: np.ndarray) -> tuple[float, float]:
    known = numbers[~np.isnan(numbers)]
    spread = float(known.std())
    return float(known.mean()), spread if spread > 0 else 1.0


def _shares(block: Block, values: list[np.ndarray]) -> sp.csr_array:
    """Numbers within three standard deviations to 0 … 1, and one minus that; missing ones to the middle."""
    numbers = _matrix(block.columns[0], values[0], block.kind, len(block.keys))
    mean, spread = np.array(block.keys).T
    shares = np.clip(0.5 + np.nan_to_num((numbers - mean) / (6 * spread)), 0, 1)
    return sp.csr_array(np.hstack([shares, 1 - shares]))


def _one_hot(block: Block, values: list[np.ndarray]) -> sp.csr_array:
    """A value that was not there when the model was fitted counts as missing."""
    texts = pd.Index([None if value is None else str(value) for value in values[0]], dtype=object)
    place = pd.Index(block.keys, dtype=object).get_indexer(texts)
    rows = np.flatnonzero(place >= 0)
    return _ones(rows, place[rows], (len(texts), len(block.names)))


def _bag(block: Block, values: list[np.ndarray]) -> sp.csr_array:
    """Counts of the words or members that the plan knows."""
    words = _tokens(values[0], block.kind)
    codes, distinct = pd.factorize(words)
    place = pd.Index(block.keys, dtype=np.int64).get_indexer(_places(distinct))[codes]
    return _ones(words.index[place >= 0], place[place >= 0], (len(values[0]), len(block.names)))


def _counts(block: Block, values: list[np.ndarray]) -> sp.csr_array:
    columns = []
    for name, column in zip(block.columns, values, strict=True):
        numbers = as_numbers(column)
        if numbers is None or (numbers < 0).any():
            raise InputError(f"column {name!r} must hold counts (numbers from 0 on)")
        columns.append(sp.coo_array(np.nan_to_num(numbers)[:, None]))
    return sp.csr_array(sp.hstack(columns, format="csr"))


def _tokens(values: np.ndarray, kind: str) -> pd.Series:
    """Words of each text, or members of each list as text; the index is the row."""
    lists = [[] if v is None else words_of(v) if kind == "words" else list(map(str, v)) for v in values]
    rows = np.repeat(np.arange(len(lists)), [len(members) for members in lists])
    return pd.Series([word for members in lists for word in members], rows, dtype=object)


def _places(words: Iterable[str]) -> np.ndarray:
    """Hashed places."""
    from sklearn.utils import murmurhash3_32  # takes longer to load than a table to read, so only where words are

    return np.array([murmurhash3_32(word, positive=True) % HASHED for word in words], np.int64)


def _ones(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> sp.csr_array:
    """Ones at these places; repetitions add up."""
    return sp.csr_array(sp.coo_array((np.ones(len(rows)), (rows, columns)), shape=shape))
