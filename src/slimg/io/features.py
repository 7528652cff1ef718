"""Columns of a node table as features.

No entry is negative, and each number, category and word of a row adds one to the row's sum, by which SlimG divides:

    number     (u, 1 − u, 0) with u = clip(½ + z/6, 0, 1), z = (x − mean) / sd;  missing: (0, 0, 1)
    vector     (u, 1 − u) for each of its numbers;  missing: z = 0
    category   one-hot; missing: all zero
    words      counts of the lower-cased words, hashed to 2¹⁸ places
    values     counts of the members of a list
    counts     columns that are counts already (twenty or more: a bag of words laid out in columns), as they are

Columns that nearly tell the label by themselves are often computed after it is known (leaks), and are pointed out. What one
tells is measured with two folds: a number by the nearest number of the other fold, others by naive Bayes.

Places of words are MurmurHash3 (32 bits, of UTF-8 bytes), the same on every machine and in every version.

The third entry of a number is there only where some number of the column was missing at the fit; elsewhere a missing
number is z = 0. u is linear in x within three standard deviations. A centred PCA therefore sees the standardised number
itself, which would not survive the subtraction of the row's minimum that negative entries need.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from slimg.errors import InputError
from slimg.graph.adjacency import Adjacency
from slimg.graph.columns import list_names, number_of, show
from slimg.graph.graph import Graph
from slimg.io.values import MISSING, Column, as_typed, tokens

HASHED = 1 << 18
HIGH = ": high"
"""End of the name of u."""
FEW_COUNTS = 20
"""Fewer columns of counts than this are encoded as numbers."""
Columns = Mapping[str, Column]
Part: TypeAlias = "sp.csr_array | np.ndarray"
"""An encoded block."""
CHUNK = 1 << 13
"""Rows that are encoded at a time."""
DENSE_ROWS = 1 << 16
"""Rows from which features that are mostly numbers are dense, which takes half of the memory."""
LEAK = 0.05
"""Errors of a leak, as a share of those of the largest class, at most."""
FEWEST, MOST = 40, 20_000
"""Labelled rows from which leaks are looked for, and rows that are looked at."""
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
        One of `slimg.io.values.KINDS`.
    names : tuple of str
        One per feature.
    keys : tuple, default=()
        Of a category its values as text; of words and values their hashed places, ascending; of a number and a vector
        pairs (mean, standard deviation).
    decimal : str, default=None
        Decimal mark of a number; None for the usual one.
    """

    columns: tuple[str, ...]
    kind: str
    names: tuple[str, ...]
    keys: tuple[Any, ...] = ()
    decimal: str | None = None

    def encode(self, values: Columns) -> Part:
        """Encode columns as a CSR array of shape (n, len(names)), or numbers as u alone, in float32; NaN where missing."""
        column = values[self.columns[0]]
        if self.kind in ("number", "vector"):
            return self._shares(_matrix(column, self.kind, len(self.keys)))
        if self.kind == "counts":
            return _counts([values[name] for name in self.columns])
        return _one_hot(self, column) if self.kind == "category" else _bag(self, column)

    def _shares(self, numbers: np.ndarray) -> np.ndarray:
        mean, spread = np.array(self.keys, np.float64).T
        shares = np.empty(numbers.shape, np.float32)
        for start in range(0, len(numbers), CHUNK):
            rows = slice(start, start + CHUNK)
            z = (numbers[rows] - mean) / spread
            shares[rows] = np.clip(0.5 + (z if self.has_missing else np.nan_to_num(z)) / 6, 0, 1)
        return shares

    @property
    def has_missing(self) -> bool:
        """Whether a number has a feature of its own for missing values."""
        return self.kind == "number" and len(self.names) == 3

    def check(self) -> None:
        """Refuse values that do not belong together, which may come from a file, with an error of any kind."""
        keys, width, counts, fits = self.keys, len(self.names), self.kind == "counts", True
        if self.kind in ("number", "vector"):
            mean, spread = np.array(keys, np.float64).T
            fits = bool(np.isfinite(mean).all() and (spread > 0).all())
            fits &= width in ((2, 3) if self.kind == "number" else (2 * len(mean),))
        elif not counts:
            kind = {"category": str, "words": int, "values": int}[self.kind]
            fits = width == len(keys) == len(set(keys)) and all(type(key) is kind for key in keys)
            fits &= kind is str or not keys or 0 <= min(keys) <= max(keys) < HASHED
        fits &= len(self.columns) == (width if counts else 1) and self.decimal in (None, ".", ",")
        if not fits or {type(each) for each in (*self.columns, *self.names)} != {str}:
            raise InputError(f"the plan of the column {str(self.columns)[:60]} does not fit together")

    def rows(self, part: Part, rows: slice) -> Part:
        """Return some rows of the encoded block as features: numbers become u, 1 − u and, if there is one, the missing."""
        part = part[rows]
        if sp.issparse(part):
            return part
        if not self.has_missing:
            return np.hstack([part, 1 - part])
        return np.nan_to_num(np.hstack([part, 1 - part, np.where(np.isnan(part), np.float32(1), np.float32(0))]))


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

    @property
    def is_dense(self) -> bool:
        """Whether at least half of the features are of numbers, which are rarely zero."""
        numbers = sum(len(block.names) for block in self.blocks if block.kind in ("number", "vector"))
        return 2 * numbers >= len(self.names) > 0

    def encode(self, frame: pd.DataFrame) -> Part | None:
        """Encode the rows of a table.

        Parameters
        ----------
        frame : DataFrame of n rows
            With the columns of the plan, and perhaps others.

        Returns
        -------
        float32 scipy.sparse.csr_array or array of shape (n, len(names)), or None
            An array if n is large and most features are numbers; None if the plan has no columns.
        """
        return self.encode_with_notes(frame)[0]

    def encode_with_notes(self, frame: pd.DataFrame) -> tuple[Part | None, list[str]]:
        """Encode the rows of a table, and tell what was not there when the plan was made.

        Parameters
        ----------
        frame : DataFrame of n rows
            With the columns of the plan, and perhaps others.

        Returns
        -------
        features : float32 scipy.sparse.csr_array or array of shape (n, len(names)), or None
        notes : list of str
            Unseen categories, and values of columns of numbers that are no numbers.
        """
        columns = [(name, block.decimal) for block in self.blocks for name in block.columns]
        lacking = [name for name, _ in columns if name not in frame.columns]
        if lacking:
            raise InputError(f"the table of nodes lacks {show(lacking)} of the fit: its columns are {show(frame.columns)}")
        values = {name: Column(name, frame[name], self.absent, decimal) for name, decimal in columns}
        features = self.joined([block.encode(values) for block in self.blocks])
        return features, [note for block in self.blocks for note in _news(block, values)]

    def joined(self, parts: Sequence[Part]) -> Part | None:
        """Join the encoded blocks, some rows at a time, so that little more than the result is held.

        Parameters
        ----------
        parts : sequence of arrays
            Of each block, what its `encode` gave.

        Returns
        -------
        float32 scipy.sparse.csr_array or array of shape (n, len(names)), or None
        """
        if not parts:
            return None
        n, most = parts[0].shape[0], sum(2 * part.size if isinstance(part, np.ndarray) else part.nnz for part in parts)
        if n >= DENSE_ROWS and self.is_dense:
            dense = np.empty((n, len(self.names)), np.float32)
            for start in range(0, n, CHUNK):
                dense[start : start + CHUNK] = self.rows(parts, slice(start, start + CHUNK))
            return dense
        index = np.int32 if most < 2**31 else np.int64
        data, indices, indptr = np.empty(most, np.float32), np.empty(most, index), np.zeros(n + 1, index)
        for start in range(0, n, CHUNK):
            part = _side_by_side(self._parts(parts, slice(start, start + CHUNK)))
            filled = int(indptr[start])
            data[filled : filled + part.nnz], indices[filled : filled + part.nnz] = part.data, part.indices
            indptr[start + 1 : start + 1 + part.shape[0]] = filled + part.indptr[1:]
        return sp.csr_array((data[: indptr[n]], indices[: indptr[n]], indptr), shape=(n, len(self.names)))

    def rows(self, parts: Sequence[Part], rows: slice) -> np.ndarray:
        """Some rows of all encoded blocks side by side.

        Parameters
        ----------
        parts : sequence of arrays
            Of each block, what its `encode` gave.
        rows : slice

        Returns
        -------
        float32 array of shape (rows, len(names))
        """
        made = self._parts(parts, rows)
        return np.hstack([part if isinstance(part, np.ndarray) else part.toarray().astype(np.float32) for part in made])

    def _parts(self, parts: Sequence[Part], rows: slice) -> list[Part]:
        return [block.rows(part, rows) for block, part in zip(self.blocks, parts, strict=True)]

    @property
    def numbers(self) -> list[tuple[str, tuple[int, int, int], float, float]]:
        """Of each number its name, the places of u, 1 − u and the missing (−1: none) among the features, mean and deviation."""
        found, place = [], 0
        for block in self.blocks:
            if block.kind in ("number", "vector"):
                for k, (mean, spread) in enumerate(block.keys):
                    low = place + len(block.keys) + k
                    places = place + k, low, low + 1 if block.has_missing else -1
                    found.append((block.names[k].removesuffix(HIGH), places, mean, spread))
            place += len(block.names)
        return found

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, from which `from_dict` makes the plan again."""
        return {"blocks": [dict(vars(block)) for block in self.blocks], "absent": list(self.absent)}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> FeaturePlan:
        """Make a plan from the values of `as_dict`, also after JSON."""

        def tuples(value: Any) -> Any:
            if not isinstance(value, (list, tuple)):
                return value
            return tuple([tuples(each) if isinstance(each, (list, tuple)) else each for each in value])  # keys are many

        blocks = [Block(**{name: tuples(value) for name, value in block.items()}) for block in stored["blocks"]]
        for block in blocks:
            block.check()
        if not all(isinstance(each, str) for each in stored["absent"]):
            raise InputError("the plan of the columns needs strings that are read as missing")
        return cls(tuple(blocks), absent=tuple(stored["absent"]))


def encode_features(
    frame: pd.DataFrame, columns: Sequence[str], kinds: Mapping[str, str] | None = None, absent: Sequence[str] = MISSING,
    decimal: str | None = None,
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
    decimal : {".", ","}, default=None
        Decimal mark of numbers; guessed for each column by default.

    Returns
    -------
    plan : FeaturePlan
    features : float32 scipy.sparse.csr_array or array of shape (n, d), or None
    """
    plan, parts = plan_features(frame.__getitem__, columns, kinds or {}, absent, decimal)
    return plan, plan.joined(parts)


