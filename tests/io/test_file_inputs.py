"""From files to a graph: columns, ids of all types, labels in a file of their own, edges to nowhere."""

import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sp

from slimg import Graph
from slimg.errors import InputError
from slimg.io import Source
from slimg.io.inputs import Options, comparable, distinct, read_inputs
from slimg.io.write import write_table

EDGES = pd.DataFrame({"from": ["a", "b", "c"], "to": ["b", "c", "d"], "weight": [1.0, 2.5, 1.0], "when": ["x", "y", "z"]})
NODES = pd.DataFrame({"key": ["a", "b", "c", "d"], "kind": ["p", "q", "", "p"], "x": [1, 2, 3, 4]})


@pytest.fixture
def sources(tmp_path):
    """``sources(edges, nodes)``: written as CSV, and the options that name them."""

    def write(edges=EDGES, nodes=NODES, **more):
        named = {"edges": Source(write_table(edges, tmp_path / "edges.csv"))}
        if nodes is not None:
            named["nodes"] = Source(write_table(nodes, tmp_path / "nodes.csv"))
        return Options(**named, **more)

    return write


def pairs(graph):
    entries = sp.coo_array(graph.adjacency.to_scipy())
    return {(graph.ids[i], graph.ids[j]) for i, j in zip(entries.row, entries.col, strict=True) if i < j}


def test_columns_are_found_by_name_and_by_content(sources):
    found = read_inputs(sources(label="kind"))
    assert found.id == "key", "the column whose values are ends of edges"
    assert pairs(found.graph) == {("a", "b"), ("b", "c"), ("c", "d")}
    assert found.graph.adjacency.to_scipy()[1, 2] == 2.5
    assert found.graph.labels.tolist() == ["p", "q", None, "p"]
    assert found.graph.feature_names == ("x: high", "x: low")
    assert "Guessed for the edges: source = 'from', target = 'to', weight = 'weight'." in found.notes
    assert "Columns of the edges that are not used: when." in found.notes


def test_columns_whose_names_say_nothing(sources):
    odd = EDGES.rename(columns={"from": "p1", "to": "p2"})[["when", "p1", "p2"]]
    assert pairs(read_inputs(sources(odd, label="kind")).graph) == {("a", "b"), ("b", "c"), ("c", "d")}


def test_options_overrule_guesses(sources):
    found = read_inputs(sources(label="kind", id="key", source="to", target="from", weighted=False, ignore=("x",)))
    assert found.graph.adjacency.weights is None
    assert found.graph.features is None
    assert not any(note.startswith("Guessed") for note in found.notes)


@pytest.mark.parametrize("kind", [int, float, str])
def test_ids_of_different_types_meet(tmp_path, kind):
    nodes = pd.DataFrame({"id": np.array([10, 20, 30]).astype(kind), "label": ["p", "q", "p"]})
    nodes.to_parquet(tmp_path / "n.parquet")
    (tmp_path / "e.csv").write_text("source,target\n10,20\n20,30\n")
    graph = read_inputs(Options(edges=Source(tmp_path / "e.csv"), nodes=Source(tmp_path / "n.parquet"))).graph
    assert graph.edges == 2
    assert [int(float(value)) for value in graph.ids] == [10, 20, 30]


def test_zeros_before_ids_are_kept(sources):
    edges = pd.DataFrame({"source": ["007", "7"], "target": ["7", "07"]})
    nodes = pd.DataFrame({"id": ["007", "07", "7"], "label": ["p", "q", "p"]})
    assert pairs(read_inputs(sources(edges, nodes)).graph) == {("007", "7"), ("07", "7")}


def test_labels_in_a_file_of_their_own(sources, tmp_path):
    labels = pd.DataFrame({"key": ["d", "a", "z"], "truth": ["p", "q", "q"]})
    options = sources(nodes=NODES[["key", "x"]], labels=Source(write_table(labels, tmp_path / "labels.csv")))
    found = read_inputs(options)
    assert found.graph.labels.tolist() == ["q", None, None, "p"]
    assert found.label == "truth"
    assert any("1 labels belong to ids that are not among the nodes" in note for note in found.notes)
    twice = pd.concat([labels, labels.assign(truth="r")])
    with pytest.raises(InputError, match=r"'key' .* 3 values are there more than once: 'a', 'd', 'z'"):
        read_inputs(sources(nodes=NODES[["key", "x"]], labels=Source(write_table(twice, tmp_path / "labels.csv"))))


def test_edges_alone_make_the_nodes(sources, tmp_path):
    labels = Source(write_table(pd.DataFrame({"id": ["a", "d"], "label": ["p", "q"]}), tmp_path / "labels.csv"))
    found = read_inputs(sources(nodes=None, labels=labels))
    assert found.graph.ids.tolist() == ["a", "b", "c", "d"]
    assert found.graph.labels.tolist() == ["p", None, None, "q"]
    assert found.graph.features is None


def test_nodes_alone_are_features_alone(sources, tmp_path):
    options = sources(label="kind", id="key")
    found = read_inputs(Options(nodes=options.nodes, label="kind", id="key"))
    assert found.graph.edges == 0
    assert found.graph.d == 2


