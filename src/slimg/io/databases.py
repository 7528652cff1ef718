"""Readers of SQLite, DuckDB and PostgreSQL: tables, queries and the schema, for reading only.

    Database   a connection: ``select`` gives the rows of a query as an arrow table, ``tables`` the schema
    Table      name, columns with their declared types, primary key, foreign keys

Nothing can be written: SQLite and DuckDB files are opened read-only (DuckDB in a process of its own, without access to other
files), PostgreSQL in one read-only transaction, whose tables are therefore of one moment. Ctrl-C ends a query. PostgreSQL takes
passwords from where its clients take them: the environment (PGPASSWORD), ~/.pgpass, a service file, or the address itself,
which is never written.
"""

from __future__ import annotations

import json
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from slimg.errors import InputError, require, without_password
from slimg.graph.columns import show
from slimg.io import SMALL, Reading, Source, check_size, is_interrupt
from slimg.io.values import distinct_names, frame_of

_SQLITE_MAGIC = b"SQLite format 3\x00"
_QUERY = re.compile(r"\s*(select|with)\b", re.IGNORECASE)
CHUNK = 50_000
"""Rows of SQLite that are held as Python objects at a time."""


@dataclass(frozen=True)
class ForeignKey:
    """Columns whose values are those of ``targets``, columns of another table, or of the same."""

    columns: tuple[str, ...]
    table: str
    targets: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A table of a schema: declared types (lower case) by column, primary key (may be empty), foreign keys."""

    name: str
    columns: dict[str, str]
    key: tuple[str, ...]
    foreign: tuple[ForeignKey, ...]


class Database:
    """A connection; subclasses say how rows, names of tables and the schema are read."""

    def __init__(self, connection: Any):
        self.connection = connection

    def names(self) -> list[str]:
        """Names of tables and views."""
        return [row[0] for row in self.rows(self.NAMES)]

    NAMES = ""

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Rows of a small query."""
        found = self.select(query)
        return list(zip(*(column.to_pylist() for column in found.columns), strict=True))

    def select(self, query: str) -> pa.Table:
        """Rows of a query."""
        raise NotImplementedError

    def cast(self, column: str, kind: str) -> str:
        """A column in a list of SELECT, cast where its type has no place in arrow."""
        return quoted(column)

    def tables(self) -> list[Table]:
        """Tables of the schema, by name."""
        columns: dict[str, dict[str, str]] = {}
        for table, name, kind in self.rows(self.COLUMNS):
            columns.setdefault(table, {})[name] = kind.lower()
        keys: dict[str, tuple[str, ...]] = {}
        foreign: dict[str, list[ForeignKey]] = {}
        for table, kind, *lists in sorted(self.rows(self.CONSTRAINTS), key=lambda row: row[1] != "p"):
            names, other, targets = (json.loads(each) if isinstance(each, str) and each[:1] == "[" else each for each in lists)
            if kind == "p":
                keys[table] = tuple(names)
            elif other in columns:  # SQLite: no targets are the key of the other table
                named = keys.get(other, ()) if None in targets else tuple(targets)
                foreign.setdefault(table, []).append(ForeignKey(tuple(names), other, named))
        return [_table(name, columns[name], keys.get(name, ()), foreign.get(name, [])) for name in sorted(columns)]

    COLUMNS = CONSTRAINTS = ""


def _table(name: str, columns: dict[str, str], key: tuple[str, ...], foreign: Sequence[ForeignKey]) -> Table:
    """Foreign keys in the order of their columns, each once."""
    order = {column: place for place, column in enumerate(columns)}
    ordered = sorted(dict.fromkeys(foreign), key=lambda each: ([order[column] for column in each.columns], each.table))
    return Table(name, columns, key, tuple(ordered))


class _Sqlite(Database):
    NAMES = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    COLUMNS = f"""SELECT t.name, c.name, c.type FROM ({NAMES} AND type = 'table') t JOIN pragma_table_info(t.name) c
        ORDER BY t.name, c.cid"""
    CONSTRAINTS = f"""SELECT name, 'p', json_group_array(part), NULL, NULL FROM (SELECT t.name, c.name AS part FROM ({NAMES}) t
            JOIN pragma_table_info(t.name) c WHERE c.pk ORDER BY t.name, c.pk) GROUP BY name
        UNION ALL SELECT name, 'f', json_group_array(own), other, json_group_array(target) FROM (SELECT t.name, k.id,
            k."from" AS own, o.name AS other, k."to" AS target FROM ({NAMES}) t JOIN pragma_foreign_key_list(t.name) k
            JOIN ({NAMES}) o ON lower(o.name) = lower(k."table") ORDER BY t.name, k.id, k.seq) GROUP BY name, id, other"""

    def select(self, query: str) -> pa.Table:
        cursor = self.connection.execute(query)
        names, parts = distinct_names([entry[0] for entry in cursor.description]), []
        while rows := cursor.fetchmany(CHUNK):
            parts.append(pa.table([_array(column) for column in zip(*rows, strict=True)], names))
        if not parts:
            return pa.table([pa.nulls(0)] * len(names), names)
        kinds = [{str(part.column(place).type) for part in parts} - {"null"} for place in range(len(names))]
        mixed = [len(kind) > 1 and not kind <= {"int64", "double"} for kind in kinds]
        if any(mixed):  # a column of numbers in some rows and of text in others is one of text
            parts = [pa.table([_texts(c) if odd else c for c, odd in zip(part.columns, mixed, strict=True)], names)
                     for part in parts]  # fmt: skip
        return pa.concat_tables(parts, promote_options="permissive")


