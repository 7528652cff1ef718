"""What a fitted model computes after `fit`: scores, new nodes, tables of predictions, its file.

Public: `FoldIn`, what `slimg.SlimG.fold_in` returns. The rest is internal: it is reached through the methods of a model.
"""

from slimg.inference.fold_in import FoldIn

__all__ = ["FoldIn"]
