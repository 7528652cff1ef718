"""Learning: sparse-group multinomial logistic regression, solved to a certified duality gap.

`SparseGroupLogisticRegression` is public; everything else in this package is internal.
"""

from slimg.learn.sparse_group import SparseGroupLogisticRegression

__all__ = ["SparseGroupLogisticRegression"]
