"""Every model by name, with its parameters.

    slimg                       SlimG
    lr, sgc, dgc, …             the paper's linear models: `LinearGNN` with their propagators
    linear-gcn, linear-gat …    the propagators of nonlinear networks, which are not those networks
    gcn, sage, gcnii, h2gcn,    nonlinear networks (`slimg[gnn]`): `Network`
    appnp, gprgnn, gat, linkx,
    mlp2, mlp3                  … on the features alone
    slimg_mlp2, slimg_mlp3,     … of the paper's linearity ablation
    slimg_nonlinear
    label_propagation           labels along edges, no features
    correct_and_smooth          a base model's predictions, corrected and smoothed over the graph
    pagerank, diffusion,        scikit-network's (`slimg[compare]`)
    nearest_neighbours
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from slimg.classifier import SlimG
from slimg.errors import InputError, choices
from slimg.lab.baselines import grids
from slimg.lab.baselines.correct_and_smooth import CorrectAndSmooth
from slimg.lab.baselines.label_propagation import LabelPropagation
from slimg.lab.baselines.network import Network
from slimg.lab.baselines.scikit_network import CLASSIFIERS, ScikitNetwork
from slimg.lab.linear_gnn import LinearGNN
from slimg.lab.propagators import names as propagators
from slimg.lab.propagators.registry import kind_of

LINEAR = ("lr", "reg_kernel", "diff_kernel", "rw_kernel", "sgc", "dgc", "s2gc", "g2cn")
"""Models of the paper that are linear themselves."""
NETWORKS = tuple(grids.PAPER)
NONLINEAR = ("gcn", "sage", "gcnii", "h2gcn", "appnp", "gprgnn", "gat")
"""The paper's nonlinear competitors, in the order of its tables."""


def names() -> tuple[str, ...]:
    """All names."""
    return tuple(_makers())


def get(name: str, **params: Any) -> Any:
    """An unfitted estimator: ``fit(graph, train=, val=)``, ``predict()``, ``predict_proba()``."""
    makers = _makers()
    if name not in makers:
        raise choices("model", name, list(makers))
    make, own = makers[name]
    known = [*inspect.signature(make).parameters, *own]
    known = [each for each in known if each not in ("propagator", "network", "classifier", "hyperparameters", "options")]
    for given in params:
        if given not in known:
            raise InputError(f"{name} has no parameter {given!r}: choose one of {', '.join(known)}")
    return make(**params)


def _makers() -> dict[str, tuple[Callable[..., Any], list[str]]]:
    """Name → what makes it, and the parameters that its signature does not name."""
    linear = {name: name for name in LINEAR}
    linear |= {f"linear-{name}": name for name in propagators() if name not in LINEAR}
    found: dict[str, tuple[Callable[..., Any], list[str]]] = {"slimg": (SlimG, [])}
    for name, propagator in linear.items():
        own = list(inspect.signature(kind_of(propagator)).parameters)
        found[name] = partial(LinearGNN, propagator), own
    found |= {name: (partial(Network, name), list(grids.PAPER[name])) for name in NETWORKS}
    found |= {"label_propagation": (LabelPropagation, []), "correct_and_smooth": (CorrectAndSmooth, [])}
    return found | {name: (partial(ScikitNetwork, name), options) for name, options in CLASSIFIERS.items()}
