"""Deprecated: this is `slimg.lab.baselines` now."""

from slimg._lazy import moved_module

__getattr__ = moved_module(__name__, "slimg.lab.baselines")
