"""How candidates are compared: scikit-learn's metrics of class scores, each so that more is better.

    accuracy, balanced_accuracy, f1_macro        of the class with the largest score
    average_precision, roc_auc                   of the rarer of two classes; more: mean over each against the rest
    log_loss                                     with its sign changed
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, balanced_accuracy_score, f1_score, roc_auc_score

from slimg.engine.base import Array
from slimg.errors import choices
from slimg.learn.objective import log_loss, softmax

RARE = 0.1
"""The share of labels below which one of two classes counts as rare."""


def accuracy(codes: Array, scores: Array) -> float:
    """The share of rows whose largest score is that of their class; −1, a class without a score, is always wrong."""
    return float((scores.argmax(axis=1) == codes).mean())


def _of_predictions(metric: Callable[..., float], codes: Array, scores: Array, **options: Any) -> float:
    found = scores.argmax(axis=1)
    return float(metric(codes, found, **options))


def _of_ranks(metric: Callable[[Array, Array], float], codes: Array, scores: Array) -> float:
    """One of two classes, the rarer, or the mean over the classes that some rows have and some have not."""
    counts = np.bincount(codes[codes >= 0], minlength=scores.shape[1])
    present = np.flatnonzero((counts > 0) & (counts < len(codes)))
    if scores.shape[1] == 2 and len(present):
        present = present[[counts[present].argmin()]]
    chances = softmax(scores)
    values = [metric(codes == which, chances[:, which]) for which in present]
    return float(np.mean(values)) if values else float("nan")


METRICS: dict[str, Callable[[Array, Array], float]] = {
    "accuracy": accuracy,
    "balanced_accuracy": partial(_of_predictions, balanced_accuracy_score),
    "f1_macro": partial(_of_predictions, f1_score, average="macro", zero_division=0.0),
    "average_precision": partial(_of_ranks, average_precision_score),
    "roc_auc": partial(_of_ranks, roc_auc_score),
    "log_loss": lambda codes, scores: -log_loss(scores, codes),
}
"""By scikit-learn's name: a function of codes (n; −1 is a class without a score) and scores (n × c)."""


def default_scoring(codes: Array) -> str:
    """``"average_precision"`` for two classes of which one is rare, else ``"accuracy"``."""
    counts = np.bincount(codes)
    return "average_precision" if len(counts) == 2 and counts.min() < RARE * len(codes) else "accuracy"


def check_scoring(scoring: object) -> None:
    """Refuse a name that is not a metric; None stands for the default."""
    if scoring is not None and (not isinstance(scoring, str) or scoring not in METRICS):
        raise choices("scoring", scoring, list(METRICS))
