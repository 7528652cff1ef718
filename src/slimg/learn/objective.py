"""What is minimised: the multinomial loss of labelled rows, its intercept and dual value; the penalty; the rows and their folds.

    f(T) = Σ_i w_i [ logsumexp(t_i + b) − (t_i + b)_{y_i} ],     T = F W  (m × c),     Σ_i w_i = 1

    ∂f/∂T = R = w ∘ (P − Y),      P = softmax(T + b)
    dual value at the residual s·R:   Σ_i w_i H(y_i + s(p_i − y_i)),     H the entropy, 0 ≤ s ≤ 1

The intercept b is free, so a dual point is feasible only if the columns of R sum to zero. `with_intercept` minimises over b
by Newton's method on the c-dimensional problem that T leaves, which costs no product with F.

The sparse-group penalty, what it makes of a gradient, and when a dual point satisfies it.

    Ω(W) = λ₁ ‖W‖₁ + λ₂ Σ_g ‖W_g‖_F         groups g = disjoint sets of rows of W (p × c); rows in no group have λ₂ = 0

    zero is optimal for a group with gradient Z_g     ⇔     ‖S(Z_g, λ₁)‖_F ≤ λ₂          S = soft-threshold
    dual feasible residual                             ⇔     the same for every g
    for a given λ₁, λ_max = max_g ‖S(Z_g, λ₁)‖_F with Z the gradient at W = 0

How well scores do, by scikit-learn's metrics, each so that more is better (`METRICS`):

    accuracy, balanced_accuracy, f1_macro        of the class with the largest score
    average_precision, roc_auc                   of the rarer of two classes; more: mean over each against the rest
    log_loss                                     with its sign changed

The labelled rows F (m × p), all that learning sees: their products, the problem they pose, and their folds.

    times             F V                      (m × c)
    transposed_times  Fᵀ R                     (p × c)
    hessian_product   Fᵀ D(F V + 1 vᵀ)         D = one c × c block per row, w_i (diag(p_i) − p_i p_iᵀ)

A block of rows fits the cache, so `Rows.hessian_product` reads F once where two products would read it twice. Blocks depend
on the shape alone and are added in order: the bits do not depend on the number of threads.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.class_weight import compute_class_weight

from slimg.engine.base import Array, Engine
from slimg.engine.blas import one_thread
from slimg.engine.kernels import SUMS, compiled
from slimg.engine.memory import MemoryEngine
from slimg.errors import InputError, choices

BLOCK_WORK = 1_000_000
"""Multiplications of a block of rows that is read twice while it is in the cache; up to this many, OpenBLAS has kernels that
do not first copy what they multiply, and take half to two thirds of the time."""
TASK_WORK = 1 << 23
"""Multiplications (m·p·c) that are worth a task of their own."""
TASKS = 16
SHARED_WORK = 1 << 27
"""Multiplications (m·p·c) from which a product with the rows has blocks enough for all threads."""
NEWTON_STEPS = 50
BLOCK_ENTRIES = 1 << 17
"""Scores of a block: it stays in the cache, and an engine's threads share the blocks."""
RARE = 0.1
"""The share of labels below which one of two classes counts as rare."""
ROUNDING = 1e-6
"""A gradient at zero of this length is rounding: rows of components have length 1, and the columns say nothing."""


def softmax(scores: Array) -> Array:
    """Turn scores into class probabilities.

    Parameters
    ----------
    scores : ndarray of shape (n, c)
        Scores of the classes; any constant may be added to a row.

    Returns
    -------
    probabilities : ndarray of shape (n, c)
        In float64, so that every row sums to one.
    """
    scores = scores.astype(np.float64)
    scores -= scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    return scores


def log_loss(scores: Array, codes: Array, weights: Array | None = None) -> float:
    """Compute the mean cross-entropy of ``softmax(scores)``.

    Parameters
    ----------
    scores : ndarray of shape (n, c)
        Scores of the classes, float32 or float64. The exponentials are taken in this precision and added in float64.
    codes : ndarray of shape (n,)
        Classes in 0 … c − 1; rows with −1, a class without a score, do not count.
    weights : ndarray of shape (c,), default=None
        What a row of each class counts for.

    Returns
    -------
    loss : float
        Infinite if no row counts.
    """
    counted = np.flatnonzero(codes >= 0)
    if len(counted) == 0:
        return float("inf")
    scores, own = scores[counted], codes[counted]
    scores -= scores.max(axis=1, keepdims=True)
    losses = np.log(np.exp(scores).sum(axis=1, dtype=np.float64)) - scores[np.arange(len(own)), own]
    return float(np.average(losses, weights=None if weights is None else weights[own]))


def accuracy(codes: Array, scores: Array) -> float:
    """The share of rows whose largest score is that of their class; −1, a class without a score, is always wrong."""
    return float((scores.argmax(axis=1) == codes).mean())


def _of_predictions(metric: str, codes: Array, scores: Array, **options: Any) -> float:
    from sklearn import metrics  # here, since workers of a cluster that predict would hold 120 MB more

    return float(getattr(metrics, metric)(codes, scores.argmax(axis=1), **options))


