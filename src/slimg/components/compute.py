"""The rows of P(A, X) for a list of components.

    P(A, X) = U ‖ g(X) ‖ g(A_row² X) ‖ g(Ã_sym² X) ‖ g(p(Ã_sym) X)        the default; the paper's are the first four

A wide X is reduced once, to the columns that all components of features start from (`slimg.linalg.svd`). Passes over A are
shared: the first hops of all operators gather the same rows once, and components with 2 and 4 hops of one operator take four
passes, not six. Components of a small graph are computed side by side, those of a large one after the other: then no more
than the components and one temporary of their size are held at any time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from slimg.components.component import (
    FEATURE_RANK,
    FEW_FEATURES,
    PAPER_RANK,
    STRUCTURE_RANK,
    Component,
    Context,
    EnergyRank,
    FittedComponent,
    Rank,
    Sizes,
    available_components,
    lacking,
)
from slimg.components.features import FeatureComponent, Features, FeatureState, PageRank, PathFeatures, PropagatedFeatures
from slimg.components.row_scaling import (
    BINS,
    ROUNDING,
    SOFT,
    UNIT,
    Preparation,
    basis_of_numbers,
    dense_rows,
    numbers_of,
    preparation_of,
    prepared_matrix,
    prepared_rows,
    range_names,
    uneven_numbers,
    unit_rows,
)
from slimg.components.screening import Screening
from slimg.components.structure import Structure
from slimg.engine.base import Array, Engine, RowMatrix
from slimg.engine.blas import matmul, one_thread
from slimg.engine.memory import MemoryEngine
from slimg.errors import InputError
from slimg.graph.graph import Graph
from slimg.linalg.operators import Operator, Weighted, operator
from slimg.linalg.svd import PCA, SWEEPS, leading_directions, principal_components, reduced_width
from slimg.system import release_pages

SIDE_BY_SIDE = 1 << 23
"""Entries of X, reduced, up to which all components are computed at the same time."""
LONG = 32
"""Hops from which on components walk on columns of their own rank, which may be fewer."""
TASK_NODES = 1 << 13
"""Nodes up to which the SVD is one of the tasks; on larger graphs it has blocks enough for all threads."""

WIDEST_STRUCTURE, WIDE_ENTRIES = 512, 1 << 24
"""The most columns of U by default, and the most entries of what is added to the list for few labels: it bounds memory."""
MANY_LABELS = 100
"""Labels from which on U is wider and direct neighbours have a component by default; with few features, `FEATURE_RANK`."""

NOTES: dict[tuple[str | None, str | None, bool], str] = {
    ("auto", "standard", False): "Features are measured numbers, not counts: each column is standardised.",
    ("auto", "row", True): "Features are counts: the fewer nodes have one, the more it counts.",
}
"""What is said of how X was prepared: asked for, decided, and whether columns have weights."""


def paper_components(*, rank: Rank = PAPER_RANK, pca: bool = True, normalize: str | None = "auto") -> tuple[Component, ...]:
    """Make the paper's four components with the same options: U ‖ g(X) ‖ g(A_row² X) ‖ g(Ã_sym² X).

    Parameters
    ----------
    rank : int or EnergyRank, default=EnergyRank()
        The number of columns of each, or the rule that decides it.
    pca : bool, default=True
        False keeps the features themselves.
    normalize : "auto", "row", "standard" or None, default="auto"
        How rows of X are prepared; None takes them as they are.

    Returns
    -------
    tuple of Component
        Structure, Features, and PropagatedFeatures of both kinds.

    Examples
    --------
    >>> from slimg.components import paper_components
    >>> [component.name for component in paper_components(rank=128)]
    ['U', 'X', 'A_row^2 X', 'A_sym^2 X']
    """
    options: dict[str, Any] = {"rank": rank, "pca": pca, "normalize": normalize}
    far = (PropagatedFeatures(kind=kind, **options) for kind in ("row", "sym"))
    return (Structure(rank=rank), Features(**options), *far)


PAPER_COMPONENTS = paper_components()
"""The paper's four, with the paper's rank."""


def default_components(labels: int = 0, nodes: int = 0, features: int | None = None) -> tuple[Component, ...]:
    """Make the default list: U ‖ g(X) ‖ g(A_row² X) ‖ g(Ã_sym² X) ‖ g(p(Ã_sym) X), each with its default rank.

    From 100 labels to learn from on, more can be learned: U has two columns for each of them, up to 512, and g(A_row X), the mean
    features of direct neighbours, is a component too. Where there are no features, or fewer than 64, the edges have to say more:
    then U[Ã_sym] is another, and U, which would hide what a few numbers say, is wider from 256 labels on, by half a column each;
    rows of features near the mean stay short (``soft``).

    Parameters
    ----------
    labels : int, default=0
        The number of labelled nodes to learn from.
    nodes : int, default=0
        The number of nodes. What many labels add has at most 2²⁴ entries: U beyond its 64 columns, and g(A_row X).
    features : int or None, default=None
        The number of features; None is many.

    Returns
    -------
    tuple of Component
        Structure, Features, PropagatedFeatures of both kinds, and PageRank.

    Examples
    --------
    >>> from slimg.components import default_components
    >>> [component.name for component in default_components()]
    ['U', 'X', 'A_row^2 X', 'A_sym^2 X', 'PPR^10 X']
    >>> structure, _, near, *_ = default_components(labels=150)
    >>> structure.rank, near.name
    (300, 'A_row^1 X')
    """
    structure, near, few = Structure(), tuple[Component, ...](), features is not None and features < FEW_FEATURES
    many, wider = (FEATURE_RANK, labels // 2) if few else (MANY_LABELS, 2 * labels)
    if labels >= many:
        wider = min(wider, WIDEST_STRUCTURE, WIDE_ENTRIES // max(nodes, 1))
        structure = Structure(rank=max(STRUCTURE_RANK, wider))
        near = (PropagatedFeatures(steps=1, soft=few),) if nodes * FEATURE_RANK <= WIDE_ENTRIES else ()
    far = (PropagatedFeatures(kind=kind, soft=few) for kind in ("row", "sym"))
    second = (replace(structure, normalize=True),) if few else ()
    return structure, *second, Features(soft=few), *near, *far, PageRank(soft=few)


DEFAULT_COMPONENTS = default_components()
"""The default list of components for few labels."""


@dataclass
class Components:
    """The rows of P(A, X) of one graph, as named blocks of columns.

    Attributes
    ----------
    engine : Engine
        Where the blocks live.
    blocks : dict of str to RowMatrix
        Name → rows (n × width) of length one, or zero.
    fitted : dict of str to FittedComponent
        Name → the component with what it needs to place other nodes.
    rank : int
        The largest number of columns that a component was to have; it may have fewer.
    notes : tuple of str
        What was left out, one sentence each.
    seconds : dict of str to float
        Stage or component → wall time; components of a small graph overlap.
    screening : Screening or None
        What the labels said about paths along relations, if they were asked.

    Examples
    --------
    >>> from slimg import Graph
    >>> ring = Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")])
    >>> from slimg.components import Structure, compute_components
    >>> from slimg.engine import MemoryEngine
    >>> components = compute_components(ring, MemoryEngine(), components=[Structure(rank=2)])
    >>> {name: block.shape for name, block in components.blocks.items()}
    {'U': (4, 2)}
    """

    engine: Engine
    blocks: dict[str, RowMatrix] = field(default_factory=dict)
    fitted: dict[str, FittedComponent] = field(default_factory=dict)
    rank: int = 0
    notes: tuple[str, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    screening: Screening | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the components."""
        return tuple(self.blocks)

    @property
    def titles(self) -> dict[str, str]:
        """Name → the component in words."""
        return {name: each.component.title for name, each in self.fitted.items()}

    @property
    def short_titles(self) -> dict[str, str]:
        """Name → the component in two or three words."""
        return {name: each.component.short_title for name, each in self.fitted.items()}

    @property
    def widths(self) -> dict[str, int]:
        """Name → number of columns."""
        return {name: block.shape[1] for name, block in self.blocks.items()}

    @property
    def sources(self) -> dict[str, tuple[str, ...]]:
        """Names by what they are made of: ``features`` alone (no edges), the ``network`` alone (no features).

        Every comparison with the features or the network alone takes these. A source without components is left out.
        """
        needs = {"features": "needs_edges", "network": "needs_features"}
        found = {
            source: tuple(name for name, each in self.fitted.items() if not getattr(each.component, other))
            for source, other in needs.items()
        }
        return {source: names for source, names in found.items() if names}

    @property
    def groups(self) -> dict[str, slice]:
        """Name → its columns in `labelled_rows`."""
        edges = np.cumsum([0, *self.widths.values()])
        return {name: slice(int(a), int(b)) for name, a, b in zip(self.blocks, edges[:-1], edges[1:], strict=True)}

    def select(self, names: Iterable[str]) -> Components:
        """Take some of the components, which are not computed again.

        Parameters
        ----------
        names : iterable of str
            Names of components.

        Returns
        -------
        Components
            The chosen ones, in the order of the names.
        """
        kept = list(names)
        blocks, fitted = ({name: each[name] for name in kept} for each in (self.blocks, self.fitted))
        return Components(self.engine, blocks, fitted, self.rank, self.notes, self.seconds, self.screening)

    def clear(self) -> None:
        """Give back the rows and their memory; what places nodes stays."""
        self.blocks.clear()
        self.engine.release_unused()

    def labelled_rows(self, index: Array) -> Array:
        """Take some rows of P, the blocks side by side.

        Parameters
        ----------
        index : array of shape (m,)
            Row numbers, or a mask of shape (n,).

        Returns
        -------
        array of shape (m, Σ widths), float32, C order
            One row for each entry of the index.
        """
        index = np.asarray(index)
        size = int(np.count_nonzero(index)) if index.dtype == bool else len(index)
        out = np.empty((size, sum(self.widths.values())), np.float32)
        for name, columns in self.groups.items():
            out[:, columns] = self.engine.rows(self.blocks[name], index)
        return out

    def linear(self, weights: Mapping[str, Array]) -> RowMatrix:
        """Compute Σ_g P_g W_g for all nodes in one pass; components whose weights are all zero are not read.

        Parameters
        ----------
        weights : mapping of str to array of shape (width, c)
            Component → weights.

        Returns
        -------
        RowMatrix of shape (n, c)
            Scores without an intercept.
        """
        used = {name: np.ascontiguousarray(each, np.float32) for name, each in weights.items() if np.any(each)}
        if not used:
            used = {name: np.asarray(each, np.float32) for name, each in list(weights.items())[:1]}

        def total(*blocks: Array) -> Array:
            terms = [matmul(dense_rows(block), weight) for block, weight in zip(blocks, used.values(), strict=True)]
            return np.add.reduce(terms)

        return self.engine.map_rows(total, *(self.blocks[name] for name in used))