def test_edges_to_unknown_ids(sources):
    short = NODES.iloc[:3]
    with pytest.raises(InputError, match=r"1 id of the edges is not among the nodes: 'd'.*--unknown keep or --unknown drop"):
        read_inputs(sources(nodes=short, label="kind"))
    dropped = read_inputs(sources(nodes=short, label="kind", unknown="drop"))
    assert dropped.graph.edges == 2
    assert dropped.table["key"].tolist() == dropped.graph.ids.tolist() == ["a", "b", "c"]
    kept = read_inputs(sources(nodes=short, label="kind", unknown="keep"))
    assert kept.graph.ids.tolist() == ["a", "b", "c", "d"]
    assert kept.table["key"].tolist() == ["a", "b", "c", "d"]
    assert kept.graph.features.toarray()[3].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("nodes", "more", "told"),
    [
        (pd.concat([NODES, NODES[:1].assign(x=9)]), {"label": "kind"}, "'key' must be distinct, but 1 value is"),
        (NODES, {}, "with --label: the columns are key, kind, x"),
        (NODES, {"label": "sort"}, "there is no column 'sort' for --label: the columns are key, kind, x"),
        (NODES, {"label": "key"}, "column 'key' cannot be both id and label"),
        (NODES, {"label": "kind", "weight": "when"}, "weights in column 'when' must be numbers"),
        (NODES, {"label": "kind", "source": "to", "target": "to"}, "--source and --target name the same column 'to'"),
        (NODES.assign(born="2001-02-03"), {"label": "kind"}, "nodes.csv: column 'born' holds dates"),
    ],
)
def test_bad_tables_are_one_sentence(sources, nodes, more, told):
    with pytest.raises(InputError) as caught:
        read_inputs(sources(nodes=nodes, **more))
    assert told in str(caught.value)


def test_one_column_of_edges(sources, tmp_path):
    (tmp_path / "e.csv").write_text("a;b\nc;d\n")
    with pytest.raises(InputError, match=r"edges need two columns, but there is one.*--separator"):
        read_inputs(Options(edges=Source(tmp_path / "e.csv", separator=",")), need_label=False)


def test_a_matrix_of_features(sources, tmp_path):
    scipy.io.mmwrite(tmp_path / "x.mtx", sp.coo_array(np.arange(8.0).reshape(4, 2)))
    found = read_inputs(sources(label="kind", matrix=Source(tmp_path / "x.mtx")))
    assert np.array_equal(found.graph.features.toarray(), np.arange(8.0).reshape(4, 2))
    scipy.io.mmwrite(tmp_path / "x.mtx", np.ones((3, 2)))
    with pytest.raises(InputError, match="one row per node is needed: 3 rows, 4 nodes"):
        read_inputs(sources(label="kind", matrix=Source(tmp_path / "x.mtx")))


def test_an_archive_holds_all(tmp_path):
    np.savez(tmp_path / "g.npz", edges=np.array([[0, 1], [1, 2]]), features=np.eye(3), labels=np.array([0, 1, 0]))
    graph = read_inputs(Options(edges=Source(tmp_path / "g.npz"))).graph
    assert graph.edges == 2
    assert graph.labels.tolist() == [0, 1, 0]
    assert np.array_equal(graph.features, np.eye(3))


def test_labels_that_mean_nothing(sources):
    found = read_inputs(sources(nodes=NODES.assign(kind=["p", "q", "?", "NA"]), label="kind", unlabelled="?"))
    assert found.graph.labels.tolist() == ["p", "q", None, None]
    assert "Labels read as no label: '?' (1)." in found.notes
    assert any("'NA' (1)" in note and "--missing" in note for note in found.notes)


def test_numbers_stay_numbers_and_anything_else_is_compared_as_text():
    ids, (first, _) = comparable(pd.Series([1, 2]), [pd.Series([2, 1]), pd.Series([1, 1])])
    assert ids.tolist() == [1, 2] and first.tolist() == [2, 1]
    ids, (first, second) = comparable(pd.Series([1, 2]), [pd.Series(["2", "x"]), pd.Series([1.0, None])])
    assert ids.tolist() == ["1", "2"] and list(first) == ["2", "x"] and list(second) == ["1", pd.NA]


def test_an_empty_text_is_no_id():
    ids, (ends,) = comparable(pd.Series(["a", "b"]), [pd.Series(["", "b"])])
    assert ids.tolist() == ["a", "b"] and list(ends) == [pd.NA, "b"]


def test_ids_of_the_edges_are_in_order_if_they_can_be():
    assert distinct([pd.Series([3, 1]), pd.Series([2, 3])]).tolist() == [1, 2, 3]
    mixed = distinct([pd.Series(["b", 1], dtype=object), pd.Series(["a", "b"], dtype=object)])
    assert mixed.tolist() == Graph.from_edges([("b", "a"), (1, "b")]).ids.tolist() == [1, "a", "b"]
