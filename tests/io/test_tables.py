"""`slimg.read`: one graph from paths and frames of every library, and new tables read as the old ones were."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import slimg
from slimg.components import Features
from slimg.errors import InputError

FOLLOWS = pd.DataFrame({"who": ["a", "b", "c", "d"], "whom": ["b", "c", "d", "a"], "since": ["1", "2", "3", "4"]})
USERS = pd.DataFrame(
    {
        "user": ["a", "b", "c", "d"],
        "team": ["red", "blue", None, "red"],
        "age": ["1,5", "2,5", "-", "7,25"],
        "city": ["rome", "oslo", "rome", "lima"],
    }
)


def same(first, second):
    assert first.ids.tolist() == second.ids.tolist()
    assert first.feature_names == second.feature_names
    assert np.array_equal(first.features.toarray(), second.features.toarray())
    assert first.adjacency.indices.tolist() == second.adjacency.indices.tolist()
    assert [label if label == label else None for label in first.labels] == list(second.labels)


@pytest.fixture
def graph():
    return slimg.read(FOLLOWS, USERS, label="team", id="user")


def test_a_graph_is_read_with_guesses_and_notes(graph):
    assert (graph.n, graph.edges, graph.d) == (4, 4, 6)
    assert graph.labels.tolist() == ["red", "blue", None, "red"]
    told = " ".join(graph.notes)
    assert "'who'" in told and "'whom'" in told and "decimal comma" in told and "'-' (1)" in told
    assert "since" in told, "not used"


def test_every_library_and_format_gives_the_same_graph(graph, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    tables = {
        "polars": (pl.from_pandas(FOLLOWS), pl.from_pandas(USERS)),
        "arrow": (pa.Table.from_pandas(FOLLOWS), pa.Table.from_pandas(USERS)),
        "duckdb": (duckdb.from_df(FOLLOWS), duckdb.from_df(USERS)),
        "columns": (FOLLOWS.to_dict("list"), USERS.to_dict("list")),
        "index": (FOLLOWS, USERS.set_index("user")),
    }
    FOLLOWS.to_csv(tmp_path / "f.csv", index=False)
    USERS.to_parquet(tmp_path / "u.parquet")
    tables["files"] = (tmp_path / "f.csv", str(tmp_path / "u.parquet"))
    for edges, nodes in tables.values():
        same(graph, slimg.read(edges, nodes, label="team", id="user"))
    pairs = list(zip(FOLLOWS["who"], FOLLOWS["whom"], strict=True))
    same(graph, slimg.read(pairs, USERS, label="team", id="user"))


def test_graphs_of_other_libraries():
    nx = pytest.importorskip("networkx")
    graph = slimg.read(nx.karate_club_graph(), label="club", weight=False)
    assert (graph.n, graph.edges, len(graph.classes)) == (34, 78, 2) and graph.adjacency.weights is None
    with pytest.raises(InputError, match=r"networkx.*leave out nodes"):
        slimg.read(nx.karate_club_graph(), USERS)


def test_a_usual_label_is_no_feature():
    graph = slimg.read(FOLLOWS, USERS.rename(columns={"team": "label"}), id="user")
    assert len(graph.classes) == 2 and not any(name.startswith("label") for name in graph.feature_names)


def test_new_tables_are_read_as_the_old_ones_were(graph):
    copies = [(FOLLOWS[["who", "whom"]] + str(k), USERS.assign(user=USERS["user"] + str(k))) for k in range(10)]
    follows, users = (pd.concat(parts, ignore_index=True) for parts in zip(*copies, strict=True))
    model = slimg.SlimG(random_state=0, components=[Features()]).fit(slimg.read(follows, users, label="team", id="user"))
    json.dumps(model.data_["reading"])
    new = USERS.assign(city=["oslo", "quito", "quito", "rome"], age=["1,5", "2", "3", "4"], noise=["a", "b", "c", "d"])
    for like in (graph, model):
        found = slimg.read(FOLLOWS[["since", "whom", "who"]], new, label="team", like=like)
        assert found.feature_names == graph.feature_names
        assert any("'city'" in note and "2 rows" in note and "'quito'" in note for note in found.notes)
    cities = dict(zip(found.feature_names, found.features.toarray().T, strict=True))
    assert cities["city: oslo"].tolist() == [1, 0, 0, 0]
    with pytest.raises(InputError, match=r"no column 'who'.*source="):
        slimg.read(FOLLOWS.rename(columns={"who": "x"}), new, like=graph)
    with pytest.raises(InputError, match=r"like= needs .*slimg\.read"):
        slimg.read(FOLLOWS, new, like=slimg.Graph.from_edges([(0, 1)]))


BUYS = pd.DataFrame({"buyer": list("abb"), "item": list("xxy"), "weight": [1.5, 2.0, 3.0], "kind": ["new", "old", "new"]})
ITEMS = pd.DataFrame({"item": ["x", "y"], "price": [5, 9]})


def test_tables_by_name_are_relations_and_types(tmp_path):
    BUYS.to_csv(tmp_path / "buys.csv", index=False)
    nodes = {"users": USERS, "items": ITEMS}
    given = {"label": "team", "directed": "buys"}
    graph = slimg.read({"follows": FOLLOWS, "buys": tmp_path / "buys.csv"}, nodes, **given)
    assert [(r.name, r.directed, r.edges) for r in graph.relations] == [("follows", False, 4), ("buys", True, 3)]
    assert graph.relation("buys").out.weights.tolist() == [1.5, 2, 3]
    assert graph.node_types.tolist() == ["users"] * 4 + ["items"] * 2
    FOLLOWS.to_csv(tmp_path / "follows.csv", index=False)
    same(graph, slimg.read([tmp_path / "follows.csv", tmp_path / "buys.csv"], nodes, **given))
    json.dumps(graph.reading)
    misleading = {"follows": FOLLOWS.assign(source="a", target="c"), "buys": BUYS.assign(to="y")}
    same(graph, slimg.read(misleading, {"users": USERS.assign(id=range(4)), "items": ITEMS}, like=graph, **given))
    with pytest.raises(InputError, match=r"edges\['buys'\].*no column 'item'.*target="):
        slimg.read({"follows": FOLLOWS, "buys": BUYS.drop(columns="item")}, nodes, like=graph)


def test_a_column_of_relations_is_kept_for_later_tables():
    graph = slimg.read(BUYS, relation="kind", directed=True)
    assert [(r.name, r.directed, r.edges) for r in graph.relations] == [("new", True, 2), ("old", True, 1)]
    assert len(slimg.read(BUYS, like=graph, directed=True).relations) == 2


def test_messages_name_parameters_not_options():
    with pytest.raises(InputError, match=r"'born' holds dates.*ignore=\['born'\]"):
        slimg.read(FOLLOWS, USERS.assign(born="2001-02-03"), label="team")
    with pytest.raises(InputError, match=r"slimg\.read\(edges=…, nodes=…, label=…\)"):
        slimg.SlimG().fit(USERS)


def test_all_problems_of_a_table_are_told_at_once():
    many = USERS.assign(born="2001-02-03", left="2002-02-03")
    with pytest.raises(InputError, match=r"'born' holds dates.*'left' holds dates"):
        slimg.read(FOLLOWS, many, label="team")


def test_text_files_of_another_encoding(tmp_path):
    (tmp_path / "edges.csv").write_bytes("von;an\nMüller;Weiß\n".encode("cp1252"))
    with pytest.raises(InputError, match="encoding="):
        slimg.read(tmp_path / "edges.csv")
    assert "Müller" in slimg.read(tmp_path / "edges.csv", encoding="cp1252", separator=";").ids
