"""What a component is: a block of columns of P(A, X), from its formula to the explanation of a score.

    P(A, X) = P₁ ‖ P₂ ‖ …        p_i = s_i / ‖s_i‖        scores_i = b + Σ_g p_g,i W_g

A component computes the rows p (n × k) of a graph through an engine, and keeps a *state* with which it places nodes of
other graphs (`Component.project`), takes a score back to features and neighbours (`Component.attribute`), and goes into a
model file. `SlimG` is a list of components; everything else in slimg reaches them through this interface.

A component of your own is a frozen dataclass with a name, a formula and a few methods; see CONTRIBUTING.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from inspect import isabstract
from threading import RLock
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from slimg.engine.base import Array, Engine, RowMatrix
from slimg.errors import InputError, check_whole_number
from slimg.graph.graph import Graph
from slimg.graph.relations import opposite
from slimg.linalg.krylov import LanczosLayout, lanczos_layout
from slimg.linalg.svd import Spectrum, SVDPlan, directed_svd, plan_svd

FEATURE_RANK, STRUCTURE_RANK = 256, 64
"""Columns of a component of features and of U by default (docs/deviations.md says how they were chosen)."""
FEW_FEATURES = STRUCTURE_RANK
"""Features below which the default has the structure of Ã_sym, too, and soft rows of features."""
LEAST_STRUCTURE_RANK = 32
"""Columns that U may have by the paper's rule however few features there are: capped at one or two, it would say nothing."""
MAX_RANK = 2048
"""The most columns by the paper's rule."""


@dataclass(frozen=True)
class EnergyRank:
    """The paper's rule for the number of columns: as many as hold less than a share of ‖A‖_F².

    r is the largest rank with σ₁² + … + σ_r² < energy · ‖A‖_F², where σ are the singular values of A; at least 1, at most
    ``max_rank``, the number of nodes and the number of features (of U: 32 where there are fewer features).

    Parameters
    ----------
    energy : float, default=0.9
        The share, above 0 and at most 1.
    max_rank : int, default=2048
        The most columns.

    Examples
    --------
    >>> from slimg.components import EnergyRank, Features
    >>> Features(rank=EnergyRank(max_rank=256)).rank
    EnergyRank(energy=0.9, max_rank=256)
    """

    energy: float = 0.9
    max_rank: int = MAX_RANK

    def __post_init__(self) -> None:
        if not isinstance(self.energy, (int, float, np.number)) or not 0 < self.energy <= 1:
            raise InputError(f"energy must be a number above 0 and at most 1, not {self.energy!r}")
        check_whole_number(self.max_rank, "max_rank")


PAPER_RANK = EnergyRank()
Rank = int | EnergyRank
"""A fixed number of columns (fewer where the data has fewer directions), or the rule that decides it."""


def structure_rank(rank: EnergyRank, nodes: int, features: int) -> int:
    """The most columns of U: those of the features, as in the paper, but at least `LEAST_STRUCTURE_RANK`.

    Returns
    -------
    int
    """
    return min(nodes, max(features, LEAST_STRUCTURE_RANK), rank.max_rank)


def check_rank(rank: Any) -> None:
    """Refuse what is neither a positive whole number nor an `EnergyRank`."""
    if not isinstance(rank, EnergyRank):
        check_whole_number(rank, "rank", otherwise=" or an EnergyRank")


def check_steps(name: str, steps: Any) -> tuple[str, ...]:
    """Refuse what is not a list of directions."""
    if isinstance(steps, str) or not steps or not all(isinstance(step, str) and step for step in steps):
        raise InputError(f"{name} must be a list of steps such as ('cites →', 'cites ←'), not {steps!r}")
    return tuple(steps)


class Target(NamedTuple):
    """Nodes to place: rows of a graph, which may be the fitted one or another.

    Attributes
    ----------
    graph : Graph
        The graph of the nodes.
    rows : array of shape (m,)
        Row numbers of the nodes.
    known : array of shape (n,) or None
        For each node of the graph its row in the fitted graph, −1 if it has none; None when it is the fitted graph.

    Examples
    --------
    >>> from slimg import Graph
    >>> ring = Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")])
    >>> from slimg.components import Target
    >>> Target(ring, ring.positions(["c"])).rows
    array([2])
    """

    graph: Graph
    rows: Array
    known: Array | None = None


