"""Anybody's model as the runner sees it.

    begin(graph without labels)                                  once per case
    answer(graph with train and val labels, train, val, seed)    once per split: a class for each of the n nodes

`as_contender` accepts an object with ``fit`` and ``predict``, a function or class that makes one (or a contender), or a
class of torch modules, which is trained as `slimg.lab.sanity.adapters.from_torch` says:

    fit(graph), fit(graph, train=rows, val=rows)      the graph holds the labels of these rows and no others
    predict(), predict(graph)                         n classes
    propagate(graph)                                  if there is one: its result, which labels have no part in, is
                                                      computed once per case and given to fit(…, propagated=)

A maker is called anew for each split, with ``random_state=seed`` if it takes it; an object is cloned, and its
``random_state``, if it has one that is None, is set to the seed.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from slimg.errors import InputError
from slimg.graph import Graph

Answer: TypeAlias = "Callable[[Graph, np.ndarray, np.ndarray, int], Any]"


@runtime_checkable
class Contender(Protocol):
    """A model with a name that can be run on many splits of many cases."""

    @property
    def name(self) -> str:
        """Heading of its column."""

    def begin(self, graph: Graph) -> Answer:
        """What can be computed once per case, from edges and features alone."""


@dataclass(frozen=True)
class EstimatorContender:
    """A model made anew by ``create(seed)`` for each split."""

    name: str
    create: Callable[[int], Any]

    def begin(self, graph: Graph) -> Answer:
        first = self.create(0)
        if isinstance(first, Contender):
            return first.begin(graph)
        if not _fits_and_predicts(first):
            raise InputError(f"{self.name} made {_kind(first)}, which lacks fit or predict")
        propagates = callable(getattr(first, "propagate", None)) and _takes(first.fit, "propagated")
        shared = {"propagated": first.propagate(graph)} if propagates else {}

        def answer(graph: Graph, train: np.ndarray, val: np.ndarray, seed: int) -> Any:
            estimator = self.create(seed)
            rows = {"train": train, "val": val}
            estimator.fit(graph, **{key: rows[key] for key in rows if _takes(estimator.fit, key)}, **shared)
            return estimator.predict(graph) if required(estimator.predict) else estimator.predict()

        return answer


def as_contender(model: Any, name: str | None = None) -> Contender:
    """A contender from any model; a text names one of `slimg.lab.sanity.models`."""
    if isinstance(model, str):
        from slimg.lab.sanity import models

        return models.get(model)
    if isinstance(model, Contender) and not isinstance(model, type):
        return model
    name = name or _name(model)
    if hasattr(model, "forward") and not _fits_and_predicts(model):
        return _from_module(model, name)
    if isinstance(model, type) or not _fits_and_predicts(model):
        if not callable(model):
            raise InputError(f"a model needs fit and predict, or is a function that makes one; {name} is neither")
        return EstimatorContender(name, lambda seed: _made(model, seed))
    if len(required(model.fit)) > 1:
        raise InputError(
            f"{name}.fit wants {', '.join(required(model.fit))}, but the checks give a graph: wrap a scikit-learn"
            " model with sanity.from_sklearn(model)"
        )
    return EstimatorContender(name, lambda seed: cloned(model, seed))


def as_contenders(models: Any) -> list[Contender]:
    """Contenders from one model, several, or a mapping from names to models; names are made distinct."""
    if isinstance(models, Mapping):
        found = [as_contender(model, str(name)) for name, model in models.items()]
        named = list(zip(map(str, models), found, strict=True))
    else:
        several = isinstance(models, Iterable) and not isinstance(models, str) and not hasattr(models, "fit")
        found = [as_contender(model) for model in (models if several else [models])]
        named = [(each.name, each) for each in found]
    if not named:
        raise InputError("no model was given: name at least one")
    taken: dict[str, int] = {}
    for place, (name, _) in enumerate(named):
        taken[name] = taken.get(name, 0) + 1
        if taken[name] > 1:
            named[place] = (f"{name} ({taken[name]})", named[place][1])
    return [each if each.name == name else _Renamed(name, each) for name, each in named]


def cloned(estimator: Any, seed: int) -> Any:
    """An unfitted copy; its ``random_state`` is the seed unless one is set."""
    if not hasattr(estimator, "get_params"):
        return copy.deepcopy(estimator)
    from sklearn.base import clone

    fresh = clone(estimator)
    if fresh.get_params(deep=False).get("random_state", 0) is None:
        fresh.set_params(random_state=seed)
    return fresh


@dataclass(frozen=True)
class _Renamed:
    name: str
    contender: Contender

    def begin(self, graph: Graph) -> Answer:
        return self.contender.begin(graph)


def _from_module(module: Any, name: str) -> Contender:
    """A class of torch modules that are made from the numbers of features and of classes."""
    if not isinstance(module, type) or len(required(module)) != 2:
        given = f"takes ({', '.join(required(module))})" if isinstance(module, type) else "is one that is made already"
        raise InputError(
            f"{name} is a torch module and {given}: give a class that takes (features, classes), or wrap a function that"
            " makes it, sanity.from_torch(lambda features, classes: …)"
        )
    from slimg.lab.sanity.adapters import from_torch

    return from_torch(module, name=name)


def _made(maker: Callable[..., Any], seed: int) -> Any:
    return maker(random_state=seed) if _takes(maker, "random_state") else maker()


def _fits_and_predicts(model: Any) -> bool:
    return callable(getattr(model, "fit", None)) and callable(getattr(model, "predict", None))


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # builtins have no signature
        return []


def _takes(function: Callable[..., Any], name: str) -> bool:
    return any(each.name == name or each.kind is each.VAR_KEYWORD for each in _parameters(function))


def required(function: Callable[..., Any]) -> list[str]:
    """Names of the arguments that must be given by position."""
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [each.name for each in _parameters(function) if each.kind in positional and each.default is each.empty]


def _name(model: Any) -> str:
    own = getattr(model, "name", None)
    if isinstance(own, str) and own:
        return own
    return getattr(model, "__name__", None) or type(model).__name__


def _kind(thing: Any) -> str:
    return f"an object of type {type(thing).__name__}"
