"""Columns of a node table as features.

No entry is negative, and each number, category and word of a row adds one to the row's sum, by which SlimG divides:

    number     (u, 1 − u) with u = clip(½ + z/6, 0, 1), z = (x − mean) / sd;  missing: z = 0
    vector     the same for each of its numbers
    category   one-hot; missing: all zero
    words      counts of the lower-cased words, hashed to 2¹⁸ places
    values     counts of the members of a list
    counts     columns that are counts already (twenty or more: a bag of words laid out in columns), as they are

Places of words are MurmurHash3 (32 bits, of UTF-8 bytes), the same on every machine and in every version: the numbers of
`sklearn.utils.murmurhash3_32`, without loading scikit-learn, which takes longer than to read a table.

    h ← 0;   for each four bytes k, little end first, the rest filled with zeros:
             h ← h ⊕ rot₁₅(k·c₁)·c₂,   after whole fours h ← rot₁₃(h)·5 + c₃
    h ⊕ length, then its bits are mixed three times

u is linear in x within three standard deviations. A centred PCA therefore sees the standardised number itself, which
would not survive the subtraction of the row's minimum that negative entries need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from slimg.errors import InputError
from slimg.graph.columns import number_of, show
from slimg.io.text import MISSING, absent_from, as_numbers, check_categories, cleaned, kind_of, present_in, words_of

HASHED = 1 << 18
FEW_COUNTS = 20
"""Fewer columns of counts than this are encoded as numbers."""
_BITS = 0xFFFFFFFF
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
        encode = {"number": _numbers, "vector": _vectors, "category": _one_hot, "counts": _counts}
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
    >>> plan = plan_features(table, ["city"])
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


def plan_features(
    frame: pd.DataFrame, columns: Sequence[str], kinds: Mapping[str, str] | None = None, absent: Sequence[str] = MISSING
) -> FeaturePlan:
    """Decide how columns become features.

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
    FeaturePlan
    """
    return _plan({name: cleaned(frame[name], absent) for name in columns}, kinds or {}, absent)


def encode_features(
    frame: pd.DataFrame, columns: Sequence[str], kinds: Mapping[str, str] | None = None, absent: Sequence[str] = MISSING
) -> tuple[FeaturePlan, sp.csr_array | None]:
    """Decide how columns become features, as `plan_features` does, and encode them.

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
    blocks = [_PLANNERS[kind](name, values[name]) for name, kind in found.items() if kind != "counts"]
    notes = [_note(block, values[block.columns[0]]) for block in blocks]
    if counted:
        blocks.append(Block(tuple(counted), "counts", tuple(counted)))
        notes.append(f"{number_of(len(counted), 'column')} of counts, as they are: {show(counted)}.")
    return FeaturePlan(tuple(blocks), tuple(notes), tuple(absent))


def _note(block: Block, values: np.ndarray) -> str:
    name, gone = block.columns[0], int(absent_from(values).sum())
    how = {
        "number": "a number, standardised",
        "vector": f"{len(block.keys)} numbers, standardised",
        "category": f"a category of {number_of(len(block.keys), 'value')}, one-hot",
        "words": f"text, a bag of {number_of(len(block.keys), 'word')}",
        "values": f"lists of {number_of(len(block.keys), 'value')}, counted",
    }[block.kind]
    return f"Column {name!r} is read as {how}{f' ({gone:,} missing)' if gone else ''}."


def _plan_number(name: str, values: np.ndarray) -> Block:
    numbers = as_numbers(values)
    if numbers is None:
        raise InputError(f"column {name!r} holds values that are no numbers ({show(present_in(values))})")
    return Block((name,), "number", (f"{name}: high", f"{name}: low"), (_moments(numbers),))


def _plan_vector(name: str, values: np.ndarray) -> Block:
    rows = np.array([value for value in values if value is not None], float)
    names = [f"{name}[{place}]: {end}" for end in ("high", "low") for place in range(rows.shape[1])]
    return Block((name,), "vector", tuple(names), tuple(_moments(column) for column in rows.T))


def _plan_category(name: str, values: np.ndarray) -> Block:
    present = present_in(values)
    check_categories(name, present, len(values))
    keys = tuple(sorted({str(value) for value in present}))
    return Block((name,), "category", tuple(f"{name}: {key}" for key in keys), keys)


def _plan_words(name: str, values: np.ndarray, kind: str = "words") -> Block:
    """The hashed places of the words in the most rows; a place is called after its most frequent word."""
    _, words = _tokens(values, kind)
    found = words.value_counts()
    found = found[found > 1] if (found > 1).any() else found  # a word that is there once says nothing of other rows
    places = pd.Series(_places(found.index), index=found.index)
    first = places[~places.duplicated()]
    kept = first.iloc[:MOST_WORDS].sort_values()
    return Block((name,), kind, tuple(f"{name}: {word}" for word in kept.index), tuple(int(place) for place in kept))


