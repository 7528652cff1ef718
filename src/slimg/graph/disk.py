"""Deprecated: this is `slimg.io.disk` now."""

from slimg._lazy import moved_module

__getattr__ = moved_module(__name__, "slimg.io.disk")
