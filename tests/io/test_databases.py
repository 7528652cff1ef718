"""Tables of SQLite and DuckDB, written by those themselves."""

import sqlite3
import sys

import duckdb
import pytest

from slimg.errors import InputError, SlimgError
from slimg.io import Source, read

QUERY = "CREATE TABLE {0} (id INTEGER, name TEXT, x REAL)", "INSERT INTO {0} VALUES (1, 'a', 0.5), (2, NULL, NULL)"


@pytest.fixture(params=["sqlite", "duckdb"])
def database(request, tmp_path):
    path = tmp_path / f"shop.{'db' if request.param == 'sqlite' else 'duckdb'}"
    connection = sqlite3.connect(path) if request.param == "sqlite" else duckdb.connect(str(path))
    for name in ("people", '"odd ""name"'):
        for line in QUERY:
            connection.execute(line.format(name))
    connection.execute("CREATE TABLE hollow (id INTEGER)")
    connection.commit()
    connection.close()
    return path


def test_a_table_by_name(database):
    found = read(Source.parse(f"{database}:people")).frame
    assert found.to_numpy().tolist()[0] == [1, "a", 0.5]
    assert found["name"].isna().tolist() == [False, True]
    assert read(Source(database, 'odd "name')).frame["id"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("table", "told"),
    [
        (None, "no table is named: its tables are .*'people'.*; name one as shop"),
        ("person", "there is no table 'person': its tables are"),
        ("people; DROP TABLE people", "there is no table"),
        ("hollow", "the table is empty"),
    ],
)
def test_bad_tables(database, table, told):
    with pytest.raises(InputError, match=told):
        read(Source(database, table))


def test_the_only_table_needs_no_name(tmp_path):
    connection = sqlite3.connect(tmp_path / "a.sqlite")
    connection.execute("CREATE TABLE t (id TEXT)")
    connection.execute("INSERT INTO t VALUES ('x')")
    connection.commit()
    connection.close()
    assert read(Source(tmp_path / "a.sqlite")).frame["id"].tolist() == ["x"]


def test_neither_of_both(tmp_path):
    (tmp_path / "a.db").write_bytes(b"something else entirely")
    with pytest.raises(InputError, match="neither a SQLite nor a DuckDB file"):
        read(Source(tmp_path / "a.db"))


def test_without_duckdb_one_sentence_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "a.duckdb").write_bytes(b"not read at all")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(SlimgError, match=r"needs duckdb: install it with `pip install slimg\[duckdb\]`"):
        read(Source(tmp_path / "a.duckdb"))