@dataclass(frozen=True, eq=False)
class Product:
    """M β (m × c), computed when it is read: of a few classes, `product @ z`, M (β z) is much cheaper.

    Attributes
    ----------
    rows : callable
        β (d × c), or β z of any shape (d, …) → its product with M.
    beta : array of shape (d, c)
        β.
    """

    rows: Callable[[Array], Array]
    beta: Array

    def __matmul__(self, z: Array) -> Array:
        return self.rows(self.beta @ z)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self.rows(self.beta), dtype)


class Shares:
    """What sources and features contribute, as arrays that are computed when they are read first."""

    by_source: Array | Product
    by_feature: Array | Product | None

    @cached_property
    def source_scores(self) -> Array:
        """What each source contributes, shape (m, c)."""
        return np.asarray(self.by_source)

    @cached_property
    def features(self) -> Array | None:
        """What each feature contributes, shape (d, c); None for a component that is not made of features."""
        return None if self.by_feature is None else np.asarray(self.by_feature)


@dataclass(frozen=True, eq=False)
class Attribution(Shares):
    """The part of one component in the scores of one node, before it is named.

    Attributes
    ----------
    scores : array of shape (c,)
        The part itself: p W.
    length : float
        ‖s‖, the length that the row was divided by.
    sources, source_weights, by_source : arrays of shape (m,), (m,) and (m, c)
        Rows of the nodes it comes from, the weight of the paths from them, and what each contributes (or a `Product`).
    by_feature : array of shape (d, c), Product or None
        What each feature contributes; None for a component that is not made of features.
    values, averages : arrays of shape (d,) or None
        How much of each feature the node (or its neighbourhood) has, and the average node.

    Examples
    --------
    >>> from slimg import Graph, SlimG
    >>> edges = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("d", "e"), ("e", "f"), ("d", "f")]
    >>> labels = {"a": "left", "c": "left", "d": "right", "f": "right"}
    >>> model = SlimG(grid=[(0, 1e-2)]).fit(Graph.from_edges(edges, labels=labels))
    >>> from slimg.components import Target
    >>> fitted = model.components_.fitted["U"]
    >>> (attribution,) = fitted.component.attribute(fitted.state, model.coef_["U"], Target(model.graph_, [0]))
    >>> attribution.scores.shape, attribution.source_scores.shape
    ((2,), (2, 2))
    """

    scores: Array
    length: float
    sources: Array
    source_weights: Array
    by_source: Array | Product
    by_feature: Array | Product | None = None
    values: Array | None = None
    averages: Array | None = None


@dataclass(frozen=True)
class Cost:
    """What a component takes on a graph, as counts that the speed of a machine turns into seconds.

    Attributes
    ----------
    columns : int
        Columns of the result (n × columns, float32).
    held : int
        Columns that stay in memory while later components are computed.
    working : int
        Further columns held while it is computed.
    passes, pass_width : float and int
        Passes over A, and columns of each.
    single, double : float
        Multiply-adds in float32 and float64.
    streamed : float
        Bytes read and written beside that.
    moved : float
        Bytes to and from files on the engine that keeps row matrices there.

    Examples
    --------
    >>> from slimg.components import Cost
    >>> Cost(columns=4, held=4).passes
    0.0
    """

    columns: int
    held: int = 0
    working: int = 0
    passes: float = 0.0
    pass_width: int = 0
    single: float = 0.0
    double: float = 0.0
    streamed: float = 0.0
    moved: float = 0.0


