"""A graph as networks read it: features with products and dropout of their own, and hops as differentiable functions.

    X W        engine.combine(X, W);  gradient for W: Xᵀ G, by the rows of a stored Xᵀ    X sparse (below a density of 15 %)
    M H        one pass of an operator over A (`linalg.operators`);  gradient for H: Mᵀ G

Both run on the engine, so nothing n × d is made dense that need not be, no normalised matrix is stored, and torch's own
gradient of a sparse product, which transposes the matrix each time, is not needed (forward and backward take 7 times as
long on Photo, 4 times on Cora).

Dropout draws bits from a numpy generator: 0.5 takes one bit per entry, 15 times as fast as torch's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from slimg.components import Component, Components, Structure, compute_components, paper_components
from slimg.components.row_scaling import dense_rows, prepare_features
from slimg.engine.base import Array, Engine
from slimg.graph.adjacency import Adjacency
from slimg.graph.graph import Graph
from slimg.linalg.operators import Operator, operator

SPARSE_BELOW = 0.15
"""Density up to which products with X are faster through its entries."""


@dataclass(eq=False)
class Inputs:
    """What the networks are computed from; each part is made when it is first asked for and shared by all settings."""

    graph: Graph
    engine: Engine
    normalize_features: str | None = "row"
    random_state: int = 0
    _operators: dict[str, Operator] = field(default_factory=dict, repr=False)

    @cached_property
    def x(self) -> torch.Tensor | SparseRows:
        """Prepared features (n × d)."""
        row_matrix = prepare_features(self.engine, self.graph.features, self.normalize_features)
        if self.engine.is_sparse(row_matrix):
            if row_matrix.nnz < SPARSE_BELOW * row_matrix.shape[0] * row_matrix.shape[1]:
                return SparseRows.of(row_matrix, self.engine)
            row_matrix = self.engine.map_rows(dense_rows, row_matrix)
        return torch.from_numpy(np.array(self.engine.to_array(row_matrix)))

    @cached_property
    def components(self) -> torch.Tensor:
        """SlimG's P(A, X), its blocks side by side (n × Σ widths)."""
        return _side_by_side(self._compute(paper_components(normalize=self.normalize_features)))

    @cached_property
    def structure(self) -> torch.Tensor:
        """SlimG's U (n × r)."""
        return _side_by_side(self._compute([Structure()]))

    @cached_property
    def attended(self) -> torch.Tensor:
        """Edges in both directions and a loop at each node (2 × entries)."""
        matrix = self.graph.adjacency.to_scipy().tocoo()
        loops = np.arange(self.graph.n)
        ends = [np.concatenate([part, loops]) for part in (matrix.row, matrix.col)]
        return torch.from_numpy(np.stack(ends).astype(np.int64))

    def hop(self, name: str, h: torch.Tensor) -> torch.Tensor:
        """An operator of A, or (A2_sym) of the pairs at distance two, times h."""
        if name not in self._operators:
            two = name == "A2_sym"
            adjacency = strict_two_hops(self.graph.adjacency) if two else self.graph.adjacency
            self._operators[name] = operator("A_sym" if two else name, adjacency)
        return _Hop.apply(h, self._operators[name], self.engine)

    def _compute(self, components: Sequence[Component]) -> Components:
        return compute_components(self.graph, self.engine, components=components, random_state=self.random_state)


@dataclass(frozen=True, eq=False)
class SparseRows:
    """X in compressed rows together with Xᵀ, whose values are those of X in another order."""

    rows: Any
    columns: Any
    order: Array
    engine: Engine

    @classmethod
    def of(cls, matrix: Any, engine: Engine) -> SparseRows:
        """From a CSR matrix (n × d)."""
        flipped = sp.csr_array(_filled(matrix, np.arange(matrix.nnz)).T)
        return cls(sp.csr_array(matrix), _filled(flipped, matrix.data[flipped.data]), flipped.data, engine)

    def times(self, weights: torch.Tensor) -> torch.Tensor:
        """X W (n × k)."""
        return _Product.apply(weights, self)

    def scaled(self, factors: Array) -> SparseRows:
        """Each entry times a factor of its own."""
        values = self.rows.data * factors
        return SparseRows(_filled(self.rows, values), _filled(self.columns, values[self.order]), self.order, self.engine)


