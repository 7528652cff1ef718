"""How many singular values to keep.

    r = the largest rank with  σ₁² + … + σ_r²  <  target,   at least 1, at most ``cap``

With target = 0.9 ‖A‖_F² this is the paper's energy rule; with target = ∞ it is a fixed rank.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slimg.engine.base import Array


@dataclass(frozen=True)
class RankRule:
    """The rule of the module's text; singular values are given in falling order."""

    target: float
    cap: int

    def rank(self, singular_values: Array) -> int:
        """r when these are all the values that matter."""
        held = np.cumsum(np.square(singular_values, dtype=np.float64))
        return max(1, min(int(np.searchsorted(held, self.target, side="left")), self.cap))

    def is_decided(self, count: float, squared_sum: float) -> bool:
        """Whether the ``count`` leading values, with that sum of squares, are enough to know r."""
        return count >= self.cap or squared_sum >= self.target
