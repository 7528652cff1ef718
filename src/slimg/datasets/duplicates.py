"""Nodes that are copies of one another.

Chameleon and Squirrel hold many nodes that share their whole neighbourhood and their label with another node, so that a
test node is often a copy of a training node (Platonov et al. 2023; pytorch_geometric#6794). Two nodes are duplicates
when

    N(u) = N(v)  and  y_u = y_v

and one of each set of duplicates is kept, the first. Features are not compared: copies differ in a few words, and
asking for equal features too would find 132 of the 1,048 copies in Chameleon and 9 of the 1,887 in Squirrel. One pass
is enough: two kept nodes of one class had different neighbourhoods, and these still differ after the copies are gone,
because a copy leaves its twin in every neighbourhood it was in.
"""

from __future__ import annotations

import numpy as np

from slimg.graph import Graph


def without_duplicates(graph: Graph) -> Graph:
    """The graph on the first node of each set of duplicates."""
    kept = distinct_rows(graph)
    dropped = graph.n - len(kept)
    return graph.subgraph(kept).noting(f"{dropped:,} nodes share neighbours and label with another and were dropped.")


def distinct_rows(graph: Graph) -> np.ndarray:
    """Rows of the first node of each (neighbourhood, label), ascending; unlabelled nodes are never duplicates."""
    first: dict[tuple[bytes, int], int] = {}
    for node, code in enumerate(graph.codes.tolist()):
        key = (graph.adjacency.neighbours(node).tobytes(), code if code >= 0 else -1 - node)
        first.setdefault(key, node)
    return np.fromiter(first.values(), np.int64, len(first))