def _array(values: Sequence[Any]) -> pa.Array:
    """One type if all values are of one, else text: SQLite has no types of columns."""
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pa.array([None if value is None else str(value) for value in values], pa.string())


def _texts(column: pa.ChunkedArray) -> pa.Array:
    return pa.array([None if value is None else str(value) for value in column.to_pylist()], pa.string())


class _Duckdb(Database):
    NAMES = "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
    COLUMNS = """SELECT c.table_name, c.column_name, c.data_type FROM information_schema.columns c JOIN
        information_schema.tables t USING (table_catalog, table_schema, table_name) WHERE t.table_type = 'BASE TABLE' AND
        c.table_schema = current_schema() ORDER BY c.table_name, c.ordinal_position"""
    CONSTRAINTS = """SELECT table_name, CASE constraint_type WHEN 'PRIMARY KEY' THEN 'p' ELSE 'f' END,
        constraint_column_names, referenced_table, referenced_column_names FROM duckdb_constraints()
        WHERE constraint_type IN ('PRIMARY KEY', 'FOREIGN KEY') AND schema_name = current_schema()"""

    def select(self, query: str) -> pa.Table:
        return self.connection.select(query)


class _DuckdbProcess:
    """A process that reads a DuckDB file (`_duckdb`), since a damaged file can end it with a signal."""

    def __init__(self, path: Path):
        words = [sys.executable, str(Path(__file__).with_name("_duckdb.py")), str(path)]
        self.size = path.stat().st_size
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def select(self, query: str) -> pa.Table:
        assert self.process.stdin and self.process.stdout
        try:
            self.process.stdin.write(json.dumps(query).encode() + b"\n")
            self.process.stdin.flush()
            with pa.ipc.open_stream(self.process.stdout) as stream:
                return stream.read_all()
        except (OSError, pa.ArrowInvalid):
            raise self._reason() from None

    def _reason(self) -> Exception:
        """Why the process has ended."""
        text = " ".join(self.process.communicate()[1].decode("utf-8", "replace").split())
        if self.process.returncode < 0:
            name = signal.Signals(-self.process.returncode).name
            return InputError(f"DuckDB ended with {name} while it read the file, which is damaged: write or copy it again")
        if "Out of Memory" in text:
            check_size(SMALL + 1, self.size, "the database")  # a small file declares a large block
            return MemoryError(text[:300])
        return _advice(text, "it is no DuckDB file, or damaged")

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


class _Postgres(Database):
    NAMES = """SELECT relname::text FROM pg_class WHERE relkind IN ('r', 'p', 'v', 'm', 'f') AND pg_table_is_visible(oid)
        AND relnamespace::regnamespace::text NOT IN ('pg_catalog', 'information_schema') ORDER BY 1"""
    COLUMNS = """SELECT c.relname::text, a.attname::text, CASE t.typtype WHEN 'e' THEN 'enum'
            ELSE format_type(CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END, NULL) END
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid JOIN pg_type t ON t.oid = a.atttypid
        WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND a.attnum > 0 AND NOT a.attisdropped
            AND pg_table_is_visible(c.oid) AND c.relnamespace::regnamespace::text NOT IN ('pg_catalog', 'information_schema')
        ORDER BY c.relname, a.attnum"""
    CONSTRAINTS = """SELECT c.relname::text, k.contype::text, {own}, f.relname::text, {other} FROM pg_constraint k
        JOIN pg_class c ON c.oid = k.conrelid LEFT JOIN pg_class f ON f.oid = k.confrelid AND pg_table_is_visible(f.oid)
        WHERE k.contype IN ('p', 'f') AND pg_table_is_visible(c.oid) ORDER BY 1, 2""".format(
        **{
            name: f"""(SELECT array_agg(a.attname::text ORDER BY u.place) FROM unnest(k.{keys}) WITH ORDINALITY u (number, place)
                JOIN pg_attribute a ON a.attrelid = k.{table} AND a.attnum = u.number)"""
            for name, keys, table in (("own", "conkey", "conrelid"), ("other", "confkey", "confrelid"))
        }
    )

    def select(self, query: str) -> pa.Table:
        with self.connection.cursor() as cursor:
            cursor.execute(query)
            return cursor.fetch_arrow_table()

    def cast(self, column: str, kind: str) -> str:
        if re.match(r"numeric|decimal|money", kind):
            return f"{quoted(column)}::numeric::double precision AS {quoted(column)}"
        plain = re.match(r"boolean|smallint|integer|bigint|real|double|text|character varying|date|timestamp", kind)
        return quoted(column) if plain else f"{quoted(column)}::text AS {quoted(column)}"