@dataclass(frozen=True)
class Sizes:
    """The sizes of a graph that decide what a fit costs.

    Parameters
    ----------
    nodes, edges, features : int
        Edges are undirected.
    classes, labelled : int
        Classes, and the nodes learned and selected from.
    weighted : bool
        Whether edges have weights.
    entries : int or None
        Stored entries of sparse features; None if they are dense.
    doubled : int, default=0
        Features that repeat others: 1 − u beside each number u of a table. Components have no columns for them.

    Examples
    --------
    >>> from slimg.components.component import Sizes
    >>> Sizes(nodes=2_449_029, edges=61_859_140, features=100).features
    100
    """

    nodes: int
    edges: int
    features: int
    classes: int = 2
    labelled: int = 0
    weighted: bool = False
    entries: int | None = None
    doubled: int = 0

    def __post_init__(self) -> None:
        for name in ("nodes", "edges", "features", "classes", "labelled", "doubled"):
            check_whole_number(getattr(self, name), f"estimate: {name}", int(name == "nodes"))

    @classmethod
    def of(cls, graph: Graph) -> Sizes:
        """The sizes of a graph.

        Returns
        -------
        Sizes
        """
        weighted = graph.adjacency.weights is not None
        entries = int(graph.features.nnz) if sparse.issparse(graph.features) else None  # type: ignore[union-attr]
        return cls(graph.n, graph.edges, graph.d, max(2, len(graph.classes)), len(graph.labelled), weighted, entries)

    @property
    def stored_features(self) -> int:
        """Entries of X that are stored."""
        return self.nodes * self.features if self.entries is None else self.entries

    def rank(self, rank: Rank) -> int:
        """The most columns that a rank can give.

        Returns
        -------
        int
        """
        if not isinstance(rank, EnergyRank):
            return min(self.nodes, rank)
        return min(self.nodes, self.features or self.nodes, rank.max_rank)

    def lanczos(self, rank: Rank) -> LanczosLayout:
        """How U of that rank is decomposed.

        Returns
        -------
        LanczosLayout
        """
        return lanczos_layout(self.nodes, self.structure_rank(rank))

    def structure_rank(self, rank: Rank) -> int:
        """The most columns of U that a rank can give.

        Returns
        -------
        int
        """
        if not isinstance(rank, EnergyRank):
            return min(self.nodes, rank)
        return structure_rank(rank, self.nodes, self.features or self.nodes)


