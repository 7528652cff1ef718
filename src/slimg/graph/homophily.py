"""How often neighbours share a class.

    h = |{ {u, v} ∈ E : y_u = y_v }| / |{ {u, v} ∈ E : both labelled }|
"""

from __future__ import annotations

import numpy as np

from slimg.graph.graph import Graph


def edge_homophily(graph: Graph) -> float:
    """Fraction of the edges between labelled nodes whose ends share a class; NaN without such edges."""
    indptr, indices = graph.adjacency.indptr, graph.adjacency.indices
    own = np.repeat(graph.codes, np.diff(indptr))
    other = graph.codes[indices]
    labelled = (own >= 0) & (other >= 0)
    edges = np.count_nonzero(labelled)
    return np.count_nonzero(labelled & (own == other)) / edges if edges else float("nan")
