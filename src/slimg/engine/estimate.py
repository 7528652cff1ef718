"""Memory, disk and time of a fit before it begins, on each engine, and which to take.

For n nodes, e stored entries (twice the edges), d features, rank r = min(n, d), blocks of w columns, a Krylov basis of b
columns and m labelled rows (all row matrices are float32):

    in memory   graph 32n + 4e + 4nd,  then the larger of (their sum, on a small graph)
                U      4n (b + r + 4w)             the basis, the vectors, the blocks under way
                hops   4n (3d + 4r)                walks, one place that waits, singular vectors and components
                                                   (2r on a large graph, see `slimg.components.components`)
    mapped      the budget; at least the process, vectors of nodes and one gathered column
                disk as the row matrices, with 2d more: files go when the next operation is finished
    dask        on all workers together as in memory, the gathered halo of each beside it

Time is that of the passes: U takes its columns through A, each block against the basis twice, and the vectors from it; the
two kinds of hops take a fused pass and two more; PCA takes Gram matrices and products; learning takes products with the
labelled rows. How many columns U takes is that of `slimg.linalg.sketched_lanczos` on a large graph, a space of fixed size of which
one block costs no pass, and of `slimg.linalg.krylov` on others, as many as convergence needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from slimg.engine.rates import Rates, measure
from slimg.errors import InputError
from slimg.graph.graph import Graph
from slimg.linalg import lanczos_layout
from slimg.sizes import available_memory, resident, show_bytes

SIDE_BY_SIDE = 1 << 25
"""Entries of X up to which all components are computed at the same time."""
PRODUCTS, BESIDE = 450, 6
"""Products with the labelled rows for a path of penalties, and what is done beside them, as a number of classes."""
MOST_RANK = 2048
"""The most columns of a component, unless a fit says otherwise."""
COMFORT = 0.8
"""Share of the free memory that may be planned with."""
FUSED = 1.6
"""Cost of two scalings in one pass."""
COMPILE = 4.0
"""Seconds for compiled kernels to be loaded, and for what does not grow."""


@dataclass(frozen=True)
class Sizes:
    """What decides the cost; ``edges`` are undirected, ``labelled`` the rows learned and selected from."""

    nodes: int
    edges: int
    features: int
    classes: int = 2
    labelled: int = 0
    weighted: bool = False

    def __post_init__(self) -> None:
        for name in ("nodes", "edges", "features", "classes", "labelled"):
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or value < (1 if name == "nodes" else 0):
                raise InputError(f"estimate needs {name} as a whole number, not {value!r}")

    @classmethod
    def of(cls, graph: Graph) -> Sizes:
        """The sizes of a graph."""
        weighted = graph.adjacency.weights is not None
        return cls(graph.n, graph.edges, graph.d, max(2, len(graph.classes)), len(graph.labelled), weighted)


class Shape(NamedTuple):
    """Columns: of each component, of a block, of the basis that is held, and of all that U takes through A."""

    rank: int
    width: int
    basis: int
    through: float

    @classmethod
    def of(cls, sizes: Sizes, max_rank: int = MOST_RANK) -> Shape:
        """As `slimg.linalg.krylov` and `slimg.linalg.sketched_lanczos` will choose them."""
        rank = min(sizes.nodes, sizes.features or sizes.nodes, max_rank)
        layout = lanczos_layout(sizes.nodes, rank)
        return cls(rank, layout.width, layout.basis, layout.columns)


@dataclass(frozen=True)
class Need:
    """Bytes of memory (all workers together), bytes of disk, and seconds."""

    memory: int
    disk: int
    seconds: float


@dataclass(frozen=True)
class Estimate:
    """The needs of each engine and the recommended one; printing it shows a table."""

    sizes: Sizes
    engines: dict[str, Need]
    recommended: str
    reason: str

    def __str__(self) -> str:
        lines = [f"{'engine':<10}{'memory':>12}{'disk':>12}{'time':>12}"]
        for name, need in self.engines.items():
            disk = show_bytes(need.disk) if need.disk else "none"
            lines.append(f"{name:<10}{show_bytes(need.memory):>12}{disk:>12}{show_seconds(need.seconds):>12}")
        return "\n".join([*lines, f"recommended: {self.recommended} ({self.reason})"])

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        engines = {name: vars(need) for name, need in self.engines.items()}
        return {"sizes": vars(self.sizes), "engines": engines, "recommended": self.recommended, "reason": self.reason}


def estimate(
    what: Graph | Sizes,
    *,
    memory: int | None = None,
    workers: int = 2,
    folder: str | Path | None = None,
    rates: Rates | None = None,
) -> Estimate:
    """What a fit will take; ``memory`` is the budget in bytes (default: what is free now)."""
    sizes = Sizes.of(what) if isinstance(what, Graph) else what
    rates = rates or measure(folder)
    free = available_memory() or 2**62
    budget = min(memory or int(COMFORT * free), free)
    inside = _in_memory(sizes, rates)
    mapped = _mapped(sizes, rates, inside, budget)
    spread = _on_cluster(sizes, inside, workers)
    if inside.memory <= budget:
        chosen, reason = "memory", f"{show_bytes(inside.memory)} of {show_bytes(budget)}"
    elif mapped.memory <= budget:
        chosen, reason = (
            "mapped",
            f"in memory it would take {show_bytes(inside.memory)}, and {show_bytes(budget)} may be used",
        )
    else:
        chosen, reason = "dask", f"one column of {sizes.nodes:,} nodes does not fit into {show_bytes(budget)}"
    return Estimate(sizes, {"memory": inside, "mapped": mapped, "dask": spread}, chosen, reason)


def columns_through(sizes: Sizes, max_rank: int = MOST_RANK) -> float:
    """Columns that a fit takes through A, about: those of U, then those of the hops."""
    return Shape.of(sizes, max_rank).through + 3 * sizes.features


def work_files(sizes: Sizes, max_rank: int = MOST_RANK) -> int:
    """Bytes of work files at the peak of a fit on the engine of files."""
    shape = Shape.of(sizes, max_rank)
    return _talls(sizes, shape) + 8 * sizes.nodes * sizes.features


def show_seconds(seconds: float) -> str:
    """Seconds, minutes or hours."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"


