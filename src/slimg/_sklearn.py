"""The base classes of scikit-learn, with types.

scikit-learn carries no annotations: to a type checker, a class that inherits from it has any attribute. Here type checkers
see the methods that slimg inherits, so that a misspelt method of `slimg.SlimG` is an error to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    Self = TypeVar("Self")

    class BaseEstimator:
        """Parameters by name."""

        @classmethod
        def _get_param_names(cls) -> list[str]: ...
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self: Self, **params: Any) -> Self: ...

    class ClassifierMixin:
        """Mean accuracy of ``predict``."""

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...

    class TransformerMixin:
        """``fit`` and ``transform`` in one call."""

        def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any: ...
        def set_output(self: Self, *, transform: str | None = None) -> Self: ...

else:
    from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin

__all__ = ["BaseEstimator", "ClassifierMixin", "TransformerMixin"]
