"""Models by name, as the sanity checks run them: features are taken raw, as the synthetic cases ask.

The names are those of `slimg.baselines.models`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from slimg.baselines import models
from slimg.baselines.models import LINEAR, names
from slimg.errors import choices
from slimg.sanity.contender import Contender, EstimatorContender

__all__ = ["LINEAR", "get", "names"]


def get(name: str) -> Contender:
    """The model of that name."""
    if name not in names():
        raise choices("model", name, names())
    return EstimatorContender(name, partial(_raw, name))


def _raw(name: str, seed: int) -> Any:
    """Not all models read features or draw numbers; those that do take X as it is, and the seed."""
    estimator = models.get(name)
    wanted = {"normalize_features": None, "random_state": seed}
    return estimator.set_params(**{key: value for key, value in wanted.items() if key in estimator.get_params(deep=False)})
