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
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from slimg.errors import InputError, choices, require
from slimg.graph import Graph

Predictor: TypeAlias = "Callable[[Graph, np.ndarray, np.ndarray, int], Any]"


@runtime_checkable
class ModelAdapter(Protocol):
    """A model with a name that can be run on many splits of many cases."""

    @property
    def name(self) -> str:
        """Heading of its column."""

    def prepare(self, graph: Graph) -> Predictor:
        """Compute what can be computed once per case, from edges and features.

        Returns
        -------
        callable
            ``(graph, train, val, seed)`` → n classes.
        """


@dataclass(frozen=True)
class EstimatorAdapter:
    """A model that ``create(seed)`` makes for each split."""

    name: str
    create: Callable[[int], Any]

    def prepare(self, graph: Graph) -> Predictor:
        first = self.create(0)
        if isinstance(first, ModelAdapter):
            return first.prepare(graph)
        if not _fits_and_predicts(first):
            raise InputError(f"{self.name} made an object of type {type(first).__name__}, which lacks fit or predict")
        propagates = callable(getattr(first, "propagate", None)) and _takes(first.fit, "propagated")
        shared = {"propagated": first.propagate(graph)} if propagates else {}

        def predict(graph: Graph, train: np.ndarray, val: np.ndarray, seed: int) -> Any:
            estimator = self.create(seed)
            rows = {"train": train, "val": val}
            estimator.fit(graph, **{key: rows[key] for key in rows if _takes(estimator.fit, key)}, **shared)
            return estimator.predict(graph) if _required(estimator.predict) else estimator.predict()

        return predict


@dataclass(frozen=True)
class SklearnAdapter:
    """See `from_sklearn`."""

    name: str
    estimator: Any

    def prepare(self, graph: Graph) -> Predictor:
        def predict(graph: Graph, train: np.ndarray, val: np.ndarray, seed: int) -> Any:
            fresh, features = _cloned(self.estimator, seed), np.asarray(graph.features)
            fresh.fit(features[train], graph.codes[train])
            return graph.classes[fresh.predict(features)]

        return predict


@dataclass(frozen=True)
class TorchAdapter:
    """See `from_torch`."""

    name: str
    make_module: Callable[[int, int], Any]
    epochs: int
    patience: int
    learning_rate: float
    weight_decay: float

    def prepare(self, graph: Graph) -> Predictor:
        torch = require("torch", "gnn", f"the model {self.name}")

        def predict(graph: Graph, train: np.ndarray, val: np.ndarray, seed: int) -> Any:
            with torch.random.fork_rng(devices=[]):  # the caller's random numbers go on as if nothing had been drawn
                torch.manual_seed(seed)
                module = self.make_module(graph.d, len(graph.classes))
                best = self._train(module, _data(graph, train, val))
            return graph.classes[best]

        return predict

    def _train(self, module: Any, data: Any) -> np.ndarray:
        """Class numbers of all nodes at the epoch of the best validation accuracy."""
        import torch

        optimizer = torch.optim.Adam(module.parameters(), lr=self.learning_rate, weight_decay=self.weight_decay)
        best, predicted, since = -1.0, np.empty(0, np.int64), 0
        for _ in range(self.epochs):
            module.train()
            optimizer.zero_grad()
            logits = _logits(module, data)[data.train_mask]
            torch.nn.functional.cross_entropy(logits, data.y[data.train_mask]).backward()
            optimizer.step()
            module.eval()
            with torch.no_grad():
                classes = self._classes(_logits(module, data), data)
            accuracy = float((classes == data.y)[data.val_mask].float().mean())
            since += 1
            if accuracy > best:
                best, predicted, since = accuracy, classes.numpy().copy(), 0
            if since >= self.patience:
                break
        return predicted

    def _classes(self, logits: Any, data: Any) -> Any:
        if logits.ndim != 2 or len(logits) != data.num_nodes:
            raise InputError(f"{self.name} gave an array of shape {tuple(logits.shape)}: nodes × classes is needed")
        if not bool(logits.isfinite().all()):
            raise InputError(f"{self.name} gave NaN or infinite logits: lower the learning rate")
        return logits.argmax(dim=1)


def from_sklearn(estimator: Any, name: str | None = None) -> SklearnAdapter:
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
    return SklearnAdapter(name or type(estimator).__name__, estimator)


def from_torch(
    make_module: Callable[[int, int], Any], *, epochs: int = 200, patience: int = 50, learning_rate: float = 0.01,
    weight_decay: float = 5e-4, name: str | None = None,
) -> TorchAdapter:  # fmt: skip
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
    """
    if not callable(make_module) or (hasattr(make_module, "forward") and not isinstance(make_module, type)):
        raise InputError("from_torch takes a function (features, classes) → module, so that each split starts anew")
    return TorchAdapter(name or _name(make_module), make_module, epochs, patience, learning_rate, weight_decay)


def as_adapter(model: Any, name: str | None = None) -> ModelAdapter:
    """Adapt any model; a str names one of `slimg.lab.baselines` (features are taken as they are), also as "gcn-quick".

    Returns
    -------
    ModelAdapter
    """
    if isinstance(model, str):
        return _baseline(model)
    if isinstance(model, ModelAdapter) and not isinstance(model, type):
        return model
    name = name or _name(model)
    if hasattr(model, "forward") and not _fits_and_predicts(model):
        return _torch_class(model, name)
    if isinstance(model, type) or not _fits_and_predicts(model):
        if not callable(model):
            raise InputError(f"a model needs fit and predict, or is a function that makes one; {name} is neither")
        seeded = _takes(model, "random_state")
        return EstimatorAdapter(name, lambda seed: model(random_state=seed) if seeded else model())
    if len(_required(model.fit)) > 1:
        raise InputError(
            f"{name}.fit needs {', '.join(_required(model.fit))}, but the checks pass a graph: wrap a scikit-learn"
            " model with sanity.from_sklearn(model)"
        )
    return EstimatorAdapter(name, lambda seed: _cloned(model, seed))


def as_adapters(models: Any) -> list[ModelAdapter]:
    """Adapt one model, several, or a mapping from names to models; equal names are numbered.

    Returns
    -------
    list of ModelAdapter
    """
    if isinstance(models, Mapping):
        named = [(str(name), as_adapter(model, str(name))) for name, model in models.items()]
    else:
        several = isinstance(models, Iterable) and not isinstance(models, str) and not hasattr(models, "fit")
        named = [(each.name, each) for each in map(as_adapter, models if several else [models])]
    if not named:
        raise InputError("no model was given: name at least one")
    found: list[ModelAdapter] = []
    for place, (name, adapter) in enumerate(named):
        earlier = sum(name == other for other, _ in named[:place])
        name = f"{name} ({earlier + 1})" if earlier else name
        found.append(adapter if adapter.name == name else _Renamed(name, adapter))
    return found


@dataclass(frozen=True)
class _Renamed:
    name: str
    adapter: ModelAdapter

    def prepare(self, graph: Graph) -> Predictor:
        return self.adapter.prepare(graph)


def _baseline(name: str) -> ModelAdapter:
    import slimg.lab.baselines as baselines

    if name not in baselines.names(quick=True):
        raise choices("model", name, baselines.names(quick=True))
    set_params = baselines.set_known_params
    return EstimatorAdapter(name, lambda seed: set_params(baselines.get(name), normalize_features=None, random_state=seed))


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


def _logits(module: Any, data: Any) -> Any:
    return module(data.x, data.edge_index) if len(_required(module.forward)) == 2 else module(data)


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
