"""Actor: two tab-separated text files.

    out1_node_feature_label.txt : node, comma-separated ids of its features (0 … 931; a repeated one counts once), label
    out1_graph_edges.txt        : node, node
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from slimg.errors import InputError
from slimg.graph import Adjacency, Graph
from slimg.lab.datasets.dataset import Dataset


def read(files: Mapping[str, Path], dataset: Dataset) -> Graph:
    """Graph of the two files."""
    path = files["out1_node_feature_label.txt"]
    rows = [line.split("\t") for line in path.read_text().splitlines()[1:] if line]
    if any(len(row) != 3 for row in rows):
        raise InputError(f"{path} should have three tab-separated columns: node, features, label")
    nodes = np.array([row[0] for row in rows], np.int64)
    n = len(rows)
    if not np.array_equal(np.sort(nodes), np.arange(n)):
        raise InputError(f"{path} should number its nodes 0 to {n - 1}")
    labels = np.empty(n, np.int64)
    labels[nodes] = np.array([row[2] for row in rows], np.int64)
    words = [np.array(row[1].split(","), np.int64) for row in rows]
    columns, owners = np.concatenate(words), np.repeat(nodes, [len(w) for w in words])
    features = sp.coo_array((np.ones(len(columns), np.float32), (owners, columns))).tocsr()
    features.resize(n, features.shape[1])
    features.data[:] = 1
    text = files["out1_graph_edges.txt"].read_text()
    edges = np.array(text[text.index("\n") :].split(), np.int64).reshape(-1, 2)
    adjacency, counts = Adjacency.from_edges(edges[:, 0], edges[:, 1], n)
    graph = Graph(adjacency, features, labels, notes=counts.notes())
    return graph.with_notes(*graph.warnings())
