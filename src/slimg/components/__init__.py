"""The blocks of columns that a linear classifier learns on, one class for each kind.

Public: `Component` and its subclasses `Structure` (U), `Features` (X), `PropagatedFeatures` (A_row^h X, Ã_sym^h X) and
`Diffusion` (S X), `PageRank` (p(Ã_sym) X), `PathFeatures` (along relations), `Degrees` (by relation), `NeighbourRanges` and
`DegreeRanges` (means of numbers and degrees, in ranges), the lists `DEFAULT_COMPONENTS` and `PAPER_COMPONENTS`
(`paper_components` makes it with other options), the rule `EnergyRank`, and `compute_components` with its result `Components`.
`Attribution`, `Context`, `Cost` and `Target` are what the methods of a component take and return. The rest is internal.
"""

from slimg.components.component import Attribution, Component, Context, Cost, EnergyRank, Target
from slimg.components.compute import (
    DEFAULT_COMPONENTS,
    PAPER_COMPONENTS,
    Components,
    compute_components,
    default_components,
    paper_components,
)
from slimg.components.features import Diffusion, Features, PageRank, PathFeatures, PropagatedFeatures
from slimg.components.structure import DegreeRanges, Degrees, NeighbourRanges, Structure

__all__ = [
    "DEFAULT_COMPONENTS",
    "PAPER_COMPONENTS",
    "Attribution",
    "Component",
    "Components",
    "Context",
    "Cost",
    "DegreeRanges",
    "Degrees",
    "Diffusion",
    "EnergyRank",
    "Features",
    "NeighbourRanges",
    "PageRank",
    "PathFeatures",
    "PropagatedFeatures",
    "Structure",
    "Target",
    "compute_components",
    "default_components",
    "paper_components",
]
