"""Probabilities that hold, and sets of classes with a stated coverage, from the held-out scores of a fit.

    temperature   T minimises  Σ_i CE(y_i, softmax(s_i / T)) + ½ (log T)²     s_i: score from the fold that held i out
    conformity    a_i = 1 − p_i,y_i with the probabilities of T
    set           {k : 1 − p_k ≤ q},   q = the ⌈(m + 1) · coverage⌉-th smallest a_i

The assumption: a node to predict and the labelled nodes are exchangeable, as when the labelled ones were chosen at random.
Then a set holds the true class with probability of at least ``coverage`` on average over nodes (split conformal prediction,
with the folds in the place of one split; the folds learn from fewer labels, which makes sets slightly larger). It is not a
promise for one node, nor where labels were chosen otherwise. Class-conditional sets have one q for each class and keep the
coverage within each class, also a rare one; a class with fewer than coverage/(1 − coverage) labelled nodes is in every set.
A set may be empty: no class is likely enough, which is a reason to abstain.

MAPIE and other libraries take an estimator with ``fit(X, y)`` and split rows themselves; here rows come from one graph and
their held-out scores are there already, so that all that is left is a quantile.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from slimg.engine.base import Array
from slimg.errors import InputError
from slimg.learn.objective import log_loss, softmax

BINS = 10
"""Bins of the calibration error."""
MOST = np.log(20)
"""Largest |log T|."""


class Calibration(NamedTuple):
    """What a fit knows about its probabilities.

    Attributes
    ----------
    temperature : float
        Scores are divided by it before the softmax; it changes no prediction.
    error_before, error_after : float
        Expected calibration error of the held-out probabilities without and with the temperature.
    conformity : array of shape (m,)
        1 − probability of the true class, for each labelled row that was held out.
    codes : array of shape (m,)
        Their classes.
    """

    temperature: float
    error_before: float
    error_after: float
    conformity: Array
    codes: Array

    def accepted(self, chances: Array, coverage: float, class_conditional: bool = False) -> Array:
        """Classes that belong to the prediction set of each node.

        Parameters
        ----------
        chances : array of shape (n, c)
            Probabilities with the temperature.
        coverage : float
            Share of nodes whose set holds the true class, between 0 and 1.
        class_conditional : bool, default=False
            Whether this is to hold within each class.

        Returns
        -------
        array of bool, shape (n, c)
            Whether the class is in the set.
        """
        if not isinstance(coverage, (int, float, np.number)) or not 0 < coverage < 1:
            raise InputError(f"coverage must be a number between 0 and 1, not {coverage!r}")
        if not class_conditional:
            return 1 - chances <= quantile(self.conformity, coverage)
        bounds = [quantile(self.conformity[self.codes == code], coverage) for code in range(chances.shape[1])]
        return 1 - chances <= np.array(bounds)


def calibrate(scores: Array | None, codes: Array) -> Calibration | None:
    """Fit the temperature on held-out scores.

    Parameters
    ----------
    scores : array of shape (m, c) or None
        Held-out scores; rows that were never held out are NaN.
    codes : array of shape (m,)
        Classes of the rows.

    Returns
    -------
    Calibration or None
        None without held-out scores.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=(5000, 3))
    >>> codes = np.array([rng.choice(3, p=p) for p in softmax(scores)])
    >>> round(calibrate(5 * scores, codes).temperature, 1)
    4.9
    """
    if scores is None:
        return None
    held = np.isfinite(scores).all(axis=1)
    scores, codes = scores[held].astype(np.float64), codes[held]
    if not len(codes):
        return None

    def loss(log_temperature: float) -> float:
        return len(codes) * log_loss(scores / np.exp(log_temperature), codes) + log_temperature**2 / 2

    found = minimize_scalar(loss, bounds=(-MOST, MOST), method="bounded", options={"xatol": 1e-4})
    temperature = float(np.exp(found.x))
    chances = softmax(scores / temperature)
    before, after = (calibration_error(each, codes) for each in (softmax(scores), chances))
    return Calibration(temperature, before, after, 1 - chances[np.arange(len(codes)), codes], codes.astype(np.int64))


def quantile(conformity: Array, coverage: float) -> float:
    """The ⌈(m + 1) · coverage⌉-th smallest of m values; infinity if there are too few.

    Returns
    -------
    float

    Examples
    --------
    >>> quantile(np.arange(9) / 10, 0.9), quantile(np.arange(8) / 10, 0.9)
    (0.8, inf)
    """
    place = int(np.ceil((len(conformity) + 1) * coverage - 1e-9))
    return float(np.sort(conformity)[place - 1]) if place <= len(conformity) else np.inf


def calibration_error(chances: Array, codes: Array) -> float:
    """Expected calibration error: Σ_bins (size/m) |share that is correct − mean probability|, of the predicted class.

    Parameters
    ----------
    chances : array of shape (m, c)
        Probabilities.
    codes : array of shape (m,)
        True classes.

    Returns
    -------
    float
        Between 0 and 1.
    """
    largest, right = chances.max(axis=1), chances.argmax(axis=1) == codes
    which = np.minimum((largest * BINS).astype(int), BINS - 1)
    gaps = np.bincount(which, right - largest, BINS)
    return float(np.abs(gaps).sum() / len(codes))


def abstention_curve(chances: Array, codes: Array) -> dict[str, list[Any]]:
    """Accuracy of the most certain nodes, by the share of nodes that are predicted at all.

    Parameters
    ----------
    chances : array of shape (m, c)
        Probabilities.
    codes : array of shape (m,)
        True classes.

    Returns
    -------
    dict of str to list
        ``coverage`` (0.1, …, 1), ``accuracy`` of that share, and ``probability`` below which nodes are left out.

    Examples
    --------
    >>> found = abstention_curve(np.array([[0.9, 0.1], [0.4, 0.6]] * 5), np.array([0, 0] * 5))
    >>> found["accuracy"][4], found["accuracy"][9]
    (1.0, 0.5)
    """
    largest, right = chances.max(axis=1), chances.argmax(axis=1) == codes
    order = np.argsort(-largest, kind="stable")
    shares = [round(k / 10, 1) for k in range(1, 11)]
    counts = [max(1, round(share * len(order))) for share in shares]
    return {
        "coverage": shares,
        "accuracy": [float(right[order[:count]].mean()) for count in counts],
        "probability": [float(largest[order[count - 1]]) for count in counts],
    }
