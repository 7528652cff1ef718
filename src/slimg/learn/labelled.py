"""The labelled rows F (m × p), all that learning sees: their products, the problem they pose, and their folds.

    times             F V                      (m × c)
    transposed_times  Fᵀ R                     (p × c)
    hessian_product   Fᵀ D(F V + 1 vᵀ)         D = one c × c block per row, w_i (diag(p_i) − p_i p_iᵀ)

A block of rows fits the cache, so `Rows.hessian_product` reads F once where two products would read it twice. Blocks depend
on the shape alone and are added in order: the bits do not depend on the number of threads.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.class_weight import compute_class_weight

from slimg.engine.base import Array, Engine
from slimg.engine.blas import one_thread
from slimg.engine.kernels import SUMS, compiled
from slimg.errors import InputError
from slimg.learn.objective import MultinomialLoss, SparseGroup

BLOCK_WORK = 1_000_000
"""Multiplications of a block of rows that is read twice while it is in the cache; up to this many, OpenBLAS has kernels that
do not first copy what they multiply, and take half to two thirds of the time."""
TASK_WORK = 1 << 23
"""Multiplications (m·p·c) that are worth a task of their own."""
TASKS = 16
SHARED_WORK = 1 << 27
"""Multiplications (m·p·c) from which a product with the rows has blocks enough for all threads."""


def stratified_folds(codes: Array, n_folds: int, random_state: int) -> list[tuple[Array, Array]]:
    """Split rows into folds that hold each class in its share.

    A class with fewer rows than folds is held out in some folds only, and the only row of a class in none: every class is
    among the rows to fit on of every fold.

    Parameters
    ----------
    codes : ndarray of shape (m,)
        Classes in 0 … c − 1, at least two of them with two rows or more.
    n_folds : int
        Number of folds at most; there are no more than the largest class has rows.
    random_state : int
        Seed of the shuffle.

    Returns
    -------
    folds : list of (fit, check)
        Positions of the rows to fit on and of those held out, each ascending.

    Raises
    ------
    InputError
        If fewer than two classes have two rows.
    """
    counts = np.bincount(codes)
    if np.count_nonzero(counts > 1) < 2:
        raise InputError("folds need two classes with at least two labelled rows each: label more, or give validation rows")
    several = np.flatnonzero(counts[codes] > 1)
    split = StratifiedKFold(min(n_folds, int(counts.max())), shuffle=True, random_state=random_state)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class with fewer rows than folds
        checks = [several[check] for _, check in split.split(several, codes[several])]
    return [(np.setdiff1d(np.arange(len(codes)), check, assume_unique=True), check) for check in checks]


class Rows:
    """F (m × p, float32 or float64, C order), with an engine whose threads share its blocks of rows."""

    matrix: Array
    engine: Engine
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __init__(self, matrix: Array, engine: Engine):
        self.matrix, self.engine = np.ascontiguousarray(matrix), engine
        self.shape, self.dtype = matrix.shape, matrix.dtype

    def select(self, columns: Array) -> Rows:
        """F[:, columns], copied."""
        return Rows(np.take(self.matrix, columns, axis=1), self.engine)  # indexing would copy twice

    def times(self, weights: Array) -> Array:
        """F V."""
        out = np.empty((self.shape[0], weights.shape[1]), self.dtype)
        self._run(lambda start, stop: np.matmul(self.matrix[start:stop], weights, out=out[start:stop]), weights.shape[1])
        return out

    def transposed_times(self, residual: Array) -> Array:
        """Fᵀ R."""
        return self._sum(lambda start, stop: self.matrix[start:stop].T @ residual[start:stop], residual.shape[1])

    def squared_transposed_times(self, residual: Array) -> Array:
        """(F ∘ F)ᵀ R."""
        return self._sum(partial(self._squared, residual), residual.shape[1])

    def hessian_product(
        self, probabilities: Array, row_weights: Array, direction: Array, shift: Array
    ) -> tuple[Array, Array]:
        """Fᵀ Q (p × c) and 1ᵀ Q (c) for Q = D(F V + 1 vᵀ)."""
        c = direction.shape[1]
        out = self._sum(partial(self._hessian_product, probabilities, row_weights, direction, shift), c)
        return out[:-1], out[-1]

    def _squared(self, residual: Array, start: int, stop: int) -> Array:
        out = np.zeros((self.shape[1], residual.shape[1]), self.dtype)
        for a, b in _cut(start, stop, self._block_rows(residual.shape[1])):
            out += np.square(self.matrix[a:b]).T @ residual[a:b]
        return out

    def _hessian_product(self, p: Array, w: Array, direction: Array, shift: Array, start: int, stop: int) -> Array:
        out = np.zeros((self.shape[1] + 1, direction.shape[1]), self.dtype)
        add_hessian_product(self.matrix, p, w, direction, shift, out, start, stop, self._block_rows(direction.shape[1]))
        return out

    def _block_rows(self, c: int) -> int:
        return max(16, BLOCK_WORK // max(1, self.shape[1] * c))

    def _tasks(self, c: int) -> list[tuple[int, int]]:
        m, p = self.shape
        count = min(TASKS, max(1, m * p * c // TASK_WORK))
        return _cut(0, m, -(-m // count)) if m else [(0, 0)]

    def _run(self, fn: Callable[[int, int], Any], c: int) -> list[Any]:
        tasks = self._tasks(c)
        if len(tasks) == 1:
            with one_thread():
                return [fn(*tasks[0])]
        return self.engine.concurrently(*(partial(fn, *task) for task in tasks))

    def _sum(self, fn: Callable[[int, int], Array], c: int) -> Array:
        first, *rest = self._run(fn, c)
        for part in rest:
            first += part
        return first


@dataclass(frozen=True)
class Problem:
    """What does not change along a path: rows, labels (in the loss) and the group of each column."""

    rows: Rows
    loss: MultinomialLoss
    group_of: Array
    groups: int

    @classmethod
    def build(
        cls,
        matrix: Array,
        codes: Array,
        classes: int,
        group_of: Array,
        engine: Engine,
        row_weights: Array | None = None,
        fit_intercept: bool = True,
    ) -> Problem:
        """The problem on a matrix (m × p) with codes (m) in 0 … classes − 1; weights of the rows are made to sum to one."""
        weights = np.ones(len(codes)) if row_weights is None else np.asarray(row_weights, np.float64)
        weights = (weights / weights.sum()).astype(matrix.dtype)
        loss = MultinomialLoss(np.asarray(codes), weights, classes, fit_intercept, engine)
        return cls(Rows(matrix, engine), loss, np.asarray(group_of), int(max(group_of, default=-1)) + 1)

    def penalty(self, l1: float, group: float) -> SparseGroup:
        """The penalty for one pair (λ₁, λ₂)."""
        return SparseGroup(float(l1), float(group), self.group_of, self.groups)

    def in_double(self) -> Problem:
        """The same problem in float64."""
        rows = Rows(self.rows.matrix.astype(np.float64), self.rows.engine)
        weights = self.loss.row_weights.astype(np.float64)
        return replace(self, rows=rows, loss=replace(self.loss, row_weights=weights / weights.sum()))

    def gradient_at_zero(self) -> Array:
        """Z (p × c) at W = 0 with the best intercept: λ_max follows from it."""
        zero = np.zeros((self.rows.shape[0], self.loss.classes), self.rows.dtype)
        fit = self.loss.with_intercept(zero, np.zeros(self.loss.classes))
        return self.rows.transposed_times(self.loss.residual(fit.probabilities))


@dataclass(frozen=True)
class Labelled:
    """The labelled rows of P(A, X), whose columns are named groups: the components.

    Attributes
    ----------
    matrix : ndarray of shape (m, p)
    codes : ndarray of shape (m,)
        Classes in 0 … classes − 1.
    classes : int
    weights : ndarray of shape (m,)
        Weights of the rows.
    widths : dict of str to int
        Name and number of columns of each group, in the order of the columns.
    engine : Engine
        Its threads share the work.
    """

    matrix: Array
    codes: Array
    classes: int
    weights: Array
    widths: dict[str, int]
    engine: Engine

    @property
    def group_of(self) -> Array:
        """The group of each column (p)."""
        return np.repeat(np.arange(len(self.widths)), list(self.widths.values()))

    def columns(self, name: str) -> slice:
        """The columns of a group."""
        names = list(self.widths)
        begin = sum(self.widths[each] for each in names[: names.index(name)])
        return slice(begin, begin + self.widths[name])

    def only(self, name: str) -> Labelled:
        """The same rows with the columns of one group."""
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
        """Results of tasks, run concurrently unless products with the rows are large enough to occupy all threads."""
        concurrent = self.matrix.size * self.classes < SHARED_WORK
        return self.engine.concurrently(*tasks) if concurrent else [task() for task in tasks]


def _cut(start: int, stop: int, step: int) -> list[tuple[int, int]]:
    return list(pairwise([*range(start, stop, step), stop]))


@compiled(fastmath=SUMS)
def add_hessian_product(matrix, p, w, direction, shift, out, start, stop, step):
    """out += (Fᵀ Q, 1ᵀ Q), Q = D(F V + 1 vᵀ), for the rows from start to stop in blocks of ``step`` (F: m × k, V: k × c).

    Compiled, because it releases the interpreter lock: numpy's calls take 10 to 50 µs each here, and folds on several
    threads would wait for one another between them.
    """
    k, c = direction.shape
    part = np.empty((k, c), matrix.dtype)
    for a in range(start, stop, step):
        b = min(a + step, stop)
        block = matrix[a:b]
        q = np.dot(block, direction)
        for i in range(b - a):
            total = matrix.dtype.type(0)
            for j in range(c):
                q[i, j] = (q[i, j] + shift[j]) * p[a + i, j]
                total += q[i, j]
            for j in range(c):
                q[i, j] = (q[i, j] - p[a + i, j] * total) * w[a + i]
                out[k, j] += q[i, j]
        np.dot(block.T, q, part)
        for i in range(k):
            for j in range(c):
                out[i, j] += part[i, j]


def class_weights(given: Any, classes: Array, codes: Array, sample_weight: Array | None = None) -> Array:
    """One weight per row from ``class_weight``.

    Returns
    -------
    array of shape (m,)
        Weights of the rows.
    """
    if given is None:
        return np.ones(len(codes))
    if not isinstance(given, dict) and not (isinstance(given, str) and given == "balanced"):
        raise InputError(f"class_weight must be 'balanced', a dict of weights by class, or None, not {given!r}")
    if isinstance(given, dict):
        unknown = [label for label in given if label not in set(classes.tolist())]
        if unknown:
            raise InputError(f"class_weight names a class that is not there, {unknown[0]!r}: there are {classes.tolist()}")
        if any(not np.isfinite(value) or value <= 0 for value in given.values()):
            raise InputError(f"class_weight needs finite, positive weights, not {given!r}")
        return np.asarray([given.get(label, 1.0) for label in classes.tolist()])[codes]
    return compute_class_weight("balanced", classes=np.arange(len(classes)), y=codes, sample_weight=sample_weight)[codes]
