"""Memory, disk and time of a fit before it begins, on each engine, and which engine to take.

Each component says what it costs (`Component.cost`): columns held, passes over A, multiply-adds, bytes. For n nodes and e
stored entries (twice the edges), all row matrices in float32:

    in memory   graph 32n + 4e + 4nd,  then the larger of U and of the components of features (their sum, on a small graph),
                or the components with the copies of labelled rows that learning makes, or what reduces a wide X to X V
    mapped      the budget; at least the process, vectors of nodes and one gathered column;
                disk as the row matrices, with 2d more: files go when the next operation is finished
    dask        on all workers together as in memory, the gathered halo of each beside it

Seconds are those counts times the rates of this machine (`slimg.engine.rates`), and products with the labelled rows. A fit from
files also reads them, compares, diagnoses and explains, and writes predictions and a page (`Files`): its constants were set
on the files of ``benchmarks/estimate_files.py``, in seconds of parsing a byte of the same files, which is measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slimg.components.component import Component, Cost, lacking
from slimg.components.component import Sizes as Sizes
from slimg.components.compute import SIDE_BY_SIDE, default_components
from slimg.components.features import FeatureComponent
from slimg.engine.base import Engine, check_engine, engine_for
from slimg.engine.memory import HELD as ROWS_HELD
from slimg.engine.memory import MemoryEngine
from slimg.errors import TooLarge
from slimg.graph.graph import Graph
from slimg.system import as_bytes, available_memory, resident, show_bytes

if TYPE_CHECKING:
    from slimg.engine.rates import Rates

PRODUCTS, BESIDE = 450, 6
"""Products with the labelled rows for a path of penalties, and what is done beside them, as a number of classes."""
COMFORT = 0.8
"""Share of the free memory that may be planned with."""
LARGE = 1 << 18
"""Nodes from which ``slimg fit`` does not hold the node table (`slimg.cli.fit`)."""
READ_NODES, READ_EDGES, WRITTEN = 3.0, 3.0, 2.0
"""Seconds of reading a byte of nodes and of edges and of writing one, in seconds of parsing it."""
EXAMINED, DIAGNOSED = 1500, 40.0
"""Labelled rows that a diagnosis looks at, and their cubes that it takes."""
COMPARED, TREES_OF = 50_000, 4_000.0
"""Labelled rows up to which other models are compared, and bytes parsed in the time one row and class takes."""
STARTED, PAGE, HELD, PARSED = 1.5, 1.5, 150, 1.4
"""Seconds of starting and of a page, bytes held of a node, and of a byte of text while it is read."""
PROCESS, JUDGED, LEAST = 280 << 20, 250 << 20, 560 << 20
"""Bytes of the process, what a diagnosis and a comparison take, and the least budget of the engine of files."""
COPIES = 5, 2
"""Of the labelled rows, while learning and, beside that, while other models are compared."""
DIRECTION = 28
"""Bytes that an entry of V, the directions of a wide X, takes while it is found: float64 three times, and float32."""
COMPILE = 4.0
"""Seconds for compiled kernels to be loaded, and for what does not grow."""


@dataclass(frozen=True)
class Files:
    """What is read and written beside the graph.

    Parameters
    ----------
    nodes, edges : int
        Bytes of the tables as text.
    columns : int
        Columns of the node table.
    pace : float
        Seconds of parsing a byte.
    """

    nodes: int
    edges: int
    columns: int
    pace: float = 0.0


@dataclass(frozen=True)
class Need:
    """Bytes of memory (all workers together), bytes of disk, and seconds, of them those of reading and of the page."""

    memory: int
    disk: int
    seconds: float
    reading: float = 0.0
    page: float = 0.0


@dataclass(frozen=True)
class Estimate:
    """The needs of each engine and the recommended one; printing it shows a table."""

    sizes: Sizes
    engines: dict[str, Need]
    recommended: str
    reason: str

    def __str__(self) -> str:
        parts = any(need.reading for need in self.engines.values())
        columns = ("reading", "fitting", "page", "time") if parts else ("time",)
        lines = [f"{'engine':<10}" + "".join(f"{name:>12}" for name in ("memory", "disk", *columns))]
        for name, need in self.engines.items():
            times = need.reading, need.seconds - need.reading - need.page, need.page, need.seconds
            shown = [show_bytes(need.memory), show_bytes(need.disk) if need.disk else "none"]
            shown += [show_seconds(each) for each in times[-len(columns) :]]
            lines.append(f"{name:<10}" + "".join(f"{each:>12}" for each in shown))
        return "\n".join([*lines, f"recommended: {self.recommended} ({self.reason})"])

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        engines = {name: vars(need) for name, need in self.engines.items()}
        return {"sizes": vars(self.sizes), "engines": engines, "recommended": self.recommended, "reason": self.reason}


def estimate(
    what: Graph | Sizes,
    *,
    components: Sequence[Component] | None = None,
    memory: str | int | None = None,
    workers: int = 2,
    folder: str | Path | None = None,
    rates: Rates | None = None,
    files: Files | None = None,
) -> Estimate:
    """Estimate memory, disk and time of a fit on each engine.

    Parameters
    ----------
    what : Graph or Sizes
        The graph, or its sizes alone.
    components : sequence of Component or None, default=None
        What is computed; None is the default list.
    memory : str, int or None, default=None
        The budget, such as "4GB" or a number of bytes; None is most of what is free now.
    workers : int, default=2
        Workers of a Dask cluster.
    folder : path-like or None, default=None
        Where work files would be, to measure the speed of that disk.
    rates : Rates or None, default=None
        The speed of the machine; None measures it, which takes about two seconds.
    files : Files or None, default=None
        The tables of a whole ``slimg fit``, from files to the page; None is the fit alone.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> from slimg.components.estimate import Sizes, estimate
    >>> from slimg.engine.rates import Rates
    >>> rates = Rates(entry=5e-9, line=1.5e-9, single=1e-11, double=4e-11, stream=1e-10, disk=2e-9)
    >>> estimate(Sizes(nodes=20_000, edges=90_000, features=500), rates=rates).recommended
    'memory'
    """
    from slimg.engine.rates import measure

    sizes = Sizes.of(what) if isinstance(what, Graph) else what
    rates = rates or measure(folder)
    costs = _costs(sizes, components or default_components(sizes.labelled, sizes.nodes, sizes.features))
    free = available_memory() or 2**62
    budget = min(int(COMFORT * free) if memory is None else as_bytes(memory), free)
    inside = _in_memory(sizes, costs, rates)
    mapped = _mapped(sizes, costs, rates, inside, budget)
    spread = _on_cluster(sizes, inside, workers)
    if files is not None:
        inside, mapped, spread = (_with_files(sizes, need, files, rates, costs, name)
                                  for name, need in (("memory", inside), ("mapped", mapped), ("dask", spread)))  # fmt: skip
    if inside.memory <= budget:
        chosen, reason = "memory", f"{show_bytes(inside.memory)} of {show_bytes(budget)}"
    elif mapped.memory <= budget:
        chosen = "mapped"
        reason = f"in memory it would take {show_bytes(inside.memory)}, and {show_bytes(budget)} may be used"
    else:
        chosen, reason = "dask", f"one column of {sizes.nodes:,} nodes does not fit into {show_bytes(budget)}"
    return Estimate(sizes, {"memory": inside, "mapped": mapped, "dask": spread}, chosen, reason)


def choose_engine(
    engine: Any, graph: Graph, memory: str | int | None = None, components: Sequence[Component] | None = None
) -> Engine:
    """The engine of a name, a Dask client, or an engine itself.

    Parameters
    ----------
    engine : str, Engine or Dask client
        A name as in `slimg.engine.base.NAMES`; "auto" takes the one that `estimate` recommends for the graph.
    graph : Graph
    memory : str, int or None, default=None
        The budget of "mapped" and "auto"; None is most of what is free.
    components : sequence of Component or None, default=None
        What will be computed: an engine of files whose disk has no room for it is refused.

    Returns
    -------
    Engine
    """
    check_engine(engine, memory)
    if isinstance(engine, str) and engine == "auto":
        engine = estimate(graph, components=components, memory=memory).recommended
    found = engine_for(engine, memory)
    if components is not None:
        sizes = Sizes.of(graph)
        costs = _costs(sizes, components)
        if hasattr(found, "require_room"):
            found.require_room(_work_files(sizes, costs))
        elif isinstance(found, MemoryEngine):
            size = f"fitting {sizes.nodes:,} nodes with {sizes.features:,} features in memory"
            require_memory(_beside_graph(sizes, costs), size, "the engine mapped, which works in files, or fewer features")
    return found


def require_memory(needed: int, what: str, otherwise: str) -> None:
    """Raise an error if less memory is available than something needs.

    Parameters
    ----------
    needed : int
        Bytes beyond what the process holds.
    what, otherwise : str
        What needs them, and what to use or do instead.

    Raises
    ------
    TooLarge
    """
    free = available_memory()
    if free is not None and needed > free:
        sizes = f"about {show_bytes(needed)} of memory beside what this process has, but {show_bytes(free)} are available to it"
        raise TooLarge(f"{what} takes {sizes}: use {otherwise}")


def show_seconds(seconds: float) -> str:
    """Seconds, minutes or hours."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"


