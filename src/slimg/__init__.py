"""SlimG: classify the nodes of a graph from a few labels."""

from slimg.version import __version__

_HOMES = {
    "Graph": "slimg.graph",
    "LinearGNN": "slimg.lab.linear_gnn",
    "NodeClassifier": "slimg.pipeline",
    "SlimG": "slimg.classifier",
    "SlimGFeatures": "slimg.pipeline",
    "diagnose": "slimg.explain.diagnosis",
}
__all__ = ["Graph", "LinearGNN", "NodeClassifier", "SlimG", "SlimGFeatures", "__version__", "diagnose"]


def __getattr__(name: str):
    """Import a public name on first use, so that `import slimg` is instant."""
    if name in _HOMES:
        import importlib

        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'slimg' has no attribute {name!r}")
