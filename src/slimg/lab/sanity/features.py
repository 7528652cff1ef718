"""Features that say something about the class, about the graph, or nothing.

    random      x ~ U(0, 1)^d
    semantic    v_1 … v_c ~ U(0, 1)^d, each divided by its sum; x ~ U(0, 1)^d given that argmax_k x·v_k is the label
    structural  A ≈ UΣVᵀ of rank d; X = ReLU(U), each column then of mean 0 and variance 1

The condition of semantic features is met by rejection: what a class does not need is drawn for another one, which has
the same distribution as redrawing node by node.
"""

from __future__ import annotations

import numpy as np

from slimg.engine import Engine, MemoryEngine
from slimg.engine.blas import matmul, one_thread
from slimg.errors import InputError
from slimg.graph.adjacency import Adjacency
from slimg.linalg import truncated_svd

BATCH = 1 << 12
"""Vectors drawn at a time."""
DRAWS_PER_NODE = 200
"""Draws after which the rejection gives up: some class is hardly ever the largest product."""


def random_features(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """X of U(0, 1), float32, n × d."""
    return rng.random((n, d), dtype=np.float32)


def semantic_features(labels: np.ndarray, d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """X (float32, n × d) and the vectors of the classes (float64, c × d)."""
    sizes = np.bincount(labels)
    vectors = rng.random((len(sizes), d))
    vectors /= vectors.sum(axis=1, keepdims=True)
    features = np.empty((len(labels), d), np.float32)
    waiting = [np.flatnonzero(labels == k) for k in range(len(sizes))]
    for _ in range(-(-DRAWS_PER_NODE * len(labels) // BATCH)):
        if not any(map(len, waiting)):
            return features, vectors
        drawn = random_features(BATCH, d, rng)
        with one_thread():
            said = matmul(drawn.astype(np.float64), vectors.T).argmax(axis=1)
        for k, rows in enumerate(waiting):
            fit = drawn[said == k][: len(rows)]
            features[rows[: len(fit)]] = fit
            waiting[k] = rows[len(fit) :]
    raise InputError(f"d={d} features cannot tell c={len(sizes)} classes apart in any direction: raise d or lower c")


def structural_features(adjacency: Adjacency, d: int, engine: Engine | None = None) -> np.ndarray:
    """X (float32, n × d) from the singular vectors of A; a column that the ReLU cut off whole stays zero."""
    if not 0 < d <= adjacency.n:
        raise InputError(f"structural features need d between 1 and n={adjacency.n:,}, not {d}")
    if adjacency.nnz == 0:
        raise InputError("structural features need edges, but none was drawn: raise n or the density")
    engine = engine or MemoryEngine()
    spectrum = truncated_svd(engine, adjacency, energy=np.inf, max_rank=d)
    positive = np.maximum(engine.to_array(spectrum.vectors), 0).astype(np.float64)
    spread = positive.std(axis=0)
    return ((positive - positive.mean(axis=0)) / np.where(spread > 0, spread, 1)).astype(np.float32)


def replace_rows(features: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """X in which a share of the rows holds entries drawn at random from the same columns: only the scale stays."""
    n, d = features.shape
    rows = rng.permutation(n)[: round(share * n)]
    noisy = features.copy()
    noisy[rows] = features[rng.integers(n, size=(len(rows), d)), np.arange(d)]
    return noisy