def _talls(sizes: Sizes, shape: Shape) -> int:
    """Bytes of row matrices at the peak."""
    structure = shape.basis + shape.rank + 4 * shape.width
    hops = 3 * sizes.features + (2 if lanczos_layout(sizes.nodes, shape.rank).is_sketched else 4) * shape.rank
    together = sizes.nodes * sizes.features <= SIDE_BY_SIDE
    return 4 * sizes.nodes * (structure + hops if together else max(structure, hops))


def _graph_bytes(sizes: Sizes) -> int:
    entries = 2 * sizes.edges
    return 32 * sizes.nodes + (8 if sizes.weighted else 4) * entries + 4 * sizes.nodes * sizes.features


def _learning(sizes: Sizes, rates: Rates) -> tuple[int, float]:
    """Bytes and seconds of the labelled rows."""
    rank, rows = Shape.of(sizes).rank, sizes.labelled or sizes.nodes // 20
    return 5 * 16 * rows * rank, PRODUCTS * 2 * rows * 4 * rank * (sizes.classes + BESIDE) * rates.single


def _in_memory(sizes: Sizes, rates: Rates) -> Need:
    n, e, d, shape = sizes.nodes, 2 * sizes.edges, sizes.features, Shape.of(sizes)
    r, w, b, steps = shape.rank, shape.width, shape.basis, shape.through / shape.width
    rows, learning = _learning(sizes, rates)
    against = 2 * steps * n * 0.6 * b * (w * rates.single + 4 * rates.stream) + n * b * r * rates.single
    structure = steps * (rates.product(e, w) + 6 * n * w * w * rates.double) + against
    hops = (FUSED + 2) * rates.product(e, d) if d else 0.0
    pca = 3 * n * (d * d * rates.double + d * r * rates.single)
    predict = n * 4 * r * sizes.classes * rates.single
    memory = resident() + _graph_bytes(sizes) + max(_talls(sizes, shape), 16 * n * r + rows)
    return Need(int(memory), 0, COMPILE + structure + hops + pca + learning + predict)


def _mapped(sizes: Sizes, rates: Rates, inside: Need, budget: int) -> Need:
    """In memory, and what moves: the basis twice for each block, row matrices in and out, the indices once per pass."""
    n, e, d, shape = sizes.nodes, 2 * sizes.edges, sizes.features, Shape.of(sizes)
    steps = shape.through / shape.width
    least = resident() + 48 * n + (128 << 20)
    moved = 4 * n * (2 * steps * 0.6 * shape.basis + 8 * shape.through + 12 * d + 8 * shape.rank) + 4 * e * (steps + 6)
    return Need(max(least, min(budget, inside.memory)), work_files(sizes), inside.seconds + moved * rates.disk)


def _on_cluster(sizes: Sizes, inside: Need, workers: int) -> Need:
    """Halos of each worker beside the row matrices; passes shared, with the rows that travel taking as long as they do."""
    return Need(inside.memory + 4 * sizes.nodes * sizes.features * workers, 0, 10 + 2 * inside.seconds / workers)