def compute_components(
    graph: Graph, engine: Engine | None = None, *, components: Sequence[Component] | None = None, random_state: int = 0
) -> Components:
    """Compute the rows of P(A, X) of a graph.

    Parameters
    ----------
    graph : Graph
        Edges, features or both. Labels are not read.
    engine : Engine or None, default=None
        Where the work is done; None is an engine in memory.
    components : sequence of Component or None, default=None
        What to compute; None is the default list for few labels. Components that need edges or features which the graph does
        not have are left out, with a note.
    random_state : int, default=0
        Seeds the start of iterative decompositions.

    Returns
    -------
    Components
        Blocks of rows by name, what places other nodes, notes and times.

    Examples
    --------
    >>> import numpy as np
    >>> from slimg import Graph
    >>> from slimg.components import PropagatedFeatures, Structure, compute_components
    >>> graph = Graph.from_arrays(np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]]), features=np.eye(3))
    >>> compute_components(graph, components=[Structure(rank=1), PropagatedFeatures(pca=False)]).widths
    {'U': 1, 'A_row^2 X': 3}
    """
    begun = time.perf_counter()
    if components is None:
        features = 0 if graph.features is None else graph.features.shape[1]
        components = default_components(0, graph.adjacency.n, features)
    wanted, notes = available_components(components, graph)
    result = Components(engine or MemoryEngine(), notes=notes)
    context = Context(graph, result.engine, random_state)
    with one_thread():
        _compute_all(result, context, wanted, [each for each in wanted if isinstance(each, FeatureComponent)])
    result.engine.release_unused()
    for array in (graph.features, graph.adjacency.indices, graph.adjacency.weights):
        release_pages(array)
    names = _nonempty(result, [each.name for each in wanted])
    result.blocks = {name: result.blocks[name] for name in names}
    result.fitted = {name: result.fitted[name] for name in names}
    result.rank = max(*context.ranks.values(), *result.widths.values(), 0)
    result.seconds["total"] = time.perf_counter() - begun
    return result


