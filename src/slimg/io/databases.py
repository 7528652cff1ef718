"""Readers of SQLite and DuckDB files, opened for reading only."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pandas as pd

from slimg.errors import InputError, require
from slimg.graph.columns import show
from slimg.io import Reading, Source

_SQLITE_MAGIC = b"SQLite format 3\x00"


def read_database(source: Source) -> Reading:
    """Read one table, which is named unless it is the only one."""
    connection, tables = _connected(source)
    try:
        names = [row[0] for row in connection.execute(tables).fetchall()]
        name = _table(source, names).replace('"', '""')
        cursor = connection.execute(f'SELECT * FROM "{name}"')
        columns, rows = [entry[0] for entry in cursor.description], cursor.fetchall()
    except sqlite3.DatabaseError as error:
        raise InputError(f"SQLite cannot read it ({error})") from None
    finally:
        connection.close()
    if not rows:
        raise InputError("the table is empty: it needs at least one row")
    values = zip(columns, zip(*rows, strict=True), strict=True)
    return Reading(pd.DataFrame({name: pd.Series(list(column), dtype=object).infer_objects() for name, column in values}))


def _connected(source: Source) -> tuple[Any, str]:
    """A connection that reads only, and the query for names of tables."""
    with open(source.path, "rb") as file:
        is_sqlite = file.read(16) == _SQLITE_MAGIC
    if is_sqlite:
        address = f"{Path(source.path).resolve().as_uri()}?mode=ro"
        return sqlite3.connect(address, uri=True), "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
    duckdb = require("duckdb", "duckdb", f"reading {source.path}, which is no SQLite file,")
    try:
        return duckdb.connect(str(source.path), read_only=True), "SELECT table_name FROM information_schema.tables"
    except Exception as error:  # duckdb raises classes of its own
        raise InputError(f"it is neither a SQLite nor a DuckDB file ({str(error).splitlines()[0]})") from None


def _table(source: Source, names: list[str]) -> str:
    """The name of the table that was named, or of the only one."""
    if source.table is None and len(names) == 1:
        return names[0]
    if source.table not in names:
        asked = f"there is no table {source.table!r}" if source.table else "no table is named"
        there = f"its tables are {show(names)}" if names else "it has no tables"
        raise InputError(f"{asked}: {there}; name one as {source.path.name}:TABLE")
    return source.table
