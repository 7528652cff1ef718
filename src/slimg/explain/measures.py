"""The measures of `learn.objective` with a weight for each row, so that rows can be drawn again; and how they are written.

    accuracy, balanced_accuracy, f1_macro        of the class with the largest probability
    average_precision, roc_auc                   of the rarer of two classes; more: mean over each against the rest
    log_loss                                     with its sign changed, so that more is better for all

Intervals (95 %) and standard errors come from rows drawn again within each class, so that a rare class is in every draw.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from slimg.engine.base import Array

WORDS = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "f1_macro": "macro F1",
    "average_precision": "average precision",
    "roc_auc": "ROC AUC",
    "log_loss": "log loss",
}
"""Each measure in words."""
SHARES = ("accuracy", "balanced_accuracy")
"""Measures that are written in per cent."""
DRAWS = 200
"""Times that rows are drawn again."""
ENTRIES = 2_000_000
"""Weights that are held at once."""


def measure(scoring: str, codes: Array, chances: Array, weights: Array | None = None) -> Array:
    """Measure probabilities, for one or several weightings of the rows.

    Parameters
    ----------
    scoring : str
        A name of `learn.objective.METRICS`.
    codes : ndarray of shape (m,)
        Classes.
    chances : ndarray of shape (m, c)
        Probabilities, or estimates of them.
    weights : ndarray of shape (m,) or (draws, m), optional
        How often each row counts; once by default.

    Returns
    -------
    ndarray of shape () or (draws,)
        More is better; NaN if ranks are asked for and all rows are of one class.

    Examples
    --------
    >>> chances = np.array([[0.9, 0.1], [0.6, 0.4], [0.7, 0.3]])
    >>> [float(measure(name, np.array([0, 1, 0]), chances)) for name in ("accuracy", "balanced_accuracy", "roc_auc")]
    [0.6666666666666666, 0.5, 1.0]
    """
    given = np.ones(len(codes)) if weights is None else np.asarray(weights, np.float64)
    rows = np.atleast_2d(given)
    if scoring in ("average_precision", "roc_auc"):
        found = _of_ranks(scoring, codes, chances, rows)
    elif scoring == "log_loss":
        own = np.log(np.maximum(chances[np.arange(len(codes)), codes], np.finfo(np.float64).tiny))
        found = rows @ own / rows.sum(axis=1)
    else:
        found = _of_predictions(scoring, codes, chances, rows)
    return found if given.ndim == 2 else found[0]


def draws(codes: Array, rng: np.random.Generator, number: int = DRAWS, weights: Array | None = None) -> Iterator[Array]:
    """Weights (some draws × m) of rows drawn again within each class, ``number`` in all, in parts that fit into memory."""
    part = max(1, ENTRIES // len(codes))
    for begin in range(0, number, part):
        drawn = np.empty((min(part, number - begin), len(codes)))
        for code in np.unique(codes):
            mine = np.flatnonzero(codes == code)
            picks = rng.integers(len(mine), size=(len(drawn), len(mine))) + len(mine) * np.arange(len(drawn))[:, None]
            drawn[:, mine] = np.bincount(picks.ravel(), minlength=drawn.shape[0] * len(mine)).reshape(len(drawn), -1)
        yield drawn if weights is None else drawn * weights


def interval(values: Array) -> tuple[float, float]:
    """The 95 % interval of drawn values."""
    low, high = np.nanquantile(values, (0.025, 0.975)) if np.isfinite(values).any() else (np.nan, np.nan)
    return float(low), float(high)


def format_score(scoring: str, value: float, digits: int = 0) -> str:
    """A value as text: ``83%``, ``0.83``; with ``digits`` 1 ``83.2%``, ``0.832``."""
    if scoring in SHARES:
        return f"{value:.{digits}%}"
    return f"{-value if scoring == 'log_loss' else value:.{digits + 2}f}"


def format_gain(scoring: str, value: float) -> str:
    """A difference of two values as text: ``3.1 points``, ``0.031``."""
    return f"{100 * value:.1f} points" if scoring in SHARES else f"{value:.3f}"


def format_difference(scoring: str, value: float, ends: Sequence[float]) -> str:
    """A difference with its interval as text: ``+3.1 points, 95 % interval +0.2 to +6.0``."""
    unit, digits = (100, 1) if scoring in SHARES else (1, 3)
    shown = [f"{unit * each:+.{digits}f}".replace("-", "−") for each in (value, *ends)]
    return f"{shown[0]}{' points' if unit > 1 else ''}, 95 % interval {shown[1]} to {shown[2]}"


def format_chance(scoring: str, value: float, digits: int = 0) -> str:
    """The score of the baseline as text: ``42% by predicting the largest class``."""
    how = "by predicting the largest class" if scoring == "accuracy" else "by chance"
    return f"{format_score(scoring, value, digits)} {how}"


def format_range(scoring: str, ends: Sequence[float | None]) -> str:
    """An interval of scores as text, the smaller number first: ``80.1% to 85.0%``."""
    low, high = ("–" if end is None else format_score(scoring, end, 1) for end in (ends[::-1] if scoring == "log_loss" else ends))
    return f"{low} to {high}"


def _of_predictions(scoring: str, codes: Array, chances: Array, weights: Array) -> Array:
    found = chances.argmax(axis=1)
    right = found == codes
    if scoring == "accuracy":
        return (weights * right).sum(axis=1) / weights.sum(axis=1)
    values = []
    for code in np.union1d(codes, found) if scoring == "f1_macro" else np.unique(codes):
        hit, true = (weights * (right & (codes == code))).sum(axis=1), (weights * (codes == code)).sum(axis=1)
        whole = true if scoring == "balanced_accuracy" else (true + (weights * (found == code)).sum(axis=1)) / 2
        values.append(np.divide(hit, whole, out=np.zeros_like(hit), where=whole > 0))
    return np.mean(values, axis=0)


def _of_ranks(scoring: str, codes: Array, chances: Array, weights: Array) -> Array:
    counts = np.bincount(codes, minlength=chances.shape[1])
    present = np.flatnonzero((counts > 0) & (counts < len(codes)))
    if chances.shape[1] == 2 and len(present):
        present = present[[counts[present].argmin()]]
    if not len(present):
        return np.full(len(weights), np.nan)
    return np.mean([_of_rank(scoring, codes == code, chances[:, code], weights) for code in present], axis=0)


def _of_rank(scoring: str, positive: Array, values: Array, weights: Array) -> Array:
    """Of one class: equal values are one step of the ranking."""
    order = np.argsort(-values, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(values[order])), len(order) - 1)
    sorted_weights = weights[:, order]
    hits, seen = (np.cumsum(each, axis=1)[:, ends] for each in (sorted_weights * positive[order], sorted_weights))
    new = np.diff(hits, axis=1, prepend=0)
    if scoring == "average_precision":
        precision = np.divide(hits, seen, out=np.zeros_like(hits), where=seen > 0)
        return (new * precision).sum(axis=1) / hits[:, -1]
    misses = seen - hits
    return (np.diff(misses, axis=1, prepend=0) * (hits - new / 2)).sum(axis=1) / (hits[:, -1] * misses[:, -1])
