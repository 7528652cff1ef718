"""Independent solutions and certificates of sparse-group logistic regression, in dense float64.

    F(W, b) = Σ_i w_i [logsumexp(Wᵀf_i + b) − (Wᵀf_i + b)_{y_i}] + λ₁ ‖W‖₁ + λ₂ Σ_g ‖W_g‖_F,      Σ_i w_i = 1

`fista` is an accelerated proximal gradient method with restarts: slow, simple, and unlike the solver it judges in every
respect. `gap` bounds how far any point is above the minimum, by a dual point made feasible with bisection. `chebyshev` is the
polynomial of `PageRank`.
"""

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import BarycentricInterpolator
from scipy.optimize import brentq, minimize
from scipy.special import logsumexp, softmax


@dataclass
class Task:
    """Rows F (m × p), labels, the group of each column (−1 for none) and weights that sum to one."""

    matrix: np.ndarray
    codes: np.ndarray
    group_of: np.ndarray
    row_weights: np.ndarray
    l1: float
    group: float
    fit_intercept: bool = True

    @property
    def classes(self):
        return int(self.codes.max()) + 1

    @property
    def members(self):
        return [np.flatnonzero(self.group_of == which) for which in range(self.group_of.max(initial=-1) + 1)]

    def loss(self, scores):
        own = scores[np.arange(len(scores)), self.codes]
        return float(self.row_weights @ (logsumexp(scores, axis=1) - own))

    def penalty(self, weights):
        return self.l1 * np.abs(weights).sum() + self.group * sum(np.linalg.norm(weights[mine]) for mine in self.members)

    def objective(self, weights, intercept):
        weights = np.asarray(weights, np.float64)
        return self.loss(self.matrix @ weights + intercept) + self.penalty(weights)

    def residual(self, scores):
        return self.row_weights[:, None] * (softmax(scores, axis=1) - np.eye(self.classes)[self.codes])

    def prox(self, weights, step):
        out = shrink(weights, step * self.l1)
        for mine in self.members:
            norm = np.linalg.norm(out[mine])
            out[mine] *= max(norm - step * self.group, 0) / norm if norm > 0 else 0
        return out


def shrink(values, by):
    return np.sign(values) * np.maximum(np.abs(values) - by, 0)


def random_task(seed, l1, group, m=40, c=3, widths=(3, 4, 2), loose=2, weighted=True, fit_intercept=True):
    """A small noisy problem with several groups and columns in no group."""
    rng = np.random.default_rng(seed)
    p = sum(widths) + loose
    matrix = rng.standard_normal((m, p))
    codes = (matrix @ rng.standard_normal((p, c)) + 2 * rng.standard_normal((m, c))).argmax(axis=1)
    codes[:c] = np.arange(c)
    weights = rng.random(m) + 0.2 if weighted else np.ones(m)
    group_of = np.append(np.repeat(np.arange(len(widths)), widths), np.full(loose, -1))
    return Task(matrix, codes, group_of[rng.permutation(p)], weights / weights.sum(), l1, group, fit_intercept)


def fista(task, steps=20_000):
    """Weights and intercept after at most so many steps, or when nothing moves any more."""
    p, c = task.matrix.shape[1], task.classes
    wide = np.column_stack([task.matrix, np.full(len(task.matrix), float(task.fit_intercept))])
    # the Hessian of logsumexp is at most ½I
    step = 2 / np.linalg.eigvalsh(wide.T @ (task.row_weights[:, None] * wide))[-1]
    here, ahead, pace = np.zeros((p + 1, c)), np.zeros((p + 1, c)), 1.0
    for _ in range(steps):
        gradient = wide.T @ task.residual(wide @ ahead)
        there = ahead - step * gradient
        there[:-1] = task.prox(there[:-1], step)
        if np.vdot(ahead - there, there - here) > 0:
            pace = 1.0
        faster = (1 + np.sqrt(1 + 4 * pace * pace)) / 2
        moved = there - here
        here, ahead, pace = there, there + (pace - 1) / faster * moved, faster
        if np.abs(moved).max() <= 1e-15 * max(1.0, np.abs(here).max()):
            break
    return here[:-1], here[-1]


def best_intercept(task, weights, start):
    """The intercept that makes the columns of the residual sum to zero."""
    scores = task.matrix @ np.asarray(weights, np.float64)

    def both(b):
        return task.loss(scores + b), task.residual(scores + b).sum(axis=0)

    if not task.fit_intercept:
        return np.zeros(task.classes)
    found = minimize(both, start, jac=True, method="L-BFGS-B", options={"ftol": 1e-16, "gtol": 1e-12, "maxiter": 500})
    return found.x


def gap(task, weights, intercept):
    """The duality gap of a point: its objective minus the value of a dual point, both in float64."""
    weights = np.asarray(weights, np.float64)
    b = best_intercept(task, weights, np.asarray(intercept, np.float64))
    scores = task.matrix @ weights + b
    correlation = task.matrix.T @ task.residual(scores)

    def slack(scale):
        loose = task.group_of < (0 if task.group else np.inf)
        inside = [task.l1 - scale * np.abs(correlation[loose]).max()] if loose.any() else []
        if task.group:
            inside += [task.group - np.linalg.norm(shrink(scale * correlation[mine], task.l1)) for mine in task.members]
        return min(inside)

    scale = 1.0 if slack(1.0) >= 0 else brentq(slack, 0, 1, xtol=1e-15)
    mixed = scale * softmax(scores, axis=1) + (1 - scale) * np.eye(task.classes)[task.codes]
    entropy = -(mixed * np.log(np.maximum(mixed, 1e-300))).sum(axis=1)
    return task.objective(weights, intercept) - float(task.row_weights @ entropy)


def chebyshev(smooth, alpha, steps):
    """p(Ã_sym): of the eigenvalues, the polynomial through 1 / (1 − (1 − α) x) at the zeros of T_{steps + 1}, times α."""
    zeros = np.cos(np.pi * (np.arange(steps + 1) + 0.5) / (steps + 1))
    values, vectors = np.linalg.eigh(smooth)
    return vectors * BarycentricInterpolator(zeros, alpha / (1 - (1 - alpha) * zeros))(values) @ vectors.T