def plan_features(
    read: Callable[[str], Any], columns: Sequence[str], kinds: Mapping[str, str], absent: Sequence[str] = MISSING,
    decimal: str | None = None, keep: Callable[[Part], Part] = lambda part: part,
) -> tuple[FeaturePlan, list[Part]]:
    """Decide how columns become features and encode each, a few columns at a time, so that not all are held at once.

    Parameters
    ----------
    read : callable
        Name of a column → its values.
    columns : sequence of str
        The columns to use.
    kinds, absent, decimal
        As in `encode_features`.
    keep : callable, default=identity
        What is done with an encoded block, such as moving it to a file.

    Returns
    -------
    plan : FeaturePlan
    parts : list of arrays
        Of each block, encoded.
    """

    def made(name: str, wanted: str | None) -> Any:
        try:
            column = Column(name, read(name), absent, decimal)
            kind = wanted or column.kind
            if kind == "counts":  # what becomes of it depends on how many there are
                return kind
            block = _block(name, column, kind)
            doubts = column.doubt() if kind == "number" and wanted is None else []
            return block, [_note(block, column), *doubts], keep(block.encode({name: column}))
        except InputError as error:
            return error

    def all_made(names: Sequence[str], wanted: Mapping[str, str]) -> dict[str, Any]:
        with ThreadPoolExecutor(os.cpu_count()) as pool:  # arrow's functions do not hold the interpreter's lock
            return dict(zip(names, pool.map(made, names, map(wanted.get, names)), strict=True))

    found = all_made(columns, kinds)
    counted = [name for name in columns if isinstance(found[name], str)]
    if len(counted) < FEW_COUNTS and not any(kinds.get(name) == "counts" for name in counted):
        found, counted = found | all_made(counted, dict.fromkeys(counted, "number")), []
    raise_all([str(each) for each in found.values() if isinstance(each, InputError)])
    made_of = [found[name] for name in columns if name not in counted]
    told = [note for _, notes, _ in made_of for note in notes]
    made_of = [each for each in made_of if each[0].names]  # columns without a value are not asked for again
    blocks, parts = ([each[place] for each in made_of] for place in (0, 2))
    if counted:
        blocks.append(Block(tuple(counted), "counts", tuple(counted)))
        parts.append(keep(blocks[-1].encode({name: Column(name, read(name), absent, decimal) for name in counted})))
        told.append(f"{number_of(len(counted), 'column')} of counts, as they are: {show(counted)}.")
    return FeaturePlan(tuple(blocks), tuple(told), tuple(absent)), parts


