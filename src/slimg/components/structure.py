"""U: the place of a node in the network; its degrees, and numbers of its neighbourhood in ranges.

    A = U Σ Vᵀ truncated        s_i = (U Σ)_i = Σ_j A_ij V_j        p_i = s_i / ‖s_i‖

The rank is that of `EnergyRank` or fixed. A is the undirected union or, with ``step``, the matrix of one direction of a
relation: what a node points to, or what points to it. With ``normalize`` it is Ã_sym: edges of hubs count less, so that the
leading columns are communities, not the best connected nodes. For the fitted graph A V is U Σ again; for new nodes it folds
them in. A node whose V is not known (it is new) gives nothing to its neighbours. A row of U Σ that is only rounding (of a part
of the graph that no kept column reaches) becomes zero.

Degrees by relation and direction, and numbers of the neighbourhood in ranges.

    s_ir = log(1 + d_ir)        p_i = s_i / ‖s_i‖        d_ir edges of node i in direction r

What a node is often shows in the kinds of edges it has, whoever is at their other end: drugs treat, diseases are treated.

    z_i = d_i1 ‖ (R_1 X)_i ‖ d_i2 ‖ …        s_ijq = 1 if z_ij is in the q-th range of number j        p_i = s_i / ‖s_i‖

A linear model of R X says that a class has more or less of a number around it; in ranges it can be one in between. A mean
over neighbours is of those whose number is known, and in no range where there are none. Ranges begin within the widest gap
near each quantile, so that rounding moves no fitted node into another one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
from scipy.sparse import csr_array

from slimg.components.component import (
    STRUCTURE_RANK,
    Attribution,
    Component,
    Context,
    Cost,
    EnergyRank,
    Rank,
    Sizes,
    Target,
    check_rank,
    check_steps,
)
from slimg.components.features import Diffusion
from slimg.components.row_scaling import (
    BINS,
    SAMPLE,
    Numbers,
    dense_rows,
    in_bins,
    numbers_in,
    numbers_of,
    range_names,
    rounding_of,
    unit_rows,
    without_noise,
)
from slimg.engine.base import Array, Engine, RowMatrix
from slimg.engine.memory import MemoryEngine, Recomputed, is_large
from slimg.errors import InputError
from slimg.graph.adjacency import Adjacency
from slimg.graph.graph import Graph
from slimg.graph.relations import opposite
from slimg.linalg.operators import Operator, operator, steps
from slimg.linalg.svd import Spectrum, operator_svd
from slimg.system import require_unchanged

NEAR = 1e-6
"""Gaps of that share of the largest value may be rounding."""


class StructureState(NamedTuple):
    """Singular vectors and values of the fitted A, and the engine where the vectors live."""

    spectrum: Spectrum
    engine: Engine

    def right_vectors(self, nodes: Array, known: Array | None) -> Array:
        """V (m × r) of nodes of a graph; zero where it is not known."""
        places = nodes if known is None else known[nodes]
        there = places >= 0
        out = np.zeros((len(nodes), self.spectrum.rank))
        if there.any():
            out[there] = self.engine.rows(self.spectrum.vectors, places[there])
        return out * np.sign(self.spectrum.eigenvalues)


@dataclass(frozen=True)
class Structure(Component):
    """U, the left singular vectors of A times their singular values, rows of length one.

    Parameters
    ----------
    rank : int or EnergyRank, default=64
        The number of columns, or the rule that decides it; with ``step`` a number.
    step : str, default=None
        A direction as `Graph.directions` names it (``"cites →"``, ``"cites ←"``, or the name of an undirected relation), whose
        matrix takes the place of the union of all relations.
    normalize : bool, default=False
        Decompose Ã_sym in the place of A. On a graph with more than 2²⁶ stored entries of A it is left out, with a note.

    Examples
    --------
    >>> from slimg.components import Structure
    >>> component = Structure(rank=32)
    >>> component.name, component.formula
    ('U', 'U')
    >>> Structure(step="cites ←").name, Structure(step="cites ←").title
    ('cites ← U', 'which nodes point to it by cites')
    >>> Structure(normalize=True).formula
    'U[Ã_sym]'
    """

    rank: Rank = STRUCTURE_RANK
    step: str | None = None
    normalize: bool = False

    needs_edges: ClassVar[bool] = True
    reach: ClassVar[int] = 1

    def __post_init__(self) -> None:
        check_rank(self.rank)
        if self.step is not None and not (isinstance(self.step, str) and self.step):
            raise InputError(f"step must be a direction such as 'cites →', not {self.step!r}")
        if not isinstance(self.normalize, bool) or (self.normalize and self.step is not None):
            raise InputError(f"normalize must be True or False, and False with a step, not {self.normalize!r}")
        if self.name != "U" and isinstance(self.rank, EnergyRank):
            raise InputError(f"rank must be a whole number for {self.name}, not {self.rank!r}")

    @property
    def most_entries(self) -> int | None:  # type: ignore[override]
        """The largest A that Ã_sym is decomposed for."""
        return Diffusion.most_entries if self.normalize else None

    @property
    def name(self) -> str:
        """``U``, ``U_sym``, or ``cites → U``."""
        return ("U_sym" if self.normalize else "U") if self.step is None else f"{self.step} U"

    @property
    def formula(self) -> str:
        """``U``, ``U[Ã_sym]``, or ``U[cites →]``."""
        of = "Ã_sym" if self.normalize else self.step
        return "U" if of is None else f"U[{of}]"

    @property
    def title(self) -> str:
        """The component in words."""
        if self.step is None:
            return "its community in the network" if self.normalize else "its place in the network"
        name, _, arrow = self.step.rpartition(" ")
        words = {"→": f"which nodes it points to by {name}", "←": f"which nodes point to it by {name}"}
        return words.get(arrow, f"which its neighbours by {self.step} are")

    @property
    def short_title(self) -> str:
        """The title in a few words."""
        return ("community" if self.normalize else "place in the network") if self.step is None else f"links by {self.step}"

    def operator(self, graph: Graph) -> Operator:
        """A of a graph: the union of its relations, one direction, or Ã_sym.

        Parameters
        ----------
        graph : Graph
            The fitted graph, or another.

        Returns
        -------
        Operator
            Row i has the nodes that place node i.
        """
        if self.step is not None:
            return operator("A", graph.direction(self.step), graph.direction(opposite(self.step)))
        return operator("Ã_sym" if self.normalize else "A", graph.adjacency)

    def compute(self, context: Context) -> tuple[StructureState, RowMatrix]:
        """Compute U Σ of the graph's A with rows of length one."""
        if self.name == "U":
            plan = context.decompose(self.rank)
            spectrum, rows = plan.solve_rows(lambda block, sigma: unit_rows(block, rounding_of(sigma)))
            return StructureState(spectrum, context.engine), rows
        engine, rank, matrix = context.engine, cast(int, self.rank), self.operator(context.graph)
        if self.step is None:
            spectrum = operator_svd(engine, matrix, rank, context.random_state)
        else:
            spectrum = context.right_vectors(self.step, rank)
        sign, floor = np.sign(spectrum.eigenvalues).astype(np.float32), rounding_of(spectrum.singular_values)
        rows = matrix.finished(engine, spectrum.vectors, lambda block: unit_rows(block * sign, floor))
        return StructureState(spectrum, engine), rows

    def project(self, state: StructureState, target: Target) -> Array:
        """A V of the nodes."""
        links, reached = self.links(target)
        raw = links @ state.right_vectors(reached, target.known)
        return without_noise(raw, rounding_of(state.spectrum.singular_values))

    def attribute(self, state: StructureState, weights: Array, target: Target) -> list[Attribution]:
        """Attribute scores to direct neighbours: Σ_j A_ij V_j W / ‖s_i‖."""
        raw = self.project(state, target)
        lengths = np.sqrt(np.einsum("ij,ij->i", raw, raw))
        links, reached = self.links(target)
        own = state.right_vectors(reached, target.known) @ weights
        found = []
        for k, length in enumerate(lengths):
            part = slice(links.indptr[k], links.indptr[k + 1])
            places, strength = links.indices[part], links.data[part]
            scores = strength[:, None] * own[places] * (1 / length if length > 0 else 0.0)
            found.append(Attribution(scores.sum(axis=0), float(length), reached[places], strength, scores))
        return found

    def neighbour_scores(self, state: StructureState, weights: Array, target: Target) -> tuple[Array, Array]:
        """What each edge carries: A_ij V_j w."""
        links, reached = self.links(target)
        nodes = reached[links.indices]
        edges = nodes != np.repeat(target.rows, np.diff(links.indptr))  # a loop is no edge
        carried = links.data * (state.right_vectors(nodes, target.known) @ weights)
        return nodes[edges], carried[edges]

    def cost(self, sizes: Sizes) -> Cost:
        """Blocks of columns through A, each against the basis twice, and the vectors from it."""
        found = _cost(self.rank, sizes)
        return found if self.step is None else replace(found, passes=2 * found.passes + 1)

    def to_arrays(self, state: StructureState) -> dict[str, Array]:
        """Singular vectors (n × r) and eigenvalues (r)."""
        vectors = state.engine.to_array(state.spectrum.vectors)
        return {"vectors": vectors, "eigenvalues": np.asarray(state.spectrum.eigenvalues)}

    def from_arrays(self, arrays: dict[str, Array]) -> StructureState:
        """The state of a model file, in memory."""
        return StructureState(Spectrum(arrays["vectors"], arrays["eigenvalues"]), MemoryEngine())

    def links(self, target: Target) -> tuple[csr_array, Array]:
        """Take the rows of A that place nodes.

        Parameters
        ----------
        target : Target
            Nodes of any graph.

        Returns
        -------
        links : csr_array of shape (m, k), float64
            A[rows, reached].
        reached : array of shape (k,)
            The nodes that place them, ascending.
        """
        way = steps((self.operator(target.graph),), target.rows, (0.0, 1.0))
        return way.matrices[0], way.reached


