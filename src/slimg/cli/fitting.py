"""A fit as commands do it: what the components need is loaded first, the rest of the program while they are computed.

Components need no labels and none of scikit-learn, whose loading holds one core for more than a second; the kernels that
compute components do not hold the interpreter lock.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import TYPE_CHECKING, Any

from slimg.cli.console import Progress
from slimg.graph.checks import check_train_val
from slimg.graph.graph import Graph

if TYPE_CHECKING:
    from slimg.classifier import SlimG
    from slimg.components.components import Components

NEEDED_LATER = (
    "slimg.classifier",
    "slimg.cli.outcome",
    "slimg.report.page",
    "matplotlib.figure",
    "matplotlib.backends.backend_svg",
)
"""Modules of the stages after the components."""


def fitted(graph: Graph, random_state: int, progress: Progress) -> SlimG:
    """A model of all labelled nodes, its parameters at their defaults."""
    check_train_val(graph)
    from slimg.components.components import compute_components  # noqa: F401  (loaded before the others are, beside it)

    with ThreadPoolExecutor(1, "loading") as beside:
        loaded = beside.submit(lambda: [import_module(name) for name in NEEDED_LATER])
        parts = components_of(graph, random_state, progress)
        loaded.result()
    from slimg.classifier import SlimG

    model = SlimG(random_state=random_state, verbose=progress).fit(graph, propagated=parts)
    return model.set_params(verbose=False)


def components_of(graph: Graph, random_state: int, progress: Any) -> Components:
    """P(A, X) of a graph in memory, reported as a stage."""
    from slimg.components.components import compute_components
    from slimg.engine.estimate import MOST_RANK, Sizes, columns_through
    from slimg.engine.memory import MemoryEngine
    from slimg.progress import reporting

    engine = MemoryEngine()
    with reporting(engine, progress), progress.stage("components", columns_through(Sizes.of(graph), MOST_RANK)):
        return compute_components(graph, engine, random_state=random_state)
