"""R_a R_b X: the features at the end of a path along relations and directions.

    R_a = D_a⁻¹ A_a        the mean over what a node points to by relation a ("a →"), or over what points to it ("a ←")

A path of one step has the features of these neighbours, a path of two those of their neighbours in turn: "cites →, cites ←"
is who cites what I cite. A node from which no path of this kind leads has a row of zeros.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from slimg.components.component import Rank
from slimg.components.features import FeatureComponent
from slimg.errors import InputError
from slimg.graph.graph import Graph
from slimg.graph.relations import opposite
from slimg.linalg.operators import Operator, operator

PATH_RANK = 64
"""Columns of a path: there may be many paths."""


@dataclass(frozen=True, kw_only=True)
class PathFeatures(FeatureComponent):
    """The features at the end of a path along relations: g(R_a R_b X).

    Parameters
    ----------
    rank : int or EnergyRank, default=64
        The number of columns of g, or the rule that decides it.
    pca : bool, default=True
        False keeps the propagated features themselves, with rows of length one.
    normalize : "auto", "row", "standard", "bins" or None, default="auto"
        "row" divides each row of X by its sum, after subtracting its minimum where X has negative entries; "standard" gives
        each column mean 0 and variance 1; "bins" has a column for each of eight ranges of a number; None takes X as it is.
        "auto" takes "row" for counts and bags of words, "standard" for measured numbers.
    path : tuple of str
        Steps from the node outwards, as `Graph.directions` names them: ``"cites →"``, ``"cites ←"``, or the name of an
        undirected relation.

    Examples
    --------
    >>> from slimg.components import PathFeatures
    >>> component = PathFeatures(path=("cites →", "cites ←"))
    >>> component.name, component.formula
    ('cites → cites ← X', 'g(R[cites →] R[cites ←] X)')
    >>> PathFeatures(path=("cites ←",)).title
    'the features of nodes that point to it by cites'
    """

    path: tuple[str, ...]
    rank: Rank = PATH_RANK

    needs_edges: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        steps = self.path
        if isinstance(steps, str) or not steps or not all(isinstance(step, str) and step for step in steps):
            raise InputError(f"path must be a list of steps such as ('cites →', 'cites ←'), not {steps!r}")
        object.__setattr__(self, "path", tuple(steps))

    @property
    def name(self) -> str:
        """The steps and X, for example ``cites → X``."""
        return f"{' '.join(self.path)} {self.source}"

    @property
    def formula(self) -> str:
        """``g(R[cites →] X)``."""
        plain = f"{' '.join(f'R[{step}]' for step in self.path)} {self.source}"
        return f"g({plain})" if self.pca else plain

    @property
    def title(self) -> str:
        """The component in words."""
        first, *others = self.path
        what = "ranges of numbers" if self.normalize == "bins" else "features"
        far = f"the {what} of {_words(first)}"
        return far if not others else f"the {what} at the end of {', then '.join(self.path)}"

    @property
    def short_title(self) -> str:
        """The steps."""
        return " ".join(self.path) + (" in ranges" if self.normalize == "bins" else "")

    @property
    def hops(self) -> int:
        """The number of steps."""
        return len(self.path)

    def operators(self, graph: Graph) -> tuple[Operator, ...]:
        """The mean along each step."""
        return tuple(operator("A_row", graph.direction(step), graph.direction(opposite(step))) for step in self.path)


def _words(step: str) -> str:
    name, _, arrow = step.rpartition(" ")
    if arrow == "→":
        return f"nodes it points to by {name}"
    return f"nodes that point to it by {name}" if arrow == "←" else f"its neighbours by {step}"
