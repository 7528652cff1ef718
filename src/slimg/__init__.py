"""SlimG: classify the nodes of a graph from a few labels.

========================  ==========================================================================
`read`                    tables, files and graphs of other libraries as a `Graph`
`Graph`                   the input: edges, features, labels and ids
`SlimG`                   the classifier: components of the graph and a sparse-group logistic regression
`diagnose`                whether the features and the edges predict the labels
`NodeClassifier`          `SlimG` for scikit-learn's cross-validation and grid search
`SlimGFeatures`           the components as a scikit-learn transformer
========================  ==========================================================================

The packages `slimg.graph`, `slimg.io`, `slimg.engine`, `slimg.linalg`, `slimg.components`, `slimg.learn`, `slimg.inference`,
`slimg.explain`, `slimg.report` and `slimg.lab` list further public names in their ``__all__``; the rest is internal.
Names are imported on first use, so ``import slimg`` is instant.
"""

TYPE_CHECKING = False  # type checkers take it as true; an interrupt while `typing` is imported would end in a trace

if TYPE_CHECKING:
    from slimg.classifier import SlimG
    from slimg.explain.diagnosis import diagnose
    from slimg.graph import Graph
    from slimg.io.tables import read
    from slimg.pipeline import NodeClassifier, SlimGFeatures
else:
    from slimg._lazy import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "Graph": "slimg.graph",
            "NodeClassifier": "slimg.pipeline",
            "SlimG": "slimg.classifier",
            "SlimGFeatures": "slimg.pipeline",
            "diagnose": "slimg.explain.diagnosis",
            "read": "slimg.io.tables",
        },
        moved={name: f"slimg.lab.{name}" for name in ("LinearGNN", "baselines", "bench", "datasets", "gnnexp", "sanity")},
    )
    del lazy_names

__version__ = "0.1.0"
__all__ = ["Graph", "NodeClassifier", "SlimG", "SlimGFeatures", "__version__", "diagnose", "read"]
