"""Readers of text files against files written here, and on the published ones."""

import gzip

import numpy as np
import pytest

from slimg.errors import InputError
from slimg.lab import datasets

NODES = "node_id\tfeature(feature_amount:931)\tlabel\n2\t0,3,3\t1\n0\t5\t4\n1\t1,2\t0\n"
EDGES = "node_id\tnode_id\n0\t1\n1\t0\n2\t2\n1\t2\n1\t2\n"


def write(root, nodes=NODES, edges=EDGES):
    (root / "actor").mkdir()
    (root / "actor" / "out1_node_feature_label.txt").write_text(nodes)
    (root / "actor" / "out1_graph_edges.txt").write_text(edges)
    return root


def test_small_files(tmp_path):
    graph = datasets.load("actor", write(tmp_path), check=False)
    assert graph.features.toarray().tolist() == [[0, 0, 0, 0, 0, 1], [0, 1, 1, 0, 0, 0], [1, 0, 0, 1, 0, 0]]
    assert graph.labels.tolist() == [4, 0, 1]
    assert graph.adjacency.to_scipy().toarray().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    assert graph.notes[:2] == ("1 self-loop dropped.", "1 repeated edge merged (counted once).")


def test_real_files_line_by_line(load_real, data_dir):
    graph = load_real("actor")
    X = graph.features.toarray()
    for line in (data_dir / "actor" / "out1_node_feature_label.txt").read_text().splitlines()[1:]:
        node, words, label = line.split("\t")
        assert set(np.flatnonzero(X[int(node)])) == set(map(int, words.split(",")))
        assert graph.labels[int(node)] == int(label)
    assert set(np.unique(X)) == {0, 1}
    pairs = [line.split() for line in (data_dir / "actor" / "out1_graph_edges.txt").read_text().splitlines()[1:]]
    assert graph.edges == len({frozenset(pair) for pair in pairs if pair[0] != pair[1]})


@pytest.mark.parametrize(
    ("nodes", "edges", "words"),
    [
        (NODES.replace("\t4\n", "\n"), EDGES, "three tab-separated columns"),
        (NODES.replace("\n2\t", "\n7\t"), EDGES, "number its nodes 0 to 2"),
        (NODES, EDGES.replace("1\t2", "1\t9"), "target 9, but the 3 nodes"),
        (NODES, "node_id\tnode_id\n0\t1\n1\n", "cannot be read"),
    ],
)
def test_bad_files_are_named(tmp_path, nodes, edges, words):
    with pytest.raises(InputError, match=words):
        datasets.load("actor", write(tmp_path, nodes, edges), check=False)


RAW = {
    "edge": "0,1\n1,0\n1,2\n3,3\n",
    "node-feat": "0.5,-1.25\n1e-3,2\n0,0\n-0.0,7\n",
    "node-label": "4\n0\n4\n2\n",
    "num-node-list": "4\n",
}


def write_ogb(folder, raw=RAW, split="time", flat=False):
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
    root = write_ogb(tmp_path / "ogbn-arxiv", flat=flat)
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
    assert datasets.load("ogbn-arxiv", write_ogb(tmp_path / "ogbn-arxiv", split=None), check=False).masks == {}


def test_products_loses_its_rare_classes(tmp_path):
    n = 330
    labels = [*([7] * 150), *([3] * 99), *([1] * 80), 5]
    raw = {
        "edge": "".join(f"{k},{k + 1}\n" for k in range(n - 1)),
        "node-feat": "1,2\n" * n,
        "node-label": "".join(f"{label}\n" for label in labels),
        "num-node-list": f"{n}\n",
    }
    graph = datasets.load("ogbn-products", write_ogb(tmp_path / "ogbn-products", raw, split=None), check=False)
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
        datasets.load("ogbn-arxiv", write_ogb(tmp_path / "ogbn-arxiv", RAW | {name: text}), check=False)


def test_truncated_gzip_is_named(tmp_path):
    root = write_ogb(tmp_path / "ogbn-arxiv")
    path = root / "ogbn-arxiv" / "raw" / "edge.csv.gz"
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(InputError, match=r"edge\.csv\.gz cannot be read as a table of numbers .*: fetch it again"):
        datasets.load("ogbn-arxiv", root, check=False)


def test_a_small_graph_is_not_arxiv(tmp_path):
    with pytest.raises(InputError, match="holds a graph with 4 nodes, but ogbn-arxiv has 169,343"):
        datasets.load("ogbn-arxiv", write_ogb(tmp_path / "ogbn-arxiv"))


HEADER = "views,mature,life_time,created_at,updated_at,numeric_id,dead_account,language,affiliate\n"
ROWS = (
    "7879,1,969,2016-02-16,2018-10-12,1,0,EN,1\n"
    "500,0,2699,2011-05-19,2018-10-08,0,0,DE,1\n"
    "382502,1,3149,2010-02-27,2018-10-12,2,1,EN,0\n"
)


def write_twitch(root, nodes=HEADER + ROWS, edges="numeric_id_1,numeric_id_2\n0,1\n1,2\n2,1\n"):
    (root / "twitch-gamers").mkdir()
    (root / "twitch-gamers" / "large_twitch_features.csv").write_text(nodes)
    (root / "twitch-gamers" / "large_twitch_edges.csv").write_text(edges)
    return root


def test_small_files_twitch(tmp_path):
    graph = datasets.load("twitch-gamers", write_twitch(tmp_path), check=False)
    raw = np.array(
        [
            [500, 2699, 20110519, 20181008, 0, 1, 1],
            [7879, 969, 20160216, 20181012, 0, 0, 1],
            [382502, 3149, 20100227, 20181012, 1, 0, 0],
        ],
        float,
    )
    expected = (raw - raw.mean(0)) / raw.std(0, ddof=1)
    assert np.allclose(graph.features, expected, atol=1e-6)
    assert graph.feature_names[0] == "views" and graph.d == 7
    assert graph.labels.tolist() == [0, 1, 1] and graph.edges == 2
    assert graph.notes == ("1 repeated edge merged (counted once).",)


def test_a_column_that_never_varies_is_zero(tmp_path):
    same = HEADER + ROWS.replace(",1,0,EN", ",1,0,DE").replace("2,1,EN", "2,0,DE")
    graph = datasets.load("twitch-gamers", write_twitch(tmp_path, same), check=False)
    assert not graph.features[:, graph.feature_names.index("language")].any()


def test_bad_files_are_named_twitch(tmp_path):
    with pytest.raises(InputError, match=r"large_twitch_features\.csv lacks the column 'affiliate' \(it has views,"):
        datasets.load("twitch-gamers", write_twitch(tmp_path, HEADER.replace("affiliate", "other") + ROWS), check=False)
    path = tmp_path / "twitch-gamers" / "large_twitch_features.csv"
    path.write_text(HEADER + ROWS.replace(",0,0,DE", ",9,0,DE"))
    with pytest.raises(InputError, match="number its nodes 0 to 2"):
        datasets.load("twitch-gamers", tmp_path, check=False)
