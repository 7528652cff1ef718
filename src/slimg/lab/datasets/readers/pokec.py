"""Pokec: a Matlab file with ``edge_index`` (2 × m), ``node_feat`` (n × 65) and ``label`` (gender; −1 = not stated)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from slimg.errors import InputError
from slimg.graph import Adjacency, Graph
from slimg.lab.datasets.dataset import Dataset
from slimg.lab.datasets.matlab import load_mat


def read(files: Mapping[str, Path], dataset: Dataset) -> Graph:
    """Graph of the file; its directed friendships are made undirected."""
    path = files[dataset.files[0].name]
    parts = load_mat(path, ("edge_index", "node_feat", "label"))
    edges, features, labels = parts["edge_index"], parts["node_feat"], parts["label"].ravel()
    if edges.ndim != 2 or edges.shape[0] != 2 or len(labels) != features.shape[0]:
        raise InputError(
            f"{path} does not fit together: edge_index {edges.shape}, node_feat {features.shape}, label {labels.shape}"
        )
    source, target = edges.astype(np.int64)
    adjacency, counts = Adjacency.from_edges(source, target, features.shape[0])
    graph = Graph(adjacency, features, labels.astype(np.int64), unlabelled=-1, notes=counts.notes())
    return graph.with_notes(*graph.warnings())
