"""Propagators of nonlinear networks: what is left of them without activations.

Decoupled networks: a transformation of the features, then a propagation, here without the transformation.

    PPNP      (I − (1 − α) Ã_sym)⁻¹ X                                                 Klicpera et al., ICLR 2019
    APPNP     [Σ_{k=0}^{K−1} α (1 − α)^k Ã_sym^k + (1 − α)^K Ã_sym^K] X               Klicpera et al., ICLR 2019
    GDC       S̃_sym X,   S = sparse_ε(α (I − (1 − α) Ã_sym)⁻¹)                        Klicpera et al., NeurIPS 2019
    GPR-GNN   ‖_{k=0}^K Ã_sym^k X                                                     Chien et al., ICLR 2021

S is personalised PageRank, its entries below ε removed; then loops are added and degrees normalised, in the order of
the paper's table. The paper's last table has APPNP and GPR-GNN; PPNP has APPNP's α, GDC the values of its own paper.

Coupled networks: each layer transforms and propagates; without activations the weights move to the end.

    ChebNet   ‖_{k=0}^{K−1} A_sym^k X                                            Defferrard et al., NIPS 2016
    GCN       Ã_sym^K X                                                          Kipf and Welling, ICLR 2017
    SAGE      ‖_{k=0}^K A_row^k X                                                Hamilton et al., NIPS 2017
    GCNII     ‖_{k=0}^{K−2} Ã_sym^k X ‖ ((1 − α) Ã_sym^K + α Ã_sym^(K−1)) X      Chen et al., ICML 2020
    H₂GCN     ‖_{k=0}^{2K} A_sym^k X                                             Zhu et al., NeurIPS 2020

Defaults and grids are those of the paper's last table; ChebNet is not in it and has powers up to two, as GCN and SAGE.

Attention networks: only partially linear, since their operators look at X through weight vectors w.

    GAT      Π_{k=1}^K [diag(X w_{k,1}) Ã + Ã diag(X w_{k,2})] X,   Ã = A + I      Veličković et al., ICLR 2018
    DA-GNN   Σ_{k=0}^K diag(Ã_sym^k X w) Ã_sym^k X                                 Liu et al., KDD 2020

The first factor of Π stands on the left, so layer K is applied first. Vectors that are not given are drawn from
N(0, 1/d) with ``random_state``: a fixed random attention, which a note on the result tells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from slimg.engine.base import Array
from slimg.errors import InputError
from slimg.lab.propagators.expressions import (
    A_row,
    A_sym,
    At_sym,
    Attention,
    Concatenation,
    Diffused,
    Expression,
    Gated,
    Inverse,
    blocks,
    chain,
    each,
    identity,
    summation,
)
from slimg.lab.propagators.registry import FREE, Propagator, count, positive, register, share


class _Decoupled(Propagator):
    family = "decoupled"


class _Coupled(Propagator):
    family = "coupled"


class _Attention(Propagator):
    family = "attention"


_PPNP = "Klicpera et al., Predict then Propagate: Graph Neural Networks meet Personalized PageRank, ICLR 2019"


@register("ppnp", title="PPNP", reference=_PPNP)
@dataclass(frozen=True)
class PPNP(_Decoupled):
    """(I − (1 − α) Ã_sym)⁻¹ X."""

    alpha: float = share(0.1)

    def formula(self) -> Expression:
        return Inverse(identity - (1 - self.alpha) * At_sym)


@register("appnp", title="APPNP", reference=_PPNP)
@dataclass(frozen=True)
class APPNP(_Decoupled):
    """[Σ_{k=0}^{K−1} α (1 − α)^k Ã_sym^k + (1 − α)^K Ã_sym^K] X."""

    K: int = count(10)
    alpha: float = share(0.1)

    def formula(self) -> Expression:
        alpha, K = self.alpha, self.K
        return summation(0, K - 1, lambda k: (alpha * (1 - alpha) ** k) * At_sym**k) + (1 - alpha) ** K * At_sym**K


@register("gdc", title="GDC", reference="Klicpera et al., Diffusion Improves Graph Learning, NeurIPS 2019")
@dataclass(frozen=True)
class GDC(_Decoupled):
    """S̃_sym X with S = sparse_ε(α (I − (1 − α) Ã_sym)⁻¹)."""

    alpha: float = share(0.15)
    epsilon: float = positive(1e-4)

    def formula(self) -> Expression:
        return Diffused(self.alpha, self.epsilon)


@register(
    "gprgnn",
    title="GPR-GNN",
    reference="Chien et al., Adaptive Universal Generalized PageRank Graph Neural Network, ICLR 2021",
)
@dataclass(frozen=True)
class GPRGNN(_Decoupled):
    """‖_{k=0}^K Ã_sym^k X."""

    K: int = count(10)

    def formula(self) -> Concatenation:
        return blocks(each(0, self.K, lambda k: At_sym**k))


@register(
    "chebnet",
    title="ChebNet",
    reference="Defferrard et al., Convolutional Neural Networks on Graphs with Fast Localized Filtering, NIPS 2016",
)
@dataclass(frozen=True)
class ChebNet(_Coupled):
    """‖_{k=0}^{K−1} A_sym^k X."""

    K: int = count(3, least=1)

    def formula(self) -> Concatenation:
        return blocks(each(0, self.K - 1, lambda k: A_sym**k))


@register(
    "gcn",
    title="GCN",
    reference="Kipf and Welling, Semi-Supervised Classification with Graph Convolutional Networks, ICLR 2017",
)
@dataclass(frozen=True)
class GCN(_Coupled):
    """Ã_sym^K X."""

    K: int = count(2)

    def formula(self) -> Expression:
        return At_sym**self.K


@register(
    "sage", title="SAGE", reference="Hamilton et al., Inductive Representation Learning on Large Graphs, NIPS 2017"
)
@dataclass(frozen=True)
class SAGE(_Coupled):
    """‖_{k=0}^K A_row^k X."""

    K: int = count(2)

    def formula(self) -> Concatenation:
        return blocks(each(0, self.K, lambda k: A_row**k))


@register(
    "gcnii", title="GCNII", reference="Chen et al., Simple and Deep Graph Convolutional Networks, ICML 2020"
)
@dataclass(frozen=True)
class GCNII(_Coupled):
    """‖_{k=0}^{K−2} Ã_sym^k X ‖ ((1 − α) Ã_sym^K + α Ã_sym^(K−1)) X."""

    K: int = count(8, least=1)
    alpha: float = share(0.1)
    grid: ClassVar[Mapping[str, Sequence[Any]]] = {"K": (8, 16, 32, 64), "alpha": (0.1, 0.2, 0.5)}

    def formula(self) -> Concatenation:
        K, alpha = self.K, self.alpha
        return blocks(each(0, K - 2, lambda k: At_sym**k), (1 - alpha) * At_sym**K + alpha * At_sym ** (K - 1))


@register(
    "h2gcn",
    title="H₂GCN",
    reference="Zhu et al., Beyond Homophily in Graph Neural Networks, NeurIPS 2020",
)
@dataclass(frozen=True)
class H2GCN(_Coupled):
    """‖_{k=0}^{2K} A_sym^k X."""

    K: int = count(1)
    grid: ClassVar[Mapping[str, Sequence[Any]]] = {"K": (1, 2)}

    def formula(self) -> Concatenation:
        return blocks(each(0, 2 * self.K, lambda k: A_sym**k))


@register("gat", title="GAT", reference="Veličković et al., Graph Attention Networks, ICLR 2018")
@dataclass(frozen=True)
class GAT(_Attention):
    """Π_{k=1}^K [diag(X w_{k,1}) Ã + Ã diag(X w_{k,2})] X; w: K × 2 × d."""

    K: int = count(2)
    w: Any = field(default=None, metadata=FREE)
    random_state: int = field(default=0, metadata=FREE)

    def formula(self) -> Expression:
        return chain(1, self.K, Attention)

    def vectors(self, layer: Any, d: int) -> Array:
        """w_{k,1} and w_{k,2} of layer k (d × 2)."""
        return _weights(self, (self.K, 2, d))[layer - 1].T

    def notes(self) -> tuple[str, ...]:
        return _note(self)


@register("dagnn", title="DA-GNN", reference="Liu et al., Towards Deeper Graph Neural Networks, KDD 2020")
@dataclass(frozen=True)
class DAGNN(_Attention):
    """Σ_{k=0}^K diag(Ã_sym^k X w) Ã_sym^k X; w: d."""

    K: int = count(10)
    w: Any = field(default=None, metadata=FREE)
    random_state: int = field(default=0, metadata=FREE)

    def formula(self) -> Expression:
        return summation(0, self.K, lambda k: Gated(At_sym**k))

    def vectors(self, layer: Any, d: int) -> Array:
        """w (d × 1)."""
        return _weights(self, (d,))[:, None]

    def notes(self) -> tuple[str, ...]:
        return _note(self)


def _weights(propagator: GAT | DAGNN, shape: tuple[int, ...]) -> Array:
    if propagator.w is None:
        return np.random.default_rng(propagator.random_state).standard_normal(shape) / np.sqrt(shape[-1])
    given = np.asarray(propagator.w, float)
    if given.shape != shape:
        needed = " × ".join(map(str, shape))
        raise InputError(f"{propagator.name}: w must be an array of {needed} numbers, not of shape {given.shape}")
    return given


def _note(propagator: GAT | DAGNN) -> tuple[str, ...]:
    if propagator.w is not None:
        return ()
    seed = f"random_state = {propagator.random_state}"
    return (f"{propagator.title}: weight vectors w were not given and are random ({seed}).",)
