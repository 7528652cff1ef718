"""The networks, as functions of `Inputs` to logits (n × classes).

σ = ReLU, H₀ = X, Wₗ with a bias where the layer has one; dropout before each product with weights:

    GCN        Hₗ = σ(Ã_sym Hₗ₋₁ Wₗ), the last without σ                                          Kipf & Welling, ICLR 2017
    GCN tuned  Hₗ = σ(norm(Ã_sym Hₗ₋₁ Wₗ + Hₗ₋₁ Vₗ)), V with ``residual``, norm by columns (batch), rows (layer) or
               none; then H_K W; dropout after σ, not on X                                        Luo et al., NeurIPS 2024
    SAGE       Hₗ = σ(A_row Hₗ₋₁ Wₗ + Hₗ₋₁ Vₗ), the last without σ                              Hamilton et al., NeurIPS 2017
    GCNII      H₀ = σ(XW), Hₗ = σ(T((1 − βₗ)I + βₗWₗ)), T = (1 − α)Ã_sym Hₗ₋₁ + αH₀,
               βₗ = log(θ/l + 1); then H_K W                                                      Chen et al., ICML 2020
    H₂GCN      R₀ = σ(XW), Rₖ = A_sym Rₖ₋₁ ‖ A²_sym Rₖ₋₁ (neighbours; strictly at distance two);
               then (R₀ ‖ … ‖ R_K) W                                                              Zhu et al., NeurIPS 2020
    APPNP      Z₀ = MLP₂(X), Zₖ = (1 − α)Ã_sym Zₖ₋₁ + αZ₀                                         Klicpera et al., ICLR 2019
    GPR-GNN    Σ_{k=0}^K γₖ Ã_sym^k MLP₂(X); γₖ start at α(1 − α)^k, γ_K at (1 − α)^K            Chien et al., ICLR 2021
    GAT        8 heads of hidden/8 columns, ELU, one head at the end; attention is dropped too   Veličković et al., ICLR 2018
    MLP-2, -3  on X; ``slimg_…`` on SlimG's U ‖ g(X) ‖ g(A_row²X) ‖ g(Ã_sym²X)
    nonlinear  MLP₂(U) ‖ MLP₂(X) ‖ GCN₂(X; A_row) ‖ GCN₂(X; Ã_sym), then MLP₂
    LINKX      h_A = AW, h_X = XV, then MLP_K(σ((h_A ‖ h_X)W + h_A + h_X))                        Lim et al., NeurIPS 2021

GCN, GCNII, APPNP and GAT are layers of PyTorch Geometric; the first three get their hops from `Inputs`.

A graph as networks read it: features with products and dropout of their own, and hops as differentiable functions;
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

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch.nn import Module, ModuleList
from torch_geometric.nn import APPNP, GATConv, GCN2Conv, GCNConv

from slimg.components import Component, Components, Structure, compute_components, paper_components
from slimg.components.row_scaling import dense_rows, prepare_features
from slimg.engine.base import Array, Engine
from slimg.engine.blas import one_thread
from slimg.errors import InputError
from slimg.graph.adjacency import Adjacency
from slimg.graph.graph import Graph
from slimg.lab.baselines.base import Learned, Targets
from slimg.lab.propagators.evaluation import two_hop_neighbours
from slimg.linalg.operators import Operator, operator


@dataclass(frozen=True)
class Shape:
    """Numbers that a network is built from, where its dropout draws from, and the graph it will read."""

    features: int
    classes: int
    nodes: int
    hidden: int
    dropout: float
    rng: np.random.Generator
    inputs: Inputs | None = None

    def widths(self, layers: int, outputs: int | None = None) -> list[int]:
        """Columns before the first layer and after each; the last gives one per class unless told otherwise."""
        return [self.features, *[self.hidden] * (layers - 1), self.classes if outputs is None else outputs]


def build(name: str, shape: Shape, inputs: Inputs, setting: dict[str, Any]) -> Module:
    """The network of that name; ``setting`` holds its hyperparameters and those of Adam, which are left out."""
    options = {key: value for key, value in setting.items() if key not in ("lr", "weight_decay")}
    return _BUILDERS[name](replace(shape, inputs=inputs), **options)


def _by_operator(layer: type[Module]) -> type[Module]:
    """A layer of PyTorch Geometric whose messages are passed by one product: its edge_index is a function h ↦ M h."""

    def propagate(self: Any, edge_index: Callable[[Any], Any], x: Any, edge_weight: Any = None) -> Any:
        return edge_index(x)

    return type(layer.__name__, (layer,), {"propagate": propagate, "__doc__": layer.__doc__})


_GCNLayer, _GCN2Layer, _APPNPLayer = (_by_operator(layer) for layer in (GCNConv, GCN2Conv, APPNP))


class _Dropping(Module):
    """A network that applies dropout."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.drop: Dropout = Dropout(shape.dropout, shape.rng)