def columns_through(sizes: Sizes, components: Sequence[Component] = DEFAULT_COMPONENTS) -> float:
    """Columns that a fit takes through A, about: those of U, then those of the hops, whose first pass is shared.

    Returns
    -------
    float
    """
    found = [each for each in components if lacking(each, 2 * sizes.edges, sizes.features) is None]
    far = [each for each in found if isinstance(each, FeatureComponent) and each.hops]
    costs = [each.cost(sizes) for each in found if each not in far]
    through = sum(cost.passes * cost.pass_width for cost in costs)
    if not far:
        return through
    width = max(each.cost(sizes).pass_width for each in far)
    longest: dict[str, int] = {}
    for each in far:
        kind = getattr(each, "kind", "sym")
        longest[kind] = max(longest.get(kind, 0), each.hops)
    reduction = 2 * SWEEPS * (width < sizes.features)
    return through + (1 + sum(hops - 1 for hops in longest.values()) + reduction) * width


def _nonempty(result: Components, names: list[str]) -> list[str]:
    """Names of the components that have columns; the others are left out with a note."""
    empty = [name for name in names if not result.blocks[name].shape[1]]
    kept = [name for name in names if name not in empty]
    if not kept:
        raise InputError(f"components {', '.join(empty)} are empty: the features are the same in all nodes, add others")
    if empty:
        result.notes += (f"Components {', '.join(empty)} are left out: the features are the same in all nodes.",)
    return kept


