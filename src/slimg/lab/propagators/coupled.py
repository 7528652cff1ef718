"""Coupled networks: each layer transforms and propagates; without activations the weights move to the end.

    ChebNet   ‖_{k=0}^{K−1} A_sym^k X                                            Defferrard et al., NIPS 2016
    GCN       Ã_sym^K X                                                          Kipf and Welling, ICLR 2017
    SAGE      ‖_{k=0}^K A_row^k X                                                Hamilton et al., NIPS 2017
    GCNII     ‖_{k=0}^{K−2} Ã_sym^k X ‖ ((1 − α) Ã_sym^K + α Ã_sym^(K−1)) X      Chen et al., ICML 2020
    H₂GCN     ‖_{k=0}^{2K} A_sym^k X                                             Zhu et al., NeurIPS 2020

Defaults and grids are those of the paper's last table; ChebNet is not in it and has powers up to two, as GCN and SAGE.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from slimg.lab.propagators.expressions import A_row, A_sym, At_sym, Concatenation, Expression, blocks, each
from slimg.lab.propagators.registry import Propagator, count, register, share


@register(
    "chebnet",
    title="ChebNet",
    reference="Defferrard et al., Convolutional Neural Networks on Graphs with Fast Localized Filtering, NIPS 2016",
)
@dataclass(frozen=True)
class ChebNet(Propagator):
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
class GCN(Propagator):
    """Ã_sym^K X."""

    K: int = count(2)

    def formula(self) -> Expression:
        return At_sym**self.K


@register(
    "sage", title="SAGE", reference="Hamilton et al., Inductive Representation Learning on Large Graphs, NIPS 2017"
)
@dataclass(frozen=True)
class SAGE(Propagator):
    """‖_{k=0}^K A_row^k X."""

    K: int = count(2)

    def formula(self) -> Concatenation:
        return blocks(each(0, self.K, lambda k: A_row**k))


@register(
    "gcnii", title="GCNII", reference="Chen et al., Simple and Deep Graph Convolutional Networks, ICML 2020"
)
@dataclass(frozen=True)
class GCNII(Propagator):
    """‖_{k=0}^{K−2} Ã_sym^k X ‖ ((1 − α) Ã_sym^K + α Ã_sym^(K−1)) X."""

    K: int = count(8, least=1)
    alpha: float = share(0.1)
    grid: ClassVar = {"K": (8, 16, 32, 64), "alpha": (0.1, 0.2, 0.5)}

    def formula(self) -> Concatenation:
        K, alpha = self.K, self.alpha
        return blocks(each(0, K - 2, lambda k: At_sym**k), (1 - alpha) * At_sym**K + alpha * At_sym ** (K - 1))


@register(
    "h2gcn",
    title="H₂GCN",
    reference="Zhu et al., Beyond Homophily in Graph Neural Networks, NeurIPS 2020",
)
@dataclass(frozen=True)
class H2GCN(Propagator):
    """‖_{k=0}^{2K} A_sym^k X."""

    K: int = count(1)
    grid: ClassVar = {"K": (1, 2)}

    def formula(self) -> Concatenation:
        return blocks(each(0, 2 * self.K, lambda k: A_sym**k))
