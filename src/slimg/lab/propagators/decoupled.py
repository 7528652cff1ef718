"""Decoupled networks: a transformation of the features, then a propagation, here without the transformation.

    PPNP      (I − (1 − α) Ã_sym)⁻¹ X                                                 Klicpera et al., ICLR 2019
    APPNP     [Σ_{k=0}^{K−1} α (1 − α)^k Ã_sym^k + (1 − α)^K Ã_sym^K] X               Klicpera et al., ICLR 2019
    GDC       S̃_sym X,   S = sparse_ε(α (I − (1 − α) Ã_sym)⁻¹)                        Klicpera et al., NeurIPS 2019
    GPR-GNN   ‖_{k=0}^K Ã_sym^k X                                                     Chien et al., ICLR 2021

S is personalised PageRank, its entries below ε removed; then loops are added and degrees normalised, in the order of
the paper's table. The paper's last table has APPNP and GPR-GNN; PPNP has APPNP's α, GDC the values of its own paper.
"""

from __future__ import annotations

from dataclasses import dataclass

from slimg.lab.propagators.expressions import (
    At_sym,
    Concatenation,
    Diffused,
    Expression,
    Inverse,
    blocks,
    each,
    identity,
    summation,
)
from slimg.lab.propagators.registry import Propagator, count, positive, register, share

_PPNP = "Klicpera et al., Predict then Propagate: Graph Neural Networks meet Personalized PageRank, ICLR 2019"


@register("ppnp", title="PPNP", reference=_PPNP)
@dataclass(frozen=True)
class PPNP(Propagator):
    """(I − (1 − α) Ã_sym)⁻¹ X."""

    alpha: float = share(0.1)

    def formula(self) -> Expression:
        return Inverse(identity - (1 - self.alpha) * At_sym)


@register("appnp", title="APPNP", reference=_PPNP)
@dataclass(frozen=True)
class APPNP(Propagator):
    """[Σ_{k=0}^{K−1} α (1 − α)^k Ã_sym^k + (1 − α)^K Ã_sym^K] X."""

    K: int = count(10)
    alpha: float = share(0.1)

    def formula(self) -> Expression:
        alpha, K = self.alpha, self.K
        return summation(0, K - 1, lambda k: (alpha * (1 - alpha) ** k) * At_sym**k) + (1 - alpha) ** K * At_sym**K


@register("gdc", title="GDC", reference="Klicpera et al., Diffusion Improves Graph Learning, NeurIPS 2019")
@dataclass(frozen=True)
class GDC(Propagator):
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
class GPRGNN(Propagator):
    """‖_{k=0}^K Ã_sym^k X."""

    K: int = count(10)

    def formula(self) -> Concatenation:
        return blocks(each(0, self.K, lambda k: At_sym**k))
