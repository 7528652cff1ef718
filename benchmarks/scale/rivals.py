"""What SlimG is compared with on generated graphs: logistic regression on X, and SGC.

    LR     softmax(X W + b)            X prepared as for SlimG (rows above their minimum, summing to one)
    SGC    softmax(Ã_sym² X W + b)     the two products through torch's CSR (MKL)

Both are scikit-learn's logistic regression with the mean loss (C = 1 / (decay · m)), a grid of two weight decays, at most
1,000 iterations; the better on the validation nodes predicts. Columns are standardised: prepared rows are tiny numbers, on
which L-BFGS would stop at once.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LogisticRegression

from slimg.graph import Graph
from slimg.graph.splits import stratified

DECAYS = (1e-3, 1e-5)


@dataclass(frozen=True)
class Run:
    """Accuracies on the nodes that choose and on the test nodes, seconds of propagation and of learning (with predictions
    for all nodes)."""

    chosen_by: float
    accuracy: float
    propagation: float
    learning: float


def prepared(graph: Graph) -> np.ndarray:
    """X with rows above their minimum and summing to one, in place of SlimG's own first step."""
    x = np.asarray(graph.features) - np.min(graph.features, axis=1, keepdims=True)
    x /= x.sum(axis=1, keepdims=True)
    return x


def split_of(graph: Graph, seed: int = 0) -> dict[str, np.ndarray]:
    """The paper's split: 2.5 % / 2.5 % / 95 %, stratified."""
    parts = stratified(graph, random_state=seed)
    return {"train": parts.train, "val": parts.val, "test": parts.test}


def logistic(graph: Graph, x: np.ndarray, rows: dict[str, np.ndarray], propagation: float = 0.0) -> Run:
    """Learn on the training rows of x, choose the decay, predict every node."""
    begun = time.perf_counter()
    train, val, test = rows["train"], rows["val"], rows["test"]
    mean, scale = x[train].mean(axis=0), x[train].std(axis=0) + 1e-12
    best: tuple[float, LogisticRegression] | None = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for decay in DECAYS:
            model = LogisticRegression(C=1 / (decay * len(train)), max_iter=1000)
            model.fit((x[train] - mean) / scale, graph.codes[train])
            accuracy = float(model.score((x[val] - mean) / scale, graph.codes[val]))
            if best is None or accuracy > best[0]:
                best = accuracy, model
    assert best is not None
    weights = (best[1].coef_ / scale).astype(np.float32)
    scores = x @ weights.T + (best[1].intercept_ - weights @ mean).astype(np.float32)
    predicted = best[1].classes_[scores.argmax(axis=1)]
    accuracy = float(np.mean(predicted[test] == graph.codes[test]))
    return Run(best[0], accuracy, propagation, time.perf_counter() - begun)


def sgc_features(graph: Graph, x: np.ndarray) -> tuple[np.ndarray, float]:
    """Ã_sym² X through torch CSR, and the seconds of the two products."""
    import torch

    warnings.filterwarnings("ignore", message="Sparse")
    matrix = with_loops(graph)
    row_matrix = torch.from_numpy(x)
    begun = time.perf_counter()
    for _ in range(2):
        row_matrix = matrix @ row_matrix
    return row_matrix.numpy(), time.perf_counter() - begun


def with_loops(graph: Graph):
    """Ã_sym as a torch CSR tensor."""
    import scipy.sparse as sp
    import torch

    scale = (np.diff(graph.adjacency.indptr) + 1.0) ** -0.5
    a = graph.adjacency.to_scipy() + sp.eye_array(graph.n, dtype=np.float32, format="csr")
    values = np.repeat(scale, np.diff(a.indptr)) * scale[a.indices]
    parts = a.indptr.astype(np.int32), a.indices.astype(np.int32), values.astype(np.float32)
    return torch.sparse_csr_tensor(*(torch.from_numpy(each) for each in parts), size=a.shape)


def sgc(graph: Graph, x: np.ndarray, rows: dict[str, np.ndarray]) -> Run:
    """The whole of SGC."""
    features, seconds = sgc_features(graph, x)
    return logistic(graph, features, rows, seconds)
