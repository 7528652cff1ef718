"""Models of other libraries as contenders.

    from_sklearn   ŷ = clone(estimator).fit(X[train], y[train]).predict(X): the features alone
    from_torch     full-batch Adam on the cross-entropy of train; the epoch of the best validation accuracy answers
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from slimg.errors import InputError, require
from slimg.graph import Graph
from slimg.lab.sanity.contender import Answer, cloned, required


def from_sklearn(estimator: Any, name: str | None = None) -> SklearnContender:
    """A scikit-learn classifier (or pipeline, or search) on the features; edges and validation rows are not used."""
    if isinstance(estimator, type) or not hasattr(estimator, "fit") or not hasattr(estimator, "predict"):
        raise InputError(f"from_sklearn takes an estimator with fit and predict, not {estimator!r}")
    return SklearnContender(name or type(estimator).__name__, estimator)


def from_torch(
    make_module: Callable[[int, int], Any],
    *,
    epochs: int = 200,
    patience: int = 50,
    learning_rate: float = 0.01,
    weight_decay: float = 5e-4,
    name: str | None = None,
) -> TorchContender:
    """A torch module that takes a `torch_geometric.data.Data`, or (x, edge_index), and gives n × classes logits.

    Parameters
    ----------
    make_module : called with the number of features and of classes, once per split
    epochs, patience : steps of Adam at most, and steps without a better validation accuracy after which it stops
    """
    if not callable(make_module) or (hasattr(make_module, "forward") and not isinstance(make_module, type)):
        raise InputError("from_torch takes a function (features, classes) → module, so that each split starts afresh")
    own = getattr(make_module, "__name__", type(make_module).__name__)
    return TorchContender(name or own, make_module, epochs, patience, learning_rate, weight_decay)


@dataclass(frozen=True)
class SklearnContender:
    """See `from_sklearn`."""

    name: str
    estimator: Any

    def begin(self, graph: Graph) -> Answer:
        def answer(graph: Graph, train: np.ndarray, val: np.ndarray, seed: int) -> Any:
            fresh = cloned(self.estimator, seed)
            features = np.asarray(graph.features)
            fresh.fit(features[train], graph.codes[train])
            return graph.classes[fresh.predict(features)]

        return answer


@dataclass(frozen=True)
class TorchContender:
    """See `from_torch`."""

    name: str
    make_module: Callable[[int, int], Any]
    epochs: int
    patience: int
    learning_rate: float
    weight_decay: float

    def begin(self, graph: Graph) -> Answer:
        torch = require("torch", "gnn", f"the model {self.name}")

        def answer(graph: Graph, train: np.ndarray, val: np.ndarray, seed: int) -> Any:
            with torch.random.fork_rng(devices=[]):  # the caller's random numbers go on as if nothing had been drawn
                torch.manual_seed(seed)
                module = self.make_module(graph.d, len(graph.classes))
                best = self._train(module, _data(graph, train, val))
            return graph.classes[best]

        return answer

    def _train(self, module: Any, data: Any) -> np.ndarray:
        """Class numbers of all nodes at the epoch of the best validation accuracy."""
        import torch

        optimizer = torch.optim.Adam(module.parameters(), lr=self.learning_rate, weight_decay=self.weight_decay)
        best, answers, since = -1.0, np.empty(0, np.int64), 0
        for _ in range(self.epochs):
            module.train()
            optimizer.zero_grad()
            logits = _logits(module, data)[data.train_mask]
            torch.nn.functional.cross_entropy(logits, data.y[data.train_mask]).backward()
            optimizer.step()
            module.eval()
            with torch.no_grad():
                said = self._classes(_logits(module, data), data)
            right = float((said == data.y)[data.val_mask].float().mean())
            since = 0 if right > best else since + 1
            if right > best:
                best, answers = right, said.numpy().copy()
            if since >= self.patience:
                break
        return answers

    def _classes(self, logits: Any, data: Any) -> Any:
        if logits.ndim != 2 or len(logits) != data.num_nodes:
            raise InputError(f"{self.name} gave an array of shape {tuple(logits.shape)}: nodes × classes is needed")
        if not bool(logits.isfinite().all()):
            raise InputError(f"{self.name} gave NaN or infinite logits: lower the learning rate")
        return logits.argmax(dim=1)


def _logits(module: Any, data: Any) -> Any:
    return module(data.x, data.edge_index) if len(required(module.forward)) == 2 else module(data)


def _data(graph: Graph, train: np.ndarray, val: np.ndarray) -> Any:
    """The graph as PyTorch Geometric's Data; ``y`` is −1 where the label is not known."""
    import torch

    Data = require("torch_geometric.data", "gnn", "a torch module").Data
    matrix = graph.adjacency.to_scipy().tocoo()
    masks = np.zeros((2, graph.n), bool)
    masks[0, train] = masks[1, val] = True
    return Data(
        x=torch.tensor(graph.features),
        edge_index=torch.tensor(np.stack([matrix.row, matrix.col]).astype(np.int64)),
        y=torch.tensor(graph.codes),
        train_mask=torch.tensor(masks[0]),
        val_mask=torch.tensor(masks[1]),
    )
