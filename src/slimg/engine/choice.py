"""Which engine a name stands for."""

from __future__ import annotations

from typing import Any

from slimg.engine.base import Engine
from slimg.engine.mapped import MappedEngine
from slimg.engine.memory import MemoryEngine
from slimg.errors import choices
from slimg.sizes import as_bytes

OPERATIONS = tuple(name for name in vars(Engine) if not name.startswith("_"))
NAMES = ("auto", "memory", "mapped", "dask")


def engine_for(engine: Any, memory: str | int | None = None) -> Engine:
    """The engine of a name, a Dask client, or an engine itself.

    "auto" depends on the graph: see `slimg.components.estimate.choose_engine`.

    Parameters
    ----------
    engine : str, Engine or Dask client
        A name of `NAMES` other than "auto".
    memory : str, int or None, default=None
        The budget of "mapped".

    Returns
    -------
    Engine
    """
    check_engine(engine, memory)
    if not isinstance(engine, str):
        if not _is_client(engine):
            return engine
        from slimg.engine.dask import DaskEngine

        return DaskEngine(engine)
    if engine == "mapped":
        return MappedEngine(memory or "4GB")
    if engine == "dask":
        from slimg.engine.dask import DaskEngine

        return DaskEngine(None)
    return MemoryEngine()


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
