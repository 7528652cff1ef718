"""The blocks of columns that a linear classifier learns on, one class for each kind.

Public: `Component` and its subclasses `Structure` (U), `Features` (X) and `PropagatedFeatures` (A_row^h X, Ã_sym^h X), the
paper's list of four `PAPER_COMPONENTS` (`paper_components` makes it with other options), the rule `EnergyRank`, and
`compute_components` with its result `Components`.
`Attribution`, `Context`, `Cost` and `Target` are what the methods of a component take and return. The rest is internal.
"""

from slimg.components.component import Attribution, Component, Context, Cost, EnergyRank, Target
from slimg.components.compute import PAPER_COMPONENTS, Components, compute_components, paper_components
from slimg.components.features import Features, PropagatedFeatures
from slimg.components.structure import Structure

__all__ = [
    "PAPER_COMPONENTS",
    "Attribution",
    "Component",
    "Components",
    "Context",
    "Cost",
    "EnergyRank",
    "Features",
    "PropagatedFeatures",
    "Structure",
    "Target",
    "compute_components",
    "paper_components",
]
