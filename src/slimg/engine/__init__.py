"""Where row matrix arrays live, and the operations on them."""

from slimg.engine.base import Engine, Scaling
from slimg.engine.memory import MemoryEngine

__all__ = ["Engine", "MemoryEngine", "Scaling"]
