"""Pokec's Matlab file: a small one of the format."""

import numpy as np
import pytest
import scipy.io

from slimg.errors import InputError
from slimg.lab import datasets

EDGES = np.array([[0, 1, 2, 3], [1, 0, 3, 3]])
X = np.arange(12.0).reshape(4, 3)


def write(root, **arrays):
    (root / "pokec").mkdir(exist_ok=True)
    parts = {"edge_index": EDGES, "node_feat": X, "label": np.array([0, 1, -1, 1]), "num_nodes": 4}
    scipy.io.savemat(root / "pokec" / "pokec.mat", parts | arrays)
    return root


def test_small_file(tmp_path):
    graph = datasets.load("pokec", write(tmp_path), check=False)
    assert np.array_equal(graph.features, X) and graph.features.dtype == np.float32
    assert graph.classes.tolist() == [0, 1] and graph.codes.tolist() == [0, 1, -1, 1]
    A = np.zeros((4, 4))
    A[[0, 1, 2, 3], [1, 0, 3, 2]] = 1
    assert np.array_equal(graph.adjacency.to_scipy().toarray(), A)
    assert graph.notes == (
        "1 self-loop dropped.",
        "Edges are taken as undirected (given in one direction: 1, in both: 1).",
    )


def test_parts_that_do_not_fit(tmp_path):
    with pytest.raises(InputError, match=r"does not fit together: edge_index \(2, 4\), node_feat \(3, 3\)"):
        datasets.load("pokec", write(tmp_path, node_feat=X[:3]), check=False)
    with pytest.raises(InputError, match="but pokec has 1,632,803"):
        datasets.load("pokec", write(tmp_path))
