"""`CorrectAndSmooth`: what any model predicts, corrected by its errors on the training rows and smoothed over the graph.

    Z: probabilities of the base model (n × c), Y: one-hot labels, T: the training rows
    E = Y − Z on T, zero elsewhere;   Ê = spread(E, α₁);   σ = mean over T of ‖E_i‖₁
    Z'ᵢ = Zᵢ + σ Êᵢ / ‖Êᵢ‖₁           correct: the size of an error is that of the known ones, its direction the spread one
    F = spread(G, α₂),  G = Y on T, Z' elsewhere                                  smooth

`spread` is that of `slimg.lab.baselines.smoothing`. Huang et al., Combining Label Propagation and Simple Models Out-performs
Graph Neural Networks, ICLR 2021.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone

from slimg.engine.base import Array, Engine
from slimg.engine.memory import MemoryEngine
from slimg.errors import InputError
from slimg.graph.adjacency import Adjacency
from slimg.graph.graph import Graph
from slimg.lab.baselines.base import Baseline, Learned, Targets, judged
from slimg.lab.baselines.label_propagation import shares
from slimg.lab.baselines.smoothing import log_probabilities, one_hot, spread

ALPHAS = (0.5, 0.8, 0.95)


class CorrectAndSmooth(Baseline):
    """Correct & Smooth on a base model.

    Parameters
    ----------
    base : a name of `slimg.lab.baselines.names`, or an estimator with fit(graph, train=, val=) and predict_proba()
    base_params : parameters of a base given by name
    correct, smooth : α₁ and α₂, each a share from 0 to below 1 or several to choose from
    cv, random_state : folds when no validation rows are given, and the seed of folds and of a base given by name
    normalize_features : given to a base by name that has it
    engine : an engine, or "memory"
    """

    def __init__(
        self,
        base: Any = "lr",
        *,
        base_params: Mapping[str, Any] | None = None,
        correct: float | Sequence[float] = ALPHAS,
        smooth: float | Sequence[float] = ALPHAS,
        cv: int = 5,
        normalize_features: str | None = "row",
        engine: Any = "memory",
        random_state: int = 0,
    ):
        self.base = base
        self.base_params = base_params
        self.correct = correct
        self.smooth = smooth
        self.cv = cv
        self.normalize_features = normalize_features
        self.engine = engine
        self.random_state = random_state

    def settings(self) -> list[dict[str, Any]]:
        pairs = product(shares("correct", self.correct), shares("smooth", self.smooth))
        return [{"correct": first, "smooth": second} for first, second in pairs]

    def _prepare(self, graph: Graph, targets: Targets) -> _Predicted:
        engine = MemoryEngine() if isinstance(self.engine, str) else self.engine
        predicted = _Predicted(self._base, graph, engine)
        if targets.check is not None:
            predicted.probabilities(targets)
        return predicted

    def _learn(self, inputs: _Predicted, setting: dict[str, Any], targets: Targets) -> Learned:
        found = corrected_and_smoothed(
            inputs.engine,
            inputs.graph.adjacency,
            inputs.probabilities(targets),
            one_hot(targets.codes, targets.fit, targets.classes),
            targets.fit,
            setting["correct"],
            setting["smooth"],
        )
        scores = log_probabilities(found, inputs.probabilities(targets))
        return Learned(scores, *judged(scores, targets))

    def _base(self) -> Any:
        from slimg.lab.baselines.registry import get, set_known_params

        if not isinstance(self.base, str):
            if self.base_params:
                raise InputError("base_params are for a base given by name: set the parameters of the estimator itself")
            return clone(self.base)
        given = self.base_params or {}
        usual = {"random_state": self.random_state, "normalize_features": self.normalize_features}
        return set_known_params(get(self.base, **given), **{key: usual[key] for key in usual if key not in given})


def corrected_and_smoothed(
    engine: Engine, adjacency: Adjacency, base: Array, labels: Array, train: Array, correct: float, smooth: float
) -> Array:
    """F of the module's text (n × c)."""
    errors = np.zeros_like(labels)
    errors[train] = labels[train] - base[train]
    direction = spread(engine, adjacency, errors, correct)
    length = np.abs(direction).sum(axis=1, keepdims=True)
    size = np.abs(errors[train]).sum(axis=1).mean()
    corrected = base + size * np.divide(direction, length, out=np.zeros_like(direction), where=length > 0)
    corrected[train] = labels[train]
    return spread(engine, adjacency, corrected, smooth)


class _Predicted:
    """The base model's probabilities, learned once for each set of training rows."""

    def __init__(self, make: Any, graph: Graph, engine: Engine):
        self.make, self.graph, self.engine = make, graph, engine
        self._found: dict[bytes, Array] = {}

    def probabilities(self, targets: Targets) -> Array:
        key = targets.fit.tobytes()
        if key not in self._found:
            base = self.make().fit(self.graph, train=targets.fit, val=targets.check)
            self._found[key] = np.asarray(base.predict_proba(), np.float32)
        return self._found[key]
