"""An example of a component of one's own: the degree of a node, in bins of equal frequency."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from slimg.components import Component, Cost
from slimg.components.row_scaling import unit_rows


@dataclass(frozen=True)
class DegreeBins(Component):
    """One column per bin, 1 in the bin of the node's degree."""

    bins: int = 4
    needs_edges = True

    name = "degree"
    formula = "bin(D)"
    title = "the number of its neighbours"
    reach = 1  # an edge more or less changes the degree

    def compute(self, context):
        degrees = np.diff(context.graph.adjacency.indptr)
        edges = np.unique(np.quantile(degrees, np.linspace(0, 1, self.bins + 1)[1:-1]))
        state = {"edges": edges}
        return state, context.engine.row_matrix(unit_rows(self._columns(state, degrees)))

    def project(self, state, target):
        indptr = target.graph.adjacency.indptr
        return self._columns(state, indptr[target.rows + 1] - indptr[target.rows]).astype(np.float64)

    def feature_names(self, state):
        limits = [0, *(f"{edge:g}" for edge in state["edges"]), "∞"]
        return tuple(f"{low} to {high} neighbours" for low, high in pairwise(limits))

    def cost(self, sizes):
        return Cost(columns=self.bins, held=self.bins)

    def _columns(self, state, degrees):
        return np.eye(len(state["edges"]) + 1, dtype=np.float32)[np.searchsorted(state["edges"], degrees, side="right")]
