"""Models by name, as the sanity checks run them: features are taken raw, as the synthetic cases ask.

The names are those of `slimg.lab.baselines.models`; those of networks try the paper's whole grid for each split, and with
``-quick`` behind them (gcn-quick) a reduced one.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from slimg.errors import choices
from slimg.lab.baselines import models
from slimg.lab.baselines.models import LINEAR, NETWORKS
from slimg.lab.sanity.contender import Contender, EstimatorContender

__all__ = ["LINEAR", "get", "names"]
QUICK = "-quick"


def names() -> tuple[str, ...]:
    """All names."""
    return (*models.names(), *(name + QUICK for name in NETWORKS))


def get(name: str) -> Contender:
    """The model of that name."""
    if name not in names():
        raise choices("model", name, names())
    return EstimatorContender(name, partial(_raw, name))


def _raw(name: str, seed: int) -> Any:
    """Not all models read features or draw numbers; those that do take X as it is, and the seed."""
    reduced = {"grid": "quick"} if name.endswith(QUICK) else {}
    estimator = models.get(name.removesuffix(QUICK), **reduced)
    wanted = {"normalize_features": None, "random_state": seed}
    return estimator.set_params(**{key: value for key, value in wanted.items() if key in estimator.get_params(deep=False)})
