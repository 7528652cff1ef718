"""Which engine a name stands for."""

from __future__ import annotations

from typing import Any

from slimg.engine.base import Engine
from slimg.engine.estimate import estimate
from slimg.engine.mapped import MappedEngine
from slimg.engine.memory import MemoryEngine
from slimg.errors import choices
from slimg.graph.graph import Graph
from slimg.sizes import as_bytes

OPERATIONS = tuple(name for name in vars(Engine) if not name.startswith("_"))
NAMES = ("auto", "memory", "mapped", "dask")


def engine_for(engine: Any, graph: Graph, memory: str | int | None = None, disk: int = 0) -> Engine:
    """The engine of a name, a Dask client, or an engine itself.

    "auto" takes the one that `slimg.engine.estimate` recommends for the graph; ``memory`` is the budget of "mapped" and
    "auto" (default: most of what is free). ``disk`` is what work files will take: an engine of files that
    has no room for them is refused.
    """
    found = _engine_for(engine, graph, memory)
    if isinstance(found, MappedEngine):
        found.require_room(disk)
    return found


def _engine_for(engine: Any, graph: Graph, memory: str | int | None) -> Engine:
    check_engine(engine, memory)
    if engine == "auto":
        engine = estimate(graph, memory=None if memory is None else as_bytes(memory)).recommended
    if engine == "memory":
        return MemoryEngine()
    if engine == "mapped":
        return MappedEngine(memory or "4GB")
    if engine == "dask" or _is_client(engine):
        from slimg.engine.dask import DaskEngine

        return DaskEngine(None if engine == "dask" else engine)
    return engine


def check_engine(engine: Any, memory: str | int | None = None) -> None:
    """Raise an `InputError` for anything but a name, a Dask client or an engine, and for a budget that is no size."""
    is_known = engine in NAMES if isinstance(engine, str) else _is_client(engine) or _is_engine(engine)
    if not is_known:
        raise choices("engine", engine, [*NAMES, "an engine object", "a Dask client"])
    if memory is not None:
        as_bytes(memory)


def _is_client(engine: Any) -> bool:
    return type(engine).__module__.startswith("distributed")


def _is_engine(engine: Any) -> bool:
    """Whether an object (not a class) has the operations of the `Engine` protocol."""
    return not isinstance(engine, type) and all(hasattr(engine, name) for name in OPERATIONS)
