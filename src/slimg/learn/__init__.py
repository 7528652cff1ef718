"""Learning: sparse-group multinomial logistic regression, solved to a certified duality gap.

`SparseGroupLogisticRegression` is public; everything else in this package is internal.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slimg.learn.sparse_group import SparseGroupLogisticRegression
else:
    from slimg._lazy import lazy_names

    __getattr__, __dir__ = lazy_names(__name__, {"SparseGroupLogisticRegression": "slimg.learn.sparse_group"})

__all__ = ["SparseGroupLogisticRegression"]
