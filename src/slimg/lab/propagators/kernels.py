"""Graph kernels as propagators (Smola and Kondor, COLT 2003), with L = D^-½ (D − A) D^-½, zero on isolated nodes.

    regularised Laplacian   (I + σ² L)⁻¹ X
    diffusion               exp(−(σ²/2) L) X
    random walk             (a I − L)^p X

The paper prints a = 1, but its figures are those of a = 2, the default here.
"""

from __future__ import annotations

from dataclasses import dataclass

from slimg.lab.propagators.expressions import Exponential, Expression, Inverse, L, identity
from slimg.lab.propagators.registry import Propagator, count, positive, register

_REFERENCE = "Smola and Kondor, Kernels and Regularization on Graphs, COLT 2003"


@register("reg_kernel", title="Reg. Kernel", reference=_REFERENCE)
@dataclass(frozen=True)
class RegularisedLaplacian(Propagator):
    """(I + σ² L)⁻¹ X."""

    sigma: float = positive(1.0)

    def formula(self) -> Expression:
        return Inverse(identity + self.sigma**2 * L)


@register("diff_kernel", title="Diff. Kernel", reference=_REFERENCE)
@dataclass(frozen=True)
class Diffusion(Propagator):
    """exp(−(σ²/2) L) X."""

    sigma: float = positive(1.0)

    def formula(self) -> Expression:
        return Exponential(-(self.sigma**2 / 2) * L)


@register("rw_kernel", title="RW Kernel", reference=_REFERENCE)
@dataclass(frozen=True)
class RandomWalk(Propagator):
    """(a I − L)^p X; a ≥ 2 keeps all eigenvalues from below zero."""

    a: float = positive(2.0)
    p: int = count(2)

    def formula(self) -> Expression:
        return (self.a * identity - L) ** self.p
