"""Models that spread values along the edges: label propagation, Correct & Smooth, and classifiers of scikit-network.

    spread(B, α) = (1 − α) Σ_{k≥0} αᵏ A_sym^k B = (1 − α) (I − α A_sym)⁻¹ B           B: n × c, 0 ≤ α < 1

The limit of H ← α A_sym H + (1 − α) B, taken by conjugate gradients: I − α A_sym is positive definite.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from slimg.engine.base import Array, Engine, RowMatrix
from slimg.errors import InputError, check_names, require
from slimg.graph.adjacency import Adjacency
from slimg.graph.graph import Graph
from slimg.lab.baselines.base import Baseline, Learned, Targets, WithHyperparameters, one_or_several
from slimg.lab.propagators.evaluation import solve
from slimg.linalg.operators import operator

LEAST = 1e-12
"""Probability that stands for zero in a logarithm."""
CLASSIFIERS = {
    "pagerank": ("PageRankClassifier", ["damping_factor", "solver", "n_iter", "tol", "n_jobs"]),
    "diffusion": ("DiffusionClassifier", ["n_iter", "centering", "scale"]),
    "nearest_neighbours": ("NNClassifier", ["n_neighbors", "embedding_method", "normalize"]),
}
"""Name → class of scikit-network and its options."""
PROJECTION_COLUMNS = 64


@dataclass(kw_only=True, eq=False, repr=False)
class LabelPropagation(Baseline):
    """Label propagation by its closed form; features are not read.

        F = spread(Y, α)          Y: one-hot labels of the training rows, zero elsewhere (n × c)

    The probabilities of a node are its row of F divided by its sum; a node that no label reaches has the shares of the
    classes among the training rows. Zhou et al., Learning with Local and Global Consistency, NeurIPS 2003.

    Parameters
    ----------
    alpha : float or sequence of float, default=(0.5, 0.8, 0.9, 0.95)
        Share that comes from neighbours, from 0 to below 1, or several to choose from.
    cv : int, default=5
        Folds when no validation rows are given.
    engine : "memory" or engine, default="memory"
        Where the work is done.
    random_state : int, default=0
        Seed of the folds.
    """

    alpha: float | Sequence[float] = (0.5, 0.8, 0.9, 0.95)
    cv: int = 5
    engine: Any = "memory"
    random_state: int = 0

    def settings(self) -> list[dict[str, Any]]:
        """Return one setting per α."""
        return [{"alpha": value} for value in _shares("alpha", self.alpha)]

    def _learn(self, inputs: Graph, setting: dict[str, Any], targets: Targets) -> Learned:
        labels = one_hot(targets.codes, targets.fit, targets.classes)
        found = spread(self._engine(), inputs.adjacency, labels, setting["alpha"])
        return targets.learned(log_probabilities(found, labels.mean(axis=0) / labels.mean(axis=0).sum()))


@dataclass(eq=False, repr=False)
class CorrectAndSmooth(Baseline):
    """Correct & Smooth: a model's predictions, corrected by its errors on the training rows and smoothed over the graph.

        Z: probabilities of the base model (n × c), Y: one-hot labels, T: the training rows
        E = Y − Z on T, zero elsewhere;   Ê = spread(E, α₁);   σ = mean over T of ‖E_i‖₁
        Z'ᵢ = Zᵢ + σ Êᵢ / ‖Êᵢ‖₁           correct: errors are as large as the known ones, in the direction that was spread
        F = spread(G, α₂),  G = Y on T, Z' elsewhere                                  smooth

    Huang et al., Combining Label Propagation and Simple Models Out-performs Graph Neural Networks, ICLR 2021.

    Parameters
    ----------
    base : str or estimator, default="lr"
        A name of `slimg.lab.baselines.names`, or an estimator with ``fit(graph, train=, val=)`` and ``predict_proba()``.
    correct, smooth : float or sequence of float, default=(0.5, 0.8, 0.95)
        α₁ and α₂, each from 0 to below 1, or several to choose from.
    cv : int, default=5
        Folds when no validation rows are given.
    normalize_features : "row" or None, default="row"
        Passed to a base given by name that has this parameter.
    engine : "memory" or engine, default="memory"
        Where the work is done.
    random_state : int, default=0
        Seed of the folds and of a base given by name.
    """

    base: Any = "lr"
    _: KW_ONLY
    correct: float | Sequence[float] = (0.5, 0.8, 0.95)
    smooth: float | Sequence[float] = (0.5, 0.8, 0.95)
    cv: int = 5
    normalize_features: str | None = "row"
    engine: Any = "memory"
    random_state: int = 0

    def settings(self) -> list[dict[str, Any]]:
        """Return one setting per pair of α₁ and α₂."""
        pairs = product(_shares("correct", self.correct), _shares("smooth", self.smooth))
        return [{"correct": first, "smooth": second} for first, second in pairs]

    def _prepare(self, graph: Graph, targets: Targets) -> tuple[Graph, dict[bytes, Array]]:
        inputs: tuple[Graph, dict[bytes, Array]] = graph, {}
        if targets.check is not None:
            self._probabilities(inputs, targets)
        return inputs

    def _learn(self, inputs: tuple[Graph, dict[bytes, Array]], setting: dict[str, Any], targets: Targets) -> Learned:
        base, labels = self._probabilities(inputs, targets), one_hot(targets.codes, targets.fit, targets.classes)
        shares = setting["correct"], setting["smooth"]
        found = corrected_and_smoothed(self._engine(), inputs[0].adjacency, base, labels, targets.fit, *shares)
        return targets.learned(log_probabilities(found, base))

    def _probabilities(self, inputs: tuple[Graph, dict[bytes, Array]], targets: Targets) -> Array:
        """Of the base model, learned once for each set of training rows."""
        graph, known = inputs
        key = targets.fit.tobytes()
        if key not in known:
            base = self._base().fit(graph, train=targets.fit, val=targets.check)
            known[key] = np.asarray(base.predict_proba(), np.float32)
        return known[key]

    def _base(self) -> Any:
        from slimg.lab.baselines.registry import get, set_known_params

        if not isinstance(self.base, str):
            return clone(self.base)
        return set_known_params(get(self.base), random_state=self.random_state, normalize_features=self.normalize_features)


class ScikitNetwork(WithHyperparameters, Baseline):
    """A classifier of scikit-network, which reads edges and labels alone; needs ``slimg[compare]``.

        pagerank             one personalised PageRank per class; the class with the largest answers
        diffusion            heat from the labelled nodes; each class compared with its mean temperature
        nearest_neighbours   the three nearest labelled nodes in a space made from the graph: a random projection, the
                             embedding of scikit-network whose result is set by a seed

    Parameters
    ----------
    classifier : "pagerank", "diffusion" or "nearest_neighbours", default="pagerank"
        Which one.
    cv : int, default=5
        Folds when no validation rows are given.
    random_state : int, default=0
        Seed of the folds and of the random projection.
    **hyperparameters
        Options of the class of scikit-network, such as ``damping_factor``.
    """

    def __init__(self, classifier: str = "pagerank", *, cv: int = 5, random_state: int = 0, **hyperparameters: Any):
        self.classifier, self.hyperparameters = classifier, hyperparameters
        self.cv, self.random_state = cv, random_state

    def _prepare(self, graph: Graph, targets: Targets) -> sp.csr_matrix:
        if graph.edges == 0:
            raise InputError(f"{self.classifier} needs edges, but the graph has none: use slimg or lr")
        self._create()
        return sp.csr_matrix(graph.adjacency.to_scipy())

    def _learn(self, inputs: sp.csr_matrix, setting: Mapping[str, Any], targets: Targets) -> Learned:
        labels = np.full(len(targets.codes), -1)
        labels[targets.fit] = targets.codes[targets.fit]
        found = self._create().fit(inputs, labels=labels).predict_proba()
        prior = np.bincount(targets.codes[targets.fit], minlength=targets.classes) / len(targets.fit)
        values = found.toarray() if sp.issparse(found) else np.asarray(found)
        return targets.learned(log_probabilities(np.nan_to_num(values), prior))

    def _create(self) -> Any:
        check_names("classifier", [self.classifier], CLASSIFIERS)
        kind = getattr(require("sknetwork.classification", "compare", self.classifier), CLASSIFIERS[self.classifier][0])
        options = dict(self.hyperparameters)
        if self.classifier == "nearest_neighbours" and "embedding_method" not in options:
            embedding = require("sknetwork.embedding", "compare", self.classifier)
            projection = embedding.RandomProjection(PROJECTION_COLUMNS, random_state=int(self.random_state))
            options["embedding_method"] = projection
        try:
            return kind(**options)
        except TypeError as error:
            raise InputError(f"{self.classifier} of scikit-network does not take these options: {error}") from None


def spread(engine: Engine, adjacency: Adjacency, values: Array, alpha: float) -> Array:
    """Return the values of all nodes after spreading (n × c, float32)."""
    matrix = operator("A_sym", adjacency)

    def system(row_matrix: RowMatrix) -> RowMatrix:
        return engine.map_rows(lambda a, b: a - np.float32(alpha) * b, row_matrix, matrix.apply(engine, row_matrix))

    right = engine.row_matrix(np.ascontiguousarray((1 - alpha) * values, np.float32))
    try:
        return engine.to_array(solve(engine, system, right))
    except InputError as error:
        raise InputError(f"α = {alpha!r} is too near to 1 for this graph, choose a smaller one ({error})") from None


def corrected_and_smoothed(
    engine: Engine, adjacency: Adjacency, base: Array, labels: Array, train: Array, correct: float, smooth: float
) -> Array:
    """Return F of `CorrectAndSmooth` (n × c)."""
    errors = np.zeros_like(labels)
    errors[train] = labels[train] - base[train]
    direction = spread(engine, adjacency, errors, correct)
    length = np.abs(direction).sum(axis=1, keepdims=True)
    size = np.abs(errors[train]).sum(axis=1).mean()
    corrected = base + size * np.divide(direction, length, out=np.zeros_like(direction), where=length > 0)
    corrected[train] = labels[train]
    return spread(engine, adjacency, corrected, smooth)


def log_probabilities(values: Array, otherwise: Array) -> Array:
    """Return logarithms of rows divided by their sum, negative entries taken as zero; empty rows get ``otherwise``."""
    positive = np.maximum(values, 0).astype(np.float64)
    total = positive.sum(axis=1, keepdims=True)
    share = np.where(total > 0, positive / np.where(total > 0, total, 1), otherwise)
    return np.log(np.maximum(share, LEAST)).astype(np.float32)


def one_hot(codes: Array, rows: Array, classes: int) -> Array:
    """Return n × classes, 1 at the class of each of the rows."""
    found = np.zeros((len(codes), classes), np.float32)
    found[rows, codes[rows]] = 1
    return found


def _shares(name: str, given: Any) -> tuple[float, ...]:
    return tuple(map(float, one_or_several(name, given, "a share from 0 to below 1", lambda each: 0 <= each < 1)))
