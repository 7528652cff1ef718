"""Readers of text: values separated by commas, tabs, semicolons, bars or blanks; and JSON lines.

Every value of a separated file is kept as the text it is, so that the id ``007`` stays ``007``; what a column holds is
decided later, for columns other than ids (`slimg.io.values`).
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
import sys
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv_reader

from slimg.errors import InputError
from slimg.graph.columns import number_of, show
from slimg.io import CHUNK, MOST_COLUMNS, BoundedFile, Reading, Source, check_members, guard, unpack
from slimg.io.values import distinct_names, frame_of

SEPARATORS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars", " ": "blanks"}
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
AS_MATRIX = "give features as a matrix (.npz, .npy or .mtx) with --feature-matrix"
MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
BLOCK = 1 << 22
"""Bytes that are read at a time from what is packed."""
LOOKED_AT = 50
"""Lines from which separator and header are guessed."""


class Layout(NamedTuple):
    """Byte at which the table of a text file begins, separator, names of columns, whether a line holds them, and notes."""

    start: int
    separator: str
    names: list[str]
    header: bool
    notes: list[str]

    def options(self, quotes: bool, block: int) -> dict[str, Any]:
        """Options of arrow's reader, which reads every value as text."""
        return {
            "read_options": csv_reader.ReadOptions(column_names=self.names, skip_rows=int(self.header), block_size=block),
            "parse_options": csv_reader.ParseOptions(delimiter=self.separator, newlines_in_values=quotes),
            "convert_options": csv_reader.ConvertOptions(
                column_types=dict.fromkeys(self.names, pa.string()), strings_can_be_null=False
            ),
        }


def read_separated(source: Source) -> Reading:
    """Read a CSV or TSV file; lines at the top that begin with # or % are comments."""
    data, notes = _utf8(source, lines=True)
    layout = layout_of(data, source)
    frame, by_arrow = _parsed(data, layout)
    if len(frame) == 0:
        raise InputError(f"there are no rows below the names of the columns ({show(frame.columns)})")
    notes += layout.notes
    told = (f"{source.path.name}: {', '.join(notes)}.",) if notes else ()
    plain = by_arrow and layout.separator != " " and source.packing != ".zip" and source.encoding is None
    return Reading(frame, notes=told, separator=layout.separator, streams=plain and not source.is_stdin)


def layout_of(data: bytes, source: Source) -> Layout:
    """Guess separator and header from the first lines of a text, as far as ``source`` does not say them.

    Returns
    -------
    Layout
    """
    skipped, notes, separator = comments(data), [], source.separator
    declared = re.match(rb'"?sep=([^\w\r\n])"?\r?\n', data[skipped : skipped + 16])  # as Excel writes it
    if declared:
        skipped, separator = skipped + declared.end(), separator or declared[1].decode()
    if not data[skipped:].strip():
        raise InputError("the file is empty: it needs at least one row")
    start = skipped + len(data[skipped : skipped + 4096]) - len(data[skipped : skipped + 4096].lstrip(b"\r\n"))
    ends = data.find(b"\n", max(data.find(b"\n", start), 0) + 1), start + CHUNK  # a table of many columns has long lines
    sample = data[start : max(start + (1 << 16), ends[ends[0] < 0])].decode("utf-8", "ignore").splitlines()[:LOOKED_AT]
    known, separator = separator is not None, separator or _guess_separator(sample, source.suffix)
    head = [row for row in _split(sample, separator) if row]
    if len(head[0]) > MOST_COLUMNS:
        raise InputError(f"the first line has {len(head[0]):,} values, more than {MOST_COLUMNS:,} columns: {AS_MATRIX}")
    _check_widths(head, source.header)
    header = _has_header(head) if source.header is None else source.header
    if not known:
        notes.append(f"values separated by {SEPARATORS[separator]}")
    if source.header is None:
        notes.append("the first line holds the names of the columns" if header else "there are no names of columns")
    names = distinct_names([name.strip() if header else "" for name in head[0]])
    return Layout(start, separator, names, header, notes)


