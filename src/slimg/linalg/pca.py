"""Centred principal components of B = Opʰ X (n × d), by the cheaper of two Gram matrices.

With μ = Bᵀ1/n, the centred B̄ = B − 1μᵀ is never formed:

    B̄ᵀB̄ = BᵀB − n μμᵀ                      (d × d)      eigenvectors V, eigenvalues σ²;   scores  B V − 1(μᵀV)
    B̄B̄ᵀ = BBᵀ − m1ᵀ − 1mᵀ + (μᵀμ)11ᵀ       (n × n)      m = Bμ;   scores  U σ;            V = B̄ᵀU σ⁻¹

A direction with σ ≤ 4ε‖B‖_F, ε that of float32, is rounding of B and is dropped: a component keeps the directions it has.
Signs are fixed: the loading of largest magnitude is positive.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from slimg.engine.base import Array, Engine, Tall
from slimg.engine.blas import matmul, one_thread, self_gram
from slimg.linalg.svd import signs

RowMap = Callable[[Array], Array]


@dataclass(frozen=True)
class PCA:
    """A fitted projection b ↦ (b − mean)·componentsᵀ: mean (d,), components (k × d), singular values (k,) of B̄."""

    mean: Array
    components: Array
    singular_values: Array

    def project(self, block: Array) -> Array:
        """Scores (rows × k) of dense rows (rows × d)."""
        components = np.asarray(self.components, block.dtype)
        return matmul(block, components.T) - components @ self.mean.astype(block.dtype)


def principal_components(engine: Engine, tall: Tall, rank: int, then: RowMap | None = None) -> tuple[PCA, Tall]:
    """The first ``rank`` components of a tall and its scores (n × k, k ≤ rank), to which ``then`` is applied by rows."""
    n, d = tall.shape
    mean = engine.sum_rows(lambda block: np.asarray(block.sum(axis=0, dtype=np.float64)).ravel(), tall) / n
    if n < d:
        return _by_rows(engine, tall, mean, rank, then)
    return _by_columns(engine, tall, mean, rank, then)


def _by_columns(engine: Engine, tall: Tall, mean: Array, rank: int, then: RowMap | None) -> tuple[PCA, Tall]:
    """Through B̄ᵀB̄."""
    n, _ = tall.shape
    gram = engine.gram(tall)
    norm = float(np.trace(gram))
    gram -= n * np.outer(mean, mean)
    values, vectors = _top(gram, rank, norm)
    pca = PCA(mean, (vectors * signs(vectors)).T, np.sqrt(values))
    return pca, scores(engine, tall, pca, then)


def scores(engine: Engine, tall: Tall, pca: PCA, then: RowMap | None = None) -> Tall:
    """B V − 1(μᵀV), and ``then`` in the same pass."""
    loadings = np.ascontiguousarray(pca.components.T, np.float32)
    shift = (pca.components @ pca.mean).astype(np.float32)
    finish = then or (lambda block: block)
    if isinstance(tall, np.ndarray):
        return engine.map_rows(lambda block: finish(matmul(block, loadings) - shift), tall)
    return engine.map_rows(lambda block: finish(block - shift), engine.combine(tall, loadings))


def _by_rows(engine: Engine, tall: Tall, mean: Array, rank: int, then: RowMap | None) -> tuple[PCA, Tall]:
    """Through B̄B̄ᵀ: n < d, so B is small enough to be an array."""
    b = engine.to_array(tall).astype(np.float64)
    with one_thread():
        norm = float(np.square(b).sum())
        b -= mean
        values, vectors = _top(self_gram(np.ascontiguousarray(b.T)), rank, norm)
        sigma = np.sqrt(values)
        components = matmul(np.ascontiguousarray(vectors.T), b) / sigma[:, None]
        sign = signs(components.T)
        components *= sign[:, None]
    pca = PCA(mean, components, sigma)
    result = engine.tall(vectors * (sigma * sign))
    return pca, engine.map_rows(then, result) if then else result


def _top(gram: Array, rank: int, norm: float) -> tuple[Array, Array]:
    """The largest eigenvalues above rounding, falling, and their eigenvectors."""
    size = len(gram)
    with one_thread():
        values, vectors = eigh(gram, subset_by_index=(max(size - rank, 0), size - 1), driver="evr")
    floor = (4 * np.finfo(np.float32).eps) ** 2 * norm
    values, vectors = values[::-1], vectors[:, ::-1]
    keep = int(np.count_nonzero(values > floor))
    return values[:keep], vectors[:, :keep]
