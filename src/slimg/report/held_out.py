"""What the model says of labels it has not seen.

The labelled nodes are divided into folds. For each fold the model is fitted on the others, with the penalties that were
chosen, and predicts the fold. The penalties were chosen on all labels: that they are the best of a few pairs makes the
accuracy a little too good, which is said where it is shown.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from slimg.classifier import SlimG
from slimg.graph.graph import Graph
from slimg.learn.sparse_group import softmax


def held_out(model: SlimG, graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """Labelled rows, and the probabilities (m × c) that models without their labels give them."""
    rows = graph.labelled
    codes = graph.codes[rows]
    chances = np.zeros((len(rows), len(model.classes_)))
    count = min(model.cv, int(np.bincount(codes)[np.unique(codes)].min()))
    folds = StratifiedKFold(count, shuffle=True, random_state=model.random_state)
    fixed = clone(model).set_params(grid=[(model.l1_, model.group_, model.joint_)])
    parts = model.components_

    def predict(fit: np.ndarray, check: np.ndarray) -> None:
        fold = clone(fixed).fit(graph, train=rows[fit], val=rows[check], propagated=parts)
        weights = np.concatenate([fold.coef_[name] for name in parts.names])
        chances[check] = softmax(parts.labelled_rows(rows[check]) @ weights + fold.intercept_)

    parts.engine.concurrently(*(partial(predict, fit, check) for fit, check in folds.split(rows, codes)))
    return rows, chances
