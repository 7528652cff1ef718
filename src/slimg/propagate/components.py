"""The propagator of SlimG:

    P(A, X) = U ‖ g(X) ‖ g(A_row² X) ‖ g(Ã_sym² X)

- X (n × d) is prepared first: in each row the minimum is subtracted if any entry of X is negative, then the row is divided
  by its sum; a row of zeros stays zero.
- U (n × r) is U·Σ of the truncated SVD of A, the rank r chosen by energy and capped at min(n, d); g is PCA to r columns.
  Both end with rows of length one; a row of zeros stays zero.
- Hops are passes over A and are shared: both first hops gather the same rows once, and k_row = {2, 4} takes four passes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from slimg.engine.base import Array, Engine, Tall
from slimg.engine.memory import MemoryEngine
from slimg.errors import InputError, choices
from slimg.graph.adjacency import Adjacency
from slimg.graph.graph import Graph
from slimg.linalg.operators import operator, products
from slimg.linalg.pca import PCA, principal_components
from slimg.linalg.svd import Spectrum, truncated_svd

COMPONENTS = ("U", "X", "row", "sym")
NORMALISATIONS = ("row", None)


@dataclass
class Components:
    """Named column blocks of P(A, X), in the order U, X, A_row, A_sym.

    Attributes
    ----------
    rank : r, the number of columns asked for; a component may have fewer.
    blocks : name → tall (n × width), rows of length one (or zero).
    states : name → `Spectrum`, `PCA` or None (without PCA): what is needed to place new nodes.
    notes : what was left out or changed, one sentence each.
    seconds : stage → wall time.
    """

    engine: Engine
    rank: int
    blocks: dict[str, Tall] = field(default_factory=dict)
    states: dict[str, Spectrum | PCA | None] = field(default_factory=dict)
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
        out = np.empty((len(index), sum(self.widths.values())), np.float32)
        for name, columns in self.groups.items():
            out[:, columns] = self.engine.rows(self.blocks[name], index)
        return out


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
    """P(A, X) with its options; the defaults are the paper's.

    ``components`` chooses among U, X, row and sym; ``pca=False`` keeps the propagated features themselves (rows of length
    one); ``k_row`` and ``k_sym`` are numbers of hops, one component for each; ``normalize=None`` takes X as it is.
    """
    engine = engine or MemoryEngine()
    adjacency, features = graph.adjacency, graph.features
    wanted, notes = _feasible(_checked(components), adjacency, features)
    hops = {"row": _hops("k_row", k_row), "sym": _hops("k_sym", k_sym)}
    cap = min(adjacency.n, max_rank, adjacency.n if features is None else features.shape[1])
    result = Components(engine, rank=cap, notes=notes)
    if adjacency.nnz:
        with _timed(result, "U"):
            spectrum = truncated_svd(engine, adjacency, energy=energy, max_rank=cap, random_state=random_state)
        result.rank = spectrum.rank
        if "U" in wanted:
            scaled = engine.combine(spectrum.vectors, np.diag(spectrum.singular_values))
            result.blocks["U"] = engine.map_rows(unit_rows, scaled)
            result.states["U"] = spectrum
    if features is not None and set(wanted) & {"X", "row", "sym"}:
        _add_features(result, wanted, hops, adjacency, features, normalize, pca)
    return result


def prepare_features(engine: Engine, features: Array | sparse.csr_matrix, normalize: str | None = "row") -> Tall:
    """X as a tall: rows that sum to one, after the row's minimum is subtracted if any entry of X is negative."""
    if normalize not in NORMALISATIONS:
        raise choices("normalize", normalize, ["row", "None"])
    tall = engine.tall(features)
    if normalize is None:
        return tall
    if bool(engine.sum_rows(_has_negative, tall)):
        dense = engine.map_rows(lambda block: block.toarray() if sparse.issparse(block) else block, tall)
        tall = engine.map_rows(lambda block: block - block.min(axis=1, keepdims=True), dense)
    return engine.map_rows(_rows_to_sum_one, tall)


def unit_rows(block: Array) -> Array:
    """Each row divided by its length; a row of zeros stays zero."""
    length = np.sqrt(np.einsum("ij,ij->i", block, block))
    return block / np.where(length > 0, length, 1)[:, None]


