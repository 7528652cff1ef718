"""Learning: loss, penalty, solver, path and selection."""

from slimg.learn.sparse_group import SparseGroupLogisticRegression

__all__ = ["SparseGroupLogisticRegression"]
