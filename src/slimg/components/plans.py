"""Components before their rank is known: each is prepared as far as it can be, then solved for that rank.

    U       rows of U·Σ                    its SVD decides the rank
    g(B)    PCA (`slimg.linalg.pca`)
    B       the rows themselves            the ablation without PCA
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from slimg.components.features import dense_rows, rounding_of
from slimg.engine.base import Array, Engine, RowMatrix
from slimg.linalg.pca import Chain
from slimg.linalg.svd import Spectrum, SVDPlan


class Plan(Protocol):
    """Prepared as far as it can be before the rank is known."""

    def solve(self, rank: int, then: Callable[..., Array]) -> tuple[Any, RowMatrix]:
        """The fitted state and the row matrix, to whose rows ``then`` is applied (U gives it the length of rounding too)."""


class Structure:
    """U·Σ, or only its rank."""

    def __init__(self, engine: Engine, svd: SVDPlan, nodes: int, wanted: bool):
        self._engine, self.svd, self.nodes, self.wanted = engine, svd, nodes, wanted

    def prepare(self) -> int:
        self.svd.prepare()
        return self.svd.rank

    def solve(self, rank: int, then: Callable[..., Array]) -> tuple[Spectrum, RowMatrix]:
        return self.svd.solve_rows(lambda rows, sigma: then(rows, rounding_of(sigma)))


class AsItIs:
    """Without PCA: the rows themselves."""

    def __init__(self, engine: Engine, source: RowMatrix | Chain, expected_rank: int, overwrite_input: bool = False):
        self._engine, self._source, self._overwrite_input = engine, source, overwrite_input

    def solve(self, rank: int, then: Callable[..., Array]) -> tuple[None, RowMatrix]:
        source = self._source
        if isinstance(source, Chain):
            source = source.times(self._engine, np.eye(source.shape[1], dtype=np.float32))
        return None, self._engine.map_rows(lambda block: then(dense_rows(block)), source, overwrite_input=self._overwrite_input)
