"""A whole database as a graph: SQLite, DuckDB and PostgreSQL give the same one; what it cannot be is told in a sentence."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from dataclasses import replace
from functools import partial

import duckdb
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from shop import NODES, execute, make_shop, write_duckdb, write_files, write_postgres, write_sqlite

import slimg
from slimg.errors import InputError, SlimgError, without_password
from slimg.io import Source, read
from slimg.io.databases import ForeignKey, Table
from slimg.io.features import alone
from slimg.io.schema import roles

LABEL = "customers.churned"


@pytest.fixture(scope="module")
def tables():
    return make_shop()[0]


@pytest.fixture(scope="module")
def shops(tables, tmp_path_factory, postgres):
    folder = tmp_path_factory.mktemp("shop")
    return {"sqlite": write_sqlite(folder / "shop.db", tables), "duckdb": write_duckdb(folder / "shop.duckdb", tables),
            "postgresql": write_postgres(postgres, tables)}  # fmt: skip


@pytest.fixture(scope="module")
def graphs(shops):
    return {kind: slimg.read(db=address, label=LABEL) for kind, address in shops.items()}


@pytest.mark.parametrize("kind", ["duckdb", "postgresql"])
def test_all_databases_give_the_same_graph(graphs, kind):
    one, other = graphs["sqlite"], graphs[kind]
    assert one.ids.tolist() == other.ids.tolist() and one.labels.tolist() == other.labels.tolist()
    assert one.feature_names == other.feature_names and (one.features != other.features).nnz == 0
    assert [repr(relation) for relation in one.relations] == [repr(relation) for relation in other.relations]
    for mine, theirs in zip(one.relations, other.relations, strict=True):
        assert np.array_equal(mine.out.indices, theirs.out.indices)
    assert one.notes == other.notes


def test_tables_are_types_and_keys_are_relations(graphs, tables):
    graph = graphs["sqlite"]
    counts = {name: int((graph.node_types == name).sum()) for name in NODES}
    assert counts == {name: len(tables[name]) for name in NODES}
    edges = {relation.name: relation.edges for relation in graph.relations}
    loops = int((tables["friends"]["who"] == tables["friends"]["whom"]).sum())
    assert edges == {"orders.customer_id": 480, "reviews.customer_id": 240, "reviews.item_id": 240, "order_items": 480,
                     "friends": len(tables["friends"]) - loops}  # fmt: skip
    (order,) = graph.positions(["orders:7"])
    buyer = tables["orders"].set_index("id").loc[7, "customer_id"]
    assert graph.ids[graph.relation("orders.customer_id").out.neighbours(order)].tolist() == [f"customers:{buyer}"]
    labels = dict(zip(graph.ids, graph.labels, strict=True))
    truth = tables["customers"].set_index("id")["churned"]
    assert all(labels[f"customers:{key}"] == (None if pd.isna(value) else value) for key, value in truth.items())


def test_what_was_used_and_what_was_not_is_told(graphs):
    notes = " ".join(graphs["duckdb"].notes)
    for fact in ("customers (240 rows)", "orders.customer_id → customers", "friends (customers → customers)", "log (no key",
                 "orders.placed (dates)", "customers.joined (dates)"):  # fmt: skip
        assert fact in notes
    assert not any(name.startswith(("customers.id", "orders.customer_id")) for name in graphs["duckdb"].feature_names)


def test_the_planted_leak_is_named_and_only_that(graphs):
    leaks = [note for note in graphs["postgresql"].notes if "alone" in note]
    assert len(leaks) == 1 and "'customers.refund_code'" in leaks[0] and "100.0%" in leaks[0]


def test_a_leak_in_a_table_that_refers_to_the_label(tmp_path, tables):
    orders = tables["orders"].copy()
    left = make_shop()[1]
    orders["total"] = np.where(left[orders["customer_id"] - 1], 1.0, 2.0) + np.arange(len(orders)) / 10_000
    path = write_sqlite(tmp_path / "a.db", {**tables, "orders": orders})
    leaks = [note for note in slimg.read(db=path, label=LABEL, ignore=["customers.refund_code"]).notes if "alone" in note]
    assert len(leaks) == 1 and "'orders.total'" in leaks[0] and "orders.customer_id ←" in leaks[0]


def test_alone_measures_what_a_column_tells():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 4000)
    flipped = np.where(rng.random(4000) < 0.1, 1 - codes, codes)
    assert abs(alone(sp.csr_array(np.eye(2)[flipped]), codes, False) - 0.9) < 0.02
    noise = sp.csr_array(rng.random((4000, 1)))
    assert abs(alone(noise, codes, True) - 0.5) < 0.03
    assert alone(sp.csr_array(codes[:, None] + 0.5 * rng.random((4000, 1))), codes, True) == 1


@pytest.mark.usefixtures("quick_page")
def test_the_command_line_predicts_as_well_as_from_files(shops, tables, tmp_path, monkeypatch, capsys):
    from slimg import cli

    monkeypatch.chdir(tmp_path)
    found, truth = {}, make_shop()[1]
    words = ["--ignore", "refund_code", "--json"]
    assert cli.main(["fit", "--db", str(shops["duckdb"]), "--label", LABEL, *words, "--out", "db"]) == 0, capsys.readouterr().err
    found["db"] = pd.read_csv("db/predictions.csv").set_index("node")
    files = write_files(tmp_path, tables)
    assert cli.main(["fit", *files, *words, "--out", "files"]) == 0, capsys.readouterr().err
    found["files"] = pd.read_parquet("files/predictions.parquet").set_index("node")
    ids = [f"customers:{k + 1}" for k in range(len(truth))]
    right = {kind: np.mean(table.loc[ids, "prediction"].astype(str) == truth.astype(str)) for kind, table in found.items()}
    assert right["db"] > 0.75 and abs(right["db"] - right["files"]) <= 0.01
    page = (tmp_path / "db" / "report.html").read_text()
    assert "orders.customer_id" in page and "link tables" in page.lower()
    assert cli.main(["predict", "--model", "db/model.slimg", "--out", "again.csv"]) == 0
    assert "one the model was fitted on" in capsys.readouterr().out


@pytest.mark.usefixtures("quick_page")
def test_no_password_is_written_anywhere(postgres, shops, tmp_path, monkeypatch, capsys):
    from slimg import cli

    monkeypatch.chdir(tmp_path)
    secret = postgres.replace("boss@", "reader:s3cret@")
    code = cli.main(["fit", "--db", secret, "--label", LABEL, "--out", "out"])
    said = capsys.readouterr()
    assert code == 0 and "s3cret" not in said.out + said.err
    written = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert len(written) == 4 and not any(b"s3cret" in path.read_bytes() for path in written)
    assert cli.main(["fit", "--db", secret.replace("s3cret", "s3cret2"), "--label", LABEL, "--out", "no"]) == 2
    said = capsys.readouterr().err
    assert "s3cret" not in said and "PGPASSWORD" in said
    monkeypatch.setenv("PGPASSWORD", "s3cret")
    assert slimg.read(db=without_password(secret), label=LABEL).n == 990
    for given in ("postgresql://u:p%40w@h/d", "postgres://u:a@b/c@h/d", "postgresql:///d?user=u&password=pw&host=h"):
        kept = without_password(f"cannot open {given}:orders now")
        assert not {"p%40w", "a@b/c", "pw"} & set(kept.replace("@", " ").replace("=", " ").split()) and "orders now" in kept


@pytest.mark.parametrize("kind", ["sqlite", "duckdb", "postgresql"])
def test_a_query_is_a_source(shops, kind):
    query = "SELECT who, whom FROM friends WHERE who = 1 OR who < 0"
    found = read(Source.parse(f"{shops[kind]}:{query}"))
    assert list(found.frame.columns) == ["who", "whom"] and set(found.frame["who"]) == {1}
    assert Source.parse(f"pairs={shops[kind]}:{query}").short_name == "pairs"
    graph = slimg.read(f"{shops[kind]}:friends", f"{shops[kind]}:SELECT id, age, churned FROM customers", label="churned")
    assert graph.n == 240 and "age: high" in graph.feature_names
    prices = read(Source.parse(f"{shops[kind]}:items")).frame["price"].astype(float)
    assert prices.sum() == pytest.approx(sum(5 + 3 * k for k in range(30)))
    with pytest.raises(InputError, match=r"there is no table 'persons'.*'"):
        read(Source.parse(f"{shops[kind]}:persons"))
    with pytest.raises(InputError, match="nonsense"):
        read(Source.parse(f"{shops[kind]}:SELECT nonsense FROM friends"))


def test_nothing_can_be_written_or_read_beside_the_database(shops):
    sneaky = "WITH gone AS (DELETE FROM log RETURNING line) SELECT line FROM gone"
    with pytest.raises(InputError):
        read(Source.parse(f"{shops['postgresql']}:{sneaky}"))
    assert len(read(Source.parse(f"{shops['postgresql']}:log")).frame) == 2
    with pytest.raises(InputError):
        read(Source.parse(f"{shops['duckdb']}:SELECT * FROM read_text('/etc/hostname')"))


def test_roles_of_tables():
    def table(name, columns, key, *foreign):
        keys = tuple(ForeignKey((column,), other, ("id",)) for column, other in foreign)
        return Table(name, dict.fromkeys(columns, ""), tuple(key), keys)

    to_a, to_b = ("a", "x"), ("b", "x")
    made = [
        table("x", ["id"], ["id"]), table("pure", "ab", "", to_a, to_b), table("keyed", ["id", "a", "b"], ["id"], to_a, to_b),
        table("both", "ab", "ab", to_a, to_b), table("told", ["id", "a", "b", "c"], ["id"], to_a, to_b),
        table("wide", ["a", "b", "c"], "ab", to_a, to_b), table("three", ["a", "b", "c"], "abc", to_a, to_b, ("c", "x")),
        table("loose", ["a", "c"], "", to_a), table("sub", ["a"], "a", to_a),
    ]  # fmt: skip
    assert roles(made) == (["x", "told", "wide", "three", "sub"], ["pure", "keyed", "both"])
    referred = table("after", ["id", "k"], ["id"], ("k", "both"))
    assert "both" in roles([*made, referred])[0], "a table that others refer to needs nodes"


def schema(path, *lines):
    connection = sqlite3.connect(path)
    for line in lines:
        connection.execute(line)
    connection.commit()
    connection.close()
    return path


def test_cycles_composite_keys_self_references_and_unique_targets(tmp_path):
    path = schema(
        tmp_path / "a.db",
        "CREATE TABLE staff (id INTEGER PRIMARY KEY, code TEXT UNIQUE, team INTEGER REFERENCES teams, boss REFERENCES staff)",
        "CREATE TABLE teams (id INTEGER PRIMARY KEY, head INTEGER REFERENCES staff, kind TEXT)",
        "CREATE TABLE shifts (who TEXT REFERENCES staff (code), day INTEGER, room TEXT, PRIMARY KEY (who, day))",
        "INSERT INTO staff VALUES (1, 'p', 1, NULL), (2, 'q', 1, 1), (3, 'r', 2, 1)",
        "INSERT INTO teams VALUES (1, 1, 'a'), (2, 3, 'b')",
        "INSERT INTO shifts VALUES ('p', 1, 'x'), ('r', 1, 'y'), ('r', 2, 'x')",
    )
    graph = slimg.read(db=path, label="teams.kind")
    edges = {r.name: sorted((graph.ids[i], graph.ids[j]) for i, j in zip(*r.out.to_scipy().nonzero(), strict=True))
             for r in graph.relations}  # fmt: skip
    assert edges == {
        "staff.team": [("staff:1", "teams:1"), ("staff:2", "teams:1"), ("staff:3", "teams:2")],
        "staff.boss": [("staff:2", "staff:1"), ("staff:3", "staff:1")],
        "teams.head": [("teams:1", "staff:1"), ("teams:2", "staff:3")],
        "shifts.who": [("shifts:p:1", "staff:1"), ("shifts:r:1", "staff:3"), ("shifts:r:2", "staff:3")],
    }
    predicted = slimg.read(db=path, label="staff.team")
    assert "staff.team" not in [r.name for r in predicted.relations] and any("is the label" in n for n in predicted.notes)


def test_one_table_of_nodes_keeps_its_keys(tmp_path):
    path = schema(
        tmp_path / "a.db", "CREATE TABLE people (id INTEGER PRIMARY KEY, age INTEGER, team TEXT)",
        "CREATE TABLE knows (a INTEGER REFERENCES people, b INTEGER REFERENCES people)",
        "INSERT INTO people VALUES (7, 30, 'x'), (5, 40, 'y'), (9, 50, NULL)", "INSERT INTO knows VALUES (7, 5), (5, 9)",
    )  # fmt: skip
    graph = slimg.read(db=path, label="people.team")
    assert graph.ids.tolist() == [5, 7, 9] and graph.labels.tolist() == ["y", "x", None]
    assert graph.relation("knows").out.neighbours(1).tolist() == [0]
    assert slimg.read(db=path, label="team", ignore=["people.age"]).d == 0


@pytest.mark.parametrize(
    ("label", "told"),
    [
        (None, None),
        ("customer.churned", "no table 'customer' for --label.*customers, items"),
        ("customers.churn", "'customers' has no column 'churn'.*churned"),
        ("friends.who", "must be in a table of nodes.*customers"),
        ("customers.id", "is the key"),
        ("customer_id", "several tables.*orders.customer_id, reviews.customer_id"),
        ("nothing", "no column 'nothing' for --label"),
    ],
)
def test_labels_that_are_not_there(shops, label, told):
    options = slimg.io.Options(db=Source.parse(str(shops["sqlite"])), label=label)
    with pytest.raises(InputError, match=told or "--label TABLE.COLUMN: .*customers, items, orders, reviews") as error:
        slimg.io.read_inputs(options)
    assert "shop.db" in str(error.value) and "\n" not in str(error.value)


def test_bad_databases(tmp_path, shops, postgres):
    bare = schema(tmp_path / "bare.db", "CREATE TABLE t (a INTEGER)", "INSERT INTO t VALUES (1)")
    with pytest.raises(InputError, match=r"bare.db.* 1 table has a primary key"):
        slimg.read(db=bare, label="t.a")
    hollow = schema(tmp_path / "hollow.db", "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
    with pytest.raises(InputError, match="'t' is empty"):
        slimg.read(db=hollow, label="t.b")
    with pytest.raises(InputError, match=r"gone.db does not exist"):
        slimg.read(db=tmp_path / "gone.db", label="t.b")
    with pytest.raises(InputError, match="cannot be reached"):
        slimg.read(db="postgresql://localhost:1/shop", label="t.b")
    with pytest.raises(InputError, match="no such database"):
        slimg.read(db=postgres.replace("/postgres?", "/nowhere?"), label="t.b")
    with pytest.raises(InputError, match="give it alone"):
        slimg.read("a.csv", db=bare, label="t.a")
    with pytest.raises(InputError, match="leave out 't'"):
        slimg.read(db=f"{bare}:t", label="t.a")
    dangling = schema(tmp_path / "d.db", "CREATE TABLE a (id INTEGER PRIMARY KEY, y TEXT)", "INSERT INTO a VALUES (1, 'p')",
                      "CREATE TABLE b (id INTEGER PRIMARY KEY, a INTEGER REFERENCES a)", "INSERT INTO b VALUES (1, 1), (2, 99)")
    with pytest.raises(InputError, match=r"'b.a'.*'a:99'"):
        slimg.read(db=dangling, label="a.y")
    assert slimg.read(db=dangling, label="a.y", unknown="drop").relation("b.a").edges == 1


def test_a_database_that_is_locked(tmp_path, tables, monkeypatch):
    path = write_sqlite(tmp_path / "a.db", tables)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, timeout=0.1))  # it waits for five seconds
    with pytest.raises(InputError, match=r"a.db: another program holds it locked"):
        slimg.read(db=path, label=LABEL)
    holder.close()
    path = write_duckdb(tmp_path / "a.duckdb", {name: frame.head(3) for name, frame in tables.items() if name == "log"})
    hold = f"import duckdb, time; c = duckdb.connect({str(path)!r}); print('held', flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", hold], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline()
        with pytest.raises(InputError, match=r"a.duckdb: another program holds it locked"):
            slimg.read(db=path, label=LABEL)
        process.kill()


def test_without_the_driver_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql.dbapi", None)
    with pytest.raises(SlimgError, match=r"postgresql://u@h/d.*pip install slimg\[postgresql\]") as error:
        slimg.read(db="postgresql://u:secret@h/d", label="a.b")
    assert "secret" not in str(error.value)


LONG = {
    "sqlite": "WITH RECURSIVE r (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r WHERE x < 1e12) SELECT count(*) FROM r",
    "duckdb": "SELECT count(*) FROM range(100000000) a, range(100000) b WHERE a.range * b.range % 7 = 3",
    "postgresql": "SELECT pg_sleep(60)",
}


@pytest.mark.parametrize("kind", LONG)
def test_an_interrupt_ends_a_long_query(shops, kind):
    begun = time.monotonic()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background leaves it ignored
    try:
        threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            read(Source.parse(f"{shops[kind]}:{LONG[kind]}"))
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - begun < 20


def test_values_of_sqlite_that_change_their_type(tmp_path):
    rows = [f"INSERT INTO t VALUES ({k}, {k if k < 3 else repr(f'v{k}')}, {k if k % 2 else 0.5})" for k in range(6)]
    path = schema(tmp_path / "a.db", "CREATE TABLE t (id INTEGER PRIMARY KEY, mixed, number)", *rows)
    found = read(Source.parse(f"{path}:t")).frame
    assert found["mixed"].tolist() == ["0", "1", "2", "v3", "v4", "v5"]
    assert found["number"].tolist() == [0.5, 1, 0.5, 3, 0.5, 5]


def test_types_of_postgresql(postgres, shops):
    execute(postgres, "DROP SCHEMA IF EXISTS other CASCADE", "CREATE SCHEMA other",
            "CREATE TYPE other.mood AS ENUM ('sad', 'glad')",
            "CREATE TABLE other.t (id UUID PRIMARY KEY DEFAULT gen_random_uuid(), m other.mood, n NUMERIC, j JSONB, b BYTEA,"
            " a INTEGER[], y TEXT)",
            "INSERT INTO other.t (m, n, j, b, a, y)"
            " SELECT 'glad', 1.5, '{}', 'x', '{1}', 'p' FROM generate_series(1, 5)")  # fmt: skip
    graph = slimg.read(db=f"{postgres}&options=-csearch_path%3Dother", label="t.y")
    assert graph.feature_names == ("m: glad", "n: high", "n: low")
    notes = " ".join(graph.notes)
    assert all(f"t.{name} (type" in notes for name in "jba")


def test_a_source_is_compared_and_shown_without_its_password():
    source = Source.parse("postgresql://u:secret@h:5432/shop:orders")
    assert (source.table, source.short_name, source.database) == ("orders", "orders", "postgresql://u@h:5432/shop")
    assert "secret" not in repr(source) + str(source) and replace(source, table=None).suffix == ""
    assert Source.parse("postgresql://h:5432/shop").table is None and duckdb is not None
