"""Every estimator of the laboratory by name: the one registry of models, which sanity checks and benchmarks use too.

    slimg                       SlimG
    lr, sgc, dgc, …             the paper's linear models: `LinearGNN` with their propagators
    linear-gcn, linear-gat …    the propagators of nonlinear networks, which are not those networks
    gcn, sage, gcnii, h2gcn,    nonlinear networks (`slimg[gnn]`): `Network`
    appnp, gprgnn, gat, linkx,
    mlp2, mlp3                  … on the features alone
    slimg_mlp2, slimg_mlp3,     … of the paper's linearity ablation
    slimg_nonlinear
    gcn_tuned                   GCN with residuals and normalised layers, and a grid of its own
    gcn-quick, …                the same networks with the reduced grid
    glr                         logistic regression on [A | X]
    graphany                    least squares on five fixed propagations of X, weighted on validation rows
    trees                       boosted trees on X and means over neighbours
    label_propagation           labels along edges, no features
    correct_and_smooth          a base model's predictions, corrected and smoothed over the graph
    pagerank, diffusion,        classifiers of scikit-network (`slimg[compare]`)
    nearest_neighbours
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from slimg._sklearn import BaseEstimator
from slimg.classifier import SlimG
from slimg.components.compute import PAPER_COMPONENTS
from slimg.errors import check_names
from slimg.lab.baselines.ablations import with_normalize
from slimg.lab.baselines.classical import (
    CLASSIFIERS,
    BoostedTrees,
    CorrectAndSmooth,
    GraphAnyBasis,
    GraphLogisticRegression,
    LabelPropagation,
    ScikitNetwork,
)
from slimg.lab.baselines.linear_gnn import LinearGNN
from slimg.lab.baselines.network import PAPER, Network, current_names
from slimg.lab.propagators import names as propagators
from slimg.lab.propagators.registry import kind_of

LINEAR = ("lr", "reg_kernel", "diff_kernel", "rw_kernel", "sgc", "dgc", "s2gc", "g2cn")
"""Models of the paper that are linear themselves."""
NETWORKS = tuple(PAPER)
"""Names of the nonlinear networks."""
QUICK = "-quick"
"""Behind the name of a network: with the reduced grid."""

Estimator = TypeVar("Estimator", bound=BaseEstimator)


def names(*, quick: bool = False) -> tuple[str, ...]:
    """Return the names of all models.

    Parameters
    ----------
    quick : bool, default=False
        Whether to list the networks a second time, with the reduced grid (``"gcn-quick"``).

    Returns
    -------
    tuple of str
        Names for `get`, in the order of the tables.

    Examples
    --------
    >>> from slimg.lab import baselines
    >>> baselines.names()[:3]
    ('slimg', 'lr', 'reg_kernel')
    """
    return (*_makers(), *(name + QUICK for name in NETWORKS if quick))


def get(name: str, **params: Any) -> Any:
    """Return the unfitted estimator of a name.

    Parameters
    ----------
    name : str
        One of `names`; ``"gcn-quick"`` is ``"gcn"`` with ``grid="quick"``.
    **params
        Parameters of the estimator.

    Returns
    -------
    estimator
        With ``fit(graph, train=, val=)``, ``predict()`` and ``predict_proba()``.

    Raises
    ------
    InputError
        If there is no such model, or it has no such parameter; the message lists the choices.

    Examples
    --------
    >>> from slimg.lab import baselines
    >>> baselines.get("label_propagation", alpha=0.9)
    LabelPropagation(alpha=0.9)
    """
    makers, params = _makers(), current_names(params)
    full = str(name).removesuffix(QUICK)
    check_names("model", [name], names(quick=True))
    make, own = makers[full]
    hidden = ("propagator", "network", "classifier", "hyperparameters")
    known = [each for each in (*inspect.signature(make).parameters, *own) if each not in hidden]
    check_names(f"parameter of {name}", params, known)
    return make(**params) if full == name else make(**{"grid": "quick", **params})


def set_known_params(estimator: Estimator, **params: Any) -> Estimator:
    """Set those of the parameters that an estimator has; not all models read features or draw random numbers.

    Parameters
    ----------
    estimator : estimator
        Changed in place.
    **params
        Parameters such as ``random_state`` and ``normalize_features``; those it does not have are ignored.

    Returns
    -------
    estimator
        The same object.

    Examples
    --------
    >>> from slimg.lab import baselines
    >>> model = baselines.get("label_propagation")
    >>> baselines.set_known_params(model, random_state=3, normalize_features=None)
    LabelPropagation(random_state=3)
    """
    known = estimator.get_params(deep=False)
    if isinstance(estimator, SlimG) and "normalize_features" in params:
        parts = estimator.components or PAPER_COMPONENTS
        params = {"components": with_normalize(parts, params["normalize_features"]), **params}
    return estimator.set_params(**{key: value for key, value in params.items() if key in known})


def _makers() -> dict[str, tuple[Callable[..., Any], list[str]]]:
    """Name → what makes it, and the parameters that its signature does not name."""
    linear = {name: name for name in LINEAR}
    linear |= {f"linear-{name}": name for name in propagators() if name not in LINEAR}
    found: dict[str, tuple[Callable[..., Any], list[str]]] = {"slimg": (SlimG, [])}
    for name, propagator in linear.items():
        found[name] = partial(LinearGNN, propagator), list(inspect.signature(kind_of(propagator)).parameters)
    found |= {name: (partial(Network, name), list(PAPER[name])) for name in NETWORKS}
    found |= {"label_propagation": (LabelPropagation, []), "correct_and_smooth": (CorrectAndSmooth, [])}
    found |= {"glr": (GraphLogisticRegression, []), "graphany": (GraphAnyBasis, []), "trees": (BoostedTrees, [])}
    return found | {name: (partial(ScikitNetwork, name), options) for name, (_, options) in CLASSIFIERS.items()}