def _compute_all(result: Components, context: Context, wanted: list[Component], featured: list[FeatureComponent]) -> None:
    """U and the like, then the components of features; on a small graph in memory at the same time."""
    others = [each for each in wanted if not isinstance(each, FeatureComponent)]
    tasks: list[Callable[[], Any]] = [partial(_compute, result, context, each) for each in others]
    groups = _groups(featured, context)
    small = _is_small(context, featured)
    if small and context.graph.adjacency.n <= TASK_NODES and isinstance(result.engine, MemoryEngine):
        result.engine.concurrently(*tasks, *(partial(_features, result, context, group, small) for group in groups))
        return
    for task in tasks:
        task()
    for rank in _energy_ranks(featured, context):
        _timed(result, "U", context.resolve, rank)
        context.release(rank)
    for group in groups:
        _features(result, context, group, small)


def _is_small(context: Context, featured: list[FeatureComponent]) -> bool:
    n, d = context.shape
    caps = [each.rank.max_rank if isinstance(each.rank, EnergyRank) else each.rank for each in featured]
    widths = [each.width(n, d, cap) for each, cap in zip(featured, caps, strict=True)]
    return bool(widths) and n * max(widths) <= SIDE_BY_SIDE


def _groups(featured: list[FeatureComponent], context: Context) -> list[list[FeatureComponent]]:
    """Components that are made from the same columns: X prepared in the same way, reduced or not; with many hops, of one rank."""
    d, groups = context.shape[1], dict[tuple[Any, ...], list[FeatureComponent]]()
    for each in featured:
        groups.setdefault((each.normalize, each.is_exact(d), each.hops >= LONG and each.rank), []).append(each)
    return list(groups.values())


