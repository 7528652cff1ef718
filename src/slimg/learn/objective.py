"""The multinomial loss, its intercept, and the dual value.

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
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from slimg.engine.base import Array
from slimg.engine.kernels import SUMS, compiled
from slimg.engine.memory import MemoryEngine
from slimg.errors import choices

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
