"""Columns of a node table as features.

Each column becomes a block of entries between 0 and 1 that sum to 1 in every row, so that columns of all kinds weigh the
same and SlimG's row normalisation only divides by their number:

    number     (u, 1 − u) with u = clip(½ + z/6, 0, 1), z = (x − mean) / sd;  a missing one is (0, 0, 1)
    vector     the same for each of its k numbers, divided by k
    category   one-hot; missing is a category of its own
    words      shares of the lower-cased words, hashed to 2¹⁸ places; a text without words is a place of its own
    values     shares of the members of a list
    counts     all columns of counts together: shares of their sum; a row of zeros stays zero

u is linear in x within three standard deviations. A centred PCA therefore sees the standardised number itself, which
would not survive the subtraction of the row's minimum that negative entries need.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from slimg.errors import InputError
from slimg.files.values import MISSING, as_numbers, check_categories, cleaned, kind_of, words_of
from slimg.graph.columns import number_of, show

HASHED = 1 << 18
MOST_WORDS = 10_000
"""Words kept of a column: those in the most rows."""


@dataclass(frozen=True)
class Block:
    """How one column (of counts: several) is turned into features; plain values, so that it can be stored.

    Attributes
    ----------
    names : one per feature
    keys : category: its values as text; words, values: hashed places, ascending; number, vector: (mean, sd) pairs
    """

    columns: tuple[str, ...]
    kind: str
    names: tuple[str, ...]
    keys: tuple[Any, ...] = ()

    def encode(self, frame: pd.DataFrame, absent: Iterable[str] = MISSING) -> sp.csr_array:
        """Features of the rows of a table (n × len(names)), float32."""
        for name in self.columns:
            if name not in frame.columns:
                raise InputError(f"the table of nodes has no column {name!r}: its columns are {show(frame.columns)}")
        values = [cleaned(frame[name], tuple(absent)) for name in self.columns]
        encode = {"number": _numbers, "vector": _vectors, "category": _one_hot, "counts": _shares_of_counts}
        return encode.get(self.kind, _shares_of_words)(self, values).astype(np.float32)


@dataclass(frozen=True)
class FeaturePlan:
    """All blocks, and what was decided."""

    blocks: tuple[Block, ...]
    notes: tuple[str, ...] = ()
    absent: tuple[str, ...] = field(default=MISSING)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for block in self.blocks for name in block.names)

    def encode(self, frame: pd.DataFrame) -> sp.csr_array | None:
        """X of the rows of a table: CSR (n × len(names)), or None without columns."""
        if not self.blocks:
            return None
        return sp.csr_array(sp.hstack([block.encode(frame, self.absent) for block in self.blocks], format="csr"))

    def as_dict(self) -> dict[str, Any]:
        return {"blocks": [asdict(block) for block in self.blocks], "absent": list(self.absent)}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> FeaturePlan:
        """The inverse of `as_dict`, also after JSON."""

        def tuples(value: Any) -> Any:
            return tuple(map(tuples, value)) if isinstance(value, (list, tuple)) else value

        blocks = [Block(**{name: tuples(value) for name, value in block.items()}) for block in stored["blocks"]]
        return cls(tuple(blocks), absent=tuple(stored["absent"]))


def plan_features(
    frame: pd.DataFrame,
    columns: Sequence[str],
    kinds: dict[str, str] | None = None,
    absent: Sequence[str] = MISSING,
) -> FeaturePlan:
    """Decide how these columns become features; ``kinds`` says it for some of them."""
    blocks, counted, notes = [], [], []
    for name in columns:
        values = cleaned(frame[name], absent)
        kind = (kinds or {}).get(name) or kind_of(name, values)
        if kind == "counts":
            counted.append(name)
            continue
        block = _PLANNERS[kind](name, values)
        blocks.append(block)
        notes.append(_told(block, values))
    if counted:
        blocks.append(Block(tuple(counted), "counts", tuple(counted)))
        notes.append(f"{number_of(len(counted), 'column')} of counts as shares of their sum: {show(counted)}.")
    return FeaturePlan(tuple(blocks), tuple(notes), tuple(absent))


def _told(block: Block, values: np.ndarray) -> str:
    name, gone = block.columns[0], int(np.sum(values == None))  # noqa: E711
    how = {
        "number": "a number, standardised",
        "vector": f"{len(block.keys)} numbers, standardised",
        "category": f"a category of {len(block.keys)} values, one-hot",
        "words": f"text, a bag of {number_of(len(block.keys), 'word')}",
        "values": f"lists of {len(block.keys)} values, their shares",
    }[block.kind]
    return f"Column {name!r} is read as {how}{f' ({gone:,} missing)' if gone else ''}."


def _plan_number(name: str, values: np.ndarray) -> Block:
    numbers = as_numbers(values)
    if numbers is None:
        raise InputError(f"column {name!r} holds values that are no numbers ({show(values[values != None])})")  # noqa: E711
    names: tuple[str, ...] = (f"{name}: high", f"{name}: low")
    if np.isnan(numbers).any():
        names += (f"{name}: missing",)
    return Block((name,), "number", names, (_moments(numbers),))


def _plan_vector(name: str, values: np.ndarray) -> Block:
    rows = np.array([value for value in values if value is not None], float)
    names = [f"{name}[{place}]: {end}" for end in ("high", "low") for place in range(rows.shape[1])]
    return Block((name,), "vector", (*names, f"{name}: missing"), tuple(_moments(column) for column in rows.T))


def _plan_category(name: str, values: np.ndarray) -> Block:
    present = values[values != None]  # noqa: E711
    check_categories(name, present, len(values))
    keys = tuple(sorted({str(value) for value in present}))
    more = (f"{name}: missing",) if len(present) < len(values) else ()
    return Block((name,), "category", (*(f"{name}: {key}" for key in keys), *more), keys)


def _plan_words(name: str, values: np.ndarray, kind: str = "words") -> Block:
    """The hashed places of the words in the most rows; a place is called after its most frequent word."""
    _, words = _tokens(values, kind)
    found = words.value_counts()
    places = pd.Series(_places(found.index), index=found.index)
    first = places[~places.duplicated()]
    kept = first.iloc[:MOST_WORDS].sort_values()
    more = (f"{name}: nothing",) if any(not _members(value, kind) for value in values) else ()
    return Block((name,), kind, (*(f"{name}: {word}" for word in kept.index), *more), tuple(int(p) for p in kept))


def _plan_values(name: str, values: np.ndarray) -> Block:
    return _plan_words(name, values, "values")


_PLANNERS = {
    "number": _plan_number,
    "vector": _plan_vector,
    "category": _plan_category,
    "words": _plan_words,
    "values": _plan_values,
}


def _moments(numbers: np.ndarray) -> tuple[float, float]:
    known = numbers[~np.isnan(numbers)]
    spread = float(known.std())
    return float(known.mean()), spread if spread > 0 else 1.0


def _between(numbers: np.ndarray, mean: float, spread: float) -> np.ndarray:
    return np.clip(0.5 + (numbers - mean) / (6 * spread), 0, 1)


def _numbers(block: Block, values: list[np.ndarray]) -> sp.csr_array:
    numbers = as_numbers(values[0])
    if numbers is None and np.any(values[0] != None):  # noqa: E711
        raise InputError(f"column {block.columns[0]!r} held numbers when the model was fitted, but does not now")
    numbers = np.full(len(values[0]), np.nan) if numbers is None else numbers
    share, gone = _between(numbers, *block.keys[0]), np.isnan(numbers)
    dense = np.column_stack([share, 1 - share, gone])[:, : len(block.names)]
    neutral = 0.0 if len(block.names) == 3 else 0.5  # none was missing when it was fitted: the mean
    dense[gone, :2] = neutral
    return sp.csr_array(dense)


def _vectors(block: Block, values: list[np.ndarray]) -> sp.csr_array:
    width = len(block.keys)
    gone = np.array([value is None for value in values[0]])
    wrong = [value for value in values[0] if value is not None and len(value) != width]
    if wrong:
        raise InputError(f"column {block.columns[0]!r} needs lists of {width} numbers, not of {len(wrong[0])}")
    rows = np.array([np.zeros(width) if value is None else value for value in values[0]], float).reshape(-1, width)
    shares = np.column_stack([_between(rows[:, k], *moments) for k, moments in enumerate(block.keys)]) / width
    dense = np.hstack([shares, 1 / width - shares, gone[:, None]])
    dense[gone, :-1] = 0
    return sp.csr_array(dense)


def _one_hot(block: Block, values: list[np.ndarray]) -> sp.csr_array:
    """A value that was not there when the model was fitted counts as missing, or as nothing if none was."""
    column = values[0]
    index = pd.Index(block.keys)
    place = index.get_indexer(pd.Index([None if value is None else str(value) for value in column], dtype=object))
    place = np.where(place < 0, len(block.keys), place)
    rows = np.flatnonzero(place < len(block.names))
    return _entries(np.ones(len(rows)), rows, place[rows], (len(column), len(block.names)))


def _shares_of_words(block: Block, values: list[np.ndarray]) -> sp.csr_array:
    column, shape = values[0], (len(values[0]), len(block.names))
    rows, words = _tokens(column, block.kind)
    codes, distinct = pd.factorize(words)
    known = pd.Index(block.keys).get_indexer(_places(distinct)) if len(distinct) else np.empty(0, int)
    place = known[codes] if len(codes) else codes
    counts = _entries(np.ones(int(np.sum(place >= 0))), rows[place >= 0], place[place >= 0], shape)
    total = np.asarray(counts.sum(axis=1)).ravel()
    shares = sp.diags_array(np.divide(1, total, out=np.zeros_like(total), where=total > 0)) @ counts
    empty = np.flatnonzero(total == 0)
    if shape[1] > len(block.keys) and len(empty):
        shares = shares + _entries(np.ones(len(empty)), empty, np.full(len(empty), shape[1] - 1), shape)
    return sp.csr_array(shares)


def _shares_of_counts(block: Block, values: list[np.ndarray]) -> sp.csr_array:
    columns = []
    for name, column in zip(block.columns, values, strict=True):
        numbers = as_numbers(column)
        if numbers is None or (numbers < 0).any():
            raise InputError(f"column {name!r} must hold counts (numbers from 0 on)")
        columns.append(sp.coo_array(np.nan_to_num(numbers)[:, None]))
    counts = sp.csr_array(sp.hstack(columns, format="csr"))
    total = np.asarray(counts.sum(axis=1)).ravel()
    return sp.csr_array(sp.diags_array(np.divide(1, total, out=np.zeros_like(total), where=total > 0)) @ counts)


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
    from sklearn.utils import murmurhash3_32

    return np.array([murmurhash3_32(word, positive=True) % HASHED for word in words], np.int64)


def _entries(data: np.ndarray, rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> sp.csr_array:
    return sp.csr_array(sp.coo_array((data, (rows, columns)), shape=shape))
