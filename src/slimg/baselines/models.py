"""Every model by name, with its parameters.

    slimg                     SlimG
    lr, sgc, dgc, …           the paper's linear models: `LinearGNN` with their propagators
    linear-gcn, linear-gat …  the propagators of nonlinear networks, which are not those networks
"""

from __future__ import annotations

import inspect
from typing import Any

from slimg.classifier import SlimG
from slimg.errors import InputError, choices
from slimg.linear_gnn import LinearGNN
from slimg.propagate import names as propagators

LINEAR = ("lr", "reg_kernel", "diff_kernel", "rw_kernel", "sgc", "dgc", "s2gc", "g2cn")
"""Models of the paper that are linear themselves."""


def names() -> tuple[str, ...]:
    """All names."""
    return ("slimg", *LINEAR, *(f"linear-{name}" for name in propagators() if name not in LINEAR))


def get(name: str, **params: Any) -> Any:
    """An unfitted estimator: ``fit(graph, train=, val=)``, ``predict()``, ``predict_proba()``."""
    if name not in names():
        raise choices("model", name, names())
    if name == "slimg":
        return _made(name, SlimG, params)
    return LinearGNN(name.removeprefix("linear-"), **params)


def _made(name: str, kind: Any, params: dict[str, Any]) -> Any:
    known = list(inspect.signature(kind).parameters)
    for given in params:
        if given not in known:
            raise InputError(f"{name} has no parameter {given!r}: choose one of {', '.join(known)}")
    return kind(**params)
