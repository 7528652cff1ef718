"""Readers of SQLite and DuckDB files, opened for reading only."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from slimg.errors import InputError, require
from slimg.graph.columns import show
from slimg.io import Reading, Source

_SQLITE_MAGIC = b"SQLite format 3\x00"


def read_database(source: Source) -> Reading:
    """Read one table (or view) of a database; which kind of database is read from its first bytes."""
    with open(source.path, "rb") as file:
        is_sqlite = file.read(16) == _SQLITE_MAGIC
    return _read_sqlite(source) if is_sqlite else _read_duckdb(source)


def _read_sqlite(source: Source) -> Reading:
    address = f"{Path(source.path).resolve().as_uri()}?mode=ro"
    connection = sqlite3.connect(address, uri=True)
    try:
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")]
        cursor = connection.execute(f"SELECT * FROM {_quoted(_table(source, names))}")
        columns = [entry[0] for entry in cursor.description]
        return _reading(columns, cursor.fetchall)
    except sqlite3.DatabaseError as error:
        raise InputError(f"SQLite cannot read it ({error})") from None
    finally:
        connection.close()


def _read_duckdb(source: Source) -> Reading:
    duckdb = require("duckdb", "duckdb", f"reading {source.path}, which is no SQLite file,")
    try:
        connection = duckdb.connect(str(source.path), read_only=True)
    except Exception as error:  # duckdb raises classes of its own
        raise InputError(f"it is neither a SQLite nor a DuckDB file ({str(error).splitlines()[0]})") from None
    try:
        names = [row[0] for row in connection.execute("SELECT table_name FROM information_schema.tables").fetchall()]
        cursor = connection.execute(f"SELECT * FROM {_quoted(_table(source, names))}")
        return _reading([entry[0] for entry in cursor.description], cursor.fetchall)
    finally:
        connection.close()


def _table(source: Source, names: list[str]) -> str:
    """The name of the table that was named, or of the only one."""
    if source.table is None and len(names) == 1:
        return names[0]
    if source.table not in names:
        asked = f"there is no table {source.table!r}" if source.table else "no table is named"
        there = f"its tables are {show(names)}" if names else "it has no tables"
        raise InputError(f"{asked}: {there}; name one as {source.path.name}:TABLE")
    return source.table


def _reading(columns: list[str], fetch: Callable[[], list[Any]]) -> Reading:
    rows = fetch()
    if not rows:
        raise InputError("the table is empty: it needs at least one row")
    frame = pd.DataFrame({name: pd.Series(list(values), dtype=object).infer_objects()
                          for name, values in zip(columns, zip(*rows, strict=True), strict=True)})  # fmt: skip
    return Reading(frame)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