def _cost(rank: Rank, sizes: Sizes) -> Cost:
    layout = sizes.lanczos(rank)
    n, r, width, basis = sizes.nodes, sizes.structure_rank(rank), layout.width, layout.basis
    steps = layout.columns / width
    against = 2 * steps * n * 0.6 * basis
    return Cost(
        columns=r, held=0 if layout.is_sketched else 2 * r, working=basis + r + 4 * width, passes=steps, pass_width=width,
        single=against * width + n * basis * r, double=6 * steps * n * width * width, streamed=4 * against,
        moved=4 * against + 4 * n * (8 * layout.columns + 2 * r) + 8 * sizes.edges * steps,
    )  # fmt: skip


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

    name: ClassVar[str] = "bins(A_row X)"
    formula: ClassVar[str] = "bins(degree ‖ A_row X)"
    title: ClassVar[str] = "how many neighbours it has and their mean numbers, in ranges"
    short_title: ClassVar[str] = "neighbourhood in ranges"
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
        shape = graph.n, starts.size
        rows = Recomputed(shape, lambda rows: unit_rows(self.project(state, Target(graph, rows)).astype(np.float32)))
        return state, rows if is_large(context.engine, rows) else context.engine.row_matrix(rows[:])

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

    name: ClassVar[str] = "bins(degree)"
    formula: ClassVar[str] = name
    title: ClassVar[str] = "how many neighbours it has, in ranges"
    short_title: ClassVar[str] = "neighbours in ranges"
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


def _named(graph: Graph, known: Numbers | None, steps: tuple[str, ...], means: bool) -> list[tuple[str, int, float, float]]:
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
