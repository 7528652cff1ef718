"""Deprecated: this is `slimg.lab.datasets` now."""

from collections.abc import Callable
from typing import Any

from slimg._lazy import moved_module

__getattr__: Callable[[str], Any] = moved_module(__name__, "slimg.lab.datasets")
