"""Tables written safely: whole or not at all, never over what is there without leave, and inert in a spreadsheet.

A text that a spreadsheet would run as a formula (it begins with = + - @, a tab or a return) gets a leading quote. Text
that is a number, such as -3.5, stays as it is.
"""

from __future__ import annotations

import csv
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from slimg.errors import InputError

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def write_table(frame: pd.DataFrame, path: Path, *, separator: str = ",") -> Path:
    """Write a table in the format of the path's ending (.csv, .tsv, .jsonl, .parquet)."""
    if path.suffix == ".parquet":
        return write_whole(path, lambda file: _as_arrow(frame).to_parquet(file, index=False), binary=True)
    if path.suffix == ".jsonl":
        return write_whole(path, lambda file: _write_lines(frame, file))
    return write_csv(frame, path, separator="\t" if path.suffix == ".tsv" else separator)


def write_csv(frame: pd.DataFrame, path: Path, *, separator: str = ",") -> Path:
    """Write a CSV file whose text no spreadsheet runs."""
    safe = frame.map(_inert)
    safe.columns = [_inert(name) for name in frame.columns]
    return write_whole(path, lambda file: safe.to_csv(file, sep=separator, index=False, quoting=csv.QUOTE_NONNUMERIC))


def write_text(text: str, path: Path) -> Path:
    """Write a text file."""
    return write_whole(path, lambda file: file.write(text))


def write_whole(path: Path, write: Callable[[IO[Any]], object], *, binary: bool = False) -> Path:
    """Write a draft beside ``path`` and put it in its place: the whole file or none of it."""
    path = Path(path)
    make_folder(path.parent)
    try:
        handle, draft = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    except PermissionError:
        raise InputError(f"{path.parent} may not be written to: choose another folder") from None
    try:
        with os.fdopen(handle, "wb") if binary else os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            write(file)
        os.chmod(draft, 0o644)
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise
    return path


def make_folder(folder: Path) -> Path:
    """The folder, made if need be."""
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
    """Refuse to write over files unless told to."""
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
