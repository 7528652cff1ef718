"""The propagator of SlimG:

    P(A, X) = U ‖ g(X) ‖ g(A_row² X) ‖ g(Ã_sym² X)

- X (n × d) is prepared first (`slimg.components.features`).
- U (n × r) is U·Σ of the truncated SVD of A, the rank r chosen by energy and capped at min(n, d); g is PCA to r columns.
  Both end with rows of length one; a row of zeros stays zero, and so does a row of U·Σ that is only rounding (nodes of
  parts of the graph that no kept column reaches).
- Hops are passes over A and are shared: the first hops of both kinds gather the same rows once, and k_row = {2, 4} takes
  four passes, not six.

Components of a small graph are computed side by side, those of a large one after the other: then no more than the
components and one temporary of their size are held at any time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from slimg.components.features import Preparation, dense_rows, preparation_of, prepared_rows, unit_rows
from slimg.components.options import COMPONENTS, check_options, component_names, feasible, hop_counts
from slimg.components.plans import AsItIs, Plan, Structure
from slimg.engine.base import Array, Engine, RowMatrix
from slimg.engine.blas import matmul, one_thread
from slimg.engine.estimate import SIDE_BY_SIDE
from slimg.engine.memory import MemoryEngine
from slimg.graph.graph import Graph
from slimg.linalg.operators import Operator, operator
from slimg.linalg.pca import GRAM_AT_MOST, PCA, Chain, plan_pca
from slimg.linalg.svd import Spectrum, plan_svd

OPERATOR = {"row": "A_row", "sym": "Ã_sym"}
TASK_NODES = 1 << 13
"""Nodes up to which the SVD is one of the tasks; on larger graphs it has blocks enough for all threads."""


@dataclass
class Components:
    """Named column blocks of P(A, X), in the order U, X, A_row, A_sym.

    Attributes
    ----------
    rank : r, the number of columns asked for; a component may have fewer.
    blocks : name → row matrix (n × width), rows of length one (or zero).
    states : name → `Spectrum`, `PCA`, or None without PCA: what is needed to place new nodes.
    preparation : how rows of X were prepared.
    notes : what was left out, one sentence each.
    seconds : stage or component → wall time; components of a small graph overlap.
    """

    engine: Engine
    rank: int
    blocks: dict[str, RowMatrix] = field(default_factory=dict)
    states: dict[str, Spectrum | PCA | None] = field(default_factory=dict)
    preparation: Preparation = field(default_factory=Preparation)
    notes: tuple[str, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.blocks)

    @property
    def widths(self) -> dict[str, int]:
        return {name: block.shape[1] for name, block in self.blocks.items()}

    @property
    def groups(self) -> dict[str, slice]:
        """Name → its columns in `labelled_rows`."""
        edges = np.cumsum([0, *self.widths.values()])
        return {name: slice(int(a), int(b)) for name, a, b in zip(self.blocks, edges[:-1], edges[1:], strict=True)}

    def labelled_rows(self, index: Array) -> Array:
        """Chosen rows of P as one contiguous float32 array (m × Σ widths)."""
        index = np.asarray(index)
        size = int(np.count_nonzero(index)) if index.dtype == bool else len(index)
        out = np.empty((size, sum(self.widths.values())), np.float32)
        for name, columns in self.groups.items():
            out[:, columns] = self.engine.rows(self.blocks[name], index)
        return out

    def linear(self, weights: dict[str, Array]) -> RowMatrix:
        """Σ_g P_g W_g for all nodes (n × c), in one pass; components whose weights are all zero are not read."""
        used = {name: np.ascontiguousarray(each, np.float32) for name, each in weights.items() if np.any(each)}
        if not used:
            used = {name: np.asarray(each, np.float32) for name, each in list(weights.items())[:1]}

        def total(*blocks: Array) -> Array:
            terms = [matmul(dense_rows(block), weight) for block, weight in zip(blocks, used.values(), strict=True)]
            return np.add.reduce(terms)

        return self.engine.map_rows(total, *(self.blocks[name] for name in used))


def compute_components(
    graph: Graph,
    engine: Engine | None = None,
    *,
    components: Collection[str] = COMPONENTS,
    pca: bool = True,
    k_row: int | Collection[int] = 2,
    k_sym: int | Collection[int] = 2,
    normalize: str | None = "row",
    energy: float = 0.9,
    max_rank: int = 2048,
    random_state: int = 0,
) -> Components:
    """P(A, X) of a graph; the defaults are the paper's.

    Parameters
    ----------
    components : which of U, X, row and sym.
    pca : False keeps the prepared and propagated features themselves, with rows of length one.
    k_row, k_sym : numbers of hops; several give one component each.
    normalize : "row" prepares X, None takes it as it is.
    energy, max_rank : the share of ‖A‖_F² that the columns of U may not reach, and the most columns of a component.
    """
    begun = time.perf_counter()
    wanted, notes = feasible(component_names(components), graph)
    hops = {"row": hop_counts("k_row", k_row), "sym": hop_counts("k_sym", k_sym)}
    check_options(normalize, energy, max_rank)
    engine = engine or MemoryEngine()
    n = graph.adjacency.n
    d = n if graph.features is None else graph.features.shape[1] or n
    result = Components(engine, min(n, d, max_rank), notes=notes)
    featured = [name for name in wanted if name != "U"]

    fill = _side_by_side if featured and n * d <= SIDE_BY_SIDE else _one_by_one
    sources = _sources(result, graph, featured, hops, normalize, twice=fill is _one_by_one)
    with one_thread():
        structure = None
        if graph.adjacency.nnz > 0 and ("U" in wanted or pca):
            svd = plan_svd(
                engine, graph.adjacency, energy=energy, max_rank=result.rank, random_state=random_state
            )
            structure = Structure(engine, svd, n, "U" in wanted)
        fill(result, structure, sources, plan_pca if pca else AsItIs)
    engine.release_unused()
    result.seconds["total"] = time.perf_counter() - begun
    return result


def _one_by_one(
    result: Components, structure: Structure | None, sources: _NamedSources, planner: _Planner
) -> None:
    """Each component is finished before the next is begun."""
    if structure:
        result.rank = _timed(result, "U", structure.prepare)
        if structure.wanted:
            _solve(result, "U", structure)
    del structure
    for name, source, spare in sources:
        plan = _timed(result, name, partial(planner, overwrite_input=spare), result.engine, source, result.rank)
        del source
        _solve(result, name, plan)
        del plan  # the next hop must find neither still held
    _sort(result, [name for name in ("U", "X") if name in result.blocks])


def _side_by_side(
    result: Components, structure: Structure | None, sources: _NamedSources, planner: _Planner
) -> None:
    """Plans and solutions of all components as tasks; a solution waits for the rank and for its plan, begun before it."""
    engine, expected = result.engine, structure.svd.expected_rank if structure else result.rank
    tasks: list[Callable[[], None]] = []
    rank: Future[int] = Future()
    if structure is None:
        rank.set_result(result.rank)
    elif structure.nodes <= TASK_NODES:
        tasks.append(_promised(rank, partial(_timed, result, "U", structure.prepare)))
    else:
        rank.set_result(_timed(result, "U", structure.prepare))
    plans: dict[str, Future[Plan]] = {}
    if structure and structure.wanted:
        plans["U"] = Future()
        plans["U"].set_result(structure)
    for name, source, _ in sources:
        plans[name] = Future()
        tasks.append(_promised(plans[name], partial(_timed, result, name, planner, engine, source, expected)))
        del source

    def solve(name: str) -> None:
        result.rank = rank.result()
        _solve(result, name, plans[name].result())

    engine.concurrently(*tasks, *(partial(solve, name) for name in plans))
    _sort(result, list(plans))


def _sort(result: Components, first: list[str]) -> None:
    """Components in the order of P, whichever was finished first."""
    names = [*first, *(name for name in result.blocks if name not in first)]
    result.blocks = {name: result.blocks[name] for name in names}
    result.states = {name: result.states[name] for name in names}


def _promised(promise: Future[Any], task: Callable[[], Any]) -> Callable[[], None]:
    """The task, handing its result or error to those who wait for the promise."""

    def run() -> None:
        try:
            promise.set_result(task())
        except BaseException as error:
            promise.set_exception(error)
            raise

    return run


def _solve(result: Components, name: str, plan: Plan) -> None:
    result.states[name], result.blocks[name] = _timed(result, name, plan.solve, result.rank, unit_rows)


def _sources(
    result: Components, graph: Graph, featured: list[str], hops: _Hops, normalize: str | None, twice: bool
) -> _NamedSources:
    """What g is applied to, and whether nobody needs it afterwards: X and its hops, each freed when it is not needed.

    With ``twice`` a dense X is prepared again after the hops, which costs less than the memory to keep it beside them.
    """
    if not featured:
        return
    engine = result.engine
    result.preparation = preparation_of(engine, engine.row_matrix(graph.features), normalize)
    prepare = partial(_timed, result, "features", _prepared, engine, graph.features, result.preparation)
    row_matrix = prepare()
    kinds = [kind for kind in ("row", "sym") if kind in featured]
    matrices: dict[str, Operator] = {kind: operator(OPERATOR[kind], graph.adjacency) for kind in kinds}
    twice = twice and bool(kinds) and not engine.is_sparse(row_matrix)
    if "X" in featured and not twice:
        yield "X", row_matrix, not kinds
    if engine.is_sparse(row_matrix):
        if min(row_matrix.shape) > GRAM_AT_MOST:
            for kind in kinds:
                yield from ((f"A_{kind}^{step} X", Chain(row_matrix, matrices[kind], step), False) for step in hops[kind])
            return
        row_matrix = engine.map_rows(dense_rows, row_matrix)
    if kinds:
        walks = [row_matrix]
        del row_matrix
        yield from _walks(result, matrices, hops, walks)
    if "X" in featured and twice:
        yield "X", prepare(), True


def _walks(result: Components, matrices: dict[str, Operator], hops: _Hops, walks: list[RowMatrix]) -> _NamedSources:
    """Hops of the one row matrix in ``walks``, which is taken out: the first ones of all kinds share a pass."""
    first = [matrix.hop(False, 1 not in hops[kind]) for kind, matrix in matrices.items()]
    passes = partial(_timed, result, "hops", result.engine.products)
    walks[:] = passes(next(iter(matrices.values())).matrix, walks.pop(), first)
    for kind, matrix in matrices.items():
        walk, last = walks.pop(0), max(hops[kind])
        for step in range(1, last + 1):
            if step > 1:
                scaling = matrix.hop(step - 1 not in hops[kind], step not in hops[kind])
                (walk,) = passes(matrix.matrix, walk, [scaling])
            if step in hops[kind]:
                yield f"A_{kind}^{step} X", walk, step == last
        del walk


def _prepared(engine: Engine, features: Any, how: Preparation) -> RowMatrix:
    row_matrix = engine.row_matrix(features)
    return row_matrix if how.normalize is None else engine.map_rows(lambda block: prepared_rows(block, how), row_matrix)


_Planner = Callable[..., Plan]
_Hops = dict[str, tuple[int, ...]]
_NamedSources = Iterator[tuple[str, RowMatrix | Chain, bool]]


def _timed(result: Components, stage: str, fn: Callable[..., Any], *arguments: Any) -> Any:
    begun = time.perf_counter()
    value = fn(*arguments)
    result.seconds[stage] = result.seconds.get(stage, 0.0) + time.perf_counter() - begun
    return value
