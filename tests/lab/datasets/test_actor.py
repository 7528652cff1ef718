"""Actor's text files: a small pair of the format, and the real ones against plain Python."""

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
