"""What is asked of a propagator: which components, how many hops, and what this graph can have of it."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from slimg.errors import InputError, choices
from slimg.graph.graph import Graph

COMPONENTS = ("U", "X", "row", "sym")


def component_names(names: Collection[str]) -> list[str]:
    if isinstance(names, str):
        names = [names]
    for name in names:
        if name not in COMPONENTS:
            raise choices("component", name, COMPONENTS)
    if not names:
        raise InputError(f"components must name at least one of {', '.join(COMPONENTS)}; none was given")
    return [name for name in COMPONENTS if name in names]


def feasible(wanted: list[str], graph: Graph) -> tuple[list[str], tuple[str, ...]]:
    """Components that this graph can have, and a sentence about those that it cannot."""
    edges, features = graph.adjacency.nnz > 0, graph.features is not None and graph.features.shape[1] > 0
    if not edges and not features:
        raise InputError("the graph has neither edges nor features: there is nothing to learn from, add one of them")
    if edges and features:
        return wanted, ()
    only, lacking = ("U", "features") if edges else ("X", "edges")
    if only not in wanted:
        raise InputError(f"components {', '.join(wanted)} need {lacking}, which the graph has not: ask for {only}")
    note = f"No {lacking}: {'structure' if edges else 'features'} alone (component {only})."
    return [only], (note,)


def hop_counts(name: str, given: int | Collection[int]) -> tuple[int, ...]:
    steps = [given] if isinstance(given, int | np.integer) else list(given)
    whole = all(isinstance(step, int | np.integer) and not isinstance(step, bool) and step > 0 for step in steps)
    if not steps or not whole:
        raise InputError(f"{name} must be a positive number of hops or several of them, not {given!r}")
    return tuple(sorted({int(step) for step in steps}))


def check_options(normalize: str | None, energy: float, max_rank: int) -> None:
    if normalize not in ("row", None):
        raise choices("normalize", normalize, ["row", "None"])
    if not 0 < energy <= 1:
        raise InputError(f"energy must lie above 0 and at most at 1, not {energy!r}")
    if not isinstance(max_rank, int | np.integer) or max_rank < 1:
        raise InputError(f"max_rank must be a positive integer, not {max_rank!r}")
