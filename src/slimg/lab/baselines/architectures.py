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
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch.nn import Module, ModuleList
from torch_geometric.nn import APPNP, GATConv, GCN2Conv, GCNConv

from slimg.errors import InputError
from slimg.lab.baselines.inputs import Affine, Dropout, Inputs


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