def read_json_lines(source: Source) -> Reading:
    """Read one JSON object per line, or one list of objects."""
    data, _ = _utf8(source)
    frame = _json_frame(data)
    if frame is not None:
        return Reading(frame)
    text = data.decode()
    if text.lstrip().startswith("["):
        lines = list(enumerate(_loaded(text, 1), 1))
    else:
        lines = [(number, _loaded(line, number)) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    for number, row in lines:
        if not isinstance(row, dict):
            raise InputError(f'line {number} is no JSON object ({show([row])}): each line needs one, such as {{"id": 1}}')
    if not lines:
        raise InputError("the file is empty: it needs at least one row")
    lists = [name for name, value in lines[0][1].items() if isinstance(value, list) and value and isinstance(value[0], dict)]
    if len(lines) == 1 and lists:
        raise InputError(f"the file is one object with lists of rows ({show(lists)}), and a table is one list of rows, or one"
                         " row per line: save each list as a file of its own, for --nodes and for --edges")  # fmt: skip
    return Reading(_frame_of_rows([row for _, row in lines]))


def _is_deep(data: bytes) -> bool:
    """Whether a thousand brackets may be open at once; arrow's parser ends the process at some fifty thousand."""
    brackets = np.frombuffer(data.translate(None, _NOT_BRACKETS), np.uint8)
    steps = np.where((brackets == ord("[")) | (brackets == ord("{")), 1, -1).astype(np.int32)
    return bool(len(steps)) and int(np.cumsum(steps).max()) > 1000


def _json_frame(data: bytes) -> pd.DataFrame | None:
    """JSON lines read by arrow; None where arrow would change a value, or cannot read it."""
    import pyarrow.json

    if data[:64].lstrip()[:1] != b"{" or _is_deep(data):
        return None
    try:
        options = pyarrow.json.ReadOptions(block_size=1 << 24)
        table = pyarrow.json.read_json(pa.BufferReader(data), read_options=options)
    except pa.ArrowInvalid:
        return None
    for column in table.columns:
        known = pa.types.is_integer(column.type) or pa.types.is_string(column.type) or pa.types.is_boolean(column.type)
        if pa.types.is_floating(column.type):
            known = (pc.max(pc.abs(column)).as_py() or 0) < 2**53
        if not known:
            return None
    return frame_of(table)


def _members(row: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Values by name; those of an object within an object as ``address.city``."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        found |= _members(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return found


def _frame_of_rows(rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Columns in order of first appearance; whole numbers stay whole where others are missing."""
    rows = [_members(row) for row in rows]
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
    except RecursionError:
        raise InputError(f"line {number} is nested too deeply: a row is one object of values and lists") from None
    except ValueError as error:
        raise InputError(f"line {number} is not JSON ({error}): one object per line is needed") from None


def _utf8(source: Source, lines: bool = False) -> tuple[bytes, list[str]]:
    """The whole text as UTF-8, which it is unless a byte order mark or the user says otherwise."""
    data = unpacked(source, lines)
    encoding, notes = source.encoding or "", []
    mark = next((name for mark, name in MARKS.items() if data.startswith(mark)), "")
    if mark and not encoding.lower().startswith("utf"):  # whatever --encoding says of the other files
        encoding, notes = mark, ["encoded as UTF-16"] if mark == "utf-16" else []
    if encoding.lower().replace("_", "-") not in ("", "utf-8", "utf8"):
        data = _decoded(data, encoding).encode()
    if b"\0" in data:
        raise InputError("there are zero bytes in it, so it is not UTF-8 text: name its format by its ending (.parquet, .npz, …),"
                         " or its encoding with --encoding, such as utf-16-le")  # fmt: skip
    if not data.isascii():
        _decoded(data, "utf-8")
    return data.removeprefix(codecs.BOM_UTF8), notes


def unpacked(source: Source, lines: bool = False) -> bytes:
    """The bytes of a file, or of what is packed in it; ``lines`` refuses lines that no table has."""
    packing = source.packing
    if isinstance(source.data, bytes):
        return unpack(io.BytesIO(source.data), len(source.data), lines)
    if source.is_stdin:
        return unpack(sys.stdin.buffer, sys.maxsize, lines)
    stored = source.path.stat().st_size
    with guard(f"{packing} file" if packing else "file that can be read", "copy it again"):
        if packing == ".zip":
            with BoundedFile(source.path) as whole, zipfile.ZipFile(whole) as archive:
                names = [item.filename for item in archive.infolist() if not item.is_dir()]
                if len(names) != 1:
                    raise InputError(f"a .zip needs one file in it, not {len(names)} ({show(names)}): unpack it")
                check_members(archive, stored)
                with archive.open(names[0]) as file:
                    return unpack(file, stored, lines)
        with stream(source.path) as file:
            return unpack(file, stored, lines)


def stream(path: Path, file: Any = None) -> Any:
    """What a file holds, or what is packed in it by gzip or zstd, to be read once; ``file`` is the file if it is open."""
    packing = {".gz": "gzip", ".zst": "zstd"}.get(path.suffix.lower())
    return pa.input_stream(str(path) if file is None else file, compression=packing, buffer_size=None if file else BLOCK)


def _decoded(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except LookupError:
        raise InputError(f"there is no encoding {encoding!r}: try utf-8, latin-1, cp1252 or utf-16") from None
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(
            f"byte {data[error.start]:#04x} in line {line} is not {encoding}: name the file's encoding"
            " with --encoding, such as latin-1 or cp1252"
        ) from None


def single_blanks(body: Any) -> bytes:
    """Lines whose values are separated by one blank, without blanks at their ends."""
    return re.sub(rb"(?m)^ | $| (?=\r)", b"", re.sub(rb"[ \t]+", b" ", body))


def comments(data: bytes) -> int:
    """Number of bytes of leading comment lines."""
    place = 0
    while data[place : place + 1] in (b"#", b"%"):
        end = data.find(b"\n", place)
        place = len(data) if end < 0 else end + 1
    return place


def _split(lines: Sequence[str], separator: str) -> list[list[str]]:
    """Values of each line; blanks (and tabs) separate however many there are."""
    try:
        return [line.split() for line in lines] if separator == " " else list(csv.reader(lines, delimiter=separator))
    except csv.Error:  # a field that is longer than the module takes, when another separator is tried
        return [line.split(separator) for line in lines]


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
    return not (all(map(_is_number, first)) or (len(first) > 1 and all(value in rest for value in first)))


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _parsed(data: bytes, layout: Layout) -> tuple[pd.DataFrame, bool]:
    """The table, every value as text; by arrow, and by pandas where rows are of different lengths (False)."""
    body = memoryview(data)[layout.start :]
    if layout.separator == " ":  # any number of blanks and tabs
        body = memoryview(single_blanks(body))
    file, options, short = pa.py_buffer(body), layout.options(b'"' in data, 1 << 23), list[str]()
    try:
        table = csv_reader.read_csv(pa.BufferReader(file), **options)
    except (pa.ArrowInvalid, ValueError):

        def skipped(row: Any) -> str:
            short.append(row.text)
            return "skip"

        options["parse_options"].invalid_row_handler = skipped
        with suppress(pa.ArrowInvalid, ValueError):
            csv_reader.read_csv(pa.BufferReader(file), **options)
        if short:
            lines = number_of(len(short), "line has", "lines have")
            layout.notes.append(f"{lines} fewer values than there are columns ({show(short)}), the rest is read as missing")
        above = data[: layout.start].count(b"\n")
        return _parsed_slowly(bytes(body), layout, above), False
    return frame_of(table), True


def _parsed_slowly(body: bytes, layout: Layout, above: int) -> pd.DataFrame:
    _, separator, names, header, _ = layout
    rules: Any = {"dtype": str, "keep_default_na": False, "na_filter": False, "index_col": False}
    try:
        frame = pd.read_csv(io.BytesIO(body), sep=separator, header=0 if header else None, **rules)
    except pd.errors.ParserError as error:
        message = str(error).strip().rsplit("error: ", 1)[-1]
        more = f" (after {above} lines of comments)" if above else ""
        raise InputError(
            f"read with {SEPARATORS.get(separator, repr(separator))} between values, {_sentence(message)}{more}:"
            " name the separator with --separator, or correct that line"
        ) from None
    frame.columns = pd.Index([str(name) for name in names[: frame.shape[1]]], dtype=object)
    return frame.fillna("").astype(pd.ArrowDtype(pa.string()))


def _check_widths(head: Sequence[Sequence[str]], header: bool | None) -> None:
    """Raise an error for a second line longer than the first, which would shift every column by one."""
    if header is not False and len(head) > 1 and len(head[1]) > len(head[0]):
        raise InputError(
            f"the first line has {number_of(len(head[0]), 'name of a column', 'names of columns')}, the second {len(head[1])}"
            " values: name the separator with --separator, correct the first line, or remove what stands above the table"
        )


def _sentence(message: str) -> str:
    """Reword pandas' message "Expected 2 fields in line 4, saw 3"."""
    found = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", message)
    if not found:
        return f"the lines do not fit ({message})"
    return f"line {found[2]} has {found[3]} values where {found[1]} are expected"
