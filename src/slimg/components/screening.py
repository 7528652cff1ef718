"""Which paths along relations are worth a component: screened on the labelled rows before any component is computed.

A graph with r relations has up to 2r directions and (2r)² paths of two steps. Each path is a block B (m × q) of the labelled
rows of R_a R_b X, X reduced to q columns; only rows near labelled nodes are read. Ridge regression onto the classes has its
leave-one-out residual in closed form, from one decomposition of BᵀB (q × q):

    h_i = b_i (BᵀB + αI)⁻¹ b_iᵀ        e_i = (y_i − b_i (BᵀB + αI)⁻¹ Bᵀ Y) / (1 − h_i)        Y one-hot less its mean (m × c)

Blocks are added greedily. E is the residual of what was chosen so far, beginning with X itself; the gain of a block is the
share of ‖E‖² that it explains, each row held out. The block with the largest gain is added and E computed anew from all
blocks, until no block gains `LEAST`, or there are `MOST` of them. Steps of paths are the `BEST` directions on their own, and
their opposites as second steps. Where there are no more than `MOST` paths, as with one directed relation, all are taken, of the
kind "sym" and with more columns, and the structure along each direction beside them: the group penalty judges them better than
ridge regression does on few labels. Rows of A say much where labels are many, so that the columns of the structure follow
their number.

Whether features far around a node are one (`screen_reach`) is decided likewise: by e of S X for the S of 100 steps with α = 0.01
against that of the S of ten steps with α = 0.1, each on its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from slimg.components.component import FEATURE_RANK, FEW_FEATURES, STRUCTURE_RANK, Component
from slimg.components.features import PATH_RANK, Diffusion, FeatureComponent, Features, PathFeatures, PropagatedFeatures
from slimg.components.row_scaling import BINS, dense_rows, numbers_of, preparation_of, prepare_features, prepared_rows
from slimg.components.structure import DegreeRanges, Degrees, NeighbourRanges, Structure, gap_edges, indicators, table_numbers
from slimg.engine.base import Array, Engine, FileMatrix, RowMatrix
from slimg.engine.blas import one_thread
from slimg.engine.memory import MemoryEngine
from slimg.graph.adjacency import Adjacency
from slimg.graph.graph import Graph
from slimg.graph.relations import opposite
from slimg.linalg.operators import operator, steps
from slimg.linalg.svd import leading_directions

COLUMNS = 64
"""q."""
MOST, BEST, LEAST = 12, 6, 0.002
"""Paths at most, directions that paths of two steps are made of, and the least gain of a path."""
WIDEST = 1_536
"""Columns of all paths together where all are taken; a path has `PATH_RANK` to `FEATURE_RANK` of them."""
LARGEST, ENTRIES = 512, 1 << 26
"""Columns of the structure along a direction at most, and entries of its matrix (n × columns)."""
SHARES = (0.003, 0.03, 0.3, 3.0)
"""α, as shares of the mean eigenvalue of BᵀB; the best counts."""
REACHED = 0.005
"""The least share of labelled nodes that a direction must lead away from."""

NUMBERS, ROWS, WORTHWHILE = 64, 5_000, 0.005
"""Columns up to which ranges of numbers are tried, labelled rows read for it, and the least gain."""
RANGES_RANK = 64
"""Columns of a component of ranges."""

FAR, FAR_COLUMNS, FARTHER = Diffusion(alpha=0.01, steps=100, rank=128), 32, 0.08
"""Features far around, the columns of X and the least gain over those near that decide on them."""
FAR_LABELS, FAR_ENTRIES, FAR_NODES = 30, 1 << 20, 1 << 18
"""The fewest labels that are asked, and the largest graph: stored entries of A, nodes."""

AROUND, AROUND_ENTRIES, AROUND_GAIN = 16, 1 << 26, 0.03
"""Numbers of the neighbourhood that are put in ranges at most, entries of their columns, and the least gain of all of them: they
are the best of many."""

Path = tuple[str, ...]


@dataclass(frozen=True)
class Screening:
    """What the labelled nodes say about paths along relations.

    Attributes
    ----------
    chosen : dict of tuple of str to float
        Paths that are worth a component → their gain when they were added, in that order.
    gains : dict of str to float
        Direction → the share of what X leaves unexplained that the features one step along it explain.
    components : tuple of Component
        One for each chosen path, and the structure along each direction if it is one; without features the degrees.
    """

    chosen: dict[Path, float]
    gains: dict[str, float]
    components: tuple[Component, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Which directions were left out, one sentence."""
        if not self.gains:
            return ()
        used = {step for path in self.chosen for step in path}
        unused = [step for step in self.gains if step not in used]
        kept = f"Paths along relations that are components: {'; '.join(' '.join(path) for path in self.chosen) or 'none'}."
        return (kept, f"Screened out on the labels: {', '.join(unused)}.") if unused else (kept,)