def quoted(name: str) -> str:
    """Return a name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def is_query(text: str | None) -> bool:
    """Whether what stands after the colon of a source is a query, not the name of a table."""
    return bool(text and _QUERY.match(text))


def read_database(source: Source) -> Reading:
    """Read a query, or one table, which is named unless it is the only one."""
    with opened(source) as database:
        if is_query(source.table):
            found = database.select(f"SELECT * FROM ({str(source.table).strip().rstrip(';')}) AS query")
        else:
            found = database.select(f"SELECT * FROM {quoted(_named(source, database.names()))}")
    if not found.num_rows:
        raise InputError("the table is empty: it needs at least one row")
    return Reading(as_rows(found))


def as_rows(found: pa.Table) -> pd.DataFrame:
    """Make a frame of an arrow table; decimal numbers and numbers of a type of PostgreSQL's own become floats."""
    found.validate(full=True)  # text of a damaged file may be no UTF-8
    for place, field in enumerate(found.schema):
        kind = getattr(field.type, "storage_type", field.type)
        if kind != field.type:
            found = found.set_column(place, field.name, found.column(place).cast(kind))
        if pa.types.is_decimal(kind):
            found = found.set_column(place, field.name, pc.cast(found.column(place), pa.float64()))
    return frame_of(found)


@contextmanager
def opened(source: Source) -> Iterator[Database]:
    """Connect to a database; errors of its library are told in one sentence, and an interrupt is one."""
    with ExitStack() as stack:
        try:
            database = _connected(source)
            stack.callback(database.connection.close)
            yield database
        except InputError:
            raise
        except Exception as error:  # every library has classes of its own
            if is_interrupt(error):
                raise KeyboardInterrupt from None
            if not type(error).__module__.startswith(("sqlite3", "adbc_driver_manager")):
                raise
            raise _advice(without_password(" ".join(str(error).split())), "it cannot be read") from None


def _advice(text: str, otherwise: str) -> InputError:
    """What a library says, after what it means."""
    for sign, advice in ADVICE.items():
        if re.search(sign, text):
            return InputError(f"{advice} ({text[:200]})")
    return InputError(f"{otherwise} ({text[:300]})")


ADVICE = {
    "database is locked|set lock on file|different configuration": "another program holds it locked: close that program, or"
    " copy the file and name the copy",
    "password|authentication": "the server refuses the user: set PGUSER and PGPASSWORD, or an entry of ~/.pgpass",
    "does not exist.*FATAL|FATAL.*does not exist": "the server has no such database or role: check the address",
    "Failed to connect|could not connect|Connection refused|closed the connection|terminating connection": "the server"
    " cannot be reached: check the address, and that it runs",
    "file is not a database|not a valid DuckDB|malformed": "it is neither a SQLite nor a DuckDB file, or damaged",
    "permission denied|Permission": "the user may not read it: ask its owner",
}
"""What a library says → what it means and what to do; the first that fits."""


def _connected(source: Source) -> Database:
    if source.url is not None:
        driver = require("adbc_driver_postgresql.dbapi", "postgresql", f"reading {source}")
        connection = driver.connect(source.url)
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        return _Postgres(connection)
    with open(source.path, "rb") as file:
        is_sqlite = file.read(16) == _SQLITE_MAGIC
    if is_sqlite:
        connection = sqlite3.connect(f"{Path(source.path).resolve().as_uri()}?mode=ro", uri=True)
        connection.set_progress_handler(lambda: 0, 100_000)  # in which an interrupt is noticed
        return _Sqlite(connection)
    require("duckdb", "duckdb", f"reading {source.path}, which is no SQLite file,")
    return _Duckdb(_DuckdbProcess(Path(source.path)))


def _named(source: Source, names: list[str]) -> str:
    """The name of the table that was named, or of the only one."""
    if source.table is None and len(names) == 1:
        return names[0]
    if source.table not in names:
        problem = f"there is no table {source.table!r}" if source.table else "no table is named"
        there = f"its tables are {show(names)}" if names else "it has no tables"
        raise InputError(f"{problem}: {there}; name one as {source.database}:TABLE")
    return source.table


