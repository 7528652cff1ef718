"""The rows of P(A, X) for a list of components.

    P(A, X) = U ‖ g(X) ‖ g(A_row² X) ‖ g(Ã_sym² X)        the paper's four, the default

Passes over A are shared: the first hops of all operators gather the same rows once, and components with 2 and 4 hops of
one operator take four passes, not six. Components of a small graph are computed side by side, those of a large one after the
other: then no more than the components and one temporary of their size are held at any time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from slimg.components.component import (
    PAPER_RANK,
    Component,
    Context,
    EnergyRank,
    FittedComponent,
    Rank,
    available_components,
)
from slimg.components.features import AsIs, FeatureComponent, Features, FeatureState, PropagatedFeatures
from slimg.components.row_scaling import Preparation, dense_rows, preparation_of, prepared_rows, unit_rows
from slimg.components.structure import Structure
from slimg.engine.base import Array, Engine, RowMatrix
from slimg.engine.blas import matmul, one_thread
from slimg.engine.memory import MemoryEngine
from slimg.graph.graph import Graph
from slimg.linalg.operators import Operator
from slimg.linalg.pca import GRAM_AT_MOST, PCA, Chain, plan_pca

SIDE_BY_SIDE = 1 << 25
"""Entries of X up to which all components are computed at the same time."""
TASK_NODES = 1 << 13
"""Nodes up to which the SVD is one of the tasks; on larger graphs it has blocks enough for all threads."""


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
"""The default list of components."""


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
    """

    engine: Engine
    blocks: dict[str, RowMatrix] = field(default_factory=dict)
    fitted: dict[str, FittedComponent] = field(default_factory=dict)
    rank: int = 0
    notes: tuple[str, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)

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
        return Components(self.engine, blocks, fitted, self.rank, self.notes, self.seconds)

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
    graph: Graph, engine: Engine | None = None, *, components: Sequence[Component] = PAPER_COMPONENTS, random_state: int = 0
) -> Components:
    """Compute the rows of P(A, X) of a graph.

    Parameters
    ----------
    graph : Graph
        Edges, features or both. Labels are not read.
    engine : Engine or None, default=None
        Where the work is done; None is an engine in memory.
    components : sequence of Component, default=PAPER_COMPONENTS
        What to compute. Components that need edges or features which the graph does not have are left out, with a note.
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
    wanted, notes = available_components(components, graph)
    result = Components(engine or MemoryEngine(), notes=notes)
    context = Context(graph, result.engine, random_state)
    featured = [each for each in wanted if isinstance(each, FeatureComponent)]
    small = bool(featured) and np.prod(graph.features.shape) <= SIDE_BY_SIDE  # type: ignore[union-attr]
    with one_thread():
        (_side_by_side if small else _one_by_one)(result, context, wanted, featured)
    result.engine.release_unused()
    names = [each.name for each in wanted]
    result.blocks = {name: result.blocks[name] for name in names}
    result.fitted = {name: result.fitted[name] for name in names}
    result.rank = max(context.ranks.values(), default=max(result.widths.values()))
    result.seconds["total"] = time.perf_counter() - begun
    return result


def _one_by_one(result: Components, context: Context, wanted: list[Component], featured: list[FeatureComponent]) -> None:
    """Each component is finished before the next is begun."""
    for component in wanted:
        if isinstance(component, Structure):
            _timed(result, component.name, context.decompose, component.rank)
            _compute(result, context, component)
            context.release(component.rank)
    for rank in _energy_ranks(featured, context):
        _timed(result, "U", context.resolve, rank)
        context.release(rank)
    for component, source, spare, preparation in _sources(result, context, featured, twice=True):
        rank = context.resolve(component.rank) if component.pca else 0
        planner = partial(_planner(component), overwrite_input=spare)
        plan = _timed(result, component.name, planner, result.engine, source, rank)
        del source
        _solve(result, component, plan, rank, preparation)
        del plan  # the next hop must find neither still held
    for component in wanted:
        if component.name not in result.blocks:
            _compute(result, context, component)


def _side_by_side(result: Components, context: Context, wanted: list[Component], featured: list[FeatureComponent]) -> None:
    """Plans and solutions of all components as tasks; a solution waits for its rank and its plan, begun before it."""
    structures = [each for each in wanted if isinstance(each, Structure)]
    ranks = list(dict.fromkeys([*(each.rank for each in structures), *_energy_ranks(featured, context)]))
    expected = {rank: context.svd(rank).expected_rank for rank in ranks}
    prepare: list[Callable[[], Any]] = [partial(_timed, result, "U", context.decompose, rank) for rank in ranks]
    if context.graph.adjacency.n > TASK_NODES:
        for task in prepare:
            task()
        prepare = []
    plans: dict[str, Future[Any]] = {}
    planning: list[Callable[[], Any]] = []
    solving: list[Callable[[], Any]] = [partial(_compute, result, context, each) for each in structures]
    for component, source, _, preparation in _sources(result, context, featured, twice=False):
        promise = plans[component.name] = Future()
        about = expected.get(component.rank) or (context.resolve(component.rank) if component.pca else 0)
        plan = partial(_timed, result, component.name, _planner(component), result.engine, source, about)
        planning.append(_promised(promise, plan))
        del source

        def solve(component: FeatureComponent = component, preparation: Preparation = preparation) -> None:
            rank = context.resolve(component.rank) if component.pca else 0
            _solve(result, component, plans[component.name].result(), rank, preparation)

        solving.append(solve)
    others = [each for each in wanted if not isinstance(each, (Structure, FeatureComponent))]
    solving += [partial(_compute, result, context, each) for each in others]
    result.engine.concurrently(*prepare, *planning, *solving)


def _energy_ranks(featured: list[FeatureComponent], context: Context) -> list[Rank]:
    """Rules by which components of features take their rank from the singular values of A."""
    if not context.graph.adjacency.nnz:
        return []
    return list(dict.fromkeys(each.rank for each in featured if each.pca and isinstance(each.rank, EnergyRank)))


def _promised(promise: Future[Any], task: Callable[[], Any]) -> Callable[[], None]:
    """The task, handing its result or error to those who wait for the promise."""

    def run() -> None:
        try:
            promise.set_result(task())
        except BaseException as error:
            promise.set_exception(error)
            raise

    return run


def _planner(component: FeatureComponent) -> Callable[..., Any]:
    return plan_pca if component.pca else AsIs


def _compute(result: Components, context: Context, component: Component) -> None:
    state, rows = _timed(result, component.name, component.compute, context)
    result.fitted[component.name], result.blocks[component.name] = FittedComponent(component, state), rows


def _solve(result: Components, component: FeatureComponent, plan: Any, rank: int, preparation: Preparation) -> None:
    pca, rows = _timed(result, component.name, plan.solve, rank, unit_rows)
    if pca is not None:  # float32, in which the rows were computed
        pca = PCA(pca.mean, np.asarray(pca.components, np.float32), pca.singular_values)
    result.fitted[component.name] = FittedComponent(component, FeatureState(pca, preparation))
    result.blocks[component.name] = rows


class _Source(NamedTuple):
    """What g of a component is applied to, whether nobody needs it afterwards, and how X was prepared."""

    component: FeatureComponent
    matrix: RowMatrix | Chain
    spare: bool
    preparation: Preparation


def _sources(result: Components, context: Context, featured: list[FeatureComponent], twice: bool) -> Iterator[_Source]:
    """X and its hops for all components, each freed when it is not needed."""
    for normalize in dict.fromkeys(each.normalize for each in featured):
        yield from _alike(result, context, [each for each in featured if each.normalize == normalize], twice)


def _alike(result: Components, context: Context, featured: list[FeatureComponent], twice: bool) -> Iterator[_Source]:
    """The sources of components with the same preparation of X.

    With ``twice`` a dense X is prepared again after the hops, which costs less than the memory to keep it beside them.
    """
    engine, features = result.engine, context.graph.features
    preparation = preparation_of(engine, engine.row_matrix(features), featured[0].normalize)
    if featured[0].normalize == "auto" and preparation.normalize == "standard":
        result.notes += ("Features are measured numbers, not counts: each column is standardised.",)
    prepare = partial(_timed, result, "features", _prepared, engine, features, preparation)
    own = [each for each in featured if not each.hops]
    far = _Hops.of([each for each in featured if each.hops], context.graph)
    x = prepare()
    twice = twice and bool(far.operators) and not engine.is_sparse(x)
    if not twice:
        yield from (_Source(each, x, not far.operators, preparation) for each in own)
    if engine.is_sparse(x):
        if min(x.shape) > GRAM_AT_MOST:
            for (key, hops), component in far.components.items():
                yield _Source(component, Chain(x, far.operators[key], hops), False, preparation)
            return
        x = engine.map_rows(dense_rows, x)
    if far.operators:
        walks = [x]
        del x
        yield from _walks(result, far, walks, preparation)
    if twice:
        yield from (_Source(each, prepare(), True, preparation) for each in own)


class _Hops(NamedTuple):
    """Operators by name, and the components by (operator, hops), in the order in which they are computed."""

    operators: dict[str, Operator]
    components: dict[tuple[str, int], FeatureComponent]

    @classmethod
    def of(cls, featured: list[FeatureComponent], graph: Graph) -> _Hops:
        operators: dict[str, Operator] = {}
        components: dict[tuple[str, int], FeatureComponent] = {}
        for each in featured:
            found = each.operator(graph.adjacency)
            assert found is not None
            operators.setdefault(found.name, found)
            components[found.name, each.hops] = each
        order = sorted(components, key=lambda key: (list(operators).index(key[0]), key[1]))
        return cls(operators, {key: components[key] for key in order})

    def steps(self, operator: str) -> list[int]:
        return [hops for name, hops in self.components if name == operator]


def _walks(result: Components, hops: _Hops, walks: list[RowMatrix], preparation: Preparation) -> Iterator[_Source]:
    """Hops of the one row matrix in ``walks``, which is taken out: the first ones of all operators share a pass."""
    first = [each.hop(False, 1 not in hops.steps(name)) for name, each in hops.operators.items()]
    passes = partial(_timed, result, "hops", result.engine.products)
    walks[:] = passes(next(iter(hops.operators.values())).matrix, walks.pop(), first)
    for name, operator in hops.operators.items():
        walk, wanted = walks.pop(0), hops.steps(name)
        for step in range(1, wanted[-1] + 1):
            if step > 1:
                scaling = operator.hop(step - 1 not in wanted, step not in wanted)
                (walk,) = passes(operator.matrix, walk, [scaling])
            if step in wanted:
                yield _Source(hops.components[name, step], walk, step == wanted[-1], preparation)
        del walk


def _prepared(engine: Engine, features: Any, preparation: Preparation) -> RowMatrix:
    matrix = engine.row_matrix(features)
    if preparation.normalize is None:
        return matrix
    return engine.map_rows(lambda block: prepared_rows(block, preparation), matrix)


def _timed(result: Components, stage: str, fn: Callable[..., Any], *arguments: Any) -> Any:
    begun = time.perf_counter()
    value = fn(*arguments)
    result.seconds[stage] = result.seconds.get(stage, 0.0) + time.perf_counter() - begun
    return value
