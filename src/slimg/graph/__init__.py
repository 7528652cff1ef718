"""Input: a graph, how it is built, checked and split."""

from slimg.graph.adjacency import Adjacency, EdgeCounts
from slimg.graph.checks import check_learnable, check_train_val
from slimg.graph.graph import Graph

__all__ = ["Adjacency", "EdgeCounts", "Graph", "check_learnable", "check_train_val"]
