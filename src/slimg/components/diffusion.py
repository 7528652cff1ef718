"""S X: the features of a wide neighbourhood, those of near nodes most (personalised PageRank of X).

    S = α Σ_{k=0..K} (1 − α)ᵏ Ã_symᵏ        a walk that ends with probability α at each of at most K steps

It is computed on the reduced columns of X in one pass over A for each step, which Ã_sym^h X of the same list shares.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from slimg.components.features import SUPERSCRIPTS, FeatureComponent
from slimg.errors import InputError
from slimg.graph.adjacency import Adjacency
from slimg.linalg.operators import Operator, operator

ALPHA = 0.1


@dataclass(frozen=True, kw_only=True)
class Diffusion(FeatureComponent):
    """The features of a wide neighbourhood: g(α Σ_k (1 − α)ᵏ Ã_symᵏ X).

    On a graph with more than 2²⁶ stored entries of A (twice the edges) it is left out, with a note.

    Parameters
    ----------
    rank : int or EnergyRank, default=256
        The number of columns of g, or the rule that decides it.
    pca : bool, default=True
        False keeps the propagated features themselves, with rows of length one.
    normalize : "auto", "row", "standard", "bins" or None, default="auto"
        "row" divides each row of X by its sum, after subtracting its minimum where X has negative entries; "standard" gives
        each column mean 0 and variance 1; "bins" has a column for each of eight ranges of a number; None takes X as it is.
        "auto" takes "row" for counts and bags of words, "standard" for measured numbers.
    alpha : float, default=0.1
        Above 0 and below 1; the larger, the nearer.
    steps : int, default=10
        The number of hops K.

    Examples
    --------
    >>> from slimg.components import Diffusion
    >>> Diffusion().name, Diffusion().formula
    ('S^10 X', 'g(S¹⁰ X)')
    >>> Diffusion(alpha=0.25, steps=1).coefficients
    (0.25, 0.1875)
    """

    alpha: float = ALPHA
    steps: int = 10

    needs_edges: ClassVar[bool] = True
    most_entries: ClassVar[int | None] = 1 << 26
    title: ClassVar[str] = "the features around it, near ones most"
    short_title: ClassVar[str] = "wide neighbourhood"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _is_number(self.alpha) or not 0 < self.alpha < 1:
            raise InputError(f"alpha must be a number above 0 and below 1, not {self.alpha!r}")
        if not isinstance(self.steps, (int, np.integer)) or isinstance(self.steps, bool) or self.steps < 0:
            raise InputError(f"steps must be a whole number of hops, 0 or more, not {self.steps!r}")

    @property
    def name(self) -> str:
        """``S^10 X``, with the number of hops, and α where it is not 0.1."""
        return f"S{'' if self.alpha == ALPHA else f'_{self.alpha:g}'}^{self.steps} {self.source}"

    @property
    def formula(self) -> str:
        """``g(S¹⁰ X)``, with the number of hops."""
        plain = f"S{str(self.steps).translate(SUPERSCRIPTS)} {self.source}"
        return f"g({plain})" if self.pca else plain

    @property
    def hops(self) -> int:
        """The number of hops."""
        return self.steps

    @property
    def coefficients(self) -> tuple[float, ...]:
        """Weights α (1 − α)ᵏ of the powers."""
        return tuple(self.alpha * (1 - self.alpha) ** k for k in range(self.steps + 1))

    def operator(self, adjacency: Adjacency) -> Operator:
        """Ã_sym of a graph."""
        return operator("Ã_sym", adjacency)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
