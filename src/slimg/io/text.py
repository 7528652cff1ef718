"""Readers of text: values separated by commas, tabs, semicolons, bars or blanks; and JSON lines.

Every value of a separated file is kept as the text it is, so that the id ``007`` stays ``007``; what a column holds is
decided later, for columns other than ids (`kind_of`).

What a column of a table holds: its values, None where one is missing, and its kind.

Kinds: number, counts, category, words, values (lists of categories), vector (lists of numbers of one length); dates are
refused, and so are columns with too many different values to be categories.
"""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import json
import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd

from slimg.errors import InputError
from slimg.graph.columns import missing, show
from slimg.io import Reading, Source

SEPARATORS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars", " ": "blanks"}
LOOKED_AT = 50
"""Lines from which separator and header are guessed."""


def read_separated(source: Source) -> Reading:
    """Read a CSV or TSV file; lines at the top that begin with # or % are comments."""
    text, notes = _decoded(source)
    skipped = _comments(text)
    body = text[skipped:]
    if not body.strip():
        raise InputError("the file is empty: it needs at least one row")
    sample = body[: 1 << 16].splitlines()[:LOOKED_AT]
    separator = source.separator or _guess_separator(sample, source.suffix)
    head = _split(sample, separator)
    _check_widths(head, source.header)
    header = _has_header(head) if source.header is None else source.header
    frame = _parsed(body, separator, header, text[:skipped].count("\n"))
    if source.separator is None:
        notes.append(f"values separated by {SEPARATORS[separator]}")
    if source.header is None:
        notes.append("the first line holds the names of the columns" if header else "there are no names of columns")
    if len(frame) == 0:
        raise InputError(f"there are no rows below the names of the columns ({show(frame.columns)})")
    return Reading(frame, notes=(f"{source.path.name}: {', '.join(notes)}.",) if notes else (), separator=separator)