class Dropout(torch.nn.Module):
    """Each entry becomes zero with probability p, else x / (1 − p), while training."""

    def __init__(self, p: float, rng: np.random.Generator):
        super().__init__()
        self.p: float = p
        self.rng: np.random.Generator = rng

    def forward(self, x: Any) -> Any:
        if not self.training or self.p == 0:
            return x
        if isinstance(x, SparseRows):
            return x.scaled(self._factors(x.rows.nnz))
        return x * torch.from_numpy(self._factors(x.numel())).view(x.shape)

    def _factors(self, count: int) -> Array:
        if self.p == 0.5:
            drawn = np.frombuffer(self.rng.bytes(-(-count // 8)), np.uint8)
            kept: Array = np.unpackbits(drawn, count=count)
        else:
            kept = self.rng.random(count, np.float32) >= self.p
        return kept.astype(np.float32) * np.float32(1 / (1 - self.p))


class Affine(torch.nn.Module):
    """h W + b for dense or sparse h; W (inputs × outputs) starts as Glorot's, b at zero."""

    def __init__(self, inputs: int, outputs: int, bias: bool = True):
        super().__init__()
        self.weight: torch.nn.Parameter = torch.nn.Parameter(torch.empty(inputs, outputs))
        torch.nn.init.xavier_uniform_(self.weight)
        self.bias: torch.nn.Parameter | None = torch.nn.Parameter(torch.zeros(outputs)) if bias else None

    def forward(self, h: torch.Tensor | SparseRows) -> torch.Tensor:
        out = h.times(self.weight) if isinstance(h, SparseRows) else h @ self.weight
        return out if self.bias is None else out + self.bias


def strict_two_hops(adjacency: Adjacency) -> Adjacency:
    """Pairs of distinct nodes that share a neighbour and are not neighbours; binary."""
    matrix = adjacency.to_scipy()
    matrix.data = np.ones_like(matrix.data)
    reached = matrix @ matrix
    two_hops = sp.csr_array(reached - reached.multiply(matrix))
    two_hops.setdiag(0)
    two_hops.eliminate_zeros()
    two_hops.data[:] = 1
    found, _ = Adjacency.from_scipy(two_hops)
    return found


class _Hop(torch.autograd.Function):
    """M H and its gradient Mᵀ G."""

    @staticmethod
    def forward(ctx: Any, h: torch.Tensor, matrix: Operator, engine: Engine) -> torch.Tensor:
        ctx.matrix, ctx.engine = matrix, engine
        return _applied(matrix, engine, h)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        return _applied(ctx.matrix.transposed, ctx.engine, gradient), None, None


class _Product(torch.autograd.Function):
    """X W and its gradient Xᵀ G."""

    @staticmethod
    def forward(ctx: Any, weights: torch.Tensor, x: SparseRows) -> torch.Tensor:
        ctx.x = x
        return torch.from_numpy(x.engine.combine(x.rows, weights.detach().numpy()))

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        return torch.from_numpy(ctx.x.engine.combine(ctx.x.columns, gradient.contiguous().numpy())), None


def _applied(matrix: Operator, engine: Engine, h: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(engine.to_array(matrix.apply(engine, engine.row_matrix(h.detach().contiguous().numpy()))))


def _filled(matrix: sp.csr_array, values: Array) -> sp.csr_array:
    """The same pattern with other values."""
    return sp.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)


def _side_by_side(parts: Components) -> torch.Tensor:
    return torch.from_numpy(parts.labelled_rows(np.arange(next(iter(parts.blocks.values())).shape[0])))
