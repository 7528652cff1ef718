"""Deprecated: this is `slimg.lab.datasets` now."""

from slimg._lazy import moved_module

__getattr__ = moved_module(__name__, "slimg.lab.datasets")
