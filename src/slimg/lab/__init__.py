"""The paper's laboratory: its other models, datasets, checks and benchmarks. The core of slimg never imports it.

=================  ==================================================================
`LinearGNN`        a linear classifier on the columns of any propagator
`propagators`      the paper's propagators by name, and your own
`baselines`        models to compare with
`datasets`         published graphs
`gnnexp`           graph neural networks as linear propagators
`sanity`           synthetic graphs that show what a model can and cannot do
`bench`            the paper's tables and figures
=================  ==================================================================

Names are imported on first use; each package lists its public names in its ``__all__``.
"""

from typing import TYPE_CHECKING

__all__ = ["LinearGNN", "baselines", "bench", "datasets", "gnnexp", "propagators", "sanity"]

if TYPE_CHECKING:
    from slimg.lab import baselines, bench, datasets, gnnexp, propagators, sanity
    from slimg.lab.baselines.linear_gnn import LinearGNN
else:
    from slimg._lazy import lazy_names

    homes = {**{name: f"slimg.lab.{name}" for name in __all__}, "LinearGNN": "slimg.lab.baselines.linear_gnn"}
    __getattr__, __dir__ = lazy_names(__name__, homes)
    del lazy_names, homes