@dataclass(frozen=True)
class _Costs:
    """Costs of U and the like, and of components of features."""

    structure: list[Cost]
    features: list[Cost]

    @property
    def all(self) -> list[Cost]:
        return [*self.structure, *self.features]

    def total(self, name: str) -> float:
        return sum(getattr(cost, name) for cost in self.all)


def _costs(sizes: Sizes, components: Sequence[Component]) -> _Costs:
    found = [each for each in components if lacking(each, 2 * sizes.edges, sizes.features) is None]
    features = [each.cost(sizes) for each in found if isinstance(each, FeatureComponent)]
    return _Costs([each.cost(sizes) for each in found if not isinstance(each, FeatureComponent)], features)


def _row_matrices(sizes: Sizes, costs: _Costs, again: bool = False) -> int:
    """Bytes of row matrices at the peak; the last component of features is written over what it is made from.

    With ``again`` rows of a large U are computed when they are read, not held beside its vectors.
    """
    kept = [cost.held - cost.columns * (again and cost.held > 0 and sizes.nodes * cost.columns > ROWS_HELD)
            for cost in costs.structure]  # fmt: skip
    structure = max((sum(kept) - own + cost.working for own, cost in zip(kept, costs.structure, strict=True)), default=0)
    held = sum(kept) + sum(cost.held for cost in costs.features) - max((cost.held for cost in costs.features), default=0)
    hops = sum(cost.working for cost in costs.features) + held
    widest = max((cost.working for cost in costs.features), default=0)
    together = 0 < sizes.nodes * widest <= SIDE_BY_SIDE
    return 4 * sizes.nodes * (structure + hops if together else max(structure, hops))


