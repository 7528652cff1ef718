"""Probabilities that hold, sets of classes with a stated coverage, and tables of predictions.

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

Predictions of all nodes are a folder of Parquet files, one for each run of rows, in the order of the nodes:

    predictions/part-00000.parquet    id, prediction, probability, margin[, p(CLASS) for each class]

``margin`` is how far the largest probability is above the second. Each run is scored by itself, where its rows are: in the engine
of files within the budget, on a cluster by the worker that holds them. So scores of all nodes and classes are never in one
place. The folder appears when it is complete, and what was written before an error or an interruption is removed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from slimg.engine.base import Array, Engine, RowMatrix
from slimg.errors import InputError
from slimg.learn.objective import log_loss, softmax
from slimg.system import atomic_folder

BINS = 10
"""Bins of the calibration error."""
MOST = np.log(20)
"""Largest |log T|."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """What a fit knows about its probabilities.

    Attributes
    ----------
    temperature : float
        Scores are divided by it before the softmax; it changes no prediction.
    scores : array of shape (m, c), float32
        Held-out scores of the labelled rows, before the division.
    codes : array of shape (m,)
        Their classes.
    """

    temperature: float
    scores: Array
    codes: Array

    @cached_property
    def chances(self) -> Array:
        """Held-out probabilities (m × c) with the temperature."""
        return softmax(self.scores / np.float64(self.temperature))

    @cached_property
    def conformity(self) -> Array:
        """1 − probability of the true class (m)."""
        return 1 - self.chances[np.arange(len(self.codes)), self.codes]

    @property
    def error_before(self) -> float:
        """Expected calibration error of the held-out probabilities without the temperature."""
        return calibration_error(softmax(self.scores.astype(np.float64)), self.codes)

    @property
    def error_after(self) -> float:
        """The same with the temperature."""
        return calibration_error(self.chances, self.codes)

    @property
    def class_errors(self) -> Array:
        """Expected calibration error (c) of the probability of each class, from the bins of `reliability`."""
        gaps = [np.abs(bins["share"] - bins["probability"]) @ bins["nodes"] for bins in self.reliability()]
        return np.array(gaps) / len(self.codes)

    def reliability(self) -> list[dict[str, Array]]:
        """Compare the probability of each class with how often it was right, in bins of width 0.1.

        Returns
        -------
        list of dict of str to array
            For each class: mean ``probability`` of the held-out rows in each bin that is not empty, ``share`` of them that
            have the class, and number of ``nodes``.
        """
        return [reliability(self.chances[:, code], self.codes == code) for code in range(self.scores.shape[1])]

    def summary(self) -> dict[str, Any]:
        """Give all of it as plain values, for a record or a figure.

        Returns
        -------
        dict of str to object
            ``temperature``, ``error_before``, ``error_after``, ``class_errors``, ``reliability`` (as the method, lists),
            ``abstention`` (`abstention_curve`), and ``nodes``, the number of held-out rows.
        """
        curves = [{name: column.tolist() for name, column in bins.items()} for bins in self.reliability()]
        errors = {"error_before": self.error_before, "error_after": self.error_after}
        return {
            "nodes": len(self.codes),
            "temperature": self.temperature,
            **errors,
            "class_errors": self.class_errors.tolist(),
            "reliability": curves,
            "abstention": abstention_curve(self.chances, self.codes),
        }

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
    scores, codes = scores[held].astype(np.float32), codes[held]
    if not len(codes):
        return None
    found = minimize_scalar(_loss, bounds=(-MOST, MOST), args=(scores, codes), method="bounded", options={"xatol": 1e-4})
    return Calibration(float(np.exp(found.x)), scores, codes.astype(np.int64))


def _loss(log_temperature: float, scores: Array, codes: Array) -> float:
    return len(codes) * log_loss(scores / np.float64(np.exp(log_temperature)), codes) + log_temperature**2 / 2


def is_temperature(given: Calibration) -> bool:
    """Whether the temperature is, to a percent, where the held-out scores have their smallest loss."""
    place = np.log(given.temperature)
    near = [_loss(place + step, given.scores, given.codes) for step in (-0.01, 0.01) if abs(place + step) <= MOST]
    return abs(place) <= MOST and _loss(place, given.scores, given.codes) <= min(near)


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


def reliability(probability: Array, right: Array) -> dict[str, Array]:
    """Compare probabilities of one class with how often it was right, in bins of equal width.

    Parameters
    ----------
    probability : array of shape (m,)
        Of the class.
    right : array of bool, shape (m,)
        Whether the class is the true one.

    Returns
    -------
    dict of str to array
        Of each bin that is not empty: mean ``probability``, ``share`` that is right, number of ``nodes``.

    Examples
    --------
    >>> found = reliability(np.array([0.92, 0.98, 0.31]), np.array([True, False, False]))
    >>> found["nodes"].tolist(), found["share"].tolist()
    ([1, 2], [0.0, 0.5])
    """
    which = np.minimum((probability * BINS).astype(int), BINS - 1)
    nodes = np.bincount(which, minlength=BINS)
    there = nodes > 0
    sums = [np.bincount(which, values, BINS)[there] / nodes[there] for values in (probability, right)]
    return {"probability": sums[0], "share": sums[1], "nodes": nodes[there]}


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


@dataclass(frozen=True, eq=False)
class Chances:
    """Probabilities of which rows are computed when they are taken: softmax(scores / temperature).

    Attributes
    ----------
    scores : array of shape (n, c)
    temperature : float
    """

    scores: Array
    temperature: float

    def __getitem__(self, rows: slice | Array) -> Array:
        """Probabilities of some rows, float64."""
        return softmax(np.divide(self.scores[rows], self.temperature, dtype=np.float64))

    def best(self, step: int = 1 << 16) -> tuple[Array, Array, Array]:
        """Place of the largest probability of every row (int32), that probability, and its margin to the second (float32).

        Returns
        -------
        tuple of three arrays of shape (n,)
        """
        found = [largest_of(self[start : start + step]) for start in range(0, len(self.scores), step)] or [largest_of(self[:])]
        places, chances, margins = (np.concatenate(column) for column in zip(*found, strict=True))
        return places.astype(np.int32), chances.astype(np.float32), margins.astype(np.float32)


def largest_of(chances: Array) -> tuple[Array, Array, Array]:
    """Place of the largest probability of each row, that probability, and its margin to the second."""
    ordered = np.sort(chances, axis=1)
    second = ordered[:, -2] if ordered.shape[1] > 1 else np.zeros(len(ordered), ordered.dtype)
    return chances.argmax(axis=1), ordered[:, -1], ordered[:, -1] - second


def prediction_columns(classes: Array, chances: Array, probabilities: bool = True) -> dict[str, Array]:
    """Columns of a table of predictions, in the precision of the probabilities.

    Parameters
    ----------
    classes : ndarray of shape (c,)
    chances : ndarray of shape (n, c)
        Probabilities.
    probabilities : bool, default=True
        Whether to add a column for each class.

    Returns
    -------
    dict of str to ndarray of shape (n,)
        ``prediction`` is the class of the largest probability, ``probability`` that probability, ``margin`` its distance
        to the second largest, and ``p(CLASS)`` the probability of each class.

    Examples
    --------
    >>> columns = prediction_columns(np.array(["a", "b"]), np.array([[0.25, 0.75]]))
    >>> {name: column.tolist() for name, column in columns.items()}
    {'prediction': ['b'], 'probability': [0.75], 'margin': [0.5], 'p(a)': [0.25], 'p(b)': [0.75]}
    """
    places, chance, margin = largest_of(chances)
    columns = {"prediction": classes[places], "probability": chance, "margin": margin}
    return columns | ({f"p({name})": chances[:, k] for k, name in enumerate(classes)} if probabilities else {})


def write_predictions(
    folder: str | os.PathLike[str],
    engine: Engine,
    scores: RowMatrix,
    intercept: Array,
    classes: Array,
    ids: Array,
    probabilities: bool = False,
    temperature: float = 1.0,
) -> Path:
    """Write the folder from scores without the intercept (n × c); ``probabilities`` adds a column for each class.

    Returns
    -------
    Path
        The folder.
    """
    place = Path(folder)
    with atomic_folder(place) as part:
        fixed = str(part.absolute()), np.asarray(intercept, np.float32), _one_type(classes), probabilities, temperature
        for name in engine.for_each_row_chunk(partial(_write_part, *fixed), [scores], [_one_type(ids)]):
            if not (part / name).exists():
                raise InputError(f"a worker wrote {part / name} where it is not seen here: choose a folder that all share")
    return place


def largest(engine: Engine, scores: RowMatrix, intercept: Array) -> Array:
    """The column of each row's largest score, as int64; scores stay where they are.

    Returns
    -------
    array of shape (n,), int64
        Numbers of classes.
    """

    def column(block: Array) -> Array:
        return (block + intercept).argmax(axis=1)[:, None].astype(np.float32)  # exact up to 2²⁴ classes

    return engine.to_array(engine.map_rows(column, scores))[:, 0].astype(np.int64)


def _one_type(values: Array) -> Array:
    """Values of several types as text: a column of a file has one type."""
    if values.dtype == object and len({type(value) for value in values}) > 1:
        return np.array([str(value) for value in values], object)
    return values


def _write_part(
    folder: str,
    intercept: Array,
    classes: Array,
    probabilities: bool,
    temperature: float,
    which: int,
    scores: Array,
    ids: Array,
) -> str:
    """The name of the file, after it is complete: a task that a cluster repeats writes the same file again."""
    import pyarrow as pa
    from pyarrow import parquet

    name = f"part-{which:05}.parquet"
    draft = Path(folder) / f"{name}.{os.getpid()}"
    chances = softmax(np.divide(scores + intercept, temperature, dtype=np.float64))
    columns = prediction_columns(classes, chances, probabilities)
    try:
        parquet.write_table(pa.table({"id": ids, **columns}), draft, use_dictionary=["id", "prediction"])  # not of fractions
        draft.replace(Path(folder) / name)
    finally:
        draft.unlink(missing_ok=True)
    return name
