"""Logistic regression stopped early, as the paper's linear baselines are trained.

    min_{W, b}  (1/m) Σ_i CE(y_i, softmax(Wᵀp_i + b))  +  (wd/2) (‖W‖_F² + ‖b‖²)          P: m × p, W: p × c

L-BFGS starts at zero. An *epoch* is 20 of its iterations; the curvature it has gathered is carried from one epoch to the
next (one run of SciPy's L-BFGS-B without bounds, watched every 20 iterations). After each epoch the validation accuracy is
taken; the run ends after 100 epochs, after 5 epochs without a better one, or at convergence, and the first epoch with the
best accuracy is kept. Without validation rows a given number of epochs is run.

P enters through its rows only: with P = R Qᵀ (Q: p × m with orthonormal columns) the weights are W = Q V, and since L-BFGS
and ‖W‖_F do not see a rotation, the run over V (m × c) is the run over W. For m < p that is less work by the factor m/p.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from slimg.engine.base import Array
from slimg.engine.blas import one_thread
from slimg.learn.objective import MultinomialLoss, log_loss

STEPS = 20
"""Iterations of an epoch."""
EPOCHS, PATIENCE = 100, 5
MEMORY = 20
"""Pairs of steps and gradient changes that L-BFGS remembers."""
TOLERANCE = {"ftol": 1e-9, "gtol": 1e-7}


@dataclass(frozen=True)
class Stopped:
    """Weights (p × c) and intercept (c) of the epoch that was kept, counted from 1, and how it did on validation rows."""

    weights: Array
    intercept: Array
    epoch: int
    val_accuracy: float = float("nan")
    val_loss: float = float("nan")


def fit_stopped(
    rows: Array,
    codes: Array,
    classes: int,
    weight_decay: float = 0.0,
    validation: tuple[Array, Array] | None = None,
    epochs: int = EPOCHS,
    patience: int = PATIENCE,
) -> Stopped:
    """Learn from rows of P (m × p) with labels in 0 … classes − 1.

    ``validation`` holds further rows and their labels; a label of −1 is a class that training did not see: always wrong.

    Returns
    -------
    Stopped
        Weights, intercept, and where training stopped.
    """
    options = {"maxiter": STEPS * epochs, "maxfun": 100 * STEPS * epochs, "maxcor": MEMORY, **TOLERANCE}
    with one_thread():
        run = _Run(rows, codes, classes, weight_decay, validation, patience)
        start = np.zeros((run.reduced.shape[1] + 1) * classes)
        result = minimize(run.objective, start, jac=True, method="L-BFGS-B", callback=run.watch, options=options)
        run.finish(result.x)
    return run.kept


class _Run:
    """One run of L-BFGS over V (and b, its last row), its objective, and the best epoch so far."""

    def __init__(
        self,
        rows: Array,
        codes: Array,
        classes: int,
        weight_decay: float,
        validation: tuple[Array, Array] | None,
        patience: int,
    ):
        self.rotation, self.reduced = _row_space(np.asarray(rows, np.float64))
        self.loss = MultinomialLoss(codes, np.full(len(codes), 1 / len(codes)), classes)
        self.classes, self.weight_decay, self.patience = classes, weight_decay, patience
        self.kept, self.iterations, self.since_best = Stopped(*self._unpacked(np.zeros(0)), 0), 0, 0
        if validation is not None:
            self.checked = validation[0] @ self.rotation
            self.check_codes = np.asarray(validation[1])
        self.validated = validation is not None

    def objective(self, flat: Array) -> tuple[float, Array]:
        v, intercept = self._split(flat)
        fit = self.loss.evaluate(self.reduced @ v, intercept)
        residual = self.loss.residual(fit.probabilities)
        gradient = np.concatenate([(self.reduced.T @ residual).ravel(), residual.sum(axis=0)])
        gradient += self.weight_decay * flat
        return fit.value + self.weight_decay / 2 * float(flat @ flat), gradient

    def watch(self, flat: Array) -> None:
        """Called after each iteration; ends the run when patience does."""
        self.iterations += 1
        if self.iterations % STEPS == 0:
            self._end_epoch(flat)
            if self.since_best >= self.patience:
                raise StopIteration

    def finish(self, flat: Array) -> None:
        """The epoch that convergence cut short counts too."""
        if self.iterations % STEPS or self.kept.epoch == 0:
            self._end_epoch(flat)

    def _end_epoch(self, flat: Array) -> None:
        epoch = -(-self.iterations // STEPS)
        if not self.validated:
            self.kept = Stopped(*self._unpacked(flat), epoch)
            return
        accuracy, loss = self._validate(flat)
        if self.kept.epoch == 0 or accuracy > self.kept.val_accuracy:
            self.kept, self.since_best = Stopped(*self._unpacked(flat), max(epoch, 1), accuracy, loss), 0
        else:
            self.since_best += 1

    def _validate(self, flat: Array) -> tuple[float, float]:
        v, intercept = self._split(flat)
        scores = self.checked @ v + intercept
        return float((scores.argmax(axis=1) == self.check_codes).mean()), log_loss(scores, self.check_codes)

    def _split(self, flat: Array) -> tuple[Array, Array]:
        return flat[: -self.classes].reshape(-1, self.classes), flat[-self.classes :]

    def _unpacked(self, flat: Array) -> tuple[Array, Array]:
        if len(flat) == 0:
            return np.zeros((len(self.rotation), self.classes), np.float32), np.zeros(self.classes, np.float32)
        v, intercept = self._split(flat)
        return (self.rotation @ v).astype(np.float32), intercept.astype(np.float32)


def _row_space(rows: Array) -> tuple[Array, Array]:
    """Q (p × k) and R = P Q (m × k) with P = R Qᵀ: k = m if rows are fewer than columns, else Q is the identity."""
    m, p = rows.shape
    if m >= p:
        return np.eye(p), rows
    rotation, triangle = np.linalg.qr(rows.T)
    return rotation, np.ascontiguousarray(triangle.T)
