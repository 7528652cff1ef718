"""Graphs on disk against the same graphs in memory, from every kind of file, and what they refuse."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest
from pyarrow import parquet, table

from slimg import SlimG
from slimg.engine.base import FileMatrix
from slimg.engine.mapped import MappedEngine
from slimg.errors import InputError
from slimg.graph.graph import Graph
from slimg.io.disk import EdgeFile, build, open_graph, suffix_of

N = 60


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, N, (400, 2))
    return pairs, rng.standard_normal((N, 5)).astype(np.float32), rng.integers(0, 3, N)


@pytest.mark.parametrize("kind", ["npy", "parquet", "csv", "tsv"])
def test_every_kind_of_file_gives_the_graph_built_in_memory(tmp_path, data, kind):
    pairs, features, labels = data
    expected = Graph.from_edges(pairs, nodes=np.arange(N), features=features, label=labels)
    files = {name: tmp_path / f"{name}.{kind}" for name in ("edges", "features", "labels")}
    if kind == "npy":
        for name, array in zip(files, data, strict=True):
            np.save(files[name], array)
    else:
        frames = [pd.DataFrame(pairs, columns=["source", "target"]), pd.DataFrame(features).rename(columns=str)]
        frames.append(pd.DataFrame({"label": labels}))
        for path, frame in zip(files.values(), frames, strict=True):
            if kind == "parquet":
                frame.to_parquet(path)
            else:
                frame.to_csv(path, index=False, sep="\t" if kind == "tsv" else ",")
    graph = build(tmp_path / "graph", files["edges"], features=files["features"], labels=files["labels"], memory="8MB")
    for mine in (graph, open_graph(tmp_path / "graph")):
        np.testing.assert_array_equal(mine.adjacency.indptr, expected.adjacency.indptr)
        np.testing.assert_array_equal(mine.adjacency.indices, expected.adjacency.indices)
        np.testing.assert_allclose(mine.features, features, rtol=1e-6)
        np.testing.assert_array_equal(mine.codes, expected.codes)
        assert (mine.n, mine.edges, mine.d) == (expected.n, expected.edges, expected.d)
        assert set(mine.notes) <= {note.replace("; directed=True keeps the direction", "") for note in expected.notes}
    assert not (tmp_path / "graph.part").exists()


def test_relations_and_directions_are_not_kept_on_disk(tmp_path, data):
    np.save(tmp_path / "e.npy", data[0])
    for edges, directed, told in ((tmp_path / "e.npy", True, "direction"), ({"a": tmp_path / "e.npy"}, None, "relations")):
        with pytest.raises(InputError, match=rf"{told}.*Graph\.from_edges"):
            build(tmp_path / "g", edges, nodes=N, directed=directed)
    assert not (tmp_path / "g").exists()


def test_weights_and_named_columns(tmp_path, data):
    pairs = data[0]
    weights = np.random.default_rng(1).random(len(pairs)) + 0.5
    frame = pd.DataFrame({"a": pairs[:, 0], "b": pairs[:, 1], "w": weights, "unused": "text"})
    frame.to_parquet(tmp_path / "edges.parquet")
    graph = build(tmp_path / "g", tmp_path / "edges.parquet", nodes=N, source="a", target="b", weight="w")
    expected = Graph.from_edges(frame[["a", "b", "w"]], nodes=np.arange(N), source="a", target="b", weight="w")
    np.testing.assert_allclose(graph.adjacency.weights, expected.adjacency.weights, rtol=1e-6)
    assert isinstance(graph.adjacency.indices, np.memmap)


def test_bad_input_is_named(tmp_path, data):
    pairs, features, _ = data
    np.save(tmp_path / "edges.npy", pairs)
    np.save(tmp_path / "high.npy", np.array([[0, 1], [2, N]]))
    np.save(tmp_path / "short.npy", features[:-1])
    np.save(tmp_path / "nan.npy", np.where(np.arange(N)[:, None] == 7, np.nan, features))
    pd.DataFrame({"source": ["a"], "target": ["b"]}).to_csv(tmp_path / "text.csv", index=False)
    (tmp_path / "edges.txt").write_text("0 1")
    (tmp_path / "broken.npy").write_bytes(b"no array")
    cases = [
        (("high.npy", {"nodes": N}), rf"high\.npy: row 1 has target {N}, but the {N} nodes are numbered 0 to {N - 1}"),
        (("edges.npy", {}), "needs nodes="),
        (("edges.npy", {"nodes": N, "features": "short.npy"}), f"one row per node, but have {N}, {N - 1}"),
        (("edges.npy", {"features": "nan.npy"}), r"nan\.npy: row 7 holds NaN or infinity"),
        (("text.csv", {"nodes": N}), r"text\.csv: column 'source' must hold node numbers"),
        (("edges.npy", {"nodes": 2**31}), "nodes, as its indices are int32"),
        (("edges.txt", {"nodes": N}), r"unknown kind of file 'edges\.txt'"),
        (("none.npy", {"nodes": N}), r"there is no file of edges .*none\.npy"),
        (("broken.npy", {"nodes": N}), r"broken\.npy cannot be read as an \.npy file"),
    ]
    for (edges, options), message in cases:
        given = {name: tmp_path / value if isinstance(value, str) else value for name, value in options.items()}
        with pytest.raises(InputError, match=message):
            build(tmp_path / "graph", tmp_path / edges, **given)
        assert not (tmp_path / "graph").exists() and not (tmp_path / "graph.part").exists()


def test_missing_columns_are_named(tmp_path):
    pd.DataFrame({"u": [0], "v": [1]}).to_csv(tmp_path / "edges.csv", index=False)
    with pytest.raises(InputError, match=r"edges\.csv has no column 'source': it has 'u', 'v'"):
        build(tmp_path / "graph", tmp_path / "edges.csv", nodes=2)


def test_folders_that_exist_or_are_none_are_refused(tmp_path, data):
    np.save(tmp_path / "edges.npy", data[0])
    with pytest.raises(InputError, match="exists already"):
        build(tmp_path, tmp_path / "edges.npy", nodes=N)
    with pytest.raises(InputError, match=r"edges must be .*list"):
        build(tmp_path / "graph", data[0].tolist(), nodes=N)
    with pytest.raises(InputError, match="is no folder of a graph"):
        open_graph(tmp_path)
    (tmp_path / "graph.json").write_text(json.dumps({"format": 99}))
    with pytest.raises(InputError, match="has format 99"):
        open_graph(tmp_path)


EDGES = np.random.default_rng(0).integers(0, 50, (500, 2))


def written(folder, kind):
    path = folder / f"edges{kind}"
    text = "source\ttarget\n" if "tsv" in kind else "source,target\n"
    text += "".join(f"{a}\t{b}\n" if "tsv" in kind else f"{a},{b}\n" for a, b in EDGES)
    if kind == ".npy":
        np.save(path, EDGES)
    elif kind == ".parquet":
        parquet.write_table(table({"source": EDGES[:, 0], "target": EDGES[:, 1]}), path)
    else:
        path.write_bytes(gzip.compress(text.encode()) if kind.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize("kind", [".npy", ".parquet", ".csv", ".csv.gz", ".tsv", ".tsv.gz"])
@pytest.mark.parametrize("rows", [7, 10_000])
def test_pieces_add_up_to_the_file_again_and_again(tmp_path, kind, rows):
    file = EdgeFile(written(tmp_path, kind))
    for _ in range(2):
        pieces = list(file.pieces(rows))
        np.testing.assert_array_equal(np.concatenate([each.source for each in pieces]), EDGES[:, 0])
        np.testing.assert_array_equal(np.concatenate([each.target for each in pieces]), EDGES[:, 1])
        assert [each.row for each in pieces] == np.cumsum([0, *(len(each.source) for each in pieces)])[:-1].tolist()


def test_an_array_that_lies_on_its_side_is_turned(tmp_path):
    np.save(tmp_path / "edges.npy", EDGES.T)
    (piece,) = EdgeFile(tmp_path / "edges.npy").pieces(1000)
    np.testing.assert_array_equal(np.stack([piece.source, piece.target], axis=1), EDGES)


def test_bad_files_of_edges_are_named(tmp_path):
    (tmp_path / "words.csv").write_text("source,target\nann,bob\n")
    with pytest.raises(InputError, match=r"words\.csv: column 'source' must hold node numbers"):
        list(EdgeFile(tmp_path / "words.csv").pieces(10))
    np.save(tmp_path / "wide.npy", np.zeros((4, 3), int))
    with pytest.raises(InputError, match=r"wide\.npy must hold m × 2"):
        list(EdgeFile(tmp_path / "wide.npy").pieces(10))
    (tmp_path / "broken.npy").write_bytes(b"no array")
    with pytest.raises(InputError, match=r"broken\.npy cannot be read"):
        list(EdgeFile(tmp_path / "broken.npy").pieces(10))
    (tmp_path / "broken.parquet").write_bytes(b"no table")
    with pytest.raises(InputError, match=r"broken\.parquet cannot be read"):
        list(EdgeFile(tmp_path / "broken.parquet").pieces(10))
    with pytest.raises(InputError, match="there is no file of edges"):
        EdgeFile(tmp_path / "none.csv")


def test_suffixes_are_known_or_refused(tmp_path):
    assert suffix_of(tmp_path / "A.CSV.GZ") == ".csv.gz"
    with pytest.raises(InputError, match=r"a\.xlsx"):
        suffix_of(tmp_path / "a.xlsx")


@pytest.mark.parametrize("name", ["indices", "weights", "features"])
@pytest.mark.parametrize("how", ["truncated", "replaced", "overwritten"])
def test_a_file_that_changes_underneath_is_refused(tmp_path, data, how, name):
    """Before: SIGBUS, SIGSEGV in a compiled kernel, or a model of two graphs."""
    pairs, features, labels = data
    frame = pd.DataFrame(pairs, columns=["source", "target"]).assign(weight=1.5 + np.arange(len(pairs)) % 3)
    frame.to_parquet(tmp_path / "edges.parquet")
    np.save(tmp_path / "x.npy", features)
    graph = build(tmp_path / "g", tmp_path / "edges.parquet", features=tmp_path / "x.npy", labels=labels, weight="weight")
    path = tmp_path / "g" / f"{name}.npy"

    def change():
        raw = path.read_bytes()
        if how == "replaced":
            (tmp_path / "other").write_bytes(raw[:128] + raw[:127:-1])
            (tmp_path / "other").replace(path)
        else:
            path.write_bytes(raw[:128] + (b"" if how == "truncated" else raw[:127:-1]))

    with MappedEngine("2GB", threads=1) as engine:
        model = SlimG(engine=engine, grid=[(1e-3, 1e-2)], cv=2, average=1)
        rows, held = engine.row_matrix(graph.features), FileMatrix(graph.adjacency)
        whole = model.propagate(graph)
        change()
        calls = [lambda: model.fit(graph), lambda: model.fit(graph, propagated=whole).save(tmp_path / "model.slimg")]
        if how != "replaced":  # an open file stays what it was
            calls.append(lambda: rows.read(0, 2) if name == "features" else held.read(0, 2))
        for call in calls:
            with pytest.raises(InputError, match=rf"{name}\.npy"):
                call()
    assert not (tmp_path / "model.slimg").exists()
