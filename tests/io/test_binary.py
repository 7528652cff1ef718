"""Parquet, numpy archives and Matrix Market, against what wrote them."""

import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sp

from slimg.errors import InputError
from slimg.io import Source, read

ADJACENCY = sp.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
FEATURES = np.array([[1.0, 0, 2], [0, 3, 0], [0, 0, 1]])


def pairs(frame):
    return sorted(zip(frame["source"].tolist(), frame["target"].tolist(), strict=True))


def test_parquet_keeps_types_and_whole_numbers(tmp_path):
    table = pd.DataFrame({"id": [1, 2], "x": pd.array([1, None], "Int64"), "words": [["a"], ["b", "c"]]})
    table.to_parquet(tmp_path / "n.parquet")
    found = read(Source(tmp_path / "n.parquet")).frame
    assert found["id"].tolist() == [1, 2]
    assert found["x"].isna().tolist() == [False, True]
    assert found["x"][0] == 1 and isinstance(found["x"][0], (int, np.integer))
    assert [list(words) for words in found["words"]] == [["a"], ["b", "c"]]


def test_archive_of_edges_features_and_labels(tmp_path):
    edges = np.array([[0, 1], [1, 2]])
    for name, shape in (("edges", edges), ("edge_index", np.array([[0, 1, 1], [1, 2, 0]]))):
        np.savez(tmp_path / "g.npz", **{name: shape, "node_features": FEATURES, "node_labels": np.array([1, 0, 1])})
        found = read(Source(tmp_path / "g.npz"))
        assert (0, 1) in pairs(found.edges)
        assert found.frame["label"].tolist() == [1, 0, 1]
        assert np.array_equal(found.matrix, FEATURES)


@pytest.mark.parametrize("prefix", ["adj_", "adj_matrix."])
def test_archive_of_sparse_parts(tmp_path, prefix):
    parts = {f"{prefix}{part}": getattr(ADJACENCY, part) for part in ("data", "indices", "indptr", "shape")}
    x = sp.csr_array(FEATURES)
    parts |= {f"attr_{part}": getattr(x, part) for part in ("data", "indices", "indptr", "shape")}
    np.savez(tmp_path / "g.npz", **parts, labels=np.array([0, 1, 0]))
    found = read(Source(tmp_path / "g.npz"))
    assert pairs(found.edges) == [(0, 1), (1, 0), (1, 2), (2, 1)]
    assert np.array_equal(found.matrix.toarray(), FEATURES)
    assert found.frame["id"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array])
def test_matrices_saved_by_scipy(tmp_path, kind):
    sp.save_npz(tmp_path / "a.npz", kind(ADJACENCY))
    assert pairs(read(Source(tmp_path / "a.npz")).edges) == [(0, 1), (1, 0), (1, 2), (2, 1)]
    sp.save_npz(tmp_path / "x.npz", kind(FEATURES[:2]))
    found = read(Source(tmp_path / "x.npz"))
    assert found.edges is None
    assert np.array_equal(found.matrix.toarray(), FEATURES[:2])


def test_matrix_market_numbers_nodes_from_one(tmp_path):
    scipy.io.mmwrite(tmp_path / "a.mtx", sp.coo_array(ADJACENCY * 2.5))
    found = read(Source(tmp_path / "a.mtx"))
    assert pairs(found.edges) == [(1, 2), (2, 1), (2, 3), (3, 2)]
    assert set(found.edges["weight"]) == {2.5}
    scipy.io.mmwrite(tmp_path / "x.mtx", FEATURES[:2])
    assert np.array_equal(read(Source(tmp_path / "x.mtx")).matrix, FEATURES[:2])


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.parquet", b"no parquet at all", "no Parquet file, or damaged"),
        ("a.npz", b"no archive", "no numpy archive of plain arrays"),
        ("a.npy", b"no array", "no numpy array of plain values"),
        ("a.mtx", b"no matrix", "no Matrix Market file"),
    ],
)
def test_damaged_files(tmp_path, name, content, told):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=told):
        read(Source(tmp_path / name))


def test_bytes_of_an_archive_are_text(tmp_path):
    np.savez(tmp_path / "g.npz", edges=np.array([[b"a", "ö".encode()]]), ids=np.array([b"a", b"\xff"]))
    found = read(Source(tmp_path / "g.npz"))
    assert found.edges.iloc[0].tolist() == ["a", "ö"] and found.frame["id"].tolist() == ["a", "\\xff"]


def test_archives_that_are_no_graph(tmp_path):
    np.savez(tmp_path / "a.npz", something=np.ones(3))
    with pytest.raises(InputError, match="neither edges nor features are in it, only 'something'"):
        read(Source(tmp_path / "a.npz"))
    np.savez(tmp_path / "b.npz", edges=np.ones((4, 5)))
    with pytest.raises(InputError, match=r"edges need 2 columns .* not the shape \(4, 5\)"):
        read(Source(tmp_path / "b.npz"))
    np.savez(tmp_path / "c.npz", edges=np.array([[0, 1]]), labels=np.ones(3), ids=np.arange(2))
    with pytest.raises(InputError, match="one row per node"):
        read(Source(tmp_path / "c.npz"))
    np.savez(tmp_path / "d.npz", edges=np.array([object()], object))
    with pytest.raises(InputError, match="edges holds Python objects"):
        read(Source(tmp_path / "d.npz"))
