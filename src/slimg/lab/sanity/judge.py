"""From answers to an accuracy, or to the reason why there is none.

    accuracy = share of the test rows whose answer is their class

Answers are one class per node, for all n nodes: a model cannot know which rows are judged.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from slimg.errors import InputError
from slimg.graph import Graph
from slimg.graph.columns import as_column, codes_of, missing, number_of, show


def accuracy(answers: Any, truth: Graph, test: np.ndarray) -> float:
    """Share of right answers on the test rows; `InputError` when the answers are not n known classes."""
    column = _as_answers(answers, truth.n)
    absent = int(missing(column).sum())
    if absent:
        raise InputError(f"predict() left {number_of(absent, 'node')} without a class (NaN or None)")
    said, codes = codes_of(column, "predict()")
    place = {value: code for code, value in enumerate(truth.classes.tolist())}
    known = np.array([place.get(value, -1) for value in said.tolist()], np.int64)
    if (known < 0).any():
        raise InputError(f"predict() gave classes that do not exist: {show(said[known < 0])}")
    return float(np.mean(known[codes[test]] == truth.codes[test]))


def _as_answers(answers: Any, n: int) -> np.ndarray:
    shape = tuple(getattr(answers, "shape", ()))
    if len(shape) == 2 and shape[1] > 1:
        raise InputError(f"predict() gave an array of shape {shape}: one class per node is needed, not probabilities")
    column = as_column(answers, "predict()")
    if len(column) != n:
        raise InputError(f"predict() gave {len(column):,} answers for {n:,} nodes: one class per node is needed")
    return column
