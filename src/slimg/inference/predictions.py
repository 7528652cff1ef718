"""Predictions of all nodes as a folder of Parquet files, one for each run of rows.

    predictions/part-00000.parquet    id, prediction, probability, margin[, p(CLASS) for each class]

``prediction`` is the class of the largest probability, ``margin`` how far that is above the second largest. Files follow
the order of the nodes and each run is scored by itself, where its rows are: in the engine of files within the budget, on a
cluster by the worker that holds them. So scores of all nodes and classes are never in one place. The folder appears when
it is complete, and what was written before an error or an interruption is removed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from slimg.engine.base import Array, Engine, RowMatrix
from slimg.errors import InputError
from slimg.learn.objective import softmax
from slimg.system import atomic_folder


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
        n = len(self.scores)
        place, chance, margin = np.empty(n, np.int32), np.empty(n, np.float32), np.empty(n, np.float32)
        for start in range(0, n, step):
            rows, some = slice(start, start + step), self[start : start + step]
            ordered = np.sort(some, axis=1)
            second = ordered[:, -2] if ordered.shape[1] > 1 else 0
            place[rows], chance[rows], margin[rows] = some.argmax(axis=1), ordered[:, -1], ordered[:, -1] - second
        return place, chance, margin


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
    ordered = np.sort(chances, axis=1)
    second = ordered[:, -2] if ordered.shape[1] > 1 else np.zeros(len(ordered), ordered.dtype)
    columns = {
        "prediction": classes[chances.argmax(axis=1)],
        "probability": ordered[:, -1],
        "margin": ordered[:, -1] - second,
    }
    return columns | ({f"p({name})": chances[:, k] for k, name in enumerate(classes)} if probabilities else {})


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
        parquet.write_table(pa.table({"id": ids, **columns}), draft)
        draft.replace(Path(folder) / name)
    finally:
        draft.unlink(missing_ok=True)
    return name
