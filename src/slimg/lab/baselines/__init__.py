"""Models to compare SlimG with, by name.

Public: `get`, `names` and `set_known_params`, the registry of estimators, and `LINEAR` and `NETWORKS`, names of two groups
of them. Everything else in this package is internal.
"""

from slimg.lab.baselines.registry import LINEAR, NETWORKS, get, names, set_known_params

__all__ = ["LINEAR", "NETWORKS", "get", "names", "set_known_params"]
