"""A graph as networks read it: features with products and dropout of their own, and hops as differentiable functions;
and the one training loop.

    X W        engine.combine(X, W);  gradient for W: Xᵀ G, by the rows of a stored Xᵀ    X sparse (below a density of 15 %)
    M H        one pass of an operator over A (`linalg.operators`);  gradient for H: Mᵀ G

Both run on the engine, so nothing n × d is made dense that need not be, no normalised matrix is stored, and torch's own
gradient of a sparse product, which transposes the matrix each time, is not needed (forward and backward take 7 times as
long on Photo, 4 times on Cora).

Dropout draws bits from a numpy generator: 0.5 takes one bit per entry, 15 times as fast as torch's.

    min over weights  mean CE over the rows to learn from  +  (weight_decay/2) ‖weights‖²          Adam, all nodes at once

After each epoch (one step) the accuracy on the rows to check is taken without dropout; the run ends after ``epochs``, or
after ``patience`` epochs without a better one, and the first epoch with the best accuracy is kept. Without such rows it runs
for a given number of epochs.

torch runs on one thread, the products with the graph on the engine's, so that the number of threads changes no bit. Random
numbers of torch are drawn from a state of its own that is put back afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from slimg.components import Component, Components, Structure, compute_components, paper_components
from slimg.components.row_scaling import dense_rows, prepare_features
from slimg.engine.base import Array, Engine
from slimg.engine.blas import one_thread
from slimg.graph.adjacency import Adjacency
from slimg.graph.graph import Graph
from slimg.lab.baselines.base import Learned, Targets
from slimg.lab.propagators.evaluation import two_hop_neighbours
from slimg.linalg.operators import Operator, operator

SPARSE_BELOW = 0.15
"""Density up to which products with X are faster through its entries."""


@dataclass(eq=False)
class Inputs:
    """What the networks are computed from; each part is made when it is first needed and shared by all settings."""

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
            adjacency, two = self.graph.adjacency, name == "A2_sym"
            if two:
                adjacency, _ = Adjacency.from_scipy(two_hop_neighbours(adjacency.to_scipy()))
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


# training -----------------------------------------------------------------------------------------------------------


@contextmanager
def isolated(random_state: int) -> Iterator[None]:
    """torch and BLAS on one thread, torch's random numbers from this seed; all settings return to what they were."""
    threads = torch.get_num_threads()
    with one_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(random_state)
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(threads)


def train(
    make: Callable[[], torch.nn.Module], inputs: Inputs, targets: Targets, *, lr: float, weight_decay: float, epochs: int,
    patience: int, random_state: int,
) -> Learned:  # fmt: skip
    """A network's scores at the epoch kept; its model is the network with the weights of that epoch."""
    with isolated(random_state):
        module = make()
        optimizer = torch.optim.Adam(module.parameters(), lr=lr, weight_decay=weight_decay, fused=True)
        rows, codes = map(torch.from_numpy, (targets.fit, targets.codes[targets.fit]))
        kept, weights = Learned(np.full((len(targets.codes), targets.classes), np.nan, np.float32), 0.0, np.inf), None
        last = targets.iterations or epochs
        for epoch in range(1, last + 1):
            if not _step(module, optimizer, inputs, rows, codes):
                break
            if targets.check is not None or epoch == last:
                found = targets.learned(_scores(module, inputs))
                better = weights is None or found.val_accuracy > kept.val_accuracy
                if better and np.isfinite(found.scores).all():
                    kept = replace(found, scores=found.scores.copy(), iteration=epoch)
                    weights = {name: value.clone() for name, value in module.state_dict().items()}
            if targets.check is not None and epoch - kept.iteration >= patience:
                break
        if weights is None:  # the loss was no number from the beginning: scores that are none, right for no row
            return replace(kept, iterations=epoch)
        module.load_state_dict(weights)
        return replace(kept, iterations=epoch, model=module.eval())


def warm_up(make: Callable[[], torch.nn.Module], inputs: Inputs) -> None:
    """Compute all that a network reads, by building it and running it once."""
    with isolated(0):
        _scores(make(), inputs)


def _scores(module: torch.nn.Module, inputs: Inputs) -> np.ndarray:
    """Without dropout (n × classes)."""
    with torch.no_grad():
        return module.eval()(inputs).numpy()


def _step(module: Any, optimizer: Any, inputs: Inputs, rows: Any, codes: Any) -> bool:
    """One step of Adam; False if the loss is no number any more."""
    module.train()
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(module(inputs)[rows], codes)
    if not bool(torch.isfinite(loss)):
        return False
    loss.backward()
    optimizer.step()
    return True
