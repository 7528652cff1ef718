"""Graphs: how they are built, checked and split.

Public are the names in ``__all__`` and the functions of `slimg.graph.splits`; everything else here is internal.

Graph             a graph with features, labels and ids
Adjacency         its matrix, and EdgeCounts: what was done to a list of edges to make it
Relation          one kind of edges, with or without a direction
Split             rows to train, validate and test on (made by `slimg.graph.splits`)
check_learnable   raises an error for a graph with neither edges nor features
check_train_val   checks rows to train and validate on
"""

from typing import TYPE_CHECKING

from slimg.graph.adjacency import Adjacency, EdgeCounts
from slimg.graph.checks import check_learnable, check_train_val
from slimg.graph.graph import Graph
from slimg.graph.relations import Relation

if TYPE_CHECKING:
    from slimg.graph.splits import Split
else:
    from slimg._lazy import lazy_names

    __getattr__, __dir__ = lazy_names(__name__, {"Split": "slimg.graph.splits"})

__all__ = ["Adjacency", "EdgeCounts", "Graph", "Relation", "Split", "check_learnable", "check_train_val"]
