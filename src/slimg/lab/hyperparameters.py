"""Estimators that pass keyword arguments on to what they are made of: a propagator, a network."""

from __future__ import annotations

from typing import Any, TypeVar

from slimg._sklearn import BaseEstimator

Estimator = TypeVar("Estimator", bound="WithHyperparameters")


class WithHyperparameters(BaseEstimator):
    """``hyperparameters``, the keyword arguments that ``__init__`` does not name, are parameters like its own."""

    hyperparameters: dict[str, Any]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Give all parameters, the hyperparameters among them.

        Parameters
        ----------
        deep : bool, default=True
            Whether to add the parameters of parameters that are estimators.

        Returns
        -------
        dict of str to object
            Name → value.
        """
        return {**super().get_params(deep=deep), **self.hyperparameters}

    def set_params(self: Estimator, **params: Any) -> Estimator:
        """Set parameters; those that ``__init__`` does not name are hyperparameters.

        Parameters
        ----------
        **params : object
            Name → value.

        Returns
        -------
        estimator
            The estimator itself.
        """
        own = set(self._get_param_names())
        self.hyperparameters = {**self.hyperparameters, **{k: v for k, v in params.items() if k not in own}}
        return super().set_params(**{k: v for k, v in params.items() if k in own})
