"""Tables and texts are written whole or not at all (`slimg.atomic`), and are safe to open in a spreadsheet.

A text that a spreadsheet would run as a formula (it begins with = + - @, a tab or a return) gets a leading quote. Text
that is a number, such as -3.5, stays as it is.
"""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from slimg.atomic import atomic_write
from slimg.errors import InputError

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def write_table(frame: pd.DataFrame, path: Path, *, separator: str = ",") -> Path:
    """Write a table in the format of the path's ending; its folder is made if need be.

    Parameters
    ----------
    frame : DataFrame
    path : Path
        A name that ends in .parquet, .jsonl or .tsv; any other ending is written as CSV.
    separator : str, default=","
        Of a CSV file.

    Returns
    -------
    Path
        ``path``
    """
    make_folder(path.parent)
    with atomic_write(path, binary=path.suffix == ".parquet") as file:
        if path.suffix == ".parquet":
            _as_arrow(frame).to_parquet(file, index=False)
        elif path.suffix == ".jsonl":
            _write_lines(frame, file)
        else:
            safe = frame.map(_inert)
            safe.columns = [_inert(name) for name in frame.columns]
            separator = "\t" if path.suffix == ".tsv" else separator
            safe.to_csv(file, sep=separator, index=False, quoting=csv.QUOTE_NONNUMERIC)
    return path


def write_text(text: str, path: Path) -> Path:
    """Write a text file, whose folder is made if need be; return its path."""
    make_folder(path.parent)
    with atomic_write(path) as file:
        file.write(text)
    return path


def make_folder(folder: Path) -> Path:
    """Make a folder unless it is there, and return it; it is an error if it cannot be written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InputError(f"{folder} is a file, not a folder: choose another folder") from None
    except OSError as error:
        raise InputError(f"the folder {folder} cannot be made ({error.strerror}): choose another") from None
    if not os.access(folder, os.W_OK):
        raise InputError(f"{folder} may not be written to: choose another folder")
    return folder


def refuse_existing(paths: list[Path], force: bool) -> None:
    """Raise an error for files that exist already, unless ``force``."""
    there = [path for path in paths if path.exists()]
    if there and not force:
        names = ", ".join(str(path) for path in there)
        raise InputError(f"{names} would be written over: choose another folder with --out, or allow it with --force")


def _inert(value: Any) -> Any:
    if not isinstance(value, str) or not value.startswith(FORMULA_STARTS):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def _write_lines(frame: pd.DataFrame, file: IO[str]) -> None:
    names = list(frame.columns)
    for row in zip(*(frame[name].astype(object) for name in names), strict=True):
        file.write(json.dumps({n: _plain(v) for n, v in zip(names, row, strict=True)}, ensure_ascii=False) + "\n")


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        return [_plain(member) for member in value]
    return None if value is pd.NA or value is pd.NaT or (isinstance(value, float) and value != value) else value


def _as_arrow(frame: pd.DataFrame) -> pd.DataFrame:
    """Columns of mixed types as text, which Parquet needs."""
    changed = {}
    for name in frame.columns:
        column = frame[name]
        if column.dtype == object and len({type(value) for value in column if value is not None}) > 1:
            changed[name] = column.map(lambda value: None if value is None else str(value))
    return frame.assign(**changed) if changed else frame
