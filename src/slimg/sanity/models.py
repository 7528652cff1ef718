"""Models by name, as the sanity checks run them: features are taken raw, as the synthetic cases ask.

    slimg                     SlimG
    lr, sgc, dgc, …           the paper's linear models: `LinearGNN` with their propagators
    linear-gcn, linear-gat …  the propagators of nonlinear networks, which are not those networks
"""

from __future__ import annotations

from functools import partial
from typing import Any

from slimg.classifier import SlimG
from slimg.errors import choices
from slimg.linear_gnn import LinearGNN
from slimg.propagate import names as propagators
from slimg.sanity.contender import Contender, EstimatorContender

LINEAR = ("lr", "reg_kernel", "diff_kernel", "rw_kernel", "sgc", "dgc", "s2gc", "g2cn")
"""Models of the paper that are linear themselves."""


def names() -> tuple[str, ...]:
    """All names."""
    return ("slimg", *LINEAR, *(f"linear-{name}" for name in propagators() if name not in LINEAR))


def get(name: str) -> Contender:
    """The model of that name."""
    if name not in names():
        raise choices("model", name, names())
    if name == "slimg":
        return EstimatorContender(name, _slimg)
    return EstimatorContender(name, partial(_linear, name.removeprefix("linear-")))


def _slimg(seed: int) -> Any:
    return SlimG(normalize_features=None, random_state=seed)


def _linear(propagator: str, seed: int) -> Any:
    return LinearGNN(propagator, normalize_features=None, random_state=seed)