@dataclass
class Context:
    """What the components of one graph share while they are computed.

    Attributes
    ----------
    graph : Graph
        The graph whose rows are computed.
    engine : Engine
        Where row matrices live; all work on n rows goes through its operations.
    random_state : int
        Seeds the start of iterative decompositions.
    ranks : dict of Rank to int
        Ranks that are known: rule → number of columns.

    Examples
    --------
    >>> from slimg import Graph
    >>> ring = Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")])
    >>> from slimg.components import Context, Structure
    >>> from slimg.engine import MemoryEngine
    >>> state, rows = Structure(rank=2).compute(Context(ring, MemoryEngine()))
    >>> rows.shape
    (4, 2)
    """

    graph: Graph
    engine: Engine
    random_state: int = 0
    ranks: dict[Rank, int] = field(default_factory=dict)
    _plans: dict[Rank, SVDPlan] = field(default_factory=dict)
    _sides: dict[tuple[str, int], Spectrum] = field(default_factory=dict)
    _lock: RLock = field(default_factory=RLock)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of nodes and features; a graph without features counts as having as many as nodes."""
        n, features = self.graph.adjacency.n, self.graph.features
        return n, n if features is None else features.shape[1] or n

    def svd(self, rank: Rank) -> SVDPlan:
        """Plan the decomposition of A with this rank, which components share.

        Parameters
        ----------
        rank : int or EnergyRank
            The number of columns, or the rule that decides it.

        Returns
        -------
        SVDPlan
            The plan; nothing is computed yet.
        """
        with self._lock:
            if rank not in self._plans:
                if isinstance(rank, EnergyRank):
                    energy, cap = rank.energy, structure_rank(rank, *self.shape)
                else:
                    energy, cap = np.inf, rank
                self._plans[rank] = plan_svd(
                    self.engine, self.graph.adjacency, energy=energy, max_rank=cap, random_state=self.random_state
                )
            return self._plans[rank]

    def decompose(self, rank: Rank) -> SVDPlan:
        """Decompose A until its rank is known.

        Parameters
        ----------
        rank : int or EnergyRank
            The number of columns, or the rule that decides it.

        Returns
        -------
        SVDPlan
            The plan, prepared.
        """
        with self._lock:
            plan = self.svd(rank)
            if rank not in self.ranks:
                plan.prepare()
                self.ranks[rank] = plan.rank
            return plan

    def right_vectors(self, step: str, rank: int) -> Spectrum:
        """Decompose the matrix D of a direction, D = U Σ Vᵀ; the opposite direction, whose D is the transpose, shares it.

        Parameters
        ----------
        step : str
            As `Graph.directions` names it.
        rank : int
            The number of columns.

        Returns
        -------
        Spectrum
            V and Σ, of which no other reference is kept.
        """
        with self._lock:
            if (step, rank) not in self._sides:
                back = opposite(step)
                out, into = self.graph.direction(step), self.graph.direction(back)
                sigma, left, right = directed_svd(self.engine, out, into, rank, self.random_state)
                self._sides |= {(back, rank): Spectrum(left, sigma), (step, rank): Spectrum(right, sigma)}
            return self._sides.pop((step, rank))

    def resolve(self, rank: Rank) -> int:
        """Find the number of columns that a rank stands for; the paper's rule needs the singular values of A.

        Parameters
        ----------
        rank : int or EnergyRank
            The number of columns, or the rule that decides it.

        Returns
        -------
        int
            The number of columns.
        """
        if not isinstance(rank, EnergyRank):
            return min(*self.shape, rank)
        if not self.graph.adjacency.nnz:
            return min(*self.shape, rank.max_rank)
        with self._lock:
            return self.ranks[rank] if rank in self.ranks else self.decompose(rank).rank

    def release(self, rank: Rank) -> None:
        """Forget a decomposition that no component needs any more; its rank stays known.

        Parameters
        ----------
        rank : int or EnergyRank
            The rank it was planned with.
        """
        self._plans.pop(rank, None)


class Component(ABC):
    """A named block of columns of P(A, X): a frozen dataclass whose fields are its options.

    A subclass defines `name`, `formula`, `title`, `compute` and `project`; the other methods have defaults for a component
    that depends on the node alone.

    Attributes
    ----------
    needs_edges, needs_features : bool
        Class attributes: what a graph must have for this component; without it, the component is left out with a note.
    most_entries : int or None
        Class attribute: stored entries of A beyond which the component is left out with a note, since it takes too long.

    Examples
    --------
    >>> from slimg.components import Component, Features
    >>> issubclass(Features, Component)
    True
    >>> Features(rank=8).formula
    'g(X)'
    """

    needs_edges: ClassVar[bool] = False
    needs_features: ClassVar[bool] = False
    most_entries: ClassVar[int | None] = None
    kinds: ClassVar[dict[str, type[Component]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        Component.kinds[cls.__name__] = cls

    @property
    @abstractmethod
    def name(self) -> str:
        """The short name, unique in a list of components, for example ``A_row^2 X``."""

    @property
    @abstractmethod
    def formula(self) -> str:
        """The formula, for example ``g(A_row² X)``."""

    @property
    @abstractmethod
    def title(self) -> str:
        """The component in words, for example ``its own features``."""

    @property
    def short_title(self) -> str:
        """The title in two or three words, for charts."""
        return self.title

    @property
    def reach(self) -> int:
        """Hops within which a change of edges or features of other nodes changes a row."""
        return 0

    @abstractmethod
    def compute(self, context: Context) -> tuple[Any, RowMatrix]:
        """Compute the rows of all nodes.

        Parameters
        ----------
        context : Context
            The graph, the engine and the seed.

        Returns
        -------
        state : object
            What `project` needs to place other nodes; see `to_arrays`.
        rows : RowMatrix of shape (n, k)
            Rows of length one, or zero (`slimg.components.row_scaling.unit_rows`).
        """

    @abstractmethod
    def project(self, state: Any, target: Target) -> Array:
        """Place nodes of any graph: rows s before they are divided by their length.

        Parameters
        ----------
        state : object
            The state that `compute` returned.
        target : Target
            The nodes.

        Returns
        -------
        array of shape (m, k), float64
            One row for each node of the target.
        """

    def lengths(self, state: Any, raw: Array) -> Array:
        """What rows s are divided by, ‖s‖ by default.

        Parameters
        ----------
        state : object
            The state that `compute` returned.
        raw : array of shape (m, k)
            Rows of `project`.

        Returns
        -------
        array of shape (m,)
            One number for each row.
        """
        return np.sqrt(np.einsum("ij,ij->i", raw, raw))

    def attribute(self, state: Any, weights: Array, target: Target) -> Iterable[Attribution]:
        """Take the part p W of this component in the scores back to features and nodes.

        The default attributes all of it to the node itself and, if `feature_names` gives names, to the columns of s.

        Parameters
        ----------
        state : object
            The state that `compute` returned.
        weights : array of shape (k, c), float64
            The weights of the component.
        target : Target
            The nodes.

        Returns
        -------
        iterable of Attribution
            One for each row of the target. Sources, and features if there are any, add up to the scores.
        """
        raw = self.project(state, target)
        lengths = self.lengths(state, raw)
        unit = raw / np.where(lengths > 0, lengths, 1)[:, None]
        named = self.feature_names(state) is not None
        found = []
        for row, values, p, length in zip(target.rows, raw, unit, lengths, strict=True):
            scores = p @ weights
            own = {"by_feature": p[:, None] * weights, "values": values, "averages": np.zeros_like(values)} if named else {}
            found.append(Attribution(scores, float(length), np.array([row]), np.ones(1), scores[None], **own))
        return found

    def feature_names(self, state: Any) -> tuple[str, ...] | None:
        """Name the features that `attribute` and `loadings` refer to.

        Parameters
        ----------
        state : object
            The state that `compute` returned.

        Returns
        -------
        tuple of str or None
            None stands for the features of the graph, if it has any.
        """
        return None

    def loadings(self, state: Any, weights: Array) -> Array | None:
        """The weight of each feature for each class, before a row is divided by its length.

        Parameters
        ----------
        state : object
            The state that `compute` returned.
        weights : array of shape (k, c)
            The weights of the component.

        Returns
        -------
        array of shape (d, c) or None
            None for a component that is not made of features.
        """
        return weights.astype(np.float64) if self.feature_names(state) is not None else None

    def neighbour_scores(self, state: Any, weights: Array, target: Target) -> tuple[Array, Array]:
        """What each edge of one node carries to its score, to rank edges in the search for a counterfactual.

        Parameters
        ----------
        state : object
            The state that `compute` returned.
        weights : array of shape (k,), float64
            The weights of one class, or of one class against others.
        target : Target
            A single node.

        Returns
        -------
        neighbours, scores : arrays of shape (m,)
            Rows of the neighbours, and what the edge to each carries; empty where edges do not matter.
        """
        return np.zeros(0, np.int64), np.zeros(0)

    def cost(self, sizes: Sizes) -> Cost:
        """What computing this component takes on a graph of these sizes.

        Parameters
        ----------
        sizes : Sizes
            Nodes, edges, features, classes and labelled nodes.

        Returns
        -------
        Cost
            Columns, passes over A, multiply-adds and bytes.
        """
        return Cost(columns=1)

    def to_arrays(self, state: Any) -> dict[str, Array]:
        """Turn the state into named arrays for a model file.

        Parameters
        ----------
        state : object
            The state that `compute` returned.

        Returns
        -------
        dict of str to array
            The default takes a state that is such a dict already, or None.
        """
        return dict(state or {})

    def from_arrays(self, arrays: dict[str, Array]) -> Any:
        """Turn the arrays of a model file back into a state.

        Parameters
        ----------
        arrays : dict of str to array
            What `to_arrays` returned.

        Returns
        -------
        object
            The state, for `project` and `attribute`.
        """
        return arrays

    def options(self) -> dict[str, Any]:
        """Give the options as ``__init__`` takes them.

        Returns
        -------
        dict of str to object
            Name of the option → value.
        """
        return {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class FittedComponent:
    """A component with its state: what places nodes and explains scores, without the rows of the fitted graph.

    Attributes
    ----------
    component : Component
        The component, with its options.
    state : object
        What `Component.compute` returned.
    """

    component: Component
    state: Any = field(repr=False)

    def rows(self, target: Target) -> tuple[Array, Array]:
        """Compute rows of P for nodes of any graph.

        Parameters
        ----------
        target : Target
            The nodes.

        Returns
        -------
        rows : array of shape (m, k), float64
            Rows of length one, or zero.
        lengths : array of shape (m,)
            ‖s‖, by which the rows were divided.
        """
        raw = self.component.project(self.state, target)
        length = self.component.lengths(self.state, raw)
        return raw / np.where(length > 0, length, 1)[:, None], length


def check_components(components: Any) -> list[Component]:
    """Check a list of components.

    Parameters
    ----------
    components : sequence of Component
        What was given.

    Returns
    -------
    list of Component
        The same components.

    Raises
    ------
    InputError
        If it is not a list of components, is empty, or has two of one name.
    """
    known = ", ".join(f"{kind}()" for kind, cls in Component.kinds.items() if not isabstract(cls))
    if isinstance(components, (str, Component)) or not isinstance(components, Sequence):
        raise InputError(f"components must be a list of components such as [{known}], not {components!r}")
    for each in components:
        if not isinstance(each, Component):
            raise InputError(f"unknown component {each!r}: components are objects, choose from {known}")
    if not components:
        raise InputError(f"components must have at least one component, of {known}; the list is empty")
    names = [each.name for each in components]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"two components have the name {twice[0]!r}: remove one, or give them different options")
    return list(components)


REASONS = {
    "No features": "need features, but the graph has none: use components=[Structure()]",
    "No edges": "need edges, but the graph has none: use components=[Features()]",
    "Too many edges": "take too long on a graph of so many edges: use components=[PropagatedFeatures()]",
}
"""Why components are left out of a list, and what is said where nothing would be left."""


def lacking(component: Component, entries: int, features: int) -> str | None:
    """Say why a graph cannot have a component.

    Parameters
    ----------
    component : Component
    entries, features : int
        Stored entries of A and columns of X.

    Returns
    -------
    str or None
        One of `REASONS`; None if it can.
    """
    if component.needs_features and not features:
        return "No features"
    if component.needs_edges and not entries:
        return "No edges"
    if component.most_entries is not None and entries > component.most_entries:
        return "Too many edges"
    return None


def available_components(components: Any, graph: Graph) -> tuple[list[Component], tuple[str, ...]]:
    """Find the components that a graph can have.

    Parameters
    ----------
    components : sequence of Component
        What was given.
    graph : Graph
        The graph.

    Returns
    -------
    available : list of Component
        Those that do not need edges or features which the graph lacks, and do not take too long on it.
    notes : tuple of str
        One sentence for each reason to leave some out.

    Raises
    ------
    InputError
        If none can be computed, or the graph has neither edges nor features.
    """
    wanted = check_components(components)
    entries, features = graph.adjacency.nnz, 0 if graph.features is None else graph.features.shape[1]
    if not entries and not features:
        raise InputError("the graph has neither edges nor features: there is nothing to learn from, add one of them")
    reasons = {each.name: lacking(each, entries, features) for each in wanted}
    kept = [each for each in wanted if reasons[each.name] is None]
    left_out = {why: ", ".join(name for name in reasons if reasons[name] == why) for why in reasons.values() if why}
    if not kept:
        why, names = next(iter(left_out.items()))
        raise InputError(f"components {names} {REASONS[why]}")
    used = ", ".join(each.name for each in kept)
    return kept, tuple(f"{why}: components {names} are left out; used: {used}." for why, names in left_out.items())
