"""What a column of a table holds: its values, cleaned once, and its kind.

    Column   text (an arrow array, stripped, null where missing), numbers (float64, NaN where missing), or Python objects

Kinds: number, counts, category, words, values (lists of categories), vector (lists of numbers of one length); dates are
refused, and so are columns with too many different values to be categories.

A column of text holds numbers if all its values are numbers, but for signs that stand for nothing (``-``, ``?``), or if
nearly all are; the others are read as missing, and named. Numbers may have a decimal comma, separators of thousands, a
currency or a percent sign. Values with leading zeros, such as 007, are codes, not numbers.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from slimg.errors import InputError
from slimg.graph.columns import arrow_text, list_names, missing, number_of, show

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL")
"""Strings read as missing, in any column but ids."""
NO_CLASS = ("-", "--", "–", "—", "?", ".", "n/a", "n.a.", "na", "none", "unknown", "unlabelled", "unlabeled")
"""Labels, in lower case, that rather mean that there is none."""
CODE_NAME = re.compile(r"(?i:(^|[\W_])(id|no|nr|key|code|zip|zipcode|plz|postcode))$|[a-z](Id|ID|No|Nr|Key|Code)$")
"""Names of columns of ids and codes."""
DAYS = 19_000_101, 20_991_231
"""Numbers between which whole ones may be dates such as 20230512."""
SIGNS = ("-", "--", "–", "—", "?", ".", "n/a", "n.a.", "na", "none", "None", "unknown", "#N/A", "inf", "-inf", "Inf", "-Inf")
"""Strings read as missing in a column of numbers."""
NEARLY_ALL = 0.95
"""Share of numbers from which any other value in a column of at least twenty numbers is read as missing."""
MANY_CATEGORIES = 1000
MANY_CLASSES = 1000
FEW_NUMBERS, MANY_NUMBERS = 20, 100
"""Different numbers from which a label is told, and refused, as a quantity."""
WORDS_PER_TEXT = 2.5
"""From this many words on average a column is text, unless its values are repeated as those of categories are."""
REPEATED = 0.1
"""Different values per row up to which a column is one of categories, however long its texts are."""
KINDS = ("number", "counts", "category", "words", "values", "vector")
LOOKED_AT = 1000
"""Values from which the kind of a column is guessed."""

_WORD = re.compile(r"[^\W_]{2,}")
TIMES = datetime.date, datetime.timedelta, np.datetime64, np.timedelta64, pd.Period
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATE = re.compile(
    rf"(\d{{4}}-\d{{1,2}}-\d{{1,2}}|\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}|{_MONTH} \d{{1,2}},? \d{{4}}"
    rf"|\d{{1,2}}[ -]{_MONTH}[ -]\d{{2,4}})([T ]\d{{1,2}}:\d{{2}}.*)?",
    re.IGNORECASE,
)
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_UNITS = r"^([+-]?)\s*(?:[€$£¥]|EUR|USD|GBP|CHF)\s*|\s*(?:[€$£¥%]|EUR|USD|GBP|CHF)$"
_BLANKS = " '’\u00a0\u202f"
_COMMA = rf"^[+-]?(\d{{1,3}}([.{_BLANKS}]\d{{3}})+|\d+),(\d{{1,2}}|\d{{4,}})$"
_GROUPED = {
    mark: rf"^[+-]?\d{{1,3}}(([{_BLANKS}]\d{{3}})+|([{other}]\d{{3}})+)([{mark}]\d+)?$" for mark, other in (".,", ",.")
}
"""Decimal mark → a number with separators of thousands."""


class Column:
    """The values of one column of a table, cleaned once.

    Parameters
    ----------
    name : str
        Name of the column, for messages.
    values : Series, or array of shape (n,)
    absent : sequence of str
        Strings read as missing.
    decimal : {".", ","}, default=None
        Decimal mark; guessed by default.

    Attributes
    ----------
    text : arrow array or chunked array of n strings, or None
        Null where missing; None if the column holds numbers or objects.
    missing : bool array of shape (n,)
    markers : dict of str to int
        Strings, other than empty ones, that are read as missing, and how often they are there.

    Examples
    --------
    >>> import pandas as pd
    >>> column = Column("price", pd.Series(["1.200,50 €", "NA", "7,25", "-"]))
    >>> column.numbers
    array([1200.5 ,     nan,    7.25,     nan])
    >>> column.odd, column.decimal, column.kind
    ({'-': 1}, ',', 'number')
    """

    def __init__(self, name: str, values: Any, absent: Sequence[str] = MISSING, decimal: str | None = None):
        self.name: str = str(name)
        self.decimal: str | None = decimal
        self._asked: str | None = decimal
        self.odd: dict[str, int] = {}
        self.markers: dict[str, int] = {}
        self.text: Any = None
        self._typed: np.ndarray | None = None
        series = values if isinstance(values, pd.Series) else pd.Series(values, dtype=getattr(values, "dtype", object))
        self._objects: np.ndarray | None = None
        if series.dtype.kind == "c":
            raise InputError(f"column {self.name!r} holds complex numbers: make two columns of numbers, or leave it out")
        text = arrow_text(series)
        self._given: pd.Series | None = series if text is None else None
        if text is not None:
            self._set_text(text, absent)
        elif pd.api.types.is_numeric_dtype(series.dtype) and not pd.api.types.is_bool_dtype(series.dtype):
            self._typed = series.to_numpy(dtype=np.float64, na_value=np.nan)
            self._whole = pd.api.types.is_integer_dtype(series.dtype)
        else:
            self._set_objects(series.astype(object).to_numpy(dtype=object, na_value=None), absent)
        self.n: int = len(series)

    def _set_text(self, text: Any, absent: Sequence[str]) -> None:
        bare = pc.utf8_trim_whitespace(text)
        if not pc.all(pc.equal(pc.binary_length(bare), pc.binary_length(text))).as_py():
            text = bare  # else the table's own values are kept, not a copy
        gone = pc.fill_null(pc.is_in(text, value_set=pa.array(absent, text.type)), False)
        if pc.any(gone).as_py():
            counts = pc.value_counts(pc.filter(text, gone)).to_pylist()
            self.markers = {item["values"]: item["counts"] for item in counts if item["values"]}
            text = pc.if_else(gone, pa.scalar(None, text.type), text)
        self.text = text

    def _set_objects(self, values: np.ndarray, absent: Sequence[str]) -> None:
        kind = pd.api.types.infer_dtype(values, skipna=True)
        if kind in ("integer", "floating", "mixed-integer-float", "decimal"):
            try:
                self._typed, self._whole = values.astype(np.float64), kind == "integer"
            except OverflowError:
                raise InputError(f"column {self.name!r} holds a number beyond 1e308: correct it") from None
        elif kind in ("boolean", "mixed-integer") or (kind == "mixed" and all(map(_is_scalar, values))):
            texts = [None if gone else str(value) for value, gone in zip(values, missing(values), strict=True)]
            self._set_text(pa.array(texts, pa.string()), absent)
        else:
            self._objects = without(values, missing(values))

    @cached_property
    def missing(self) -> np.ndarray:
        """Where a value is missing."""
        if self.text is not None:
            return self.text.is_null().to_numpy(zero_copy_only=False)
        return np.isnan(self._typed) if self._typed is not None else missing(self._objects)  # type: ignore[arg-type]

    @cached_property
    def present(self) -> Any:
        """The values that are not missing: arrow text, numbers or objects."""
        if self.text is not None:
            return self.text.drop_null()
        return (self._typed if self._objects is None else self._objects)[~self.missing]  # type: ignore[index]

    @cached_property
    def distinct(self) -> list[Any]:
        """The different values, in order of first appearance."""
        return pc.unique(self.present).to_pylist() if self.text is not None else list(self._hashed(pd.unique, self.present))

    def _hashed(self, function: Callable[[Any], Any], values: Any) -> Any:
        """A function of values, which must not be lists."""
        try:
            return function(values)
        except TypeError:
            raise InputError(f"column {self.name!r} holds lists, not one value in each row: name another column") from None

    @cached_property
    def numbers(self) -> np.ndarray | None:
        """Float64 with NaN where missing; None if the values are no numbers, or codes with leading zeros."""
        if self.text is not None:
            return None if len(self.present) == 0 else self._parsed(self.text)
        if self._typed is None or np.isnan(self._typed).all():
            return None
        infinite = np.isinf(self._typed)
        if not infinite.any():
            return self._typed
        self.odd = {"inf": int(infinite.sum())}
        return np.where(infinite, np.nan, self._typed)

    def _parsed(self, text: Any) -> np.ndarray | None:
        if self.decimal in (None, "."):
            try:
                found = pc.cast(text, pa.float64()).to_numpy(zero_copy_only=False)
            except pa.ArrowInvalid:
                found = None
            if found is not None and not np.isinf(found).any():
                return None if _has_codes(text) else found
        sample = self.present[:LOOKED_AT]
        digits = pc.sum(pc.match_substring_regex(sample, r"^[^\pL]{0,5}\d[^\pL]*(EUR|USD|GBP|CHF|[eE][+-]?\d+)?$")).as_py()
        return None if digits < 0.5 * len(sample) else self._parsed_oddly(text)

    def _parsed_oddly(self, text: Any) -> np.ndarray | None:
        """Numbers with units, thousands and decimal commas; what is no number is missing, if it is little."""
        bare = pc.replace_substring_regex(text, _UNITS, r"\1")
        if _has_codes(bare):
            return None
        if self.decimal is None:
            points = pc.filter(bare, pc.match_substring_regex(bare, r"\.\d"))
            points = pc.all(pc.match_substring_regex(points, _GROUPED[","])).as_py() is not False
            self.decimal = "," if points and pc.any(pc.match_substring_regex(bare, _COMMA)).as_py() else "."
        grouped = pc.match_substring_regex(bare, _GROUPED[self.decimal])
        other = "," if self.decimal == "." else "."
        bare = pc.if_else(grouped, pc.replace_substring_regex(bare, f"[{_BLANKS}{other}]", ""), bare)
        if self.decimal == ",":
            bare = pc.if_else(pc.match_substring(bare, "."), "?", pc.replace_substring(bare, ",", "."))
        right = pc.match_substring_regex(bare, NUMBER)
        wrong = pc.filter(text, pc.invert(right)).drop_null()
        numbers, present = pc.sum(right).as_py() or 0, len(self.present)
        odd = {item["values"]: item["counts"] for item in pc.value_counts(wrong).to_pylist()}
        signs = set(odd) <= set(SIGNS) and numbers >= 0.5 * present
        if not (signs and numbers) and (numbers < NEARLY_ALL * present or numbers < 20):
            return None
        self.odd = odd
        found = pc.cast(pc.if_else(right, bare, pa.scalar(None, bare.type)), pa.float64()).to_numpy(zero_copy_only=False)
        return np.where(np.isinf(found), np.nan, found)

    @cached_property
    def categories(self) -> Any:
        """The values as text, null where missing."""
        if self.text is not None:
            return self.text
        values = self._typed if self._objects is None else self._objects
        if self._objects is None and self._whole:
            values = pd.array(self._typed, "Int64")  # type: ignore[call-overload]
        codes, distinct = self._hashed(pd.factorize, values)
        texts = pa.array([str(value) for value in distinct.tolist()], pa.string())
        return texts.take(pa.array(codes, mask=codes < 0))

    @property
    def labels(self) -> np.ndarray:
        """The values as they were given, None where missing: integers, floats or Python objects."""
        if self._objects is not None:
            return self._objects
        if self._given is None:
            return self.text.to_numpy(zero_copy_only=False)  # type: ignore[union-attr]
        given = self._given.to_numpy()
        return without(given, self.missing) if self.missing.any() else given

    @cached_property
    def kind(self) -> str:
        """One of `KINDS`; dates, and too many categories, are errors."""
        if len(self.present) == 0:
            return "category"
        if self._objects is not None and isinstance(self.present[0], (list, tuple, np.ndarray)):
            return _kind_of_lists(self.present)
        if self._objects is not None and isinstance(self.present[0], (dict, set, frozenset)):
            raise InputError(
                f"column {self.name!r} holds objects ({show(self.present[:1])}): make a column of each of their members, or"
                f" leave it out with --ignore {as_typed(self.name)}"
            )
        numbers = self.numbers
        if numbers is not None:
            known = numbers[~np.isnan(numbers)]
            whole = bool(np.mean(known == 0) > 0.5 and np.all((known >= 0) & (known == np.floor(known))))
            return "counts" if whole else "number"
        self._refuse_dates()
        if self.text is not None:
            lengths = [len(words_of(text)) for text in self.present[:LOOKED_AT].to_pylist()]
            repeated = len(self.distinct) <= min(MANY_CATEGORIES, REPEATED * len(self.present))
            if np.mean(lengths) >= WORDS_PER_TEXT and not repeated:
                return "words"
        self.check_categories()
        return "category"

    def check_categories(self) -> None:
        """Raise an error for too many categories, or categories that are nearly all different."""
        distinct = len(self.distinct)
        if distinct > MANY_CATEGORIES or (distinct > 20 and distinct > 0.9 * len(self.present)):
            raise InputError(
                f"column {self.name!r} has {distinct:,} different values in {self.n:,} rows, too many for categories: leave"
                f" it out with --ignore {as_typed(self.name)}, or read the words in it with --text {as_typed(self.name)}"
            )

    def check_label(self) -> list[str]:
        """Refuse too many classes, measurements, and several classes in one value; return a note on many numbers."""
        count = len(self.distinct)
        if count > MANY_CLASSES:
            raise InputError(
                f"label column {self.name!r} has {count:,} different values, of which {show(self.distinct)} are the"
                f" first: at most {MANY_CLASSES:,} classes can be learned, so name another column with --label, or group its"
                " values"
            )
        self._refuse_joined_classes()
        numbers = self.numbers
        measured = numbers is not None and 2 * count > len(self.present) and (numbers % 1 > 0).any()  # hardly two are the same
        if numbers is None or (count <= FEW_NUMBERS and not measured):
            return self._doubtful_classes()
        low, high = np.nanmin(numbers), np.nanmax(numbers)
        held = f"{self.name!r} holds {count:,} different numbers ({low:g} to {high:g})"
        if low in (0, 1) and high - low + 1 == count and len(self.present) >= 20 * count:  # classes that are numbered
            return []
        if count > MANY_NUMBERS or measured:
            raise InputError(
                f"label column {held}, but classes are learned, not numbers: cut it into classes (such as low, middle,"
                " high), or name another column with --label"
            )
        return [f"Check the label: {held}, each a class of its own: if it is a quantity, such as a year, group it into ranges."]

    def _doubtful_classes(self) -> list[str]:
        """Notes on classes that differ in upper and lower case alone, and on those that rather mean that there is none."""
        alike: dict[str, list[Any]] = {}
        for value in self.distinct:
            alike.setdefault(re.sub(r"(?<=\d)\.0+$", "", str(value).lower()), []).append(value)
        pairs = [" and ".join(map(repr, values)) for values in alike.values() if len(values) > 1]
        told = f"Check the labels: {list_names(pairs, 3)} differ in case or in .0 alone, and are classes of their own."
        notes = [told] if pairs else []
        marks = [*NO_CLASS, *(["-1"] if "0" in alike else [])]
        absent = [str(alike[mark][0]) for mark in marks if mark in alike and alike[mark][0] not in MISSING]
        if absent and len(alike) > 2:
            name = absent[0]
            notes.append(f"Check the labels: {name!r} is taken as a class; --unlabelled {as_typed(name)} reads it as no label.")
        return notes

    def doubt(self) -> list[str]:
        """A note on numbers that rather have separators of thousands, and on whole ones that are rather dates, ids or codes."""
        known = np.asarray(self.numbers)[~self.missing]
        known, option = known[~np.isnan(known)], as_typed(self.name)
        if self.text is not None and self._asked is None and self.decimal in (None, "."):
            bare = pc.replace_substring_regex(self.present[:LOOKED_AT], _UNITS, r"\1")
            points = pc.filter(bare, pc.match_substring(bare, "."))
            others = pc.filter(bare, pc.invert(pc.match_substring(bare, ".")))
            thousands = len(points) and pc.all(pc.match_substring_regex(points, r"^[+-]?[1-9]\d{0,2}(\.\d{3})+$")).as_py()
            if thousands and len(others) and pc.all(pc.match_substring_regex(others, r"^[+-]?\d{1,3}$")).as_py():
                return [f"Check column {self.name!r}: {points[0].as_py()!r} is read with a decimal point; --decimal , reads it as"
                        " thousands."]  # fmt: skip
        if len(known) < FEW_NUMBERS or (known % 1).any() or known.min() == known.max():
            return []
        months, days = known // 100 % 100, known % 100
        if DAYS[0] <= known.min() and known.max() <= DAYS[1] and months.max() <= 12 and 0 < days.min() <= days.max() <= 31:
            return [f"Check column {self.name!r}: it is read as a number, but {known[0]:.0f} looks like a date: make it a number"
                    f" of days, or leave it out with --ignore {option}."]  # fmt: skip
        if not CODE_NAME.search(self.name):
            return []
        repeated = len(np.unique(known)) <= min(MANY_CATEGORIES, 0.9 * len(known))
        advice = f"--category {option} reads it as codes" if repeated else f"--ignore {option} leaves it out"
        return [f"Check column {self.name!r}: it is read as an amount, but its name is that of an id or a code; {advice}."]

    def _refuse_joined_classes(self) -> None:
        """Raise an error for values such as a|b where other values have a and b."""
        texts = [value for value in self.distinct if isinstance(value, str)]
        for mark in ("|", ";"):
            several = [text for text in texts if mark in text]
            parts = Counter(part.strip() for text in texts for part in {*text.split(mark)}) if several else {}
            joined = [text for text in several if all(parts[part.strip()] > 1 for part in text.split(mark))]
            if joined and 2 * len(joined) >= len(several):
                raise InputError(
                    f"label column {self.name!r} holds several classes at once ({show(joined[:3])}), but one is learned for"
                    f" each node: keep one of them, or make a column for each class and fit each; if such a text is one"
                    f" class, write it without {mark!r}"
                )

    def odd_note(self) -> str:
        """What was read as missing, or with a decimal comma, in a column of numbers; empty if nothing."""
        told = f", with a decimal comma ({show(self.present[:1].to_pylist())})" if self.decimal == "," else ""
        if self.odd:
            signs = ", ".join(f"{value!r} ({count:,})" for value, count in list(self.odd.items())[:5])
            more = f" and {len(self.odd) - 5:,} others" if len(self.odd) > 5 else ""
            count = number_of(sum(self.odd.values()), "value that is", "values that are")
            told += f", {count} none as missing: {signs}{more}"
        return told

    def _refuse_dates(self) -> None:
        first = self.present[:LOOKED_AT]
        items = first.to_pylist() if self.text is not None else list(first)
        dates = sum(
            bool(_DATE.fullmatch(item)) if isinstance(item, str) else isinstance(item, TIMES)
            for item in items
        )
        if dates >= 0.9 * len(items):
            raise InputError(
                f"column {self.name!r} holds dates ({items[0]}), which mean nothing to a linear model: turn them into"
                f" numbers (days since) or categories (weekday), or leave them out with --ignore {as_typed(self.name)}"
            )


def frame_of(table: Any) -> pd.DataFrame:
    """Make a frame of an arrow table: text stays in arrow's layout, whole numbers stay whole where others are missing.

    Members of objects become columns of their own, as ``address.city``.

    Returns
    -------
    DataFrame
    """

    def mapped(kind: Any) -> Any:
        return pd.ArrowDtype(kind) if pa.types.is_string(kind) else None

    while any(pa.types.is_struct(field.type) for field in table.schema):
        table = table.flatten()
    columns = {}
    for place, field in enumerate(table.schema):
        column, kind = table.column(place), field.type
        if pa.types.is_dictionary(kind):
            text = pa.string() if _is_long_text(kind.value_type) else kind.value_type
            column = pa.chunked_array([part.dictionary.cast(text).take(part.indices) for part in column.chunks], text)
        elif _is_long_text(kind):
            column = column.cast(pa.string())
        if pa.types.is_integer(column.type) and column.null_count:
            columns[place] = column.to_pandas(types_mapper=lambda _: pd.Int64Dtype())
        else:
            columns[place] = column.to_pandas(types_mapper=mapped)
    frame = pd.DataFrame(columns, copy=False)
    frame.columns = pd.Index(distinct_names(table.column_names), dtype=object)
    return frame


def _is_long_text(kind: Any) -> bool:
    """Whether this is text in a layout other than that of `pyarrow.string`."""
    return pa.types.is_large_string(kind) or str(kind) == "string_view"


def distinct_names(names: Sequence[Any]) -> list[Any]:
    """Return names of columns: one that is there again gets a number, as in ``x.1``, an empty one its place."""
    found: dict[str, int] = {}
    for place, given in enumerate(names, 1):
        name = f"column {place}" if given is None or given == "" else given
        new, count = name, 0
        while new in found:
            count += 1
            new = f"{name}.{count}"
        found[new] = 0
    return list(found)


def without(values: np.ndarray, gone: np.ndarray) -> np.ndarray:
    """Return a copy with None where ``gone`` is true."""
    kept = values.astype(object)
    kept[gone] = None
    return kept


def words_of(text: object) -> list[str]:
    """Return the words of two letters or more in lower case."""
    return _WORD.findall(str(text).lower())


def tokens(column: Column, kind: str) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Split texts into words, or lists into members as text.

    Returns
    -------
    rows, codes : int64 arrays of shape (t,)
        Row of each word, and its place among the distinct ones.
    distinct : list of str
        In order of first appearance.
    """
    text = column.categories if kind == "words" else None
    text = text.combine_chunks() if isinstance(text, pa.ChunkedArray) else text
    if text is not None and pc.all(pc.string_is_ascii(text)).as_py() is not False:
        bare = pc.replace_substring_regex(pc.ascii_lower(text), "[^a-z0-9]+", " ")
        lists = pc.ascii_split_whitespace(bare)
        rows, words = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False), pc.list_flatten(lists)
        long = pc.greater_equal(pc.binary_length(words), 2).to_numpy(zero_copy_only=False)
        rows, encoded = rows[long], words.filter(pa.array(long)).dictionary_encode()
        return rows.astype(np.int64), encoded.indices.to_numpy().astype(np.int64), encoded.dictionary.to_pylist()
    values = column.labels if text is None else text.to_pylist()
    lists = [[] if v is None else words_of(v) if kind == "words" else list(map(str, v)) for v in values]
    rows = np.repeat(np.arange(len(lists)), [len(members) for members in lists])
    codes, distinct = pd.factorize(np.array([word for members in lists for word in members], object))
    return rows, codes, list(distinct)


def _has_codes(text: Any) -> bool:
    """Whether a value has leading zeros, as codes have."""
    zeros = pc.filter(text, pc.starts_with(pc.utf8_ltrim(text, "+-"), "0"))
    return bool(pc.any(pc.match_substring_regex(zeros, r"^[+-]?0[0-9]+$")).as_py())


def _is_scalar(value: Any) -> bool:
    return value is None or isinstance(value, (str, bool, int, float, np.generic)) or value is pd.NA


def _kind_of_lists(present: np.ndarray) -> str:
    lengths = {len(value) for value in present}
    numeric = all(isinstance(item, (int, float, np.number)) for item in present[0]) and len(present[0]) > 0
    return "vector" if numeric and len(lengths) == 1 else "values"


def as_typed(name: str) -> str:
    """Return a name as it is typed behind an option."""
    return f"'{name}'" if re.search(r"\W", name) else name
