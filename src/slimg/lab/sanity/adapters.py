"""Any model as the checks run it.

    prepare(graph without labels)                                 once per case
    predict(graph with train and val labels, train, val, seed)    once per split: a class for each of the n nodes

`as_adapter` accepts a name of `slimg.lab.baselines`, an object with ``fit`` and ``predict``, a function or class that makes
one (or an adapter), or a class of torch modules:

    fit(graph), fit(graph, train=rows, val=rows)      the graph holds the labels of these rows and no others
    predict(), predict(graph)                         n classes
    propagate(graph)                                  optional: its result, which does not depend on labels, is computed once
                                                      per case and passed to fit(…, propagated=)

A function or class is called for each split, with ``random_state=seed`` if it accepts it; an object is cloned, and a
``random_state`` of None is set to the seed. Models of other libraries:

    from_sklearn   ŷ = clone(estimator).fit(X[train], y[train]).predict(X): only the features are used
    from_torch     full-batch Adam on the cross-entropy of train; the epoch of the best validation accuracy predicts
                   (the training loop of the networks, `slimg.lab.baselines.inputs`)
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from slimg.errors import InputError, check_names, require
from slimg.graph import Graph

Predictor: TypeAlias = "Callable[[Graph, np.ndarray, np.ndarray, int], Any]"


@dataclass(frozen=True)
class ModelAdapter:
    """A model with a name that can be run on many splits of many cases.

    Attributes
    ----------
    name : str
        Heading of its column.
    prepare : callable
        Edges and features of a case → ``(graph, train, val, seed)`` → n classes; what can be computed once per case is
        computed by the first call.
    """

    name: str
    prepare: Callable[[Graph], Predictor]


def from_sklearn(estimator: Any, name: str | None = None) -> ModelAdapter:
    """Adapt a scikit-learn classifier, pipeline or search; it uses the features, not the edges or validation rows.

    Parameters
    ----------
    estimator : estimator
        Object with ``fit(X, y)`` and ``predict(X)``; it is cloned for each split.
    name : str or None, default=None
        Heading of its column; None for the name of its class.

    Returns
    -------
    ModelAdapter
        For `check` and `assert_passes`.

    Raises
    ------
    InputError
        If the estimator is a class, or lacks ``fit`` or ``predict``.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from_sklearn(LogisticRegression()).name
    'LogisticRegression'
    """
    if isinstance(estimator, type) or not _fits_and_predicts(estimator):
        raise InputError(f"from_sklearn takes an estimator with fit and predict, not {estimator!r}")

    def predict(graph: Graph, train: np.ndarray, val: np.ndarray, seed: int) -> Any:
        fresh, features = _cloned(estimator, seed), np.asarray(graph.features)
        fresh.fit(features[train], graph.codes[train])
        return graph.classes[fresh.predict(features)]

    return ModelAdapter(name or type(estimator).__name__, lambda graph: predict)


def from_torch(
    make_module: Callable[[int, int], Any], *, epochs: int = 200, patience: int = 50, learning_rate: float = 0.01,
    weight_decay: float = 5e-4, name: str | None = None,
) -> ModelAdapter:  # fmt: skip
    """Adapt a torch module that takes a `torch_geometric.data.Data`, or (x, edge_index), and gives n × classes logits.

    Parameters
    ----------
    make_module : callable
        Called with the number of features and of classes, once per split; returns the module.
    epochs : int, default=200
        Steps of Adam at most.
    patience : int, default=50
        Steps without a better validation accuracy after which training stops.
    learning_rate : float, default=0.01
        Step size of Adam.
    weight_decay : float, default=5e-4
        Squared penalty of Adam.
    name : str or None, default=None
        Heading of its column; None for the name of the function or class.

    Returns
    -------
    ModelAdapter
        For `check` and `assert_passes`.

    Raises
    ------
    InputError
        If ``make_module`` is a module and not what makes one.

    Examples
    --------
    >>> from slimg.lab.sanity import from_torch
    >>> from_torch(lambda features, classes: None, name="mine").name
    'mine'
    """
    if not callable(make_module) or (hasattr(make_module, "forward") and not isinstance(make_module, type)):
        raise InputError("from_torch takes a function (features, classes) → module, so that each split starts anew")
    name = name or _name(make_module)
    options: dict[str, Any] = {"lr": learning_rate, "weight_decay": weight_decay, "epochs": epochs, "patience": patience}

    def predict(graph: Graph, train: np.ndarray, val: np.ndarray, seed: int) -> Any:
        from slimg.lab.baselines.base import Targets
        from slimg.lab.baselines.inputs import train as learn

        classes = len(graph.classes)
        data, targets = _data(graph, train, val), Targets(graph.codes, classes, train, val)
        learned = learn(lambda: _checked(make_module(graph.d, classes), name), data, targets, random_state=seed, **options)
        if not np.isfinite(learned.scores).all():
            raise InputError(f"{name} gave NaN or infinite logits: lower the learning rate")
        return graph.classes[learned.scores.argmax(axis=1)]

    def prepare(graph: Graph) -> Predictor:
        require("torch", "gnn", f"the model {name}")
        return predict

    return ModelAdapter(name, prepare)


def as_adapter(model: Any, name: str | None = None) -> ModelAdapter:
    """Adapt any model; a str names one of `slimg.lab.baselines` (features are taken as they are), also as "gcn-quick".

    Returns
    -------
    ModelAdapter
    """
    if isinstance(model, str):
        return _baseline(model)
    if _is_adapter(model):
        return ModelAdapter(model.name, model.prepare)
    name = name or _name(model)
    if hasattr(model, "forward") and not _fits_and_predicts(model):
        return _torch_class(model, name)
    if isinstance(model, type) or not _fits_and_predicts(model):
        if not callable(model):
            raise InputError(f"a model needs fit and predict, or is a function that makes one; {name} is neither")
        seeded = _takes(model, "random_state")
        return _estimator(name, lambda seed: model(random_state=seed) if seeded else model())
    if len(_required(model.fit)) > 1:
        raise InputError(
            f"{name}.fit needs {', '.join(_required(model.fit))}, but the checks pass a graph: wrap a scikit-learn"
            " model with sanity.from_sklearn(model)"
        )
    return _estimator(name, lambda seed: _cloned(model, seed))


def as_adapters(models: Any) -> list[ModelAdapter]:
    """Adapt one model, several, or a mapping from names to models; equal names are numbered.

    Returns
    -------
    list of ModelAdapter
    """
    if isinstance(models, Mapping):
        named = [replace(as_adapter(model, str(name)), name=str(name)) for name, model in models.items()]
    else:
        several = isinstance(models, Iterable) and not isinstance(models, str) and not hasattr(models, "fit")
        named = [as_adapter(each) for each in (models if several else [models])]
    if not named:
        raise InputError("no model was given: name at least one")
    names = numbered([each.name for each in named])
    return [replace(each, name=name) for each, name in zip(named, names, strict=True)]


def numbered(names: list[str]) -> list[str]:
    """Distinct names: the second of two equal ones becomes "name (2)".

    Returns
    -------
    list of str
    """
    counts = [names[:place].count(name) for place, name in enumerate(names)]
    return [f"{name} ({count + 1})" if count else name for name, count in zip(names, counts, strict=True)]


def _estimator(name: str, create: Callable[[int], Any]) -> ModelAdapter:
    """A model that ``create(seed)`` makes for each split."""

    def prepare(graph: Graph) -> Predictor:
        first = create(0)
        if _is_adapter(first):
            return first.prepare(graph)
        if not _fits_and_predicts(first):
            raise InputError(f"{name} made an object of type {type(first).__name__}, which lacks fit or predict")
        propagates = callable(getattr(first, "propagate", None)) and _takes(first.fit, "propagated")
        shared = {"propagated": first.propagate(graph)} if propagates else {}

        def predict(graph: Graph, train: np.ndarray, val: np.ndarray, seed: int) -> Any:
            estimator = create(seed)
            rows = {"train": train, "val": val}
            estimator.fit(graph, **{key: rows[key] for key in rows if _takes(estimator.fit, key)}, **shared)
            return estimator.predict(graph) if _required(estimator.predict) else estimator.predict()

        return predict

    return ModelAdapter(name, prepare)


def _baseline(name: str) -> ModelAdapter:
    import slimg.lab.baselines as baselines

    check_names("model", [name], baselines.names(quick=True))
    set_params = baselines.set_known_params
    return _estimator(name, lambda seed: set_params(baselines.get(name), normalize_features=None, random_state=seed))


def _torch_class(module: Any, name: str) -> ModelAdapter:
    """A class of torch modules that are made from the numbers of features and of classes."""
    if not isinstance(module, type) or len(_required(module)) != 2:
        given = f"takes ({', '.join(_required(module))})" if isinstance(module, type) else "is an instance"
        raise InputError(
            f"{name} is a torch module and {given}: give a class that takes (features, classes), or wrap a function that"
            " makes it, sanity.from_torch(lambda features, classes: …)"
        )
    return from_torch(module, name=name)


def _cloned(estimator: Any, seed: int) -> Any:
    """An unfitted copy; its ``random_state`` is the seed unless one is set."""
    if not hasattr(estimator, "get_params"):
        return copy.deepcopy(estimator)
    from sklearn.base import clone

    fresh = clone(estimator)
    if fresh.get_params(deep=False).get("random_state", 0) is None:
        fresh.set_params(random_state=seed)
    return fresh


def _is_adapter(model: Any) -> bool:
    return hasattr(model, "name") and callable(getattr(model, "prepare", None)) and not isinstance(model, type)


def _fits_and_predicts(model: Any) -> bool:
    return callable(getattr(model, "fit", None)) and callable(getattr(model, "predict", None))


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # builtins have no signature
        return []


def _takes(function: Callable[..., Any], name: str) -> bool:
    return any(each.name == name or each.kind is each.VAR_KEYWORD for each in _parameters(function))


def _required(function: Callable[..., Any]) -> list[str]:
    """Names of the arguments that must be given by position."""
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [each.name for each in _parameters(function) if each.kind in positional and each.default is each.empty]


def _name(model: Any) -> str:
    own = getattr(model, "name", None)
    return own if isinstance(own, str) and own else getattr(model, "__name__", None) or type(model).__name__


def _checked(module: Any, name: str) -> Any:
    """The module, called with a Data or with (x, edge_index), whose logits must be nodes × classes."""
    import torch

    class Checked(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.own, self.in_parts = module, len(_required(module.forward)) == 2

        def forward(self, data: Any) -> Any:
            logits = self.own(data.x, data.edge_index) if self.in_parts else self.own(data)
            if logits.ndim != 2 or len(logits) != data.num_nodes:
                raise InputError(f"{name} gave an array of shape {tuple(logits.shape)}: nodes × classes is needed")
            return logits

    return Checked()


def _data(graph: Graph, train: np.ndarray, val: np.ndarray) -> Any:
    """The graph as PyTorch Geometric's Data; ``y`` is −1 where the label is not known."""
    import torch

    Data = require("torch_geometric.data", "gnn", "a torch module").Data
    matrix = graph.adjacency.to_scipy().tocoo()
    masks = np.zeros((2, graph.n), bool)
    masks[0, train] = masks[1, val] = True
    return Data(
        x=torch.tensor(graph.features), y=torch.tensor(graph.codes),
        edge_index=torch.tensor(np.stack([matrix.row, matrix.col]).astype(np.int64)),
        train_mask=torch.tensor(masks[0]), val_mask=torch.tensor(masks[1]),
    )  # fmt: skip