def _energy_ranks(featured: list[FeatureComponent], context: Context) -> list[Rank]:
    """Rules by which components of features take their rank from the singular values of A."""
    if not context.graph.adjacency.nnz:
        return []
    return list(dict.fromkeys(each.rank for each in featured if each.pca and isinstance(each.rank, EnergyRank)))


def _compute(result: Components, context: Context, component: Component) -> None:
    state, rows = _timed(result, component.name, component.compute, context)
    result.fitted[component.name], result.blocks[component.name] = FittedComponent(component, state), rows
    if isinstance(component, Structure):
        context.release(component.rank)


def _features(result: Components, context: Context, group: list[FeatureComponent], small: bool) -> None:
    """The components that share columns: those columns, their hops, and g of each."""
    engine, features = result.engine, context.graph.features
    numbers = numbers_of(context.graph.reading) if group[0].normalize == "bins" else None
    preparation = preparation_of(engine, engine.row_matrix(features), group[0].normalize, numbers)
    note = NOTES.get((group[0].normalize, preparation.normalize, preparation.weights is not None))
    result.notes += () if note is None or note in result.notes else (note,)
    reduction = _timed(result, "features", _reduction, context, group, preparation)
    start = partial(_timed, result, "features", _start, engine, features, preparation, reduction)
    solve = partial(_solve, result, context, preparation, reduction)
    sources = _sources(result, context, group, start, not small and reduction.columns is None)
    if small:
        engine.concurrently(*[partial(solve, *source) for source in sources])
        return
    for source in sources:
        solve(*source)
        del source  # the next hop must not find it still held


class _Reduction(NamedTuple):
    """V (d × l), X V, and for each component, by name, the mean of the rows of F X; nothing where X is not reduced.

    X V of a sparse X, and of one of numbers, is not kept: to make it again costs less than the memory. Without means X V Vᵀ
    is X itself.
    """

    basis: Array | None = None
    columns: RowMatrix | None = None
    means: Mapping[str, Array] = {}


def _reduction(context: Context, group: list[FeatureComponent], preparation: Preparation) -> _Reduction:
    engine, graph, (n, d) = context.engine, context.graph, context.shape
    exact, d = group[0].is_exact(d), d if preparation.edges is None else preparation.edges.size // (BINS - 1) * BINS
    width = d if exact else reduced_width(n, d, max(context.resolve(each.rank) for each in group))
    if width in (None, d):
        return _Reduction(None if exact else _halved(context, preparation))
    far = any(each.hops for each in group)
    x = prepared_matrix(engine, graph.features, preparation)
    basis = leading_directions(engine, x, width, operator("Ã_sym", graph.adjacency) if far else None, context.random_state)
    ones = engine.row_matrix(np.full((n, 1), 1 / n, np.float32))
    sums = [_transposed(engine, graph, each, ones) for each in group]
    means = engine.gram(x, engine.map_rows(lambda *blocks: np.hstack(blocks), *sums))  # float64: there are long sums
    by_name = {each.name: mean for each, mean in zip(group, means.T, strict=True)}
    return _Reduction(basis, None if engine.is_sparse(x) else engine.combine(x, basis), by_name)