def _of_ranks(metric: str, codes: Array, scores: Array) -> float:
    """One of two classes, the rarer, or the mean over the classes that some rows have and some have not."""
    from sklearn import metrics

    counts = np.bincount(codes[codes >= 0], minlength=scores.shape[1])
    present = np.flatnonzero((counts > 0) & (counts < len(codes)))
    if scores.shape[1] == 2 and len(present):
        present = present[[counts[present].argmin()]]
    chances = softmax(scores)
    values = [getattr(metrics, metric)(codes == which, chances[:, which]) for which in present]
    return float(np.mean(values)) if values else float("nan")


METRICS: dict[str, Callable[[Array, Array], float]] = {
    "accuracy": accuracy,
    "balanced_accuracy": partial(_of_predictions, "balanced_accuracy_score"),
    "f1_macro": partial(_of_predictions, "f1_score", average="macro", zero_division=0.0),
    "average_precision": partial(_of_ranks, "average_precision_score"),
    "roc_auc": partial(_of_ranks, "roc_auc_score"),
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


class Fit(NamedTuple):
    """Loss and class probabilities at given scores T and intercept b."""

    value: float
    probabilities: Array
    intercept: Array


@dataclass(frozen=True)
class MultinomialLoss:
    """Labels ``codes`` in 0 … c−1 with weights that sum to one; float32 or float64 as the scores are."""

    codes: Array
    row_weights: Array
    classes: int
    fit_intercept: bool = True
    engine: Any = field(default_factory=MemoryEngine, compare=False)

    def at_zero(self) -> float:
        """The loss at W = 0 (with the best intercept): the unit in which gaps are given."""
        if not self.fit_intercept:
            return float(np.log(self.classes))
        share = np.bincount(self.codes, self.row_weights.astype(np.float64), self.classes)
        share = share[share > 0]
        return float(-(share * np.log(share)).sum())

    def evaluate(self, scores: Array, intercept: Array) -> Fit:
        p = np.empty_like(scores)
        shift = intercept.astype(scores.dtype)
        blocks = list(pairwise([*range(0, len(p), max(1, BLOCK_ENTRIES // self.classes)), len(p)]))
        tasks = [partial(self._evaluate_block, scores, shift, p, *block) for block in blocks]
        values = self.engine.concurrently(*tasks) if len(tasks) > 1 else [task() for task in tasks]
        return Fit(float(sum(values)), p, intercept)

    def _evaluate_block(self, scores: Array, shift: Array, out: Array, start: int, stop: int) -> float:
        """Fill the block's probabilities; its part of the loss."""
        p, own = out[start:stop], np.empty(stop - start, scores.dtype)
        centre_scores(scores[start:stop], shift, self.codes[start:stop], p, own)
        np.exp(p, out=p)
        return float(make_probabilities(p, own, self.row_weights[start:stop]))

    def residual(self, probabilities: Array) -> Array:
        """R = w ∘ (P − Y)."""
        out = probabilities * self.row_weights[:, None].astype(probabilities.dtype)
        out[np.arange(len(out)), self.codes] -= self.row_weights.astype(out.dtype)
        return out

    def with_intercept(self, scores: Array, intercept: Array) -> Fit:
        """The loss minimised over the intercept, which is made to sum to zero."""
        fit = self.evaluate(scores, intercept)
        if not self.fit_intercept:
            return fit
        share = np.bincount(self.codes, self.row_weights.astype(np.float64), self.classes)
        rounding = 4 * np.finfo(scores.dtype).eps
        for _ in range(NEWTON_STEPS):
            gradient = self.row_weights @ fit.probabilities - share
            step = self._newton_step(fit, gradient)
            promise = float(gradient @ step)
            trial = self.evaluate(scores, fit.intercept - step)
            if promise <= rounding * abs(fit.value):  # too little for the loss to show it: the last step is taken on trust
                fit = trial if trial.value <= (1 + rounding) * fit.value else fit
                break
            while trial.value > fit.value and np.abs(step).max() > rounding:
                step = step / 2
                trial = self.evaluate(scores, fit.intercept - step)
            fit = trial
        return fit._replace(intercept=fit.intercept - fit.intercept.mean())

    def dual_value(self, probabilities: Array, scale: float) -> float:
        q = scale * probabilities.astype(np.float64)
        q[np.arange(len(q)), self.codes] += 1.0 - scale
        entropy = -(q * np.log(np.maximum(q, np.finfo(np.float64).tiny))).sum(axis=1)
        return float(np.dot(self.row_weights, entropy))

    def _newton_step(self, fit: Fit, gradient: Array) -> Array:
        p = fit.probabilities
        weighted = p * self.row_weights[:, None].astype(p.dtype)
        return intercept_step(weighted.T @ p, gradient)


def soft(values: Array, threshold: float) -> Array:
    """sign(z)·(|z| − threshold)₊."""
    return values - np.clip(values, -threshold, threshold)


@dataclass(frozen=True)
class SparseGroup:
    """Ω with weights ``l1`` and ``group``; ``group_of`` (p) has the group of each row of W of 0 … groups − 1, or −1."""

    l1: float
    group: float
    group_of: Array
    groups: int

    def value(self, weights: Array) -> float:
        """Ω(W)."""
        total = self.l1 * float(np.abs(weights).sum(dtype=np.float64))
        return total + self.group * float(self.norms(weights).sum())

    def norms(self, weights: Array) -> Array:
        """‖W_g‖_F of each group (float64)."""
        return np.sqrt(self.dots(weights, weights))

    def dots(self, a: Array, b: Array) -> Array:
        """⟨a_g, b_g⟩ of each group (float64)."""
        return group_dots(a, b, self.places, self.groups)

    def of_rows(self, group_values: Array, outside: float = 0.0) -> Array:
        """Each group's value for each of its rows, as a column."""
        values = np.full(self.groups + 1, outside, group_values.dtype)
        values[:-1] = group_values
        return values[self.places][:, None]

    @cached_property
    def places(self) -> Array:
        """The group of each row, rows in none being one more group."""
        return np.where(self.group_of < 0, self.groups, self.group_of)

    def lambda_max(self, gradient_at_zero: Array) -> float:
        """The smallest group weight for which W = 0 is optimal (for this λ₁); without λ₁ at least `ROUNDING`."""
        norms = self.norms(soft(gradient_at_zero, self.l1))
        return float(norms.max(initial=0.0 if self.l1 else ROUNDING))

    def feasible_scale(self, gradient: Array) -> float:
        """The largest s ≤ 1 for which s·Z satisfies every constraint of the dual.

        φ_g(s) = ‖S(s Z_g, λ₁)‖_F is convex and increasing, so Newton's method from s = 1 descends to the root of
        φ_g(s) = λ₂ from above; the last factor makes up for rounding.
        """
        gradient = gradient.astype(np.float64)
        scale = 1.0
        if not np.all(self.group_of >= 0) or self.group == 0:
            loose = gradient if self.group == 0 else gradient[self.group_of < 0]
            scale = min(1.0, self.l1 / max(np.abs(loose).max(initial=0.0), np.finfo(np.float64).tiny))
        if self.group == 0:
            return scale
        for _ in range(100):
            shrunk = soft(scale * gradient, self.l1)
            norms = self.norms(shrunk)
            worst = int(norms.argmax())
            if norms[worst] <= self.group * (1 + 1e-12):
                break
            rows = self.group_of == worst
            slope = float((shrunk[rows] * gradient[rows]).sum()) / norms[worst]
            scale -= (norms[worst] - self.group) / slope
        return max(scale * (1 - 1e-12), 0.0)


@compiled(fastmath=SUMS)
def centre_scores(scores, shift, codes, out, own):
    """out = T + b less its largest entry of each row; own = that of each row's class."""
    m, c = scores.shape
    for i in range(m):
        most = scores[i, 0] + shift[0]
        for j in range(c):
            out[i, j] = scores[i, j] + shift[j]
            most = max(most, out[i, j])
        for j in range(c):
            out[i, j] -= most
        own[i] = out[i, codes[i]]


@compiled(fastmath=SUMS)
def make_probabilities(p, own, weights):
    """Divide each row of exponentials by its sum; returns Σ_i w_i (log of that sum − own_i)."""
    m, c = p.shape
    loss = 0.0
    for i in range(m):
        total = p.dtype.type(0)
        for j in range(c):
            total += p[i, j]
        for j in range(c):
            p[i, j] /= total
        loss += weights[i] * (np.log(np.float64(total)) - own[i])
    return loss


@compiled()
def intercept_step(products, gradient):
    """H⁻¹ g for H = diag(wᵀP) − Pᵀ diag(w) P, given the second matrix (c × c)."""
    c = len(gradient)
    hessian = np.empty((c, c), np.float64)
    trace = 0.0
    for i in range(c):
        total = 0.0
        for j in range(c):
            hessian[i, j] = -np.float64(products[i, j])
            total += hessian[i, j]
        # Rows sum to zero. Taking the diagonal from that keeps the matrix semidefinite whatever the rounding.
        hessian[i, i] -= total
        trace += hessian[i, i]
    # The vector of ones is in the null space; filling it makes the system definite and leaves the step sum-free.
    hessian += max(trace, 1e-12) / c**2
    for i in range(c):
        hessian[i, i] += 1e-12
    return np.linalg.solve(hessian, gradient)


@compiled(fastmath=SUMS)
def group_dots(a, b, places, groups):
    """⟨a_g, b_g⟩ of groups 0 … groups − 1 of rows; ``places`` (p) has the group of each row."""
    sums = np.zeros(groups + 1)
    p, c = a.shape
    for i in range(p):
        total = 0.0
        for j in range(c):
            total += np.float64(a[i, j]) * np.float64(b[i, j])
        sums[places[i]] += total
    return sums[:groups]


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

    def hessian_product(self, probabilities: Array, row_weights: Array, direction: Array, shift: Array) -> tuple[Array, Array]:
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
