"""Models by name, as the sanity checks run them: features are taken raw, as the synthetic cases ask.

The names are those of `slimg.lab.baselines.registry`; those of networks try the paper's whole grid for each split, and with
``-quick`` behind them (gcn-quick) a reduced one.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from slimg.errors import choices
from slimg.lab import baselines
from slimg.lab.baselines import LINEAR
from slimg.lab.sanity.contender import Contender, EstimatorContender

__all__ = ["LINEAR", "get", "names"]


def names() -> tuple[str, ...]:
    """All names."""
    return baselines.names(quick=True)


def get(name: str) -> Contender:
    """The model of that name."""
    if name not in names():
        raise choices("model", name, names())
    return EstimatorContender(name, partial(_raw, name))


def _raw(name: str, seed: int) -> Any:
    """Features are taken as they are, whatever the model."""
    return baselines.set_known_params(baselines.get(name), normalize_features=None, random_state=seed)
