"""Input: a graph, how it is built, checked and split."""

from slimg.graph.adjacency import Adjacency, EdgeCounts
from slimg.graph.checks import check_learnable, check_train_val
from slimg.graph.graph import Graph
from slimg.graph.splits import Split

__all__ = ["Adjacency", "EdgeCounts", "Graph", "Split", "check_learnable", "check_train_val"]