def _halved(context: Context, preparation: Preparation) -> Array | None:
    """A basis of rows of numbers of a table, u beside 1 − u, which have half as many directions as entries; None for others."""
    numbers, x = numbers_of(context.graph.reading), context.engine.row_matrix(context.graph.features)
    if numbers is None or len(numbers.names) < 2 or preparation.normalize != "row" or context.engine.is_sparse(x):
        return None
    uneven = context.engine.sum_rows(partial(uneven_numbers, places=numbers.places), x)
    return None if uneven else basis_of_numbers(numbers.places, x.shape[1])


def _transposed(engine: Engine, graph: Graph, component: FeatureComponent, ones: RowMatrix) -> RowMatrix:
    """Fᵀ 1/n (n × 1)."""
    operators = component.operators(graph)
    if _is_sum(component):
        return operators[0].transposed.series(engine, ones, component.coefficients)
    for each in operators:
        ones = each.transposed.apply(engine, ones)
    return ones


def _start(engine: Engine, features: Any, preparation: Preparation, reduction: _Reduction) -> RowMatrix:
    """X V, or X itself as a dense row matrix."""
    if reduction.columns is not None:
        return reduction.columns
    basis = reduction.basis
    if basis is not None and not reduction.means:
        return engine.map_rows(lambda block: matmul(prepared_rows(block, preparation), basis), engine.row_matrix(features))
    x = prepared_matrix(engine, features, preparation)
    if x is not features:
        release_pages(features)
    if basis is not None:
        return engine.combine(x, basis)
    return engine.map_rows(dense_rows, x) if engine.is_sparse(x) else x


def _solve(
    result: Components, context: Context, preparation: Preparation, reduction: _Reduction,
    component: FeatureComponent, source: RowMatrix, spare: bool,
) -> None:  # fmt: skip
    """g of what a component is made from."""
    engine, name = result.engine, component.name
    names, least = _range_names(context.graph, preparation), preparation.length

    n = context.shape[0]

    def scaling(pca: PCA) -> tuple[float, float]:
        return (SOFT, (1 - SOFT) * float(np.square(pca.singular_values).sum()) / n) if component.soft else UNIT

    def scaled(block: Array, pca: PCA) -> Array:
        return unit_rows(block, ROUNDING * max(least, pca.length), scaling(pca))

    if not component.pca:
        rows = engine.map_rows(lambda block: unit_rows(block, ROUNDING * least), source, overwrite_input=spare)
        state = FeatureState(preparation, names=names, floor=ROUNDING * least)
    else:
        rank = context.resolve(component.rank)
        pca, rows = _timed(result, name, principal_components, engine, source, rank, scaled, spare)
        basis, floor = reduction.basis, ROUNDING * max(least, pca.length)
        mean = reduction.means.get(name, pca.mean if basis is None else basis @ pca.mean)
        state = FeatureState(preparation, pca, basis, mean, names, floor, scaling(pca))
    result.fitted[name], result.blocks[name] = FittedComponent(component, state), rows


def _range_names(graph: Graph, preparation: Preparation) -> tuple[str, ...] | None:
    edges, numbers = preparation.edges, numbers_of(graph.reading)
    if edges is None:
        return None
    if numbers is not None:
        return range_names(numbers.names, numbers.mean[:, None] + numbers.scale[:, None] * (edges - 0.5))
    return range_names(graph.feature_names or [f"feature {j}" for j in range(len(edges))], edges)


_Source = tuple[FeatureComponent, RowMatrix, bool]
"""A component, what g is applied to, and whether nobody needs that afterwards."""


def _sources(
    result: Components, context: Context, group: list[FeatureComponent], start: Callable[[], RowMatrix], twice: bool
) -> Iterator[_Source]:
    """F X of all components of a group, each freed when it is not needed.

    With ``twice`` X is made again after the hops, which costs less than the memory to keep it beside them.
    """
    own = [each for each in group if not each.hops]
    paths = [each for each in group if isinstance(each, PathFeatures)]
    far = [each for each in group if each.hops and each not in paths]
    x = start()
    yield from _paths(result, context.graph, paths, x)
    if not (twice and far):
        yield from ((each, x, twice and len(own) == 1) for each in own)
    if far:
        walks = [x]
        del x
        yield from _walks(result, context.graph, far, walks)
    if twice and far:
        release_pages(context.graph.adjacency.indices)
        yield from ((each, start(), True) for each in own)


