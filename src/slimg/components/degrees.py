"""Degrees by relation and direction, and numbers of the neighbourhood in ranges.

    s_ir = log(1 + d_ir)        p_i = s_i / ‖s_i‖        d_ir edges of node i in direction r

What a node is often shows in the kinds of edges it has, whoever is at their other end: drugs treat, diseases are treated.

    z_i = d_i1 ‖ (R_1 X)_i ‖ d_i2 ‖ …        s_ijq = 1 if z_ij is in the q-th range of number j        p_i = s_i / ‖s_i‖

A linear model of R X says that a class has more or less of a number around it; in ranges it can be one in between. A mean
over neighbours is of those whose number is known, and in no range where there are none. Ranges begin within the widest gap
near each quantile, so that rounding moves no fitted node into another one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from slimg.components.component import Component, Context, Cost, Target, check_steps
from slimg.components.row_scaling import (
    BINS,
    SAMPLE,
    Numbers,
    dense_rows,
    in_bins,
    numbers_in,
    numbers_of,
    range_names,
    unit_rows,
)
from slimg.engine.base import Array, RowMatrix
from slimg.errors import InputError
from slimg.graph.adjacency import Adjacency
from slimg.graph.graph import Graph
from slimg.linalg.operators import operator, steps
from slimg.system import require_unchanged

PIECE = 1 << 14
"""Nodes whose neighbourhoods are gathered at a time."""
NEAR = 1e-6
"""Gaps of that share of the largest value may be rounding."""


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
        counts = [np.diff(matrix.indptr)[target.rows] for matrix in _matrices(target.graph, self.steps)]
        return np.log1p(np.stack(counts, axis=1, dtype=np.float64))

    def feature_names(self, state: None) -> tuple[str, ...]:
        """The directions."""
        return self.steps

    def neighbour_scores(self, state: None, weights: Array, target: Target) -> tuple[Array, Array]:
        """What each edge carries: an equal share of its direction."""
        near = [matrix.neighbours(int(target.rows[0])) for matrix in _matrices(target.graph, self.steps)]
        counts = np.array([len(nodes) for nodes in near])
        return np.concatenate(near), np.repeat(np.log1p(counts) * weights / np.maximum(counts, 1), counts)

    def cost(self, sizes: object) -> Cost:
        """One column for each direction."""
        return Cost(columns=len(self.steps))

    def column_steps(self, state: None) -> tuple[str, ...]:
        """Name the direction of each column.

        Parameters
        ----------
        state : None
            What `compute` returned.

        Returns
        -------
        tuple of str
            The directions.
        """
        return self.steps


def _matrices(graph: Graph, steps: tuple[str, ...]) -> list[Adjacency]:
    """The matrix of each direction, without edges where a graph does not have it; without steps the union of all."""
    there = {key: matrix for relation in graph.relations for key, matrix in relation.directions.items()}
    none = Adjacency(np.zeros(graph.n + 1, np.int64), np.zeros(0, np.int32))
    return [there.get(step, none) for step in steps] if steps else [graph.adjacency]


@dataclass(frozen=True)
class NeighbourRanges(Component):
    """How many neighbours a node has, and the mean of each number over them, each in up to eight ranges.

    Parameters
    ----------
    steps : tuple of str, default=()
        Directions as `Graph.directions` names them, each with numbers of its own; none for the union of all edges.
    columns : tuple of int or None, default=None
        Which numbers are kept: for each step the degree, then the means of the features (of a table of its numbers, then of its
        other features). None keeps all.

    Examples
    --------
    >>> from slimg.components import NeighbourRanges
    >>> NeighbourRanges().name, NeighbourRanges().formula
    ('bins(A_row X)', 'bins(degree ‖ A_row X)')
    """

    steps: tuple[str, ...] = ()
    columns: tuple[int, ...] | None = None

    name = "bins(A_row X)"
    formula = "bins(degree ‖ A_row X)"
    title = "how many neighbours it has and their mean numbers, in ranges"
    short_title = "neighbourhood in ranges"
    needs_edges: ClassVar[bool] = True
    needs_features: ClassVar[bool] = True
    reach = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", check_steps("steps", self.steps) if self.steps else ())
        columns = None if self.columns is None else tuple(self.columns)
        if columns is not None and not (columns and all(type(each) is int and each >= 0 for each in columns)):
            raise InputError(f"columns must be None or a list of numbers of columns, from 0 on, not {self.columns!r}")
        object.__setattr__(self, "columns", columns)

    def numbers(self, graph: Graph, rows: Array, places: Array | None) -> Array:
        """Compute z: the numbers of nodes, NaN for a mean over nothing.

        Parameters
        ----------
        graph : Graph
            The graph of the nodes.
        rows : array of shape (m,)
            The nodes.
        places : array of shape (k, 3) or None
            Which features are numbers of a table (`row_scaling.Numbers`).

        Returns
        -------
        array of shape (m, K), float64
            Only `columns` of them.
        """
        found = list[Array]()
        for matrix in _matrices(graph, self.steps):
            found.append(np.diff(matrix.indptr)[rows, None].astype(np.float64))
            if self.needs_features:
                way = steps((operator("A_row", matrix),), rows, (0.0, 1.0))
                far = values_of(graph, way.reached, places)
                known = np.isfinite(far)
                total, share = way.apply(np.where(known, far, 0)), way.apply(known.astype(np.float64))
                found.append(np.divide(total, share, out=np.full_like(total, np.nan), where=share > 0))
        return self._kept(np.hstack(found))

    def compute(self, context: Context) -> tuple[dict[str, Array], RowMatrix]:
        """Find the ranges on a sample of the nodes, and put all nodes in them."""
        graph = context.graph
        for step in self.steps:
            graph.direction(step)
        known = table_numbers(graph)
        state = {} if known is None else {"places": known.places}
        sample = np.unique(np.linspace(0, graph.n - 1, SAMPLE).astype(np.int64))
        edges = gap_edges(self.numbers(graph, sample, state.get("places")))
        named = _named(graph, known, self.steps or ("",), self.needs_features)
        names, of, offset, slope = zip(*(named if self.columns is None else [named[at] for at in self.columns]), strict=True)
        edges = np.where(np.isnan(slope)[:, None], np.ceil(edges), edges)  # of degrees
        ends = np.array(offset)[:, None] + np.nan_to_num(slope, nan=1.0)[:, None] * edges
        starts = np.hstack([np.full((len(edges), 1), -np.inf), edges]).astype(np.float32)
        text = np.frombuffer("\n".join(range_names(names, ends)).encode(), np.uint8)
        state |= {"starts": starts.ravel(), "of": np.repeat(np.array(of, np.int64), BINS), "names": text}
        rows = np.empty((graph.n, starts.size), np.float32)
        for begin in range(0, graph.n, PIECE):
            piece = np.arange(begin, min(begin + PIECE, graph.n))
            rows[piece] = unit_rows(self.project(state, Target(graph, piece)).astype(np.float32))
        return state, context.engine.row_matrix(rows)

    def project(self, state: dict[str, Array], target: Target) -> Array:
        """One in the range of each number."""
        values = self.numbers(target.graph, target.rows, state.get("places"))
        if BINS * values.shape[1] != len(state["starts"]):
            raise InputError(f"{self.name} has ranges of {len(state['starts']) // BINS} numbers, the graph {values.shape[1]}")
        return indicators(values, state["starts"].reshape(-1, BINS)[:, 1:])

    def feature_names(self, state: dict[str, Array]) -> tuple[str, ...]:
        """The ranges: ``number of neighbours 3 to 8``, ``mean age of neighbours below 20``."""
        return tuple(state["names"].tobytes().decode("utf-8", "replace").split("\n"))

    def from_arrays(self, arrays: dict[str, Array]) -> dict[str, Array]:
        """The state of a model file."""
        of, names = arrays["of"], self.feature_names(arrays)
        if len(of) % BINS or len(names) != len(of) or not 0 <= of.min(initial=0) <= of.max(initial=0) < max(len(self.steps), 1):
            raise InputError(f"{self.name} needs the beginnings of its ranges, a direction and a name for each")
        return arrays

    def neighbour_scores(self, state: dict[str, Array], weights: Array, target: Target) -> tuple[Array, Array]:
        """What each edge carries: an equal share of its direction."""
        near = [matrix.neighbours(int(target.rows[0])) for matrix in _matrices(target.graph, self.steps)]
        counts = np.array([len(nodes) for nodes in near])
        totals = np.bincount(state["of"], self.project(state, target)[0] * weights, len(near))
        return np.concatenate(near), np.repeat(totals / np.maximum(counts, 1), counts)

    def column_steps(self, state: dict[str, Array]) -> tuple[str, ...]:
        """Name the direction of each column.

        Parameters
        ----------
        state : dict of str to array
            What `compute` returned.

        Returns
        -------
        tuple of str
            Empty where all edges are taken as one.
        """
        return tuple(self.steps[k] for k in state["of"]) if self.steps else ()

    def cost(self, sizes: Any) -> Cost:
        """Eight columns for each number, and a pass over A for each direction."""
        paths, each = max(len(self.steps), 1), 1 + self.needs_features * (sizes.features - sizes.doubled)
        columns = BINS * (paths * each if self.columns is None else len(self.columns))
        return Cost(columns=columns, held=columns, passes=2 * paths, pass_width=each, moved=4 * sizes.nodes * columns)

    def _kept(self, every: Array) -> Array:
        """The columns that are kept."""
        columns = list(range(every.shape[1]) if self.columns is None else self.columns)
        if max(columns) >= every.shape[1]:
            raise InputError(f"columns of {self.name} must be below {every.shape[1]}, not {max(columns)}")
        return every[:, columns]


@dataclass(frozen=True)
class DegreeRanges(NeighbourRanges):
    """How many neighbours a node has, in up to eight ranges.

    Parameters
    ----------
    steps : tuple of str, default=()
        Directions as `Graph.directions` names them, each with numbers of its own; none for the union of all edges.
    columns : tuple of int or None, default=None
        Which of the degrees are kept; None keeps all.

    Examples
    --------
    >>> from slimg.components import DegreeRanges
    >>> DegreeRanges().name, DegreeRanges().needs_features
    ('bins(degree)', False)
    """

    name = formula = "bins(degree)"
    title = "how many neighbours it has, in ranges"
    short_title = "neighbours in ranges"
    needs_features: ClassVar[bool] = False


def indicators(values: Array, edges: Array) -> Array:
    """One in the range that each value is in (m × 8 K), none for NaN.

    Examples
    --------
    >>> indicators(np.array([[3.0], [np.nan]]), np.array([[2, 5, *[np.inf] * 5]]))[:, :3]
    array([[0., 1., 0.],
           [0., 0., 0.]])
    """
    return (in_bins(values, edges).toarray() > 0).astype(np.float64)


def gap_edges(values: Array) -> Array:
    """Where ranges begin after the first (K × 7): in the widest gap near each quantile of a column, infinite if there is none.

    Examples
    --------
    >>> gap_edges(np.array([[0.0], [0], [1], [1], [4]]))[0, :3]
    array([0.5, 2.5, inf])
    """
    edges = np.full((values.shape[1], BINS - 1), np.inf)
    for column, found in zip(values.T, edges, strict=True):
        known = np.sort(column[np.isfinite(column)])
        gaps = np.diff(known)
        wide = np.flatnonzero(gaps > NEAR * np.abs(known[[0, -1]]).max()) if len(known) else np.zeros(0, np.int64)
        cuts = set()
        for place in np.arange(1, BINS) * len(known) / BINS if len(wide) else ():
            far = np.abs(wide + 1 - place)
            near = wide[far <= max(len(known) / (4 * BINS), far.min())]
            cuts.add(int(near[gaps[near].argmax()]))
        chosen = np.array(sorted(cuts), np.int64)
        found[: len(chosen)] = (known[chosen] + known[chosen + 1]) / 2
    return edges


def table_numbers(graph: Graph) -> Numbers | None:
    """The numbers of the table that a graph was read from, if it has any."""
    known = numbers_of(graph.reading)
    return known if known is not None and known.names else None


def values_of(graph: Graph, rows: Array, places: Array | None) -> Array:
    """Numbers of nodes: of a table in units of their deviation, then its other features; NaN or infinite if not known."""
    require_unchanged(graph.features)
    block = dense_rows(graph.features[rows]).astype(np.float64)  # type: ignore[index]
    if places is None:
        return block
    return np.hstack([numbers_in(block, places), np.delete(block, places[places >= 0], axis=1)])


def _named(
    graph: Graph, known: Numbers | None, steps: tuple[str, ...], means: bool
) -> list[tuple[str, int, float, float]]:
    """Name, direction and unit of every number: value = offset + slope z; the slope of degrees is NaN."""
    units = [(name, 0.0, 1.0) for name in graph.feature_names or (f"feature {j}" for j in range(graph.d))]
    if known is not None:
        others = np.delete(np.arange(graph.d), known.places[known.places >= 0])
        units = [*zip(known.names, known.mean - known.scale / 2, known.scale, strict=True), *(units[j] for j in others)]
    found = []
    for at, step in enumerate(steps):
        found.append((f"number of {step or 'neighbours'}", at, 0.0, np.nan))
        where = f"along {step}" if step else "of neighbours"
        found += [(f"mean {name} {where}", at, offset, slope) for name, offset, slope in units if means]
    return found
