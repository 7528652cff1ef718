"""The same users and follows in every format that slimg reads, and what a user types for it."""

import sqlite3

import duckdb
import networkx as nx
import numpy as np
import scipy.io
import scipy.sparse as sp

from slimg.io.features import encode_features


def as_csv(users, follows):
    return ["--edges", "follows.csv", "--nodes", "users.csv", "--label", "team", "--id", "user"]


def as_semicolons(users, follows):
    users.to_csv("u.csv", index=False, sep=";")
    follows.to_csv("f.txt", index=False, sep="|", encoding="utf-16")
    return ["--edges", "f.txt", "--nodes", "u.csv", "--label", "team", "--id", "user"]


def as_tsv(users, follows):
    users.to_csv("u.tsv", index=False, sep="\t")
    follows.to_csv("f.tsv.gz", index=False, sep="\t")
    return ["--edges", "f.tsv.gz", "--nodes", "u.tsv", "--label", "team", "--id", "user"]


def as_parquet(users, follows):
    users.replace("", None).to_parquet("u.parquet")
    follows.to_parquet("f.parquet")
    return ["--edges", "f.parquet", "--nodes", "u.parquet", "--label", "team", "--id", "user"]


def as_json_lines(users, follows):
    users.replace("", None).to_json("u.jsonl", orient="records", lines=True)
    follows.to_json("f.jsonl", orient="records", lines=True)
    return ["--edges", "f.jsonl", "--nodes", "u.jsonl", "--label", "team", "--id", "user"]


def as_sqlite(users, follows):
    with sqlite3.connect("s.db") as connection:
        users.replace("", None).to_sql("users", connection, index=False)
        follows.to_sql("follows", connection, index=False)
    connection.close()
    return ["--edges", "s.db:follows", "--nodes", "s.db:users", "--label", "team", "--id", "user"]


def as_duckdb(users, follows):
    with duckdb.connect("d.duckdb") as connection:
        connection.execute("CREATE TABLE users AS SELECT * FROM users")
        connection.execute("CREATE TABLE follows AS SELECT * FROM follows")
    return ["--edges", "d.duckdb:follows", "--nodes", "d.duckdb:users", "--label", "team", "--id", "user"]


def as_graphml(users, follows):
    network = nx.DiGraph()
    for row in users.to_dict("records"):
        network.add_node(row.pop("user"), **row)
    network.add_edges_from(follows.to_numpy().tolist())
    nx.write_graphml(network, "g.graphml")
    nx.write_gexf(network, "g.gexf")
    return ["--edges", "g.graphml", "--label", "team"]


def as_gexf(users, follows):
    as_graphml(users, follows)
    return ["--edges", "g.gexf", "--label", "team"]


def as_matrix_market(users, follows):
    """Nodes of a matrix are 1 … n: the table of users numbers them."""
    scipy.io.mmwrite("a.mtx", _adjacency(users, follows))
    users.assign(handle=users["user"], user=np.arange(1, len(users) + 1)).to_csv("n.csv", index=False)
    return ["--edges", "a.mtx", "--nodes", "n.csv", "--label", "team", "--id", "user", "--ignore", "handle"]


def as_npz(users, follows):
    """Arrays have no columns to encode: the features are there as numbers."""
    names = ["age", "city", "bio"]
    _, features = encode_features(users, names)
    first, second = _adjacency(users, follows).coords
    ids, labels = (users[name].to_numpy(str) for name in ("user", "team"))
    np.savez("g.npz", edges=np.column_stack([ids[first], ids[second]]), features=features.toarray(), labels=labels, ids=ids)
    return ["--edges", "g.npz"]


def _adjacency(users, follows):
    place = {user: row for row, user in enumerate(users["user"])}
    ends = [follows[name].map(place).to_numpy() for name in ("who", "whom")]
    pattern = sp.coo_array((np.ones(len(follows)), tuple(ends)), (len(users),) * 2)
    return sp.coo_array(((pattern + pattern.T) != 0).astype(float))


TABLES = [as_csv, as_semicolons, as_tsv, as_parquet, as_json_lines, as_sqlite, as_duckdb, as_graphml, as_gexf]
EVERY = [*TABLES, as_matrix_market, as_npz]