class _Stack(_Dropping):
    """Layers one after the other, with σ between them and dropout before each."""

    def __init__(self, shape: Shape, layers: Iterable[Module]):
        super().__init__(shape)
        self.layers: ModuleList = ModuleList(layers)

    def of(self, h: Any, *more: Any) -> torch.Tensor:
        for place, layer in enumerate(self.layers):
            h = layer(self.drop(F.relu(h) if place else h), *more)
        return h


class MLP(_Stack):
    """Affine maps on one part of the inputs."""

    def __init__(self, shape: Shape, widths: list[int], part: str = "x"):
        super().__init__(shape, (Affine(a, b) for a, b in pairwise(widths)))
        self.part: str = part

    def forward(self, inputs: Inputs) -> torch.Tensor:
        return self.of(getattr(inputs, self.part))


class GCN(_Stack):
    """K layers over one operator."""

    def __init__(self, shape: Shape, K: int, outputs: int | None = None, hop: str = "Ã_sym"):
        widths = shape.widths(K, outputs)
        super().__init__(shape, (_GCNLayer(a, b, normalize=False) for a, b in pairwise(widths)))
        self.layers[0].lin = Affine(widths[0], widths[1], bias=False)  # the layer's own takes no sparse X
        self.hop: str = hop

    def forward(self, inputs: Inputs) -> torch.Tensor:
        return self.of(inputs.x, lambda t: inputs.hop(self.hop, t))


class TunedGCN(_Dropping):
    """GCN with residual connections and normalised layers, as tuned GNNs have them; norms bring the bias of a layer."""

    def __init__(self, shape: Shape, K: int, residual: int, norm: str):
        super().__init__(shape)
        pairs, bias = list(pairwise(shape.widths(K + 1)[:-1])), norm == "none"
        self.around: ModuleList = ModuleList(Affine(a, b, bias=bias) for a, b in pairs)
        self.own: ModuleList = ModuleList(Affine(a, b, bias=False) for a, b in pairs if residual)
        kind = {"batch": torch.nn.BatchNorm1d, "layer": torch.nn.LayerNorm, "none": torch.nn.Identity}[norm]
        self.norms: ModuleList = ModuleList(kind(b) for _, b in pairs)
        self.last: Affine = Affine(shape.hidden, shape.classes)

    def forward(self, inputs: Inputs) -> torch.Tensor:
        h: Any = inputs.x
        for place, (around, norm) in enumerate(zip(self.around, self.norms, strict=True)):
            own = self.own[place](h) if len(self.own) else 0.0
            h = self.drop(F.relu(norm(inputs.hop("Ã_sym", around(h)) + own)))
        return self.last(h)


class SAGE(_Dropping):
    """Means over neighbours are taken after the product, which is the same and costs hidden columns instead of features."""

    def __init__(self, shape: Shape, K: int):
        super().__init__(shape)
        pairs = list(pairwise(shape.widths(K)))
        self.around: ModuleList = ModuleList(Affine(a, b, bias=False) for a, b in pairs)
        self.own: ModuleList = ModuleList(Affine(a, b) for a, b in pairs)

    def forward(self, inputs: Inputs) -> torch.Tensor:
        h: Any = inputs.x
        for place, (around, own) in enumerate(zip(self.around, self.own, strict=True)):
            h = self.drop(F.relu(h) if place else h)
            h = inputs.hop("A_row", around(h)) + own(h)
        return h


class GCNII(_Dropping):
    def __init__(self, shape: Shape, K: int, alpha: float, theta: float):
        super().__init__(shape)
        self.first: Affine = Affine(shape.features, shape.hidden)
        self.last: Affine = Affine(shape.hidden, shape.classes)
        layers = (_GCN2Layer(shape.hidden, alpha, theta, layer, normalize=False) for layer in range(1, K + 1))
        self.layers: ModuleList = ModuleList(layers)

    def forward(self, inputs: Inputs) -> torch.Tensor:
        h = start = F.relu(self.first(self.drop(inputs.x)))
        for layer in self.layers:
            h = F.relu(layer(self.drop(h), start, lambda t: inputs.hop("Ã_sym", t)))
        return self.last(self.drop(h))


class H2GCN(_Dropping):
    def __init__(self, shape: Shape, K: int):
        super().__init__(shape)
        self.rounds: int = K
        self.first: Affine = Affine(shape.features, shape.hidden)
        self.last: Affine = Affine(shape.hidden * (2 ** (K + 1) - 1), shape.classes)

    def forward(self, inputs: Inputs) -> torch.Tensor:
        parts = [F.relu(self.first(self.drop(inputs.x)))]
        for _ in range(self.rounds):
            parts.append(torch.cat([inputs.hop(name, parts[-1]) for name in ("A_sym", "A2_sym")], dim=1))
        return self.last(self.drop(torch.cat(parts, dim=1)))


