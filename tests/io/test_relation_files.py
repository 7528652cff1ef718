"""Several files of edges and of nodes: relations, directions, types; and labels that are no classes."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from slimg.errors import InputError
from slimg.graph.relations import is_same
from slimg.io import Source
from slimg.io.inputs import Options, read_inputs
from slimg.io.values import Column
from slimg.io.write import write_table

FOLLOWS = pd.DataFrame({"who": ["a", "b", "c"], "whom": ["b", "c", "a"]})
BUYS = pd.DataFrame({"buyer": list("abb"), "item": list("xxy"), "weight": [1.5, 2.0, 3.0], "day": ["mo", "tu", "mo"]})
USERS = pd.DataFrame({"user": ["a", "b", "c"], "age": [20, 30, None], "team": ["p", "q", ""]})
ITEMS = pd.DataFrame({"item": ["x", "y"], "price": [5, 9], "colour": ["red", "blue"]})


@pytest.fixture
def files(tmp_path):
    """``files(follows=frame, …)``: the sources of the tables, written as CSV."""
    return lambda **tables: tuple(Source(write_table(frame, tmp_path / f"{name}.csv")) for name, frame in tables.items())


def test_each_file_of_edges_is_a_relation(files):
    options = Options(edges=files(follows=FOLLOWS, buys=BUYS), nodes=files(users=USERS, items=ITEMS), label="team")
    graph = read_inputs(options).graph
    assert [(r.name, r.directed, r.edges) for r in graph.relations] == [("follows", False, 3), ("buys", False, 3)]
    assert graph.relation("follows").out.weights is None
    assert sorted(graph.relation("buys").out.weights.tolist()) == [1.5, 1.5, 2, 2, 3, 3]
    directed = read_inputs(Options(**{**vars(options), "directed": ("buys",)})).graph
    bought = directed.relation("buys").into
    a, b, x, y = directed.positions(["a", "b", "x", "y"])
    assert bought.neighbours(x).tolist() == [a, b] and bought.neighbours(y).tolist() == [b] and bought.nnz == 3
    assert is_same(directed.adjacency, graph.adjacency)


def test_a_column_of_relations(files):
    found = read_inputs(Options(edges=files(buys=BUYS), relation="day", directed=True), need_label=False)
    assert [(r.name, r.out.weights.tolist()) for r in found.graph.relations] == [("mo", [1.5, 3]), ("tu", [2])]
    assert any("one edge" in note and "'tu'" in note for note in found.notes)
    named = Options(edges=(Source(files(buys=BUYS)[0].path, name="pays"),))
    assert [r.name for r in read_inputs(named, need_label=False).graph.relations] == ["pays"]
    told = read_inputs(Options(edges=files(buys=BUYS.rename(columns={"day": "kind"}))), need_label=False)
    assert any("not used: kind" in note and "--relation kind" in note for note in told.notes)
    plain = read_inputs(Options(edges=files(buys=BUYS)), need_label=False)
    assert plain.graph.relations == () and any("--directed keeps the direction" in note for note in plain.notes)


def test_each_file_of_nodes_is_a_type_with_columns_of_its_own(files):
    options = Options(edges=files(follows=FOLLOWS, buys=BUYS), nodes=files(users=USERS, items=ITEMS), label="team")
    found = read_inputs(options)
    assert found.graph.ids.tolist() == ["a", "b", "c", "x", "y"]
    assert found.graph.node_types.tolist() == ["users"] * 3 + ["items"] * 2
    assert found.graph.labels.tolist() == ["p", "q", None, None, None] and found.label == "users.team"
    names = found.graph.feature_names
    assert names[:2] == ("type=items", "type=users") and "users.age: high" in names and "items.colour: blue" in names
    X = pd.DataFrame(found.graph.features.toarray(), columns=names)
    assert X["type=users"].tolist() == [1, 1, 1, 0, 0]
    assert (X.filter(like="users.").to_numpy()[3:] == 0).all() and (X.filter(like="items.").to_numpy()[:3] == 0).all()
    assert X.loc[2, "users.age: missing"] == 1, "a missing number of the node's own type is told from one of another type"
    assert any("'users.age'" in note and "(1 missing)" in note for note in found.notes)
    assert list(found.table.columns) == ["id", "type", "users.age", "users.team", "items.price", "items.colour"]
    assert found.table["items.price"].isna().tolist() == [True] * 3 + [False] * 2
    assert found.table["items.price"].tolist()[3:] == ["5", "9"]
    again = read_inputs(options, plan=found.plan).graph
    assert (again.features != found.graph.features).nnz == 0
    fewer = read_inputs(Options(**{**vars(options), "ignore": ("price", "items.colour")}))
    assert not any("items." in name for name in fewer.graph.feature_names)
    assert any("without features" in note and "'items'" in note for note in fewer.notes)


MANY = pd.DataFrame({"who": [f"u{k}" for k in range(10_001)], "whom": "a", "when": range(10_001)})


@pytest.mark.parametrize(
    ("edges", "nodes", "options", "told"),
    [
        ({"e": MANY}, {}, {"relation": "when"}, r"e\.csv: column 'when' has 10,001 different values.*200"),
        ({"e": FOLLOWS}, {}, {"relation": "kind"}, r"e\.csv: there is no column 'kind' for --relation.*who, whom"),
        ({"e": BUYS.assign(day=["mo", "", "tu"])}, {}, {"relation": "day"}, r"e\.csv: .*'day'.*missing.*row 1"),
        ({"likes": FOLLOWS, "buys": BUYS}, {}, {"directed": ("like",)}, "'like' for --directed: did you mean 'likes'"),
        ({"f": FOLLOWS, "b": BUYS.assign(weight=-1)}, {}, {}, r"b\.csv: .*'weight'.*'-1'"),
        ({"f": FOLLOWS}, {"u": USERS, "v": USERS}, {}, "'u' and 'v' share 3 ids: 'a', 'b', 'c'"),
        ({"f": FOLLOWS, "buys": BUYS}, {"u": USERS}, {"label": "team"}, r"2 ids.*edges of 'buys'\): 'x', 'y'.*--unknown"),
        ({"f": FOLLOWS}, {"u": USERS, "v": ITEMS.assign(team="q")}, {"label": "team"}, r"u\.team, v\.team with --label"),
        ({"f": FOLLOWS}, {"u": USERS, "v": ITEMS}, {"label": "club"}, "no column 'club' for --label"),
        ({"f": FOLLOWS}, {"u": USERS, "v": ITEMS}, {"label": "team", "ignore": ("x",)}, "no column 'x' for --ignore"),
    ],
)
def test_bad_files_are_one_sentence(files, edges, nodes, options, told):
    with pytest.raises(InputError, match=told):
        read_inputs(Options(edges=files(**edges), nodes=files(**nodes), **options), need_label="label" in options)


def test_two_files_of_one_name(tmp_path):
    for kind in ("edges", "nodes"):
        with pytest.raises(InputError, match=r"a/f\.csv and b/f\.csv.*'f'.*NAME=b/f\.csv"):
            Options(**{kind: (Source(Path("a/f.csv")), Source(Path("b/f.csv")))})
    assert Options(edges=(Source(Path("a/f.csv")), Source.parse("g=b/f.csv"))).edges[1].short_name == "g"
    (tmp_path / "x=y.csv").write_text("a,b\n")
    assert Source.parse(str(tmp_path / "x=y.csv")).name is None, "a file that is there is a file"
    assert Source.parse("pays=shop.db:orders").table == "orders"


def test_labels_that_are_several_classes():
    with pytest.raises(InputError, match=r"'topic' holds several classes at once \('nlp\|theory'"):
        Column("topic", np.array(["nlp", "theory", "nlp|theory", None, "vision"], object)).check_label()
    for single in (["a|x", "b|y"], ["New York; NY", "Boston; MA"], ["a", "b", "c"], ["p, q", "p", "q"]):
        assert Column("topic", np.array(single, object)).check_label() == []


def test_labels_that_are_numbers():
    years = np.array([str(year) for year in range(1900, 2020)] * 30, object)
    with pytest.raises(InputError, match=r"'year' holds 120 different numbers \(1900 to 2019\).*--label"):
        Column("year", years).check_label()
    with pytest.raises(InputError, match=r"'score' holds 15 different numbers \(0\.5 to 14\.5\).*--label"):
        Column("score", np.arange(0.5, 15).astype(object)).check_label()
    (note,) = Column("age", np.arange(18, 60).astype(object)).check_label()
    assert "42 different numbers (18 to 59)" in note
    assert Column("code", np.arange(172).repeat(30).astype(object)).check_label() == [], "numbered classes"
    assert Column("rating", np.array([1, 2, 3, 4, 5, None] * 3, object)).check_label() == []


@pytest.mark.skipif("SLIMG_DATA" not in os.environ, reason="needs WordNet in SLIMG_DATA")
def test_wordnet_from_its_files():
    folder = Path(os.environ["SLIMG_DATA"]) / "wordnet"
    edges, nodes = Source(folder / "edges.csv.gz"), Source(folder / "nodes.csv.gz")
    options = Options(edges=edges, nodes=nodes, relation="relation", directed=True, features=("pos",), label="lexname")
    graph = read_inputs(options).graph
    assert (graph.n, len(graph.relations), len(graph.directions())) == (117_659, 26, 31)
    assert graph.relation("hyponym").same_as == "hypernym ←" and len(graph.classes) == 45