def _work_files(sizes: Sizes, costs: _Costs) -> int:
    """Bytes of work files at the peak of a fit on the engine of files."""
    widest = max((cost.working for cost in costs.features), default=0)
    return _row_matrices(sizes, costs) + 8 * sizes.nodes * widest + 4 * sizes.stored_features


def _graph_bytes(sizes: Sizes) -> int:
    entries = 2 * sizes.edges
    features = (4 if sizes.entries is None else 8) * sizes.stored_features
    return 32 * sizes.nodes + (8 if sizes.weighted else 4) * entries + features


def _in_memory(sizes: Sizes, costs: _Costs, rates: Rates) -> Need:
    n, rows, columns = sizes.nodes, sizes.labelled or sizes.nodes // 20, costs.total("columns")
    passes = sum(cost.passes * rates.product(2 * sizes.edges, cost.pass_width) for cost in costs.all)
    dense = costs.total("single") * rates.single + costs.total("double") * rates.double
    learning = PRODUCTS * 2 * rows * columns * (sizes.classes + BESIDE) * rates.single
    predict = n * columns * sizes.classes * rates.single
    seconds = COMPILE + passes + dense + costs.total("streamed") * rates.stream + learning + predict
    return Need(resident() + _graph_bytes(sizes) + _beside_graph(sizes, costs), 0, seconds)


def _beside_graph(sizes: Sizes, costs: _Costs) -> int:
    """Bytes that a fit in memory takes beside the graph at its peak."""
    columns, rows = costs.total("columns"), sizes.labelled or sizes.nodes // 20
    widest = max((cost.pass_width for cost in costs.features), default=0)
    copies = (4 if sizes.entries is None else 16) * sizes.stored_features
    reduction = copies + DIRECTION * sizes.features * widest if widest < sizes.features - sizes.doubled else 0
    return int(max(_row_matrices(sizes, costs, True), 4 * (sizes.nodes + COPIES[0] * rows) * columns, reduction))


def _mapped(sizes: Sizes, costs: _Costs, rates: Rates, inside: Need, budget: int) -> Need:
    """In memory, and what moves to and from files."""
    least = resident() + 48 * sizes.nodes + (128 << 20)
    seconds = inside.seconds + costs.total("moved") * rates.disk
    return Need(max(least, min(budget, inside.memory)), _work_files(sizes, costs), seconds)


def _with_files(sizes: Sizes, need: Need, files: Files, rates: Rates, costs: _Costs, engine: str) -> Need:
    """A whole command: tables are read, the result is judged and written."""
    n, c, rows = sizes.nodes, sizes.classes, sizes.labelled or sizes.nodes // 20
    reading = files.pace * (READ_NODES * files.nodes + READ_EDGES * files.edges) * (1.5 if engine == "mapped" else 1)
    examined, compared = min(rows, EXAMINED), rows if rows <= COMPARED else 0
    page = PAGE + rates.double * DIAGNOSED * examined**3 + compared * TREES_OF * min(c, 20) * files.pace
    page += files.pace * WRITTEN * (files.nodes + 60 * n * (c + 3)) + rates.stream * 4 * sizes.stored_features
    table, disk = files.nodes + 4 * n * files.columns, need.disk
    if engine == "mapped":
        disk += 4 * sizes.stored_features + 16 * sizes.edges + files.nodes
        memory = max(need.memory, LEAST + HELD * n + 4 * n * c + COPIES[0] * 4 * rows * costs.total("columns"))
    else:
        read = PROCESS + PARSED * (table + files.edges) + 4 * sizes.stored_features
        held = HELD * n + (table if n < LARGE else 0) + COPIES[1] * 4 * compared * costs.total("columns")
        memory = max(read, need.memory - resident() + PROCESS + JUDGED + held)
    return Need(int(memory), disk, STARTED + reading + need.seconds + page, reading, page)


def _on_cluster(sizes: Sizes, inside: Need, workers: int) -> Need:
    """Halos of each worker beside the row matrices; passes shared, with the rows that travel taking as long as they do."""
    return Need(inside.memory + 4 * sizes.nodes * sizes.features * workers, 0, 10 + 2 * inside.seconds / workers)
