"""Input: a graph, how it is built, checked and split."""

from slimg.graph.adjacency import Adjacency, EdgeCounts

__all__ = ["Adjacency", "EdgeCounts"]
