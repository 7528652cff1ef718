"""Edges a piece at a time: all of them, in order, whatever the piece; and what is wrong is named with its row."""

import gzip

import numpy as np
import pytest
from pyarrow import parquet, table

from slimg.errors import InputError
from slimg.io.edge_files import EdgeFile, suffix_of

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


def test_what_is_wrong_is_named(tmp_path):
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
    assert suffix_of(tmp_path / "A.CSV.GZ", (".csv", ".csv.gz")) == ".csv.gz"
    with pytest.raises(InputError, match=r"a\.xlsx"):
        suffix_of(tmp_path / "a.xlsx", (".csv",))
