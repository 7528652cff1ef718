"""Graph kernels and SlimG's own columns as propagators.

Kernels (Smola and Kondor, COLT 2003), with L = D^-½ (D − A) D^-½, zero on isolated nodes.

    regularised Laplacian   (I + σ² L)⁻¹ X
    diffusion               exp(−(σ²/2) L) X
    random walk             (a I − L)^p X

The paper prints a = 1, but its figures are those of a = 2, the default here.

SlimG's own columns:

    U ‖ g(X) ‖ g(A_row² X) ‖ g(Ã_sym² X)

It has no hyperparameters; `slimg.components` computes it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from slimg.components.compute import Components, compute_components, paper_components
from slimg.engine.base import Engine
from slimg.graph.graph import Graph
from slimg.lab.propagators.expressions import (
    A_row,
    At_sym,
    Concatenation,
    Exponential,
    Expression,
    Inverse,
    L,
    Reduced,
    Structure,
    blocks,
    identity,
)
from slimg.lab.propagators.registry import FREE, Propagator, count, positive, register


class _Kernel(Propagator):
    family = "kernel"


_REFERENCE = "Smola and Kondor, Kernels and Regularization on Graphs, COLT 2003"


@register("reg_kernel", title="Reg. Kernel", reference=_REFERENCE)
@dataclass(frozen=True)
class RegularisedLaplacian(_Kernel):
    """(I + σ² L)⁻¹ X."""

    sigma: float = positive(1.0)

    def formula(self) -> Expression:
        return Inverse(identity + self.sigma**2 * L)


@register("diff_kernel", title="Diff. Kernel", reference=_REFERENCE)
@dataclass(frozen=True)
class Diffusion(_Kernel):
    """exp(−(σ²/2) L) X."""

    sigma: float = positive(1.0)

    def formula(self) -> Expression:
        return Exponential(-(self.sigma**2 / 2) * L)


@register("rw_kernel", title="RW Kernel", reference=_REFERENCE)
@dataclass(frozen=True)
class RandomWalk(_Kernel):
    """(a I − L)^p X; a ≥ 2 keeps all eigenvalues from below zero."""

    a: float = positive(2.0)
    p: int = count(2)

    def formula(self) -> Expression:
        return (self.a * identity - L) ** self.p


@register(
    "slimg",
    title="SlimG",
    reference="Yoo et al., Less is More: SlimG for Accurate, Robust, and Interpretable Graph Mining, KDD 2023",
)
@dataclass(frozen=True)
class Slim(Propagator):
    """U ‖ g(X) ‖ g(A_row² X) ‖ g(Ã_sym² X)."""

    family = "SlimG"
    random_state: int = field(default=0, metadata=FREE)

    def formula(self) -> Concatenation:
        return blocks(Structure(), Reduced(identity), Reduced(A_row**2), Reduced(At_sym**2))

    def __call__(self, graph: Graph, engine: Engine | None = None, *, normalize_features: str | None = "row") -> Components:
        components = paper_components(normalize=normalize_features)
        return compute_components(graph, engine, components=components, random_state=self.random_state)
