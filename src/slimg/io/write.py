"""Writers: tables and texts are written whole or not at all, and are safe to open in a spreadsheet.

A text that a spreadsheet would run as a formula (it begins with = + - @, a tab or a return) gets a leading quote; text that is
a number, such as -3.5, or one sign alone stays, and so do ids.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from slimg.errors import InputError, require
from slimg.graph.columns import arrow_text
from slimg.io import SHEET_ROWS, make_folder
from slimg.io.values import NUMBER
from slimg.system import atomic_write

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
WRITTEN = {
    **dict.fromkeys((".csv", ".txt", ".dat", ""), ".csv"),
    **dict.fromkeys((".tsv", ".tab"), ".tsv"),
    ".xlsx": ".xlsx",
    **dict.fromkeys((".jsonl", ".ndjson"), ".jsonl"),
    **dict.fromkeys((".parquet", ".pq"), ".parquet"),
}
"""Ending → ending of the format that such a file is written in."""


def write_table(
    frame: pd.DataFrame | Iterable[pd.DataFrame], path: Path, *, separator: str = ",", keep: Sequence[str] = ()
) -> Path:
    """Write a table in the format of the path's ending; its folder is made if need be.

    Parameters
    ----------
    frame : DataFrame, or iterable of DataFrame
        The table, or runs of its rows with the same columns.
    path : Path
        A name that ends in .parquet, .jsonl, .tsv, .xlsx, or, for CSV, in .csv, .txt or nothing.
    separator : str, default=","
        Of a CSV file.
    keep : sequence of str, default=()
        Columns that are written as they are, though a spreadsheet may run what is in them: ids, by which tables are joined.

    Returns
    -------
    Path
        ``path``
    """
    ending = output_format(path)
    make_folder(path.parent)
    frames: Any = [frame] if hasattr(frame, "columns") else frame
    with atomic_write(path, binary=ending != ".jsonl") as file:
        WRITERS[ending](frames, file, "\t" if ending == ".tsv" else separator, keep)
    return path


def output_format(path: Path) -> str:
    """Return the ending of the format that a table of this name is written in.

    Returns
    -------
    str

    Raises
    ------
    InputError
        If the name is that of a format slimg does not write.
    """
    ending = path.suffix.lower()
    if ending not in WRITTEN:
        raise InputError(f"{path}: tables are written as {' '.join(filter(None, WRITTEN))}, not as {ending}")
    return WRITTEN[ending]


Frames: TypeAlias = "Iterable[pd.DataFrame]"
"""Runs of rows of one table."""


def write_csv(frames: Frames, file: IO[bytes], separator: str, keep: Sequence[str]) -> None:
    """Write comma-separated values; all text is quoted."""
    import pyarrow.csv

    options = pyarrow.csv.WriteOptions(include_header=False, delimiter=separator)
    for place, frame in enumerate(frames):
        if place == 0:
            header = io.StringIO()
            csv.writer(header, delimiter=separator, quoting=csv.QUOTE_ALL, lineterminator="\n").writerow(
                inert(pa.array([str(name) for name in frame.columns])).to_pylist()
            )
            file.write(header.getvalue().encode())
        columns = [_printed(frame.iloc[:, place], frame.columns[place] in keep) for place in range(frame.shape[1])]
        table = pa.table(columns, names=[str(place) for place in range(len(columns))])
        pyarrow.csv.write_csv(table, file, options)


def write_lines(frames: Frames, file: IO[str], separator: str, keep: Sequence[str]) -> None:
    """Write a JSON object in each line."""
    for row in (row for frame in frames for row in frame.astype(object).where(frame.notna(), None).to_dict("records")):
        file.write(json.dumps(row, ensure_ascii=False, default=_members) + "\n")


def _members(array: np.ndarray) -> list[Any]:
    return [None if member != member else member for member in array.tolist()]


def write_parquet(frames: Frames, file: IO[bytes], separator: str, keep: Sequence[str]) -> None:
    """Write Parquet; columns of mixed types become text."""
    import pyarrow.parquet as pq

    writer = None
    for frame in frames:
        mixed = {}
        for name in frame.columns:
            column = frame[name]
            if column.dtype == object and pd.api.types.infer_dtype(column, skipna=True).startswith("mixed-integer"):
                mixed[name] = column.map(str, na_action="ignore")
        table = pa.Table.from_pandas(frame.assign(**mixed), preserve_index=False)
        if any(isinstance(kind, pd.ArrowDtype) and kind.kind != "O" for kind in frame.dtypes):
            table = table.replace_schema_metadata()  # it would come back in arrow's types
        repeated = [each.name for each in table.schema if not pa.types.is_floating(each.type)]
        writer = writer or pq.ParquetWriter(file, table.schema, use_dictionary=repeated)  # of fractions it is slow and large
        writer.write_table(table)
    if writer is not None:
        writer.close()


def write_excel(frames: Frames, file: IO[bytes], separator: str, keep: Sequence[str]) -> None:
    """Write a sheet; text is never a formula."""
    openpyxl = require("openpyxl", "excel", "writing .xlsx")
    frame = pd.concat(list(frames))
    if len(frame) >= SHEET_ROWS:
        raise InputError(f"a sheet has room for {SHEET_ROWS - 1:,} rows, not for {len(frame):,}: write .csv or .parquet")
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append([str(name) for name in frame.columns])
    for row in frame.astype(object).where(frame.notna(), None).itertuples(index=False):
        sheet.append([value if isinstance(value, (str, bool, int, float, type(None))) else _plain(value) for value in row])
    for cell in (cell for row in sheet.iter_rows() for cell in row if cell.data_type == "f"):
        cell.data_type = "s"
    book.save(file)


WRITERS: dict[str, Any] = {
    ".csv": write_csv, ".tsv": write_csv, ".jsonl": write_lines, ".parquet": write_parquet, ".xlsx": write_excel
}  # fmt: skip


def inert(text: Any) -> Any:
    """Put a quote before text that a spreadsheet would run as a formula, unless it is a number."""
    starts = "".join(f"\\x{ord(start):02x}" for start in FORMULA_STARTS)
    formula = pc.match_substring_regex(text, f"(?s)^[{starts}].")
    if not pc.any(formula).as_py():
        return text
    formula = pc.and_not(formula, pc.match_substring_regex(text, NUMBER))
    quote, nothing = pa.scalar("'", text.type), pa.scalar("", text.type)
    return pc.if_else(formula, pc.binary_join_element_wise(quote, text, nothing), text)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value)


def _printed(series: pd.Series, keep: bool) -> Any:
    """A column as arrow writes it: numbers, or text that is inert unless it is to be kept."""
    text = arrow_text(series)
    if text is None and pd.api.types.is_numeric_dtype(series.dtype) and not pd.api.types.is_bool_dtype(series.dtype):
        return pa.array(series, from_pandas=True)
    if text is None:
        text = pa.array(series.astype(object).map(str, na_action="ignore"), pa.string(), from_pandas=True)
    return text if keep else inert(text)
