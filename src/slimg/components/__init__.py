"""From a graph to the columns a linear classifier learns on."""

from slimg.components.components import Components, compute_components

__all__ = ["Components", "compute_components"]
