"""The sparse-group penalty, what it makes of a gradient, and when a dual point satisfies it.

    Ω(W) = λ₁ ‖W‖₁ + λ₂ Σ_g ‖W_g‖_F         groups g = disjoint sets of rows of W (p × c); rows in no group have λ₂ = 0

    zero is optimal for a group with gradient Z_g     ⇔     ‖S(Z_g, λ₁)‖_F ≤ λ₂          S = soft-threshold
    dual feasible residual                             ⇔     the same for every g
    for a given λ₁, λ_max = max_g ‖S(Z_g, λ₁)‖_F with Z the gradient at W = 0
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from slimg.engine.base import Array


def soft(values: Array, threshold: float) -> Array:
    """sign(z)·(|z| − threshold)₊."""
    return values - np.clip(values, -threshold, threshold)


@dataclass(frozen=True)
class SparseGroup:
    """Ω with weights ``l1`` and ``group``; ``group_of`` (p) has the group of each row of W of 0 … groups − 1, or −1."""

    l1: float
    group: float
    group_of: Array
    groups: int

    def value(self, weights: Array) -> float:
        """Ω(W)."""
        total = self.l1 * float(np.abs(weights).sum(dtype=np.float64))
        return total + self.group * float(self.norms(weights).sum())

    def norms(self, weights: Array) -> Array:
        """‖W_g‖_F of each group (float64)."""
        squares = np.einsum("ij,ij->i", weights, weights, dtype=np.float64)
        return np.sqrt(np.bincount(self.places, squares, self.groups + 1)[:-1])

    def of_rows(self, group_values: Array, outside: float = 0.0) -> Array:
        """Each group's value for each of its rows, as a column."""
        values = np.full(self.groups + 1, outside, group_values.dtype)
        values[:-1] = group_values
        return values[self.places][:, None]

    @cached_property
    def places(self) -> Array:
        """The group of each row, rows in none being one more group."""
        return np.where(self.group_of < 0, self.groups, self.group_of)

    def lambda_max(self, gradient_at_zero: Array) -> float:
        """The smallest group weight for which W = 0 is optimal (for this λ₁)."""
        norms = self.norms(soft(gradient_at_zero, self.l1))
        return float(norms.max(initial=0.0))

    def feasible_scale(self, gradient: Array) -> float:
        """The largest s ≤ 1 for which s·Z satisfies every constraint of the dual.

        φ_g(s) = ‖S(s Z_g, λ₁)‖_F is convex and increasing, so Newton's method from s = 1 descends to the root of
        φ_g(s) = λ₂ from above; the last factor makes up for rounding.
        """
        gradient = gradient.astype(np.float64)
        scale = 1.0
        if not np.all(self.group_of >= 0) or self.group == 0:
            loose = gradient if self.group == 0 else gradient[self.group_of < 0]
            scale = min(1.0, self.l1 / max(np.abs(loose).max(initial=0.0), np.finfo(np.float64).tiny))
        if self.group == 0:
            return scale
        for _ in range(100):
            shrunk = soft(scale * gradient, self.l1)
            norms = self.norms(shrunk)
            worst = int(norms.argmax())
            if norms[worst] <= self.group * (1 + 1e-12):
                break
            rows = self.group_of == worst
            slope = float((shrunk[rows] * gradient[rows]).sum()) / norms[worst]
            scale -= (norms[worst] - self.group) / slope
        return max(scale * (1 - 1e-12), 0.0)
