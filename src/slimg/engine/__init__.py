"""Engines: where row matrices (n × k) live, and the operations on them.

Public: `Engine` (the contract), `MemoryEngine`, `Scaling`, `Sparse` and `RowMatrix` here, `slimg.engine.mapped.MappedEngine`
(files, for graphs larger than memory) and `slimg.engine.dask.DaskEngine` (a cluster). Everything else is internal.
"""

from slimg.engine.base import Engine, RowMatrix, Scaling, Sparse
from slimg.engine.memory import MemoryEngine

__all__ = ["Engine", "MemoryEngine", "RowMatrix", "Scaling", "Sparse"]
