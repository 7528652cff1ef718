"""`LabelPropagation`: labels spread along edges; features are not read.

    F = (1 − α) (I − α A_sym)⁻¹ Y          Y: one-hot labels of the training rows, zero elsewhere (n × c)

The probabilities of a node are its row of F over its sum; a node that no label reaches has the shares of the classes among
the training rows. Zhou et al., Learning with Local and Global Consistency, NeurIPS 2003.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from slimg.engine.memory import MemoryEngine
from slimg.errors import InputError
from slimg.graph.graph import Graph
from slimg.lab.baselines.base import Baseline, Learned, Targets, judged
from slimg.lab.baselines.smoothing import log_probabilities, one_hot, spread

ALPHAS = (0.5, 0.8, 0.9, 0.95)


class LabelPropagation(Baseline):
    """Label propagation by its closed form.

    Parameters
    ----------
    alpha : share that comes from neighbours, from 0 to below 1, or several to choose from
    cv, random_state : folds when no validation rows are given, and their seed
    engine : an engine, or "memory"
    """

    def __init__(
        self, *, alpha: float | Sequence[float] = ALPHAS, cv: int = 5, engine: Any = "memory", random_state: int = 0
    ):
        self.alpha = alpha
        self.cv = cv
        self.engine = engine
        self.random_state = random_state

    def settings(self) -> list[dict[str, Any]]:
        return [{"alpha": value} for value in shares("alpha", self.alpha)]

    def _learn(self, inputs: Graph, setting: dict[str, Any], targets: Targets) -> Learned:
        engine = MemoryEngine() if isinstance(self.engine, str) else self.engine
        labels = one_hot(targets.codes, targets.fit, targets.classes)
        found = spread(engine, inputs.adjacency, labels, setting["alpha"])
        scores = log_probabilities(found, labels.mean(axis=0) / labels.mean(axis=0).sum())
        return Learned(scores, *judged(scores, targets))


def shares(name: str, given: Any) -> tuple[float, ...]:
    """One or several shares from 0 to below 1."""
    values = tuple(given) if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str) else (given,)
    if not values or not all(isinstance(each, int | float | np.number) and 0 <= each < 1 for each in values):
        raise InputError(f"{name} must be a share from 0 to below 1, or several of them, not {given!r}")
    return tuple(float(each) for each in values)
