"""The labelled rows of P(A, X), which is all that learning sees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from slimg.engine.base import Array
from slimg.learn.solver import Problem

SHARED_WORK = 1 << 27
"""Multiplications (m·p·c) from which a product with the rows has blocks enough for all threads."""


def stratified_folds(codes: Array, n_folds: int, random_state: int) -> list[tuple[Array, Array]]:
    """Split rows into folds that hold each class in its share.

    Parameters
    ----------
    codes : ndarray of shape (m,)
        Classes in 0 … c − 1, each at least twice.
    n_folds : int
        Number of folds at most; there are no more than the smallest class has rows.
    random_state : int
        Seed of the shuffle.

    Returns
    -------
    folds : list of (fit, check)
        Positions of the rows to fit on and of those held out, each ascending.
    """
    n_folds = min(n_folds, int(np.bincount(codes).min()))
    return list(StratifiedKFold(n_folds, shuffle=True, random_state=random_state).split(codes, codes))


@dataclass(frozen=True)
class Labelled:
    """Rows to learn from: matrix (m × p), codes (m), the number of classes, row weights (m), groups by name and width."""

    matrix: Array
    codes: Array
    classes: int
    weights: Array
    widths: dict[str, int]
    engine: Any

    @property
    def group_of(self) -> Array:
        return np.repeat(np.arange(len(self.widths)), list(self.widths.values()))

    def columns(self, name: str) -> slice:
        """Where a group's columns stand."""
        names = list(self.widths)
        begin = sum(self.widths[each] for each in names[: names.index(name)])
        return slice(begin, begin + self.widths[name])

    def only(self, name: str) -> Labelled:
        """The same rows with one group's columns."""
        matrix = np.ascontiguousarray(self.matrix[:, self.columns(name)])
        return replace(self, matrix=matrix, widths={name: self.widths[name]})

    def problem(self, rows: Array | None = None) -> Problem:
        """The problem on all rows, or on some of them."""
        matrix, codes, weights = self.matrix, self.codes, self.weights
        if rows is not None:
            matrix, codes, weights = matrix[rows], codes[rows], weights[rows]
        return Problem.build(matrix, codes, self.classes, self.group_of, self.engine, weights)

    def log_shares(self, rows: Array | None = None) -> Array:
        """log π: the logarithm of each class's share of all rows, or of some, by weight."""
        chosen = slice(None) if rows is None else rows
        totals = np.bincount(self.codes[chosen], self.weights[chosen], self.classes)
        return np.log(totals / totals.sum())

    def each(self, tasks: Sequence[Callable[[], Any]]) -> list[Any]:
        """Results of tasks, side by side unless products with the rows are large enough to occupy all threads."""
        side_by_side = self.matrix.size * self.classes < SHARED_WORK
        return self.engine.concurrently(*tasks) if side_by_side else [task() for task in tasks]
