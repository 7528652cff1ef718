"""`SparseGroupLogisticRegression`: the solver as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from slimg._sklearn import BaseEstimator, ClassifierMixin
from slimg.engine.base import Array
from slimg.engine.memory import MemoryEngine
from slimg.errors import InputError
from slimg.learn.objective import Problem, class_weights, softmax
from slimg.learn.solver import check_stopping, solve, warn_unconverged


class SparseGroupLogisticRegression(ClassifierMixin, BaseEstimator):
    """Multinomial logistic regression with a sparse-group penalty, solved to a certified duality gap.

        min_{W, b}  Σ_i w_i CE(y_i, softmax(Wᵀx_i + b)) / Σ_i w_i  +  λ₁ ‖W‖₁  +  λ₂ Σ_g ‖W_g‖_F

    Parameters
    ----------
    l1 : float, default 1e-4
        λ₁, at least 0.
    group : float, default 1e-3
        λ₂, at least 0; one of λ₁ and λ₂ must be positive.
    groups : list of int, list of index arrays, or None, default None
        Widths of consecutive groups that add up to the number of features, or disjoint sets of feature numbers (features
        in no set have no group penalty); None is one group of all features.
    class_weight : dict, "balanced" or None, default None
        Weights by class; "balanced" gives every class the same total weight.
    fit_intercept : bool, default True
        The intercept is free of any penalty and sums to zero.
    tol : float, default 1e-4
        The duality gap to reach, as a share of the loss at W = 0.
    max_iter : int, default 200
        Newton steps at most; a `ConvergenceWarning` names the gap that was reached.
    threads : int or None, default None
        Number of threads, None for all cores; it does not change a bit of the result.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    coef_ : ndarray of shape (n_classes, n_features)
        Wᵀ, also with two classes.
    intercept_ : ndarray of shape (n_classes,)
        b, which sums to zero.
    dual_gap_ : float
        The duality gap, as a share of the loss at W = 0.
    objective_ : float
        The minimum that was reached.
    n_iter_ : int
        Newton steps.
    converged_ : bool
        Whether the gap is at most ``tol``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from slimg.learn import SparseGroupLogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SparseGroupLogisticRegression(l1=0, group=0.1, groups=[2, 2]).fit(X, y)
    >>> model.coef_.shape, model.converged_
    ((3, 4), True)
    >>> bool(model.coef_[:, :2].any()), model.score(X, y) > 0.9
    (False, True)
    """

    classes_: Array
    coef_: Array
    intercept_: Array
    dual_gap_: float
    objective_: float
    n_iter_: int
    converged_: bool

    def __init__(
        self,
        l1: float = 1e-4,
        group: float = 1e-3,
        groups: Sequence[Any] | None = None,
        *,
        class_weight: dict[Any, float] | str | None = None,
        fit_intercept: bool = True,
        tol: float = 1e-4,
        max_iter: int = 200,
        threads: int | None = None,
    ):
        self.l1 = l1
        self.group = group
        self.groups = groups
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.threads = threads

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SparseGroupLogisticRegression:
        """Fit to features and labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Float32 stays float32; anything else becomes float64.
        y : array-like of shape (n_samples,)
            Labels of at least two classes.
        sample_weight : array-like of shape (n_samples,), default None
            Non-negative weights; rows with weight 0 are left out.

        Returns
        -------
        SparseGroupLogisticRegression
            The fitted estimator itself.

        Raises
        ------
        InputError
            If a parameter or the labels are not as described.
        """
        check_penalties(self.l1, self.group)
        check_stopping(self.tol, self.max_iter)
        if not isinstance(self.fit_intercept, (bool, np.bool_)):
            raise InputError(f"fit_intercept must be True or False, not {self.fit_intercept!r}")
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], order="C")
        check_classification_targets(y)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not (weights > 0).all():
            X, y, weights = np.ascontiguousarray(X[weights > 0]), y[weights > 0], weights[weights > 0]
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            given = f"one class only, {self.classes_[0]!r}" if len(y) else "no class: every sample_weight is zero"
            raise InputError(f"y needs at least two classes; it has {given}")
        group_of = as_groups(self.groups, X.shape[1])
        if self.l1 == 0 and (group_of < 0).any():
            raise InputError(
                f"feature {int(np.flatnonzero(group_of < 0)[0])} is in no group and l1 is 0: without a penalty there may be"
                " no minimum; put it in a group or make l1 positive"
            )
        weights = weights * class_weights(self.class_weight, self.classes_, codes, weights)
        problem = Problem.build(
            X, codes, len(self.classes_), group_of, MemoryEngine(self.threads), weights, self.fit_intercept
        )
        solution = solve(problem, self.l1, self.group, tol=self.tol, max_iter=self.max_iter)
        if not solution.converged:
            warn_unconverged(solution.gap, self.tol, solution.iterations)
        self.coef_ = np.ascontiguousarray(solution.weights.T)
        self.intercept_ = solution.intercept.astype(X.dtype)
        self.dual_gap_, self.objective_ = solution.gap, solution.objective
        self.n_iter_, self.converged_ = solution.iterations, solution.converged
        return self

    def decision_function(self, X: Any) -> Array:
        """Compute the scores of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            With the columns of `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            With two classes the difference of their scores, of shape (n_samples,).
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: Any) -> Array:
        """Predict labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            With the columns of `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            One label for each row.
        """
        scores = self._scores(X)
        return self.classes_[scores.argmax(axis=1)]

    def predict_proba(self, X: Any) -> Array:
        """Compute the probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            With the columns of `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns as ``classes_``.
        """
        return softmax(self._scores(X))

    def predict_log_proba(self, X: Any) -> Array:
        """Compute the logarithms of the probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            With the columns of `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns as ``classes_``.
        """
        return np.log(self.predict_proba(X))

    def _scores(self, X: Any) -> Array:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return X @ self.coef_.T + self.intercept_


def as_groups(groups: Sequence[Any] | None, features: int) -> Array:
    """The group of each feature, −1 for none."""
    if groups is None:
        return np.zeros(features, np.int64)
    groups = list(groups) if np.iterable(groups) else []
    if not groups:
        raise InputError("groups must be a list of widths or of sets of feature numbers; None is one group of all features")
    if all(isinstance(width, (int, np.integer)) for width in groups):
        if min(groups) < 1 or sum(groups) != features:
            raise InputError(
                f"groups as widths must be positive and add up to the {features} features; {groups} add up to {sum(groups)}"
            )
        return np.repeat(np.arange(len(groups)), groups)
    out = np.full(features, -1, np.int64)
    for which, members in enumerate(groups):
        members = np.asarray(members)
        if members.ndim != 1 or not len(members) or members.dtype.kind not in "iu":
            raise InputError(f"groups[{which}] must be a non-empty list of feature numbers, not {members!r}")
        outside = members[(members < 0) | (members >= features)]
        if len(outside):
            raise InputError(f"groups[{which}] names feature {outside[0]}, but features are 0 … {features - 1}")
        times = np.bincount(members, minlength=features)
        twice = np.flatnonzero((times > 1) | ((times > 0) & (out >= 0)))
        if len(twice):
            raise InputError(f"groups must be disjoint, but feature {twice[0]} is named twice")
        out[members] = which
    return out


def check_penalties(l1: Any, group: Any) -> None:
    for name, value in (("l1", l1), ("group", group)):
        if not isinstance(value, (int, float, np.number)) or not np.isfinite(value) or value < 0:
            raise InputError(f"{name} must be a finite, non-negative number, not {value!r}")
    if l1 == 0 and group == 0:
        raise InputError("l1 and group are both 0: without a penalty there may be no minimum; make one of them positive")
