"""Edge lists of any shape and ids against the dense matrix they mean."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from slimg import Graph
from slimg.errors import InputError
from slimg.graph.from_edges import NodeTable, as_frame, as_id_column, by_id, read_table

PAIRS = [("b", "a"), ("a", "c"), ("c", "a"), ("a", "c"), ("c", "c")]
FRAME = pd.DataFrame(PAIRS, columns=["source", "target"])
DENSE = np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]])


@pytest.mark.parametrize(
    "edges",
    [
        FRAME,
        pa.Table.from_pandas(FRAME),
        PAIRS,
        np.array(PAIRS),
        np.array(PAIRS, object),
        {"source": [p[0] for p in PAIRS], "target": [p[1] for p in PAIRS]},
        FRAME.astype("category"),
    ],
    ids=["pandas", "arrow", "list", "array", "objects", "columns", "category"],
)
def test_every_kind_of_table_gives_the_same_graph(edges):
    graph = Graph.from_edges(edges)
    assert graph.ids.tolist() == ["a", "b", "c"]
    assert np.array_equal(graph.adjacency.to_scipy().toarray(), DENSE) and graph.adjacency.weights is None
    assert graph.notes[-4:] == (
        "1 self-loop dropped.",
        "1 repeated edge merged (counted once).",
        "Edges are taken as undirected (given in one direction: 1, in both: 1); directed=True keeps the direction.",
        "The graph has no features: structure alone can be used.",
    )


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(*[st.sampled_from([7, "x", (1, 2), 2.5, "y", -3])] * 2, st.integers(1, 3)), min_size=1, max_size=20
    ),
    st.booleans(),
)
def test_mixed_ids_weights_and_direction(triples, directed):
    graph = Graph.from_edges(triples, directed=directed)
    A = np.zeros((graph.n, graph.n))
    place = {node: k for k, node in enumerate(graph.ids)}
    for u, v, w in triples:
        if u != v:
            A[place[u], place[v]] += w
    A = np.maximum(A, A.T) if directed else A + A.T
    assert set(place) == {t[k] for t in triples for k in (0, 1)}
    assert np.array_equal(graph.adjacency.to_scipy().toarray(), A)


def test_integers_of_a_range_index_are_ids():
    """Rows of a frame whose index is 10, 11, 12 belong to nodes 10, 11, 12, whatever the order of the nodes."""
    X = pd.DataFrame({"p": [1.0, 2.0, 3.0]}, index=pd.RangeIndex(10, 13))
    labels = pd.Series(["a", "b", "c"], index=pd.RangeIndex(12, 9, -1))
    for graph in (
        Graph.from_edges([(10, 11), (11, 12)], features=X, labels=labels),
        Graph.from_edges([(10, 11), (11, 12)], [12, 10, 11], features=X, labels=labels),
    ):
        rows = graph.positions([10, 11, 12])
        assert graph.features[rows, 0].tolist() == [1, 2, 3] and graph.labels[rows].tolist() == ["c", "b", "a"]
    with pytest.raises(InputError, match="lack rows for 1"):
        Graph.from_edges([(0, 1)], [0, 10], features=X)


NODES = pd.DataFrame(
    {"user": ["z", "a", "b", "c"], "team": [None, "red", "blue", "red"], "age": [1, 2, 3, 4], "town": list("klmn")}
)


def test_node_table_keeps_its_order_and_nodes_without_edges():
    graph = Graph.from_edges(FRAME, NODES, id="user", label="team")
    assert graph.ids.tolist() == ["z", "a", "b", "c"] and graph.classes.tolist() == ["blue", "red"]
    assert graph.codes.tolist() == [-1, 1, 0, 1] and graph.features.tolist() == [[1], [2], [3], [4]]
    assert graph.feature_names == ("age",)
    assert np.array_equal(graph.adjacency.to_scipy().toarray()[1:, 1:], DENSE)
    assert "1 node has no edge (id 'z')." in graph.notes
    assert "Columns of the nodes that are not numbers are not used: 'town'." in graph.notes
    arrow = Graph.from_edges(pa.Table.from_pandas(FRAME), pa.Table.from_pandas(NODES), id="user", label="team")
    assert arrow.codes.tolist() == graph.codes.tolist() and np.array_equal(arrow.features, graph.features)
    chosen = Graph.from_edges(FRAME, NODES.set_index("user"), label="town", features=[])
    assert chosen.features is None and chosen.ids.tolist() == ["z", "a", "b", "c"]


def test_guesses_are_told():
    edges = pd.DataFrame({"u": ["a"], "v": ["b"], "weight": [2.0], "when": [3]})
    graph = Graph.from_edges(edges, pd.DataFrame({"name": ["a", "b"], "x": [0.0, 1]}))
    assert graph.adjacency.weights is None
    assert graph.notes[:4] == (
        "Edges are read from columns 'u' and 'v'.",
        "Columns of the edges that are not used: 'weight', 'when'.",
        "Node ids are read from column 'name'.",
        "Features are the 1 columns of numbers: 'x'.",
    )
    weighted = Graph.from_edges(edges, source="u", target="v", weight="weight")
    assert weighted.adjacency.weights.tolist() == [2, 2]


def test_data_in_the_order_of_the_nodes_or_by_id():
    X = np.arange(6.0).reshape(3, 2)
    by_order = Graph.from_edges(FRAME, ["c", "a", "b"], features=X, label=[0, 1, None])
    assert by_order.ids.tolist() == ["c", "a", "b"] and by_order.codes.tolist() == [0, 1, -1]
    indexed = pd.DataFrame(X, index=["c", "a", "b"], columns=["p", "q"])
    for graph in (
        Graph.from_edges(FRAME, features=indexed, label={"c": 0, "a": 1}),
        Graph.from_edges(FRAME, ["b", "c", "a"], features=indexed, label=pd.Series([0, 1], index=["c", "a"])),
        Graph.from_edges(FRAME, pd.DataFrame({"id": ["b", "c", "a"]}), features=indexed, label={"c": 0, "a": 1}),
    ):
        rows = graph.positions(["c", "a", "b"])
        assert np.array_equal(graph.features[rows], X) and graph.codes[rows].tolist() == [0, 1, -1]
        assert graph.feature_names == ("p", "q")
    sparse = Graph.from_edges(FRAME, ["c", "a", "b"], features=sp.csr_matrix(X))
    assert np.array_equal(sparse.features.toarray(), X)


def test_labels_are_values_and_label_names_a_column():
    by_name = Graph.from_edges(FRAME, NODES, id="user", label="team")
    for graph in (
        Graph.from_edges(FRAME, NODES, id="user", labels=NODES["team"].tolist()),
        Graph.from_edges(FRAME, NODES, id="user", label=NODES["team"].tolist()),
    ):
        assert graph.codes.tolist() == by_name.codes.tolist() and graph.classes.tolist() == by_name.classes.tolist()


def test_numbered_rows_need_no_node_table():
    edges = np.array([[0, 1], [1, 3]])
    graph = Graph.from_edges(edges, features=np.eye(5), label=[0, 1, 0, 1, 0])
    assert graph.n == 5 and graph.ids.tolist() == [0, 1, 2, 3, 4] and "(ids 2, 4)" in graph.notes[-1]
    assert Graph.from_edges(np.array([[0.0, 1, 0.5], [1, 2, 1.5]])).ids.tolist() == [0, 1, 2]


def test_unknown_ids_by_each_rule():
    nodes, X = ["a", "b"], np.ones((2, 2))
    with pytest.raises(InputError, match=r"1 id of the edges is not among the nodes: 'c'; ids of the nodes look like"):
        Graph.from_edges(FRAME, nodes, features=X)
    kept = Graph.from_edges(FRAME, nodes, features=X, label=[0, 1], unknown="keep")
    assert kept.ids.tolist() == ["a", "b", "c"] and kept.features[2].tolist() == [0, 0]
    assert kept.codes.tolist() == [0, 1, -1] and np.array_equal(kept.adjacency.to_scipy().toarray(), DENSE)
    assert any("kept without label and with zero features (ids 'c')" in note for note in kept.notes)
    sparse = Graph.from_edges(FRAME, nodes, features=sp.csr_matrix(X), label={"a": 0}, unknown="keep")
    assert sparse.features.toarray().tolist() == [[1, 1], [1, 1], [0, 0]]
    dropped = Graph.from_edges(FRAME, nodes, unknown="drop", weight=None)
    assert dropped.n == 2 and dropped.edges == 1 and any("4 edges dropped (ids 'c')" in note for note in dropped.notes)


def test_integer_labels_with_gaps_stay_integers_in_arrow():
    nodes = pa.table({"id": [1, 2, 3], "y": pa.array([4, None, 5])})
    graph = Graph.from_edges([(1, 2), (2, 3)], nodes, label="y")
    assert graph.classes.dtype == np.int64 and graph.codes.tolist() == [0, -1, 1]


@pytest.mark.parametrize(
    ("edges", "options", "words"),
    [
        (FRAME, {"source": "from"}, "no column 'from' for source: the columns are source, target"),
        (FRAME, {"source": "target", "target": "target"}, "same column"),
        (FRAME, {"weight": "w"}, "no column 'w' for weight"),
        (FRAME[["source"]], {}, "two columns"),
        (pd.DataFrame({"source": ["a", None], "target": ["b", "b"]}), {}, r"'source' must not be missing.*row 1"),
        (np.ones((2, 7), int), {}, "transpose"),
        ([("a", "b"), ("a", "b", 2)], {}, "all alike"),
        ([[["x"], "b"]], {}, "hashable"),
        (sp.eye(3), {}, "from_arrays"),
        (PAIRS, {"nodes": ["a", "b", "c", "a"]}, "more than once: 'a'"),
        (PAIRS, {"nodes": ["a", "b", "c"], "label": "team"}, "not a table"),
        (PAIRS, {"nodes": ["a", "b", "c"], "features": ["age"]}, "not a table"),
        (PAIRS, {"nodes": NODES, "label": "club"}, "no column 'club' for label"),
        (PAIRS, {"nodes": NODES, "features": ["town"]}, "'town' do not"),
        (PAIRS, {"nodes": NODES, "features": ["height"]}, "no column 'height' for features"),
        (PAIRS, {"label": {"q": 1}}, "labels has 1 id that no node has: 'q'"),
        (PAIRS, {"features": np.ones((3, 2))}, "ids like 'b', 'a': pass nodes="),
        ([(0, 1), (1, 7)], {"features": np.ones((3, 2))}, "edges have node 7, but features or labels have 3 rows"),
        (PAIRS, {"features": pd.DataFrame({"p": [1.0]}, index=["a"])}, "2 ids of the edges are not among"),
        (PAIRS, {"nodes": ["a", "b", "c"], "features": pd.DataFrame({"p": [1.0]}, index=["a"])}, "lack rows for 2"),
        (PAIRS, {"unknown": "ignore"}, "choose one of drop, fail, keep"),
        ([(1, 2), (2, 3)], {"nodes": ["1", "2", "3"]}, "ids of the edges are not among the nodes: 1, 2, 3; ids of"),
        ([], {}, "empty"),
        (5, {}, "edges must be .*int"),
        ("follows.csv", {}, "edges must be .*str"),
        (PAIRS, {"label": "team", "labels": {"a": 1}}, "label and labels"),
        ({"source": ["a"], "target": []}, {}, "same length"),
    ],
)
def test_bad_tables_are_named(edges, options, words):
    with pytest.raises(InputError, match=words):
        Graph.from_edges(edges, **options)


@pytest.mark.parametrize(
    ("columns", "options", "ends"),
    [
        (["source", "target"], {}, ("source", "target")),
        (["when", "dst", "src"], {}, ("src", "dst")),
        (["a", "b", "c"], {}, ("a", "b")),
        (["a", "b", "c"], {"source": "c", "target": "a"}, ("c", "a")),
    ],
)
def test_ends_by_name_then_by_place(columns, options, ends):
    frame = pd.DataFrame({name: [f"{name}0", f"{name}1"] for name in columns})
    (table,) = read_table(frame, options.get("source"), options.get("target"), None)
    assert table.source.tolist() == [f"{ends[0]}0", f"{ends[0]}1"] and table.target[0] == f"{ends[1]}0"
    guessed = f"Edges are read from columns {ends[0]!r} and {ends[1]!r}."
    assert (guessed in table.notes) == (not options)


def ids_of(frame, **options):
    return NodeTable.read(frame, options.get("id"), None, None).ids.tolist()


def test_ids_by_name_then_index_then_place():
    frame = pd.DataFrame({"age": [3, 4], "id": ["p", "q"], "name": ["x", "y"]})
    assert ids_of(frame) == ["p", "q"] and ids_of(frame, id="name") == ["x", "y"]
    assert ids_of(frame.drop(columns="id").set_index("name")) == ["x", "y"]
    assert ids_of(frame[["name", "age"]]) == ["x", "y"]
    selected = pd.concat([frame, frame.assign(id=["r", "s"], name=["z", "w"])], ignore_index=True).iloc[[3, 1]]
    assert ids_of(selected) == ["s", "q"], "row numbers left over from a selection are not ids"
    assert ids_of(selected[["name"]]) == ["w", "y"]


def test_features_are_the_columns_of_numbers():
    frame = pd.DataFrame({"id": [1, 2], "a": [1, 2], "b": [True, False], "c": ["x", "y"], "d": [0.5, 1], "z": [1j, 2]})
    table = NodeTable.read(frame, "id", "c", None)
    assert table.feature_names == ("a", "b", "d") and table.features.tolist() == [[1, 1, 0.5], [2, 0, 1]]
    assert table.labels.tolist() == ["x", "y"] and table.ids.tolist() == [1, 2]
    assert NodeTable.read(frame, "id", None, ["d"]).features.tolist() == [[0.5], [1]]


def test_nullable_numbers_become_nan_to_be_named_later():
    frame = pd.DataFrame({"id": ["a", "b"], "x": pd.array([1, None], dtype="Int64")})
    assert np.isnan(NodeTable.read(frame, "id", None, None).features[1, 0])


def test_rows_by_id_need_every_id_once():
    frame = pd.DataFrame({"x": [1.0, 2, 3]}, index=["c", "a", "b"])
    assert by_id(frame, np.array(["a", "c"], object), "features").tolist() == [1, 0]
    with pytest.raises(InputError, match=r"features lack rows for 1 nodes \(ids 'z'\)"):
        by_id(frame, np.array(["a", "z"], object), "features")
    with pytest.raises(InputError, match="ids of the features must be distinct"):
        by_id(pd.DataFrame({"x": [1.0, 2]}, index=["a", "a"]), np.array(["a"], object), "features")


def test_frames_of_every_kind_agree():
    columns = {"id": [1, 2], "y": ["a", None]}
    for table in (pd.DataFrame(columns), pa.table(columns), columns):
        frame = as_frame(table)
        assert frame["id"].tolist() == [1, 2] and frame["y"].isna().tolist() == [False, True]
    with pytest.raises(InputError, match="must be pandas, arrow, polars or a dictionary of columns, not int"):
        as_frame(3)


def test_whole_floats_are_integers_as_ids():
    assert as_id_column([1.0, 2.0], "ids").dtype == np.int64
    assert as_id_column([1.5, 2.0], "ids").tolist() == [1.5, 2.0]
