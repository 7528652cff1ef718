"""How good predictions are: held-out probabilities, accuracy with its interval, confusion, classes, calibration.

interval      Wilson's, at 95 %
precision_c   correct c / predicted c        recall_c   correct c / true c        F1 = 2PR/(P + R)
calibration   nodes in ten bins of their probability: mean probability beside the share that is correct;
              the error is Σ_bins (size/n) |share − mean|
"""

from __future__ import annotations

from typing import Any

import numpy as np

from slimg.classifier import SlimG
from slimg.errors import InputError
from slimg.explain.evidence import wilson
from slimg.learn.loss import softmax

BINS = 10


def held_out(model: SlimG) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of the training nodes from models fitted without their labels.

    They come from the folds in which the penalties were chosen. As the penalties are the best of a few on these same
    labels, measures of these probabilities are slightly optimistic.

    Returns
    -------
    rows : ndarray of shape (m,)
        Rows of the training nodes.
    probabilities : ndarray of shape (m, c)

    Raises
    ------
    InputError
        If the model was fitted with validation rows, so that there were no folds.
    """
    if model.held_out_scores_ is None:
        raise InputError("the model was fitted with validation rows, so no fold held out its labels: fit without val")
    return model.trained_on_, softmax(model.held_out_scores_)


def confusion(truth: np.ndarray, found: np.ndarray, classes: int) -> np.ndarray:
    """Counts of true and predicted classes.

    Returns
    -------
    ndarray of shape (c, c)
        Row: the true class. Column: the predicted class.
    """
    return np.bincount(truth * classes + found, minlength=classes * classes).reshape(classes, classes)


def per_class(counts: np.ndarray) -> list[dict[str, float | None]]:
    """Precision, recall and F1 of each class, and the number of its nodes.

    Returns
    -------
    list of dict
        None where a share is of nothing.
    """
    rows = []
    for code in range(len(counts)):
        right, true, predicted = counts[code, code], counts[code].sum(), counts[:, code].sum()
        precision, recall = _share(right, predicted), _share(right, true)
        f1 = _share(2 * right, true + predicted)
        rows.append({"precision": precision, "recall": recall, "f1": f1, "nodes": int(true)})
    return rows


def reliability(chances: np.ndarray, right: np.ndarray) -> tuple[list[dict[str, float]], float]:
    """Bins of the probability of the predicted class.

    Returns
    -------
    bins : list of dict
        Those that hold nodes: mean probability, share of correct predictions with its interval, number of nodes.
    error : float
        The calibration error.
    """
    which = np.minimum((chances * BINS).astype(int), BINS - 1)
    bins, error = [], 0.0
    for number in range(BINS):
        mine = which == number
        size = int(mine.sum())
        if size:
            mean, share = float(chances[mine].mean()), float(right[mine].mean())
            low, high = wilson(int(right[mine].sum()), size)
            bins.append({"probability": mean, "correct": share, "low": low, "high": high, "nodes": size})
            error += size / len(chances) * abs(mean - share)
    return bins, error


def summary(truth: np.ndarray, chances: np.ndarray) -> dict[str, Any]:
    """All measures, from true codes (m,) and probabilities (m, c).

    Returns
    -------
    dict
    """
    found = chances.argmax(axis=1)
    right = found == truth
    counts = confusion(truth, found, chances.shape[1])
    bins, error = reliability(chances.max(axis=1), right)
    largest = int(np.bincount(truth, minlength=chances.shape[1]).max(initial=0))
    return {
        "nodes": len(truth),
        "accuracy": float(right.mean()),
        "interval": list(wilson(int(right.sum()), len(truth))),
        "majority": largest / len(truth),
        "confusion": counts.tolist(),
        "classes": per_class(counts),
        "reliability": bins,
        "calibration_error": error,
    }


def _share(part: float, whole: float) -> float | None:
    return float(part / whole) if whole else None
