"""One reader per family of file formats: ``read(files, dataset) -> Graph``, files by their name in the table.

Internal: graphs are read by `slimg.lab.datasets.load`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from slimg.graph import Adjacency, Graph

__all__: list[str] = []


def build_graph(
    source: np.ndarray,
    target: np.ndarray,
    features: Any,
    labels: np.ndarray,
    *,
    directed: bool = True,
    notes: tuple[str, ...] = (),
    feature_names: tuple[str, ...] | None = None,
    masks: Mapping[str, np.ndarray] | None = None,
    unlabelled: int | None = None,
) -> Graph:
    """Return the graph of edges between row numbers, its notes and warnings included; ``notes`` come first."""
    adjacency, counts = Adjacency.from_edges(source, target, len(labels), directed=directed)
    graph = Graph(
        adjacency, features, labels, feature_names=feature_names, masks=dict(masks or {}), unlabelled=unlabelled,
        notes=(*notes, *counts.notes()),
    )  # fmt: skip
    return graph.with_notes(*graph.warnings())