def _walks(result: Components, graph: Graph, far: list[FeatureComponent], walks: list[RowMatrix]) -> Iterator[_Source]:
    """Hops of the one row matrix in ``walks``, which is taken out: the first ones of all operators share a pass."""
    operators: dict[str, Operator] = {}
    members: dict[str, list[FeatureComponent]] = {}
    for each in sorted(far, key=lambda each: each.hops):
        found = each.operator(graph.adjacency)
        assert found is not None
        operators.setdefault(found.name, found)
        members.setdefault(found.name, []).append(each)
    plans = {name: _plan(listed) for name, listed in members.items()}
    first = [applied.hop(False, 1 not in plans[name]) for name, applied in operators.items()]
    passes = partial(_timed, result, "hops", result.engine.products)
    sums = {each.name: _scaled(result.engine, each, walks[0]) for each in far if _is_sum(each)}
    walks[:] = passes(next(iter(operators.values())).matrix, walks.pop(), first)
    for name, applied in operators.items():
        walk, needed = walks.pop(0), plans[name]
        for step in range(1, needed[-1] + 1):
            if step > 1:
                (walk,) = passes(applied.matrix, walk, [applied.hop(step - 1 not in needed, step not in needed)])
            yield from _at(result.engine, members[name], step, walk, sums)
        del walk


def _paths(result: Components, graph: Graph, members: list[PathFeatures], x: RowMatrix, done: int = 0) -> Iterator[_Source]:
    """Paths whose last ``done`` steps have led to ``x``; those that end alike share these steps."""
    ends: dict[tuple[str, str], list[PathFeatures]] = {}
    for each in members:
        ends.setdefault((each.kind, each.path[-1 - done]), []).append(each)
    for listed in ends.values():
        step = listed[0].operators(graph)[-1 - done]
        (walk,) = _timed(result, "hops", result.engine.products, step.matrix, x, [step.scaling])
        longer = [each for each in listed if each.hops > done + 1]
        yield from ((each, walk, not longer) for each in listed if each.hops == done + 1)
        yield from _paths(result, graph, longer, walk, done + 1)


def _plan(members: list[FeatureComponent]) -> list[int]:
    """Steps at which the walk itself is needed, ascending."""
    return sorted({k for each in members for k, coefficient in enumerate(each.coefficients) if k and coefficient})


def _is_sum(component: FeatureComponent) -> bool:
    return any(component.coefficients[:-1])


def _scaled(engine: Engine, component: FeatureComponent, x: RowMatrix) -> RowMatrix:
    return engine.map_rows(Weighted(component.coefficients[0]), x)


def _at(
    engine: Engine, members: list[FeatureComponent], step: int, walk: RowMatrix, sums: dict[str, RowMatrix]
) -> Iterator[_Source]:
    """Components that are complete at this step of the walk; sums of several powers go on."""
    for each in members:
        if _is_sum(each) and step <= each.hops:
            weights = Weighted(1.0, each.coefficients[step])
            sums[each.name] = engine.map_rows(weights, sums[each.name], walk, overwrite_input=True)
            if step == each.hops:
                yield each, sums.pop(each.name), True
        elif step == each.hops:
            yield each, walk, members[-1] is each


def _timed(result: Components, stage: str, fn: Callable[..., Any], *arguments: Any) -> Any:
    begun = time.perf_counter()
    value = fn(*arguments)
    result.seconds[stage] = result.seconds.get(stage, 0.0) + time.perf_counter() - begun
    return value
