"""How well held-out probabilities find the rarer of two classes: curve, areas, and what the first k hold.

    after the first k rows, by falling probability:   precision = found / k,   recall = found / all of the class

Average precision and ROC AUC come with 95 % intervals over rows drawn again within each class (`explain.measures`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from slimg.engine.base import Array
from slimg.explain.measures import draws, interval, measure

POINTS = 300
"""Thresholds that a page has at most."""
FIRST = (10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000)


def ranking(codes: Array, chances: Array, seed: int = 0) -> dict[str, Any] | None:
    """Rank rows by the probability of the rarer of two classes.

    Parameters
    ----------
    codes : ndarray of shape (m,)
        Classes, 0 or 1.
    chances : ndarray of shape (m, 2)
        Held-out probabilities.
    seed : int, default=0
        Of the draws.

    Returns
    -------
    dict or None
        ``code`` of the class, ``positives`` and ``nodes``, ``average_precision`` and ``roc_auc`` with intervals, thresholds
        with the nodes at or above them (``checked``) and those of the class among these (``found``), and ``first``, pairs
        (k, found); None unless there are two classes and rows of both.

    Examples
    --------
    >>> codes, p = np.array([0, 0, 0, 1]), np.array([0.1, 0.6, 0.2, 0.5])
    >>> told = ranking(codes, np.column_stack([1 - p, p]))
    >>> told["checked"], told["found"], told["average_precision"]["value"]
    ([1, 2, 3, 4], [0, 1, 1, 1], 0.5)
    """
    counts = np.bincount(codes, minlength=2)
    if chances.shape[1] != 2 or not counts.min():
        return None
    code = int(counts.argmin())
    order = np.argsort(-chances[:, code], kind="stable")
    values = chances[order, code]
    found = np.cumsum(codes[order] == code)
    ends = np.append(np.flatnonzero(np.diff(values)), len(values) - 1)
    if len(ends) > POINTS:  # more of them where few rows are checked
        wanted = np.geomspace(1, len(ends), POINTS).astype(int) - 1
        ends = ends[np.union1d(wanted, [len(ends) - 1])]
    weights = list(draws(codes, np.random.default_rng(seed)))
    areas = {}
    for name in ("average_precision", "roc_auc"):
        drawn = np.concatenate([measure(name, codes, chances, each) for each in weights])
        areas[name] = {"value": float(measure(name, codes, chances)), "interval": list(interval(drawn))}
    first = sorted({k for k in (*FIRST, int(counts[code])) if k <= len(codes)})
    return {
        "code": code,
        "positives": int(counts[code]),
        "nodes": len(codes),
        **areas,
        "threshold": [float(value) for value in values[ends]],
        "checked": (ends + 1).tolist(),
        "found": found[ends].tolist(),
        "first": [[k, int(found[k - 1])] for k in first],
    }


def format_first(told: dict[str, Any], name: str) -> str:
    """A sentence: what checking as many nodes as there are of the class would find."""
    k = told["positives"]
    hits = dict(map(tuple, told["first"]))[k]
    return (
        f"If you check the first {k:,} of {told['nodes']:,} held-out nodes by the probability of {name}, you find"
        f" about {hits:,} of {k:,}."
    )