def _add_features(
    result: Components,
    wanted: Collection[str],
    hops: dict[str, tuple[int, ...]],
    adjacency: Adjacency,
    features: Array | sparse.csr_matrix,
    normalize: str | None,
    pca: bool,
) -> None:
    """g(X) and the propagated components, hop by hop."""
    engine = result.engine
    with _timed(result, "features"):
        tall = prepare_features(engine, features, normalize)
    chosen = [kind for kind in ("row", "sym") if kind in wanted]
    last = {kind: max(hops[kind]) for kind in chosen}
    walks: dict[str, Tall] = {}
    if chosen:
        dense = engine.map_rows(lambda block: block.toarray() if sparse.issparse(block) else block, tall)
        matrices = {kind: operator({"row": "A_row", "sym": "Ã_sym"}[kind], adjacency) for kind in chosen}
        with _timed(result, "hops"):
            walks = dict(zip(chosen, products(engine, list(matrices.values()), dense), strict=True))
        del dense
    if "X" in wanted:
        _add(result, "X", tall, pca)
    del tall
    for kind in chosen:
        walk = walks.pop(kind)
        for step in range(1, last[kind] + 1):
            if step > 1:
                with _timed(result, "hops"):
                    walk = matrices[kind].apply(engine, walk)
            if step in hops[kind]:
                _add(result, f"A_{kind}^{step} X", walk, pca)


def _add(result: Components, name: str, tall: Tall, pca: bool) -> None:
    """g(tall), or its rows of length one."""
    engine = result.engine
    with _timed(result, "PCA"):
        if pca:
            result.states[name], result.blocks[name] = principal_components(engine, tall, result.rank, unit_rows)
        else:
            dense = lambda block: block.toarray() if sparse.issparse(block) else block  # noqa: E731
            result.states[name], result.blocks[name] = None, engine.map_rows(lambda b: unit_rows(dense(b)), tall)


def _has_negative(block: Array | sparse.csr_matrix) -> Array:
    entries = block.data if sparse.issparse(block) else block
    return np.asarray(entries.min(initial=0.0) < 0)


def _rows_to_sum_one(block: Array | sparse.csr_matrix) -> Array | sparse.csr_matrix:
    total = np.asarray(block.sum(axis=1)).ravel()
    scale = np.where(total > 0, 1 / np.where(total > 0, total, 1), 1).astype(np.float32)
    return sparse.diags(scale) @ block if sparse.issparse(block) else block * scale[:, None]


def _checked(names: Collection[str]) -> list[str]:
    for name in names:
        if name not in COMPONENTS:
            raise choices("component", name, COMPONENTS)
    if not names:
        raise InputError(f"components must name at least one of {', '.join(COMPONENTS)}; none was given")
    return [name for name in COMPONENTS if name in names]


def _feasible(wanted: list[str], adjacency: Adjacency, features: object) -> tuple[list[str], tuple[str, ...]]:
    """Components that this graph can have, and a sentence about those that it cannot."""
    if adjacency.n == 0:
        raise InputError("the graph has no nodes: components need at least one")
    if features is None and adjacency.nnz == 0:
        raise InputError("the graph has neither edges nor features: there is nothing to learn from, give at least one")
    if features is None:
        kept, note = ["U"], "No features: structure alone (component U)."
    elif adjacency.nnz == 0:
        kept, note = ["X"], "No edges: features alone (component X)."
    else:
        return wanted, ()
    if not set(kept) & set(wanted):
        raise InputError(f"components {', '.join(wanted)} need {'features' if features is None else 'edges'}: add {kept[0]}")
    return kept, (note,)


def _hops(name: str, given: int | Collection[int]) -> tuple[int, ...]:
    steps = [given] if isinstance(given, (int, np.integer)) else list(given)
    if not steps or any(not isinstance(step, (int, np.integer)) or isinstance(step, bool) or step < 1 for step in steps):
        raise InputError(f"{name} must be a positive integer or several, not {given!r}")
    return tuple(sorted({int(step) for step in steps}))


@contextmanager
def _timed(result: Components, stage: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    result.seconds[stage] = result.seconds.get(stage, 0.0) + time.perf_counter() - start