def read_json_lines(source: Source) -> Reading:
    """Read one JSON object per line, or one list of objects."""
    text, _ = _decoded(source)
    if text.lstrip().startswith("["):
        lines = list(enumerate(_loaded(text, 1), 1))
    else:
        lines = [(number, _loaded(line, number)) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    for number, row in lines:
        if not isinstance(row, dict):
            raise InputError(f'line {number} is no JSON object ({show([row])}): each line needs one, such as {{"id": 1}}')
    if not lines:
        raise InputError("the file is empty: it needs at least one row")
    return Reading(_frame_of_rows([row for _, row in lines]))


def _frame_of_rows(rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Columns in order of first appearance; whole numbers stay whole where others are missing."""
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: [row.get(name) for row in rows] for name in names}
    return pd.DataFrame({name: pd.Series(values, dtype=_dtype(values)) for name, values in columns.items()})


def _dtype(values: list[Any]) -> object:
    kinds = {type(value) for value in values if value is not None}
    whole = kinds == {int} and all(abs(value) < 2**63 for value in values if value is not None)
    return None if kinds <= {int, float} and (None not in values or not whole) else "Int64" if whole else object


def _loaded(text: str, number: int) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise InputError(f"line {number} is not JSON ({error}): one object per line is needed") from None


def _decoded(source: Source) -> tuple[str, list[str]]:
    """The whole text; UTF-8 unless a byte order mark or the user says otherwise."""
    try:
        with gzip.open(source.path) if source.compressed else open(source.path, "rb") as file:
            data = file.read()
    except (gzip.BadGzipFile, EOFError) as error:
        raise InputError(f"the compressed file is damaged ({error}): copy it again") from None
    encoding, notes = source.encoding, []
    if encoding is None:
        marked = data[:2] in (b"\xff\xfe", b"\xfe\xff")
        encoding = "utf-16" if marked else "utf-8-sig"
        notes = ["encoded as UTF-16"] if marked else []
    try:
        text = data.decode(encoding)
    except LookupError:
        raise InputError(f"there is no encoding {encoding!r}: try utf-8, latin-1, cp1252 or utf-16") from None
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(
            f"byte {data[error.start]:#04x} in line {line} is not {encoding.removesuffix('-sig')}: name the file's encoding"
            " with --encoding, such as latin-1 or cp1252"
        ) from None
    if "\0" in text:
        raise InputError("there are zero bytes in it, so it is not text: name its format by its ending (.parquet, .npz, …)")
    return text, notes


def _comments(text: str) -> int:
    """Number of characters of leading comment lines."""
    place = 0
    while text[place : place + 1] in ("#", "%"):
        end = text.find("\n", place)
        place = len(text) if end < 0 else end + 1
    return place


def _split(lines: Sequence[str], separator: str) -> list[list[str]]:
    """Values of each line; blanks (and tabs) separate however many there are."""
    return [line.split() for line in lines] if separator == " " else list(csv.reader(lines, delimiter=separator))


def _guess_separator(sample: Sequence[str], suffix: str) -> str:
    """The separator that gives every line the same number of values, the more the better; else the most frequent one."""
    order = ["\t", *(key for key in SEPARATORS if key != "\t")] if suffix in (".tsv", ".tab") else list(SEPARATORS)
    counts = {separator: [len(row) for row in _split(sample, separator) if row] for separator in order}
    even = [key for key in order if min(counts[key], default=0) > 1 and len(set(counts[key])) == 1]
    if even:  # text holds blanks, so a blank counts only where nothing else separates
        return max(even, key=lambda key: (key != " ", counts[key][0]))
    several = [key for key in order if key != " " and max(counts[key], default=0) > 1]
    return max(several, key=lambda key: sum(counts[key]), default=order[0])


def _has_header(rows: Sequence[Sequence[str]]) -> bool:
    """No if the first line is all numbers, or all its values occur again further down (as the ids of a list of edges)."""
    first, rest = rows[0], {value for row in rows[1:] for value in row}
    if all(_is_number(value) for value in first):
        return False
    return not (len(first) > 1 and all(value in rest for value in first))


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _parsed(body: str, separator: str, header: bool, above: int) -> pd.DataFrame:
    try:
        frame = pd.read_csv(
            io.StringIO(body),
            sep=r"\s+" if separator == " " else separator,
            header=0 if header else None,
            dtype=str,
            keep_default_na=False,
            na_filter=False,
            index_col=False,
        )
    except pd.errors.ParserError as error:
        message = str(error).strip().rsplit("error: ", 1)[-1]
        more = f" (after {above} lines of comments)" if above else ""
        raise InputError(
            f"read with {SEPARATORS.get(separator, repr(separator))} between values, {_sentence(message)}{more}:"
            " name the separator with --separator, or correct that line"
        ) from None
    if not header:
        frame.columns = [f"column {number}" for number in range(1, frame.shape[1] + 1)]
    return frame


def _check_widths(head: Sequence[Sequence[str]], header: bool | None) -> None:
    """Raise an error for a second line longer than the first, which would shift every column by one."""
    if header is not False and len(head) > 1 and len(head[1]) > len(head[0]):
        raise InputError(
            f"the first line has {len(head[0])} names of columns, the second {len(head[1])} values:"
            " name the separator with --separator, or correct the first line"
        )


def _sentence(message: str) -> str:
    """Reword pandas' message "Expected 2 fields in line 4, saw 3"."""
    found = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", message)
    if not found:
        return f"the lines do not fit ({message})"
    return f"line {found[2]} has {found[3]} values where {found[1]} are expected"


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
_LEADING_ZERO = re.compile(r"[+-]?0[0-9]+")
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([T ]\d{1,2}:\d{2}.*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}( \d{1,2}:\d{2}.*)?")


def cleaned(series: pd.Series, absent: Collection[str] = MISSING) -> np.ndarray:
    """Return values as objects, None where one is missing or one of the strings ``absent``."""
    values = series.astype(object).to_numpy(dtype=object, na_value=None) if len(series) else np.empty(0, object)
    return without(values, np.fromiter((isinstance(v, str) and v.strip() in absent for v in values), bool, len(values)))


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
    present = values[~missing(values)]
    if len(present) == 0 or isinstance(present[0], (bool, np.bool_)):
        return None
    try:
        numbers = values.astype(np.float64)  # None becomes NaN
    except (TypeError, ValueError):
        return None
    coded = any(isinstance(value, str) and _LEADING_ZERO.fullmatch(value) for value in present)
    return None if coded or np.isinf(numbers).any() else numbers


def words_of(text: object) -> list[str]:
    """Return the words of two letters or more in lower case."""
    return _WORD.findall(str(text).lower())


def kind_of(name: str, values: np.ndarray) -> str:
    """Return the kind of a column; dates, and too many categories, are errors."""
    present = values[~missing(values)]
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
    present = labels[~missing(labels)]
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