def screen_paths(graph: Graph, engine: Engine, rows: Array, codes: Array, classes: int, random_state: int = 0) -> Screening:
    """Choose the paths along relations that say something about the labels.

    Parameters
    ----------
    graph : Graph
        With relations and features.
    engine : Engine
        Where the work on n rows is done.
    rows : array of shape (m,)
        Labelled nodes to learn from; no other labels are read.
    codes : array of shape (m,)
        Their classes in 0 … classes − 1.
    classes : int
    random_state : int, default=0
        Seeds the reduction of X.

    Returns
    -------
    Screening
        Chosen paths, and gains of all directions.
    """
    features, every = graph.features, graph.directions()
    starts = {key: each.indptr for key, each in every.items() if each is not graph.adjacency}  # else it is the union
    directions = [key for key, each in starts.items() if (np.diff(each)[rows] > 0).mean() >= REACHED]
    count = len(directions) * (len(directions) + 1)
    structures: list[Component] = []
    if count <= MOST:
        rank = int(np.clip(min(len(rows), ENTRIES // graph.n), STRUCTURE_RANK, LARGEST))
        structures = [Structure(rank=rank, step=step) for step in directions]
    if features is None or not features.shape[1] or not directions:
        return Screening({}, {}, (*structures, *([Degrees(tuple(every))] if len(every) > 1 else [])))
    reduced = _reduced(engine, features, COLUMNS, random_state)
    options: dict[str, Any] = {"soft": features.shape[1] < FEW_FEATURES}
    if count <= MOST:
        options |= {"kind": "sym", "rank": int(np.clip(WIDEST // count, PATH_RANK, FEATURE_RANK))}

    def block(path: Path) -> Array:
        """Labelled rows of the path, centred and of unit length."""
        way = steps(PathFeatures(path=path, **options).operators(graph), rows, (*(0.0,) * len(path), 1.0))
        return _unit(way.apply(dense_rows(engine.rows(reduced, way.reached)).astype(np.float64)))

    with one_thread():
        targets = np.eye(classes)[codes] - np.bincount(codes, minlength=classes) / len(codes)
        own = _unit(dense_rows(engine.rows(reduced, rows)).astype(np.float64))
        chosen, gains = _Greedy(own, targets).choose(directions, count <= MOST, block)
    paths = [PathFeatures(path=path, **options) for path in chosen]
    return Screening(chosen, dict.fromkeys(every, 0.0) | gains, (*paths, *structures))


def screen_ranges(
    graph: Graph, engine: Engine, rows: Array, codes: Array, classes: int
) -> tuple[tuple[FeatureComponent, ...], tuple[str, ...]]:
    """Decide on the labelled rows whether numbers are also taken in ranges, bins(X).

    The line is B = X ‖ A_row X, standardised (of a table u and 1 − u of its numbers); the ranges are bins(X) ‖ A_row bins(X)
    beside it. They are used where they explain more of what the line leaves, each row held out.

    Parameters
    ----------
    graph : Graph
    engine : Engine
        Where X lives.
    rows : array of shape (m,)
        Labelled nodes to learn from; no other labels are read.
    codes : array of shape (m,)
        Their classes in 0 … classes − 1.
    classes : int

    Returns
    -------
    components : tuple of FeatureComponent
        None, or the ranges of the node and of its neighbourhood.
    notes : tuple of str
        What was decided, one sentence; nothing for features that are no measured numbers.
    """
    features, numbers = graph.features, numbers_of(graph.reading)
    if features is None or not 0 < (features.shape[1] if numbers is None else len(numbers.names)) <= NUMBERS:
        return (), ()
    x = engine.row_matrix(features)
    line = preparation_of(engine, x, "auto" if numbers is None else None)
    if line.normalize == "row":
        return (), ()
    rows, codes = _sampled(rows, codes)
    ranges = preparation_of(engine, x, "bins", numbers)
    way = steps((operator("A_row", graph.adjacency),), rows, (0.0, 1.0))
    own, far = (engine.rows(x, index) for index in (rows, way.reached))

    def blocks(how: Any) -> list[Array]:
        both = [prepared_rows(each, how) for each in (own, far)]
        if how.normalize is None and numbers is not None:
            both = [each[:, numbers.places[numbers.places >= 0]] for each in both]
        near, away = (dense_rows(each).astype(np.float64) for each in both)
        return [_unit(near), _unit(way.apply(away))]

    with one_thread():
        targets = np.eye(classes)[codes] - np.bincount(codes, minlength=classes) / len(codes)
        before, after = (np.hstack(each) for each in (blocks(line), blocks(line) + blocks(ranges)))
        left, less = (float(np.square(leave_one_out(each, targets)).sum()) for each in (before, after))
    if less > left * (1 - WORTHWHILE):
        return (), ("Numbers are taken as they are: ranges of them would add too little on the labels.",)
    options: dict[str, Any] = {"normalize": "bins", "rank": RANGES_RANK, "soft": features.shape[1] < FEW_FEATURES}
    far_ones = (PropagatedFeatures(kind=kind, **options) for kind in ("row", "sym") if graph.adjacency.nnz)
    note = f"Numbers are also taken in ranges: held out, these explain {1 - less / left:.0%} of what straight lines leave."
    return (Features(**options), *far_ones), (note,)


def screen_reach(
    graph: Graph, engine: Engine, rows: Array, codes: Array, classes: int, random_state: int = 0
) -> tuple[tuple[FeatureComponent, ...], tuple[str, ...]]:
    """Decide on the labelled rows whether the features far around a node are a component.

    Parameters
    ----------
    graph : Graph
    engine : Engine
        Where X lives; its columns are few enough to walk over A in memory.
    rows : array of shape (m,)
        Labelled nodes to learn from; no other labels are read.
    codes : array of shape (m,)
        Their classes in 0 … classes − 1.
    classes : int
    random_state : int, default=0
        Seeds the reduction of X.

    Returns
    -------
    components : tuple of FeatureComponent
        None, or the diffusion of a hundred steps.
    notes : tuple of str
        What was decided, if there is one, one sentence.
    """
    small = 0 < graph.adjacency.nnz <= FAR_ENTRIES and graph.n <= FAR_NODES
    if not graph.d or not small or len(rows) < FAR_LABELS or classes < 2:
        return (), ()
    # A copy of at most 8 MB: a file that is cut off while it is mapped and walked over would end the process.
    memory, smooth = MemoryEngine(), operator("Ã_sym", Adjacency(*FileMatrix(graph.adjacency).read(0, graph.n)))
    reduced = engine.to_array(_reduced(engine, graph.features, FAR_COLUMNS, random_state))
    x = memory.map_rows(dense_rows, memory.row_matrix(reduced))
    with one_thread():
        targets = np.eye(classes)[codes] - np.bincount(codes, minlength=classes) / len(codes)
        blocks = (smooth.series(memory, x, each.coefficients)[rows].astype(np.float64) for each in (Diffusion(), FAR))
        near, far = (float(np.square(leave_one_out(_unit(block), targets)).sum()) for block in blocks)
    if far > near * (1 - FARTHER):
        return (), ()
    explained = f"on the labels, held out, they explain {1 - far / near:.0%} of what those near it leave unexplained"
    note = f"Features far around a node are a component ({FAR.name}): {explained}."
    return (replace(FAR, soft=graph.d < FEW_FEATURES),), (note,)


def _reduced(engine: Engine, features: Any, columns: int, random_state: int) -> RowMatrix:
    """X, prepared, and reduced to its leading columns where it has more."""
    x = prepare_features(engine, features, "auto")
    if features.shape[1] <= columns:
        return x
    return engine.combine(x, leading_directions(engine, x, min(columns, *features.shape), None, random_state))


def screen_neighbours(
    graph: Graph, engine: Engine, rows: Array, codes: Array, classes: int, is_in_ranges: bool
) -> tuple[tuple[NeighbourRanges, ...], tuple[str, ...]]:
    """Decide which degrees and means over neighbours are put in ranges, of a graph with few features or none.

    Each number is a block, its eight ranges. B is what is there without them, X ‖ R X and the ranges of X if they are components.
    The number that explains most of what is left, each row held out, is taken, and so on while one explains `LEAST` of it; they
    are used if together they explain `AROUND_GAIN` of what B leaves.

    Parameters
    ----------
    graph : Graph
    engine : Engine
        Where X lives.
    rows : array of shape (m,)
        Labelled nodes to learn from; no other labels are read.
    codes : array of shape (m,)
        Their classes in 0 … classes − 1.
    classes : int
    is_in_ranges : bool
        Whether the ranges of X are a component.

    Returns
    -------
    components : tuple of NeighbourRanges
        One or none.
    notes : tuple of str
        What was decided, one sentence, if anything was.
    """
    most = min(AROUND, AROUND_ENTRIES // (BINS * graph.n))
    if graph.d >= FEW_FEATURES or not graph.adjacency.nnz or not most:
        return (), ()
    rows, codes = _sampled(rows, codes)
    numbers, component = table_numbers(graph), (NeighbourRanges if graph.d else DegreeRanges)(tuple(graph.directions()))
    places = None if numbers is None else numbers.places
    around = component.numbers(graph, rows, places)
    width = around.shape[1] // max(len(component.steps), 1)  # a degree and the means of a direction
    before = [_unit(np.nan_to_num(np.delete(around, np.s_[::width], axis=1)))]
    if graph.features is not None:
        x = dense_rows(engine.rows(engine.row_matrix(graph.features), rows)).astype(np.float64)
        before.append(_unit(x))
        if is_in_ranges:
            how = preparation_of(engine, engine.row_matrix(graph.features), "bins", numbers)
            before.append(_unit(dense_rows(prepared_rows(x, how)).astype(np.float64)))
    with one_thread():
        targets = np.eye(classes)[codes] - np.bincount(codes, minlength=classes) / len(codes)
        greedy = _Greedy(np.hstack(before), targets)
        blocks = [_unit(indicators(each[:, None], gap_edges(each[:, None]))) for each in around.T]
        chosen = greedy.stagewise(blocks, most)
        left, less = (np.square(leave_one_out(np.hstack(each), targets)).sum()
                      for each in (before, [*before, *(blocks[at] for at in chosen)]))  # fmt: skip
    gain = 1 - float(less / left)
    if gain < AROUND_GAIN:
        return (), ()
    note = f"Degrees and means over neighbours in ranges explain {gain:.0%} of what is left unexplained without, held out."
    used = sorted({at // width for at in chosen})
    size = width if any(at % width for at in chosen) else 1
    columns = tuple(used.index(at // width) * size + at % width for at in sorted(chosen))
    kind, kept = NeighbourRanges if size > 1 else DegreeRanges, tuple(component.steps[k] for k in used if component.steps)
    return (kind(kept, columns),), (note,)


def _sampled(rows: Array, codes: Array) -> tuple[Array, Array]:
    """At most `ROWS` of the labelled rows, evenly."""
    places = np.linspace(0, len(rows) - 1, min(ROWS, len(rows))).astype(np.int64)
    return rows[places], codes[places]


class _Greedy:
    """Blocks chosen so far, and the leave-one-out residual they leave."""

    def __init__(self, own: Array, targets: Array):
        self.targets, self.blocks = targets, [own]
        self.residual = leave_one_out(own, targets)
        self.unexplained = float(np.square(self.residual).sum())

    def gain(self, block: Array) -> float:
        """The share of the residual that a block explains, each row held out."""
        return 1 - float(np.square(leave_one_out(block, self.residual)).sum()) / self.unexplained

    def stagewise(self, blocks: list[Array], most: int) -> list[int]:
        """Blocks that explain `LEAST` of what those before them leave, the best one each time."""
        chosen: list[int] = []
        while len(chosen) < min(most, len(blocks)):
            gains = [-np.inf if at in chosen else self.gain(block) for at, block in enumerate(blocks)]
            best = int(np.argmax(gains))
            if gains[best] < LEAST:
                break
            chosen.append(best)
            self.residual = leave_one_out(blocks[best], self.residual)
            self.unexplained = float(np.square(self.residual).sum())
        return chosen

    def choose(
        self, directions: list[str], every: bool, block: Callable[[Path], Array]
    ) -> tuple[dict[Path, float], dict[str, float]]:
        """Paths, or all of them, and the gain of each direction."""
        pool: dict[Path, Array] = {(key,): block((key,)) for key in directions}
        gains = {key: self.gain(pool[(key,)]) for key in directions}
        if every:
            found = {(key,): gain for key, gain in gains.items()}
            return found | {(a, b): self.gain(block((a, b))) for a in directions for b in directions}, gains
        first = sorted((key for key in gains if gains[key] > 0), key=lambda key: -gains[key])[:BEST]
        second = list(dict.fromkeys([*first, *map(opposite, first)]))
        pool |= {(a, b): block((a, b)) for a in first for b in second}
        chosen: dict[Path, float] = {}
        latest = dict.fromkeys(pool, np.inf)  # gains of an earlier round: they seldom rise, so that few are computed again
        while latest and len(chosen) < MOST:
            path = max(latest, key=latest.__getitem__)
            latest[path] = gain = self.gain(pool[path])
            if gain < max(latest.values()):
                continue
            if gain < LEAST:
                break
            del latest[path]
            if self._add(pool[path]):
                chosen[path] = gain
        return chosen, gains

    def _add(self, block: Array) -> bool:
        """Whether the residual of all blocks is smaller with this one; then it stays."""
        residual = leave_one_out(np.hstack([*self.blocks, block]), self.targets)
        unexplained = float(np.square(residual).sum())
        if unexplained >= self.unexplained * (1 - LEAST / 2):
            return False
        self.blocks.append(block)
        self.residual, self.unexplained = residual, unexplained
        return True


def leave_one_out(block: Array, targets: Array) -> Array:
    """Residuals of ridge regression, each row held out, for the α of `SHARES` that leaves the least.

    Parameters
    ----------
    block : array of shape (m, q)
    targets : array of shape (m, c)

    Returns
    -------
    array of shape (m, c)
        e.
    """
    values, vectors = np.linalg.eigh(block.T @ block)
    values = np.maximum(values, 0)
    scores = block @ vectors
    projected, squares = scores.T @ targets, np.square(scores)
    found = []
    for share in SHARES:
        inverse = 1 / (values + share * values.sum() / max(len(values), 1) + 1e-12)
        leverage = np.minimum(squares @ inverse, 1 - 1e-9)
        found.append((targets - scores @ (inverse[:, None] * projected)) / (1 - leverage)[:, None])
    return min(found, key=lambda residual: float(np.square(residual).sum()))


def _unit(rows: Array) -> Array:
    centred = rows - rows.mean(axis=0)
    lengths = np.sqrt(np.einsum("ij,ij->i", centred, centred))
    return centred / np.where(lengths > 0, lengths, 1)[:, None]
