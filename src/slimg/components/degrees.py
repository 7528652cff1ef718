"""Degrees by relation and direction: which relations a node takes part in.

    s_ir = log(1 + d_ir)        p_i = s_i / ‖s_i‖        d_ir edges of node i in direction r

What a node is often shows in the kinds of edges it has, whoever is at their other end: drugs treat, diseases are treated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from slimg.components.component import Component, Context, Cost, Target, check_steps
from slimg.components.row_scaling import unit_rows
from slimg.engine.base import Array, RowMatrix
from slimg.graph.adjacency import Adjacency
from slimg.graph.graph import Graph


@dataclass(frozen=True)
class Degrees(Component):
    """Logarithms of the number of edges in each direction of each relation, rows of length one.

    Parameters
    ----------
    steps : tuple of str
        Directions as `Graph.directions` names them: ``"cites →"``, ``"cites ←"``, or the name of an undirected relation.

    Examples
    --------
    >>> from slimg.components import Degrees
    >>> component = Degrees(steps=("cites →", "cites ←"))
    >>> component.name, component.formula
    ('degrees', 'log(1 + degrees)')
    """

    steps: tuple[str, ...]

    name = "degrees"
    formula = "log(1 + degrees)"
    title = "how many edges of each relation it has"
    short_title = "edges by relation"
    needs_edges: ClassVar[bool] = True
    reach = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", check_steps("steps", self.steps))

    def compute(self, context: Context) -> tuple[None, RowMatrix]:
        """Count the edges of all nodes; a direction that the graph does not have is refused."""
        for step in self.steps:
            context.graph.direction(step)
        rows = self.project(None, Target(context.graph, np.arange(context.graph.n)))
        return None, context.engine.row_matrix(unit_rows(rows.astype(np.float32)))

    def project(self, state: None, target: Target) -> Array:
        """Logarithms of the degrees of the nodes."""
        counts = [np.diff(matrix.indptr)[target.rows] for matrix in self._matrices(target.graph)]
        return np.log1p(np.stack(counts, axis=1, dtype=np.float64))

    def feature_names(self, state: None) -> tuple[str, ...]:
        """The directions."""
        return self.steps

    def neighbour_scores(self, state: None, weights: Array, target: Target) -> tuple[Array, Array]:
        """What each edge carries: an equal share of its direction."""
        near = [matrix.neighbours(int(target.rows[0])) for matrix in self._matrices(target.graph)]
        counts = np.array([len(nodes) for nodes in near])
        return np.concatenate(near), np.repeat(np.log1p(counts) * weights / np.maximum(counts, 1), counts)

    def cost(self, sizes: object) -> Cost:
        """One column for each direction."""
        return Cost(columns=len(self.steps))

    def _matrices(self, graph: Graph) -> list[Adjacency]:
        """The matrix of each direction, without edges where a graph does not have it."""
        there = {key: matrix for relation in graph.relations for key, matrix in relation.directions.items()}
        none = Adjacency(np.zeros(graph.n + 1, np.int64), np.zeros(0, np.int32))
        return [there.get(step, none) for step in self.steps]