class PredictThenPropagate(Module):
    """APPNP."""

    def __init__(self, shape: Shape, K: int, alpha: float):
        super().__init__()
        self.predict: MLP = MLP(shape, shape.widths(2))
        self.spread: Module = _APPNPLayer(K, alpha, normalize=False)

    def forward(self, inputs: Inputs) -> torch.Tensor:
        return self.spread(self.predict(inputs), lambda t: inputs.hop("Ã_sym", t))


class GPRGNN(Module):
    def __init__(self, shape: Shape, K: int, alpha: float):
        super().__init__()
        self.predict: MLP = MLP(shape, shape.widths(2))
        start = alpha * (1 - alpha) ** np.arange(K + 1.0)
        start[K] = (1 - alpha) ** K
        self.gamma: torch.nn.Parameter = torch.nn.Parameter(torch.tensor(start, dtype=torch.float32))

    def forward(self, inputs: Inputs) -> torch.Tensor:
        h = self.predict(inputs)
        out = self.gamma[0] * h
        for gamma in self.gamma[1:]:
            h = inputs.hop("Ã_sym", h)
            out = out + gamma * h
        return out


class GAT(_Dropping):
    def __init__(self, shape: Shape, K: int, heads: int):
        if shape.hidden % heads:
            raise InputError(f"gat: {heads} heads cannot share {shape.hidden} hidden columns: choose a divisor of them")
        super().__init__(shape)
        widths = shape.widths(K)[:-1]
        own = {"dropout": shape.dropout, "add_self_loops": False}
        self.layers: ModuleList = ModuleList(GATConv(w, shape.hidden // heads, heads, **own) for w in widths[:-1])
        self.layers.append(GATConv(widths[-1], shape.classes, 1, **own))
        self.first: Affine = Affine(shape.features, shape.hidden if K > 1 else shape.classes, bias=False)
        self.layers[0].lin = torch.nn.Identity()  # in its place comes first, which takes a sparse X too

    def forward(self, inputs: Inputs) -> torch.Tensor:
        h = self.layers[0](self.first(self.drop(inputs.x)), inputs.attended)
        for layer in list(self.layers)[1:]:
            h = layer(self.drop(F.elu(h)), inputs.attended)
        return h


class NonlinearSlimG(Module):
    """SlimG with networks in the place of PCA and of the linear classifier."""

    def __init__(self, shape: Shape):
        super().__init__()
        h = shape.hidden
        structure = MLP(shape, [_columns(shape, "structure"), h, h], "structure")
        features = MLP(shape, [shape.features, h, h])
        around = [GCN(shape, 2, h, hop) for hop in ("A_row", "Ã_sym")]
        self.parts: ModuleList = ModuleList([structure, features, *around])
        self.last: MLP = MLP(shape, [4 * h, h, shape.classes])

    def forward(self, inputs: Inputs) -> torch.Tensor:
        return self.last.of(F.relu(torch.cat([part(inputs) for part in self.parts], dim=1)))


class LINKX(_Dropping):
    def __init__(self, shape: Shape, K: int):
        super().__init__(shape)
        h = shape.hidden
        self.edges: Affine = Affine(shape.nodes, h, bias=False)
        self.features: Affine = Affine(shape.features, h)
        self.shift: torch.nn.Parameter = torch.nn.Parameter(torch.zeros(h))
        self.mix: Affine = Affine(2 * h, h)
        self.last: MLP = MLP(shape, [*[h] * K, shape.classes])

    def forward(self, inputs: Inputs) -> torch.Tensor:
        a = inputs.hop("A", self.edges.weight) + self.shift
        x = self.features(self.drop(inputs.x))
        return self.last.of(F.relu(self.mix(self.drop(torch.cat([a, x], dim=1))) + a + x))


def _columns(shape: Shape, part: str) -> int:
    return shape.features if part == "x" else getattr(shape.inputs, part).shape[1]


def _mlp(shape: Shape, layers: int, part: str = "x") -> MLP:
    return MLP(shape, replace(shape, features=_columns(shape, part)).widths(layers), part)


_BUILDERS: dict[str, Callable[..., Module]] = {
    "gcn": GCN, "gcn_tuned": TunedGCN, "sage": SAGE, "gcnii": GCNII, "h2gcn": H2GCN, "appnp": PredictThenPropagate,
    "gprgnn": GPRGNN, "gat": GAT,
    **{f"mlp{layers}": partial(_mlp, layers=layers) for layers in (2, 3)},
    **{f"slimg_mlp{layers}": partial(_mlp, layers=layers, part="components") for layers in (2, 3)},
    "slimg_nonlinear": NonlinearSlimG, "linkx": LINKX,
}  # fmt: skip


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