_PLANNERS: dict[str, Callable[[str, np.ndarray], Block]] = {
    "number": _plan_number,
    "vector": _plan_vector,
    "category": _plan_category,
    "words": _plan_words,
    "values": partial(_plan_words, kind="values"),
}


def _moments(numbers: np.ndarray) -> tuple[float, float]:
    known = numbers[~np.isnan(numbers)]
    spread = float(known.std())
    return float(known.mean()), spread if spread > 0 else 1.0


def _between(numbers: np.ndarray, mean: float, spread: float) -> np.ndarray:
    """u of a column of numbers; the mean where one is missing."""
    return np.clip(0.5 + np.nan_to_num((numbers - mean) / (6 * spread)), 0, 1)


def _numbers(block: Block, values: list[np.ndarray]) -> sp.csr_array:
    numbers = as_numbers(values[0])
    if numbers is None and not absent_from(values[0]).all():
        raise InputError(f"column {block.columns[0]!r} held numbers when the model was fitted, but does not now")
    share = np.full(len(values[0]), 0.5) if numbers is None else _between(numbers, *block.keys[0])
    return sp.csr_array(np.column_stack([share, 1 - share]))


def _vectors(block: Block, values: list[np.ndarray]) -> sp.csr_array:
    width = len(block.keys)
    wrong = [value for value in values[0] if value is not None and len(value) != width]
    if wrong:
        raise InputError(f"column {block.columns[0]!r} needs lists of {width} numbers, not of {len(wrong[0])}")
    rows = np.array([np.full(width, np.nan) if value is None else value for value in values[0]], float).reshape(-1, width)
    shares = np.column_stack([_between(rows[:, k], *moments) for k, moments in enumerate(block.keys)])
    return sp.csr_array(np.hstack([shares, 1 - shares]))


def _one_hot(block: Block, values: list[np.ndarray]) -> sp.csr_array:
    """A value that was not there when the model was fitted counts as missing."""
    texts = pd.Index([None if value is None else str(value) for value in values[0]], dtype=object)
    place = pd.Index(block.keys, dtype=object).get_indexer(texts)
    rows = np.flatnonzero(place >= 0)
    return _ones(rows, place[rows], (len(texts), len(block.names)))


def _bag(block: Block, values: list[np.ndarray]) -> sp.csr_array:
    """Counts of the words that have a place; others are not counted."""
    rows, words = _tokens(values[0], block.kind)
    codes, distinct = pd.factorize(words)
    known = pd.Index(block.keys).get_indexer(_places(distinct)) if len(distinct) else np.empty(0, int)
    place = known[codes] if len(codes) else codes
    return _ones(rows[place >= 0], place[place >= 0], (len(values[0]), len(block.names)))


def _counts(block: Block, values: list[np.ndarray]) -> sp.csr_array:
    columns = []
    for name, column in zip(block.columns, values, strict=True):
        numbers = as_numbers(column)
        if numbers is None or (numbers < 0).any():
            raise InputError(f"column {name!r} must hold counts (numbers from 0 on)")
        columns.append(sp.coo_array(np.nan_to_num(numbers)[:, None]))
    return sp.csr_array(sp.hstack(columns, format="csr"))


def _members(value: Any, kind: str) -> list[str]:
    if value is None:
        return []
    return words_of(value) if kind == "words" else [str(member) for member in value]


def _tokens(values: np.ndarray, kind: str) -> tuple[np.ndarray, pd.Series]:
    """Row of each word, and the words, in order."""
    lists = [_members(value, kind) for value in values]
    rows = np.repeat(np.arange(len(lists)), [len(members) for members in lists])
    return rows, pd.Series([word for members in lists for word in members], dtype=object)


def _places(words: Iterable[str]) -> np.ndarray:
    """Where each word is hashed to: the same on every machine and in every version."""
    return np.array([murmur3(word) % HASHED for word in words], np.int64)


def _ones(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> sp.csr_array:
    """Ones at these places, added where a place is repeated."""
    return sp.csr_array(sp.coo_array((np.ones(len(rows)), (rows, columns)), shape=shape))


def murmur3(text: str) -> int:
    """Return the hash of a text, from 0 to 2³² − 1."""
    data = text.encode()
    whole = len(data) & ~3
    state = 0
    for start in range(0, whole, 4):
        state = _rotated(state ^ _scattered(data[start : start + 4]), 13)
        state = (state * 5 + 0xE6546B64) & _BITS
    state ^= _scattered(data[whole:]) ^ len(data)
    state = ((state ^ state >> 16) * 0x85EBCA6B) & _BITS
    state = ((state ^ state >> 13) * 0xC2B2AE35) & _BITS
    return state ^ state >> 16


def _scattered(four: bytes) -> int:
    """rot₁₅(k·c₁)·c₂ of up to four bytes; zero of none."""
    return _rotated(int.from_bytes(four, "little") * 0xCC9E2D51 & _BITS, 15) * 0x1B873593 & _BITS


def _rotated(value: int, by: int) -> int:
    return (value << by | value >> (32 - by)) & _BITS
