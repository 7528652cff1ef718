"""What the model says of labels it has not seen.

The labelled nodes were divided into folds to choose the penalties, and each fold was predicted by models fitted on the
others: those with the chosen penalties judge the model. That the penalties are the best of a few pairs on the same labels
makes the accuracy a little too good, which is said where it is shown.
"""

from __future__ import annotations

import numpy as np

from slimg.classifier import SlimG
from slimg.errors import InputError
from slimg.learn.loss import softmax


def held_out(model: SlimG) -> tuple[np.ndarray, np.ndarray]:
    """Rows that were learned from, and the probabilities (m × c) that models without their labels give them."""
    if model.held_out_scores_ is None:
        raise InputError("the model was fitted with validation rows, so no fold held out its labels: fit without val")
    return model.trained_on_, softmax(model.held_out_scores_)
