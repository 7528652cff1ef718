"""A_row^h X and Ã_sym^h X: the features of the neighbourhood.

    A_row = D⁻¹ A                        the mean over neighbours; h hops away
    Ã_sym = D̃^-½ (A + I) D̃^-½            smoothed within h hops, the node itself included

Both are applied as passes over A (`slimg.linalg.operators`); no power of A is formed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from slimg.components.component import Cost, check_whole
from slimg.components.features import FeatureComponent
from slimg.errors import choices
from slimg.graph.adjacency import Adjacency
from slimg.linalg.operators import Operator, operator

if TYPE_CHECKING:
    from slimg.components.estimate import Sizes

OPERATORS = {"row": "A_row", "sym": "Ã_sym"}
FUSED = 1.6
"""Cost of the first hops of two operators in one pass, as a number of passes."""
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, kw_only=True)
class PropagatedFeatures(FeatureComponent):
    """The features of the neighbourhood: g(A_row^h X) or g(Ã_sym^h X).

    Parameters
    ----------
    rank : int or EnergyRank, default=EnergyRank()
        The number of columns of g, or the rule that decides it.
    pca : bool, default=True
        False keeps the propagated features themselves, with rows of length one.
    normalize : "row" or None, default="row"
        "row" divides each row of X by its sum, after subtracting its minimum where X has negative entries.
    kind : "row" or "sym", default="row"
        "row" takes the mean over neighbours, A_row; "sym" smooths over the neighbourhood with the node itself, Ã_sym.
    steps : int, default=2
        The number of hops h.

    Examples
    --------
    >>> from slimg.components import PropagatedFeatures
    >>> PropagatedFeatures(kind="sym", steps=3).name
    'A_sym^3 X'
    >>> PropagatedFeatures().title
    'the mean features of nodes 2 steps away'
    """

    kind: str = "row"
    steps: int = 2

    needs_edges: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind not in OPERATORS:
            raise choices("kind", self.kind, list(OPERATORS))
        check_whole(self.steps, "steps", " of hops")

    @property
    def name(self) -> str:
        """``A_row^2 X`` or ``A_sym^2 X``, with the number of hops."""
        return f"A_{self.kind}^{self.steps} X"

    @property
    def formula(self) -> str:
        """``g(A_row² X)`` or ``g(Ã_sym² X)``, with the number of hops."""
        power = "" if self.steps == 1 else str(self.steps).translate(SUPERSCRIPTS)
        plain = f"{OPERATORS[self.kind]}{power} X"
        return f"g({plain})" if self.pca else plain

    @property
    def title(self) -> str:
        """The component in words."""
        away = "one step" if self.steps == 1 else f"{self.steps} steps"
        if self.kind == "row":
            return f"the mean features of nodes {away} away"
        return f"the features within {away}, its own included"

    @property
    def hops(self) -> int:
        """The number of hops."""
        return self.steps

    def operator(self, adjacency: Adjacency) -> Operator:
        """A_row or Ã_sym of a graph."""
        return operator(OPERATORS[self.kind], adjacency)

    def cost(self, sizes: Sizes) -> Cost:
        """That of a component of features, and passes of d columns over A, the first of them shared by two operators."""
        return replace(super().cost(sizes), passes=self.steps - 1 + FUSED / 2, pass_width=sizes.features)
