"""From a graph to the columns a linear classifier learns on."""

from slimg.components.compute import Components, compute_components
from slimg.lab.propagators.registry import Propagator, get, names, register

__all__ = ["Components", "Propagator", "compute_components", "get", "names", "register"]
