"""U: the place of a node in the network.

    A = U Σ Vᵀ truncated        s_i = (U Σ)_i = Σ_j A_ij V_j        p_i = s_i / ‖s_i‖

The rank is that of `EnergyRank` or fixed. A is the undirected union or, with ``step``, the matrix of one direction of a
relation: what a node points to, or what points to it. With ``normalize`` it is Ã_sym: edges of hubs count less, so that the
leading columns are communities, not the best connected nodes. For the fitted graph A V is U Σ again; for new nodes it folds
them in. A node whose V is not known (it is new) gives nothing to its neighbours. A row of U Σ that is only rounding (of a part
of the graph that no kept column reaches) becomes zero.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, cast

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
)
from slimg.components.features import Diffusion
from slimg.components.row_scaling import rounding_of, unit_rows, without_noise
from slimg.engine.base import Array, Engine, RowMatrix
from slimg.engine.memory import MemoryEngine
from slimg.errors import InputError
from slimg.graph.graph import Graph
from slimg.graph.relations import opposite
from slimg.linalg.operators import Operator, operator, steps
from slimg.linalg.svd import Spectrum, operator_svd


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
        rows = matrix.apply(engine, engine.map_rows(lambda block: block * sign, spectrum.vectors))
        rows = engine.map_rows(lambda block: unit_rows(block, floor), rows, overwrite_input=True)
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
