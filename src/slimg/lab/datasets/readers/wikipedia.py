"""Chameleon and Squirrel: one npz with 0/1 features, labels, edges and ten published splits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from slimg.graph import Adjacency, Graph
from slimg.lab.datasets.dataset import Dataset
from slimg.lab.datasets.npz import load_npz

_PARTS = ("train", "val", "test")


def read(files: Mapping[str, Path], dataset: Dataset) -> Graph:
    """Graph of the file, with masks ``train_0`` … ``test_9``; the features are sparse (0.6 % ones)."""
    keys = ("node_features", "node_labels", "edges", *(f"{part}_masks" for part in _PARTS))
    parts = load_npz(files[dataset.files[0].name], keys)
    source, target = parts["edges"].T
    adjacency, counts = Adjacency.from_edges(source, target, len(parts["node_labels"]), directed=False)
    masks = {f"{part}_{k}": mask.astype(bool) for part in _PARTS for k, mask in enumerate(parts[f"{part}_masks"])}
    features = sp.csr_array(parts["node_features"].astype(np.float32))
    graph = Graph(adjacency, features, parts["node_labels"], masks=masks, notes=counts.notes())
    return graph.with_notes(*graph.warnings())
