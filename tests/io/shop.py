"""A generated shop in three kinds of database: customers, orders, items, reviews, and a table of friends.

Customers who churn order cheap items and write sad reviews; ``refund_code`` is known only after they left (a leak).
"""

import sqlite3

import numpy as np
import pandas as pd

SCHEMA = """
CREATE TABLE items (id INTEGER PRIMARY KEY, name VARCHAR(40), price NUMERIC(10, 2), kind VARCHAR(10));
CREATE TABLE customers (id INTEGER PRIMARY KEY, email VARCHAR(40), age INTEGER, city VARCHAR(10), active BOOLEAN, joined DATE,
    refund_code VARCHAR(10), churned BOOLEAN);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers (id), placed DATE,
    total DOUBLE PRECISION);
CREATE TABLE order_items (order_id INTEGER REFERENCES orders (id), item_id INTEGER REFERENCES items (id),
    PRIMARY KEY (order_id, item_id));
CREATE TABLE reviews (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (id),
    item_id INTEGER REFERENCES items (id), stars INTEGER, body TEXT);
CREATE TABLE friends (who INTEGER REFERENCES customers (id), whom INTEGER REFERENCES customers (id));
CREATE TABLE log (line TEXT);
"""
NODES = ("customers", "items", "orders", "reviews")


def make_shop(n=240, seed=0):
    """Frames by name; a third of the customers has no label. Also whether each customer churned."""
    rng = np.random.default_rng(seed)
    churned = rng.random(n) < 0.4
    known = rng.random(n) < 0.67
    items = pd.DataFrame({"id": range(1, 31), "name": [f"thing number {k}" for k in range(30)],
                          "price": np.round(5 + 3.0 * np.arange(30), 2), "kind": rng.choice(["toy", "book"], 30)})  # fmt: skip
    customers = pd.DataFrame({
        "id": range(1, n + 1), "email": [f"c{k}@example.org" for k in range(n)], "age": rng.integers(18, 80, n),
        "city": rng.choice(["rome", "oslo", "bonn"], n), "active": rng.random(n) < 0.5,
        "joined": pd.to_datetime("2020-01-01").date(), "refund_code": np.where(churned, "R1", None), "churned": churned,
    })  # fmt: skip
    customers["refund_code"] = np.where(churned, "refunded", "none")
    customers["churned"] = customers["churned"].astype(object).where(known, None)
    buyer = np.repeat(np.arange(n), 2)
    orders = pd.DataFrame({"id": range(1, 2 * n + 1), "customer_id": buyer + 1, "placed": pd.to_datetime("2021-05-05").date(),
                           "total": np.round(rng.normal(50, 5, 2 * n), 2)})  # fmt: skip
    cheap = np.where(rng.random(2 * n) < 0.75, churned[buyer], ~churned[buyer])
    bought = np.where(cheap, rng.integers(1, 16, 2 * n), rng.integers(16, 31, 2 * n))
    order_items = pd.DataFrame({"order_id": orders["id"], "item_id": bought})
    author = rng.integers(0, n, n)
    words = (["good", "great", "fine", "love"], ["bad", "broken", "slow", "sad"])
    sad = np.where(rng.random(n) < 0.8, churned[author], ~churned[author]).astype(int)
    body = [" ".join([*rng.choice(words[k], 3), *rng.choice(["box", "lid", "cap", "pin"], 2)]) for k in sad]
    reviews = pd.DataFrame({"id": range(1, n + 1), "customer_id": author + 1, "item_id": rng.integers(1, 31, n),
                            "stars": rng.integers(1, 6, n), "body": body})  # fmt: skip
    who = rng.integers(0, n, 3 * n)
    alike = np.array([rng.choice(np.flatnonzero(churned == churned[k])) for k in who])
    whom = np.where(rng.random(3 * n) < 0.5, alike, rng.integers(0, n, 3 * n))
    friends = pd.DataFrame({"who": who + 1, "whom": whom + 1}).drop_duplicates(ignore_index=True)
    log = pd.DataFrame({"line": ["started", "ended"]})
    tables = {"items": items, "customers": customers, "orders": orders, "order_items": order_items, "reviews": reviews}
    return {**tables, "friends": friends, "log": log}, churned


def fill(execute, mark, tables, shuffle=0):
    """Create and fill the tables with ``execute(sql, values)``; rows in another order for another ``shuffle``."""
    for line in SCHEMA.split(";\n"):
        if line.strip():
            execute(line, ())
    for name, frame in tables.items():
        frame = frame.sample(frac=1, random_state=shuffle) if shuffle else frame
        for row in frame.astype(object).where(frame.notna(), None).itertuples(index=False):
            values = [value.isoformat() if hasattr(value, "isoformat") else value for value in row]
            execute(f"INSERT INTO {name} VALUES ({', '.join([mark] * len(row))})", values)


def write_sqlite(path, tables, shuffle=1):
    connection = sqlite3.connect(path)
    fill(connection.execute, "?", tables, shuffle)
    connection.commit()
    connection.close()
    return path


def write_duckdb(path, tables, shuffle=2):
    import duckdb

    connection = duckdb.connect(str(path))
    connection.execute("BEGIN")
    fill(connection.execute, "?", tables, shuffle)
    connection.execute("COMMIT")
    connection.close()
    return path


def write_postgres(address, tables, shuffle=3):
    lines = ["DROP SCHEMA public CASCADE", "CREATE SCHEMA public"]
    fill(lambda line, values: lines.append(line % tuple(map(literal, values))), "%s", tables, shuffle)
    execute(address, *lines)
    return address


def execute(address, *lines):
    """Run statements of SQL."""
    import adbc_driver_postgresql.dbapi as driver

    with driver.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
        for line in lines:
            cursor.execute(line)


def literal(value):
    if value is None:
        return "NULL"
    return str(value) if isinstance(value, (bool, int, float)) else "'" + str(value).replace("'", "''") + "'"


def write_files(folder, tables, label="churned"):
    """The same graph as files: options of ``slimg fit``."""
    words = []
    for name in NODES:
        frame = tables[name].copy()
        frame.insert(0, "node", name + ":" + frame["id"].astype(str))
        frame.drop(columns=["id"]).to_parquet(folder / f"{name}.parquet")
        words += ["--nodes", f"{name}.parquet"]
    ends = {"orders.customer_id": ("orders", "id", "customers", "customer_id"),
            "reviews.customer_id": ("reviews", "id", "customers", "customer_id"),
            "reviews.item_id": ("reviews", "id", "items", "item_id"),
            "order_items": ("orders", "order_id", "items", "item_id"),
            "friends": ("customers", "who", "customers", "whom")}  # fmt: skip
    for name, (first, own, second, other) in ends.items():
        frame = tables[name.split(".")[0]]
        pairs = {"source": first + ":" + frame[own].astype(str), "target": second + ":" + frame[other].astype(str)}
        pd.DataFrame(pairs).to_parquet(folder / f"{name.replace('.', '_')}.parquet")
        words += ["--edges", f"{name}={name.replace('.', '_')}.parquet"]
    ignored = "customers.email,customers.joined,orders.placed,orders.customer_id,reviews.customer_id,reviews.item_id,items.name"
    return [*words, "--directed", "--id", "node", "--label", label, "--ignore", ignored]