def raise_all(problems: Sequence[str]) -> None:
    """Raise one error for all problems of a table, if there are any."""
    if problems:
        raise InputError("; ".join(dict.fromkeys(problems)))


def leak_notes(graph: Graph, plan: FeaturePlan | None, directions: Mapping[str, Adjacency] | None = None) -> list[str]:
    """Name columns that tell nearly all labels by themselves.

    Parameters
    ----------
    graph : Graph
        With features that ``plan`` made.
    plan : FeaturePlan or None
    directions : mapping of str to Adjacency, default=None
        What means are taken along; by default nodes' own columns are looked at.

    Returns
    -------
    list of str
        A note for each.
    """
    rows = graph.labelled
    if plan is None or len(rows) < max(FEWEST, 2 * len(graph.classes)) or graph.features is None:
        return []
    rows = rows[:: -(-len(rows) // MOST)]
    codes = graph.codes[rows]
    largest = np.bincount(codes).max() / len(codes)
    places, notes = {"": graph.features[rows]} if directions is None else {}, []
    for name, matrix in (directions or {}).items():
        near = matrix.to_scipy()[rows]
        places[name] = sp.diags_array(1 / np.maximum(near.sum(axis=1), 1)) @ near @ graph.features
    for where, values in places.items():
        start = 0
        for block in plan.blocks:
            width = len(block.names)
            part, start = sp.csr_array(values[:, start : start + width]), start + width
            wrong = 1.0 if part.nnz == 0 else 1 - alone(part, codes, block.kind in ("number", "vector"))
            if wrong <= LEAK * (1 - largest) and block.columns[0] != "type" and len(block.columns) == 1:
                column = block.columns[0]
                along = f", as its mean along {where}," if where else ""
                notes.append(
                    f"Check column {column!r}: alone{along} it tells {1 - wrong:.1%} of the labels (the largest class is"
                    f" {largest:.1%}): if it is known only after the label, leave it out with --ignore {as_typed(column)}."
                )
    return notes


def alone(values: sp.csr_array, codes: np.ndarray, numbers: bool) -> float:
    """Measure how many labels some columns tell by themselves, each half of the rows from the other.

    Parameters
    ----------
    values : csr_array of shape (m, d)
        Not negative.
    codes : int array of shape (m,)
        Classes.
    numbers : bool
        Whether the first column is a number, of which the nearest is looked for; else all are counts, for naive Bayes.

    Returns
    -------
    float
        Share of labels that are found.

    Examples
    --------
    >>> codes = np.arange(100) % 2
    >>> alone(sp.csr_array(np.eye(2)[codes]), codes, False), alone(sp.csr_array(np.ones((100, 1))), codes, False)
    (1.0, 0.5)
    """
    from sklearn.naive_bayes import MultinomialNB

    order, found = np.argsort(codes, kind="stable"), np.empty_like(codes)
    some = values.count_nonzero(axis=1)[:, None] > 0  # that a value is missing can tell the label too
    rows = values if numbers else sp.hstack([values, some, ~some], format="csr")
    for fit, asked in ((order[::2], order[1::2]), (order[1::2], order[::2])):
        if numbers:
            found[asked] = _nearest(rows[fit, 0].toarray().ravel(), codes[fit], rows[asked, 0].toarray().ravel())
        else:
            found[asked] = MultinomialNB(alpha=0.1).fit(rows[fit], codes[fit]).predict(rows[asked])
    return float(np.mean(found == codes))


def _nearest(known: np.ndarray, codes: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """The class of the nearest known number; of equal ones, of the first."""
    order = np.argsort(known, kind="stable")
    known, codes = known[order], codes[order]
    right = np.clip(np.searchsorted(known, asked), 1, len(known) - 1)
    return codes[right - (asked - known[right - 1] <= known[right] - asked)]


def _note(block: Block, column: Column) -> str:
    name, gone = block.columns[0], int(column.missing.sum())
    if gone == column.n:
        return f"Column {name!r} holds no value, and is not used."
    strings = f": {list_names(list(column.markers), 3)}" if column.markers else ""
    how = {
        "number": f"a number, standardised{column.odd_note() if block.kind == 'number' else ''}",
        "vector": f"{len(block.keys)} numbers, standardised",
        "category": f"a category of {number_of(len(block.keys), 'value')}, one-hot",
        "words": f"text, a bag of {number_of(len(block.keys), 'word')}",
        "values": f"lists of {number_of(len(block.keys), 'value')}, counted",
    }[block.kind]
    return f"Column {name!r} is read as {how}{f' ({gone:,} missing{strings})' if gone else ''}."


def _news(block: Block, values: Columns) -> list[str]:
    """What a table has that was not there when the plan was made."""
    column = values[block.columns[0]]
    if block.kind == "category":
        unseen = [value for value in pc.unique(column.categories).to_pylist() if value not in {None, *block.keys}]
        rows = pc.sum(pc.is_in(column.categories, value_set=pa.array(unseen, pa.string()))).as_py() if unseen else 0
        told = f"{number_of(len(unseen), 'value')} in {number_of(rows, 'row')} that the model has not seen, read as missing"
        return [f"Column {column.name!r} has {told}: {show(unseen)}."] if unseen else []
    if block.kind == "number" and column.odd:
        return [f"Column {column.name!r} is read as a number{column.odd_note()}."]
    return []


def _block(name: str, column: Column, kind: str) -> Block:
    """The features of one column; of words and values those that are there more than once, the most frequent first."""
    if kind in ("number", "vector"):
        numbers = _matrix(column, kind)
        parts = [name] if kind == "number" else [f"{name}[{place}]" for place in range(numbers.shape[1])]
        names = [f"{part}{end}" for end in (HIGH, ": low") for part in parts]
        if kind == "number" and 0 < np.isnan(numbers).sum() < column.n:
            names.append(f"{name}: missing")
        return Block((name,), kind, tuple(names), tuple(_moments(part) for part in numbers.T), column.decimal)
    if kind == "category":
        column.check_categories()
        keys = tuple(sorted(pc.unique(column.categories.drop_null()).to_pylist()))
        return Block((name,), kind, tuple(f"{name}: {key}" for key in keys), keys)
    _, codes, distinct = tokens(column, kind)
    counts = np.bincount(codes, minlength=len(distinct))
    order = np.argsort(-counts, kind="stable")
    order = order[counts[order] > 1] if (counts > 1).any() else order  # a word that is there once says nothing of other rows
    words = pd.Index([distinct[code] for code in order], dtype=object)
    places = pd.Series(_places(words), index=words)
    first = places[~places.duplicated()]
    kept = first.iloc[:MOST_WORDS].sort_values()
    return Block((name,), kind, tuple(f"{name}: {word}" for word in kept.index), tuple(int(place) for place in kept))


def _matrix(column: Column, kind: str, width: int | None = None) -> np.ndarray:
    """Numbers or lists of numbers as an n × width array, NaN where missing."""
    name = column.name
    if kind == "number":
        numbers = column.numbers
        if numbers is None and width is None:
            raise InputError(
                f"column {name!r} holds values that are no numbers ({show(column.distinct)}): leave it out of --number, or read"
                f" it with --category {as_typed(name)} or --text {as_typed(name)}"
            )
        if numbers is None and len(column.present):
            raise InputError(
                f"column {name!r} held numbers when the model was fitted, but does not now ({show(column.distinct)}): write them"
                " as they were then, and leave cells empty where there is none"
            )
        return np.full((column.n, 1), np.nan) if numbers is None else numbers[:, None]
    present = column.present
    if column.text is not None and len(present):
        raise InputError(f"column {name!r} needs lists of numbers, not text ({show(column.distinct)})")
    width = len(present[0]) if width is None else width
    wrong = [value for value in present if len(value) != width]
    if wrong:
        raise InputError(f"column {name!r} needs lists of {width} numbers, not of {len(wrong[0])}")
    rows = np.full((column.n, width), np.nan)
    try:
        rows[~column.missing] = np.array(list(present), float).reshape(-1, width)
    except OverflowError:
        raise InputError(f"column {name!r} holds a whole number beyond 1e308: divide its values") from None
    return rows


def _moments(numbers: np.ndarray) -> tuple[float, float]:
    known = numbers[~np.isnan(numbers)]
    if not len(known):
        return 0.0, 1.0
    size = np.frexp(np.abs(known).max())[1]  # squares of values beyond 1e154 or below 1e-162 have no place in a float
    within = np.ldexp(known, -size)
    mean, spread = np.ldexp([within.mean(), within.std()], size)
    return float(mean), float(spread) if spread > 0 else 1.0


def _one_hot(block: Block, column: Column) -> sp.csr_array:
    """A value that was not there when the model was fitted counts as missing."""
    text = column.categories
    place = pc.fill_null(pc.index_in(text, value_set=pa.array(block.keys, text.type)), -1).to_numpy(zero_copy_only=False)
    rows = np.flatnonzero(place >= 0)
    return _ones(rows, place[rows], (column.n, len(block.names)))


def _bag(block: Block, column: Column) -> sp.csr_array:
    """Counts of the words or members that the plan knows."""
    rows, codes, distinct = tokens(column, block.kind)
    place = pd.Index(block.keys, dtype=np.int64).get_indexer(_places(distinct))[codes]
    return _ones(rows[place >= 0], place[place >= 0], (column.n, len(block.names)))


def _counts(columns: Sequence[Column]) -> sp.csr_array:
    parts = []
    for column in columns:
        numbers = column.numbers
        if numbers is None or (numbers < 0).any():
            raise InputError(f"column {column.name!r} must hold counts (numbers from 0 on)")
        parts.append(sp.coo_array(np.nan_to_num(numbers)[:, None].astype(np.float32)))
    return sp.csr_array(sp.hstack(parts, format="csr"))


def _side_by_side(parts: Sequence[sp.csr_array | np.ndarray]) -> sp.csr_array:
    """Some rows of all blocks; runs of dense blocks are made sparse together."""
    runs: list[Any] = []
    for part in parts:
        if runs and isinstance(part, np.ndarray) and isinstance(runs[-1], list):
            runs[-1].append(part)
        else:
            runs.append([part] if isinstance(part, np.ndarray) else part)
    sparse = [_as_sparse(np.hstack(run)) if isinstance(run, list) else run for run in runs]
    return sparse[0] if len(sparse) == 1 else sp.csr_array(sp.hstack(sparse, format="csr"))


def _as_sparse(dense: np.ndarray) -> sp.csr_array:
    full = dense != 0
    indptr = np.concatenate([[0], np.cumsum(full.sum(axis=1))])
    indices = np.broadcast_to(np.arange(dense.shape[1], dtype=np.int32), dense.shape)[full]
    return sp.csr_array((dense[full], indices, indptr.astype(np.int32)), shape=dense.shape)


def _places(words: Iterable[str]) -> np.ndarray:
    """Hashed places."""
    from sklearn.utils import murmurhash3_32  # takes longer to load than a table to read, so only where words are

    return np.array([murmurhash3_32(word, positive=True) % HASHED for word in words], np.int64)


def _ones(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> sp.csr_array:
    """Ones at these places; repetitions add up."""
    return sp.csr_array(sp.coo_array((np.ones(len(rows)), (rows, columns)), shape=shape))
