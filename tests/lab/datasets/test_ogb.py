"""OGB's csv.gz files: small ones of the format, nested as in the archive or flat."""

import gzip

import numpy as np
import pytest

from slimg.errors import InputError
from slimg.lab import datasets

RAW = {
    "edge": "0,1\n1,0\n1,2\n3,3\n",
    "node-feat": "0.5,-1.25\n1e-3,2\n0,0\n-0.0,7\n",
    "node-label": "4\n0\n4\n2\n",
    "num-node-list": "4\n",
}


def write(folder, raw=RAW, split="time", flat=False):
    files = {f"raw/{name}.csv.gz": text for name, text in raw.items()}
    if split:
        files |= {f"split/{split}/{k}.csv.gz": v for k, v in {"train": "1\n", "valid": "0\n3\n", "test": "2\n"}.items()}
    for name, text in files.items():
        path = folder / (name.split("/")[-1] if flat else name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()))
    return folder.parent


@pytest.mark.parametrize("flat", [False, True])
def test_small_arxiv(tmp_path, flat):
    root = write(tmp_path / "ogbn-arxiv", flat=flat)
    graph = datasets.load("ogbn-arxiv", root, check=False)
    assert np.allclose(graph.features, [[0.5, -1.25], [1e-3, 2], [0, 0], [0, 7]]) and graph.features.dtype == np.float32
    assert graph.classes.tolist() == [0, 2, 4] and graph.codes.tolist() == [2, 0, 2, 1]
    assert graph.adjacency.to_scipy().toarray().astype(int).tolist() == [
        [0, 1, 0, 0],
        [1, 0, 1, 0],
        [0, 1, 0, 0],
        [0, 0, 0, 0],
    ]
    assert {name: np.flatnonzero(m).tolist() for name, m in graph.masks.items()} == {
        "train": [1],
        "val": [0, 3],
        "test": [2],
    }


def test_the_split_is_optional(tmp_path):
    assert datasets.load("ogbn-arxiv", write(tmp_path / "ogbn-arxiv", split=None), check=False).masks == {}


def test_products_loses_its_rare_classes(tmp_path):
    n = 330
    labels = [*([7] * 150), *([3] * 99), *([1] * 80), 5]
    raw = {
        "edge": "".join(f"{k},{k + 1}\n" for k in range(n - 1)),
        "node-feat": "1,2\n" * n,
        "node-label": "".join(f"{label}\n" for label in labels),
        "num-node-list": f"{n}\n",
    }
    graph = datasets.load("ogbn-products", write(tmp_path / "ogbn-products", raw, split=None), check=False)
    assert graph.n == n and graph.edges == n - 1 and graph.classes.tolist() == [7]
    assert (graph.codes >= 0).sum() == 150
    assert graph.notes[0] == "3 classes have fewer than 100 nodes: their 180 nodes count as unlabelled."


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("node-feat", "1,2\n", "node-feat.csv.gz has 1 rows, but num-node-list.csv.gz says 4"),
        ("node-label", "1\n2\n", "node-label.csv.gz has 2 rows"),
        ("edge", "0,9\n", "target 9, but the 4 nodes"),
        ("edge", "0,a\n", "cannot be read as a table of numbers"),
    ],
)
def test_files_that_do_not_fit(tmp_path, name, text, words):
    with pytest.raises(InputError, match=words):
        datasets.load("ogbn-arxiv", write(tmp_path / "ogbn-arxiv", RAW | {name: text}), check=False)


def test_truncated_gzip_is_named(tmp_path):
    root = write(tmp_path / "ogbn-arxiv")
    path = root / "ogbn-arxiv" / "raw" / "edge.csv.gz"
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(InputError, match=r"edge\.csv\.gz cannot be read as a table of numbers .*: fetch it again"):
        datasets.load("ogbn-arxiv", root, check=False)


def test_a_small_graph_is_not_arxiv(tmp_path):
    with pytest.raises(InputError, match="holds a graph with 4 nodes, but ogbn-arxiv has 169,343"):
        datasets.load("ogbn-arxiv", write(tmp_path / "ogbn-arxiv"))
