"""How good predictions are: accuracy with its interval, confusion, classes, calibration.

interval      Wilson's, at 95 %
precision_c   correct c / predicted c        recall_c   correct c / true c        F1 = 2PR/(P + R)
calibration   nodes in ten bins of their probability: mean probability beside the share that is correct;
              the error is Σ_bins (size/n) |share − mean|
"""

from __future__ import annotations

from typing import Any

import numpy as np

from slimg.explain.evidence import wilson

BINS = 10


def confusion(truth: np.ndarray, found: np.ndarray, classes: int) -> np.ndarray:
    """Counts (c × c): row the true class, column the predicted one."""
    return np.bincount(truth * classes + found, minlength=classes * classes).reshape(classes, classes)


def per_class(counts: np.ndarray) -> list[dict[str, float | None]]:
    """Precision, recall and F1 of each class, and how many there are; None where nothing was counted."""
    rows = []
    for code in range(len(counts)):
        right, true, said = counts[code, code], counts[code].sum(), counts[:, code].sum()
        precision, recall = _share(right, said), _share(right, true)
        rows.append({"precision": precision, "recall": recall, "f1": _share(2 * right, true + said), "nodes": int(true)})
    return rows


def reliability(chances: np.ndarray, right: np.ndarray) -> tuple[list[dict[str, float]], float]:
    """Bins of the probability of the predicted class, and the calibration error."""
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
    """All of the above from true codes (m,) and probabilities (m × c)."""
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
