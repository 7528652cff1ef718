"""Models that are no networks.

Some spread values along the edges: label propagation, Correct & Smooth, and classifiers of scikit-network.

    spread(B, α) = (1 − α) Σ_{k≥0} αᵏ A_sym^k B = (1 − α) (I − α A_sym)⁻¹ B           B: n × c, 0 ≤ α < 1

The limit of H ← α A_sym H + (1 − α) B, taken by conjugate gradients: I − α A_sym is positive definite.

Others read a node as the row of a table: its features beside what its edges say.

    GLR        multinomial logistic regression on [A | X]                 Delarue, Bonald & Viard, arXiv 2411.12330
    GraphAny   least squares from X, A_row X, A_row² X, (I − A_row) X and (I − A_row)² X to the labels; a weighted sum
               of the five answers                                        Zhao et al., arXiv 2405.20445
    trees      gradient boosting on [X | A_row X]: a node's features and the means over its neighbours
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import combinations, product
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from slimg.components.row_scaling import dense_rows, prepare_features
from slimg.engine.base import Array, Engine, RowMatrix
from slimg.engine.blas import one_thread
from slimg.errors import InputError, check_names, require
from slimg.graph.adjacency import Adjacency
from slimg.graph.graph import Graph
from slimg.lab.baselines.base import Baseline, Learned, Targets, WithHyperparameters, one_or_several
from slimg.lab.propagators.evaluation import solve
from slimg.linalg.operators import gathered, operator, steps

LEAST = 1e-12
"""Probability that stands for zero in a logarithm."""
CLASSIFIERS = {
    "pagerank": ("PageRankClassifier", ["damping_factor", "solver", "n_iter", "tol", "n_jobs"]),
    "diffusion": ("DiffusionClassifier", ["n_iter", "centering", "scale"]),
    "nearest_neighbours": ("NNClassifier", ["n_neighbors", "embedding_method", "normalize"]),
}
"""Name → class of scikit-network and its options."""
PROJECTION_COLUMNS = 64
BASIS: dict[str, tuple[float, ...]] = {
    "X": (1, 0, 0), "A X": (0, 1, 0), "A^2 X": (0, 0, 1), "(I-A) X": (1, -1, 0), "(I-A)^2 X": (1, -2, 1)
}  # fmt: skip
"""Features of the five regressions of GraphAny → coefficients of X, A_row X and A_row² X."""
PARTS = 4
"""The weights of the five are multiples of 1/4."""
ROWS_AT_ONCE = 2048
"""Rows of the table that are made dense at a time."""
LIBRARIES = ("scikit-learn", "lightgbm")
Answers: TypeAlias = dict[bytes, list[Array]]


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


# tables --------------------------------------------------------------------------------------------------------------



@dataclass(kw_only=True, eq=False, repr=False)
class _Tabular(Baseline):
    """What the three share: their parameters beside their own, and X."""

    cv: int = 5
    normalize_features: str | None = "row"
    engine: Any = "memory"
    random_state: int = 0

    def _features(self, graph: Graph, model: str) -> Any:
        """X prepared (n × d), an array or CSR matrix."""
        if graph.features is None:
            raise InputError(f"{model} needs features, but the graph has none: use slimg, glr or label_propagation")
        engine = self._engine()
        prepared = prepare_features(engine, graph.features, self.normalize_features)
        return sp.csr_array(prepared) if engine.is_sparse(prepared) else engine.to_array(prepared)


@dataclass(kw_only=True, eq=False, repr=False)
class GraphLogisticRegression(_Tabular):
    """Logistic regression on a node's row of the adjacency matrix and its features (GLR).

        min_W  C Σ_{i labelled} CE(y_i, [A | X]_i W + b) + ½ ‖W‖²

    A graph without features has A alone. Whether the rows of A and of X are taken as they are or at unit length is chosen
    on the validation rows too: rows of X that sum to 1 would hardly count beside entries of A.

    Parameters
    ----------
    C : float or sequence of float, default=(0.1, 1, 10, 100, 1000)
        Inverse strength of the penalty, or several to choose from.
    cv : int, default=5
        Folds when no validation rows are given.
    normalize_features : "row" or None, default="row"
        "row" divides each row of X by its sum; None takes X as it is.
    engine : "memory" or engine, default="memory"
        Where the features are prepared.
    random_state : int, default=0
        Seed of the folds.
    """

    C: float | Sequence[float] = (0.1, 1.0, 10.0, 100.0, 1000.0)

    def settings(self) -> list[dict[str, Any]]:
        """Return one setting per C, with rows as they are and at unit length."""
        values = one_or_several("C", self.C, "a number above 0", lambda each: each > 0)
        return [{"C": float(value), "unit": unit} for value, unit in product(values, (False, True))]

    def _prepare(self, graph: Graph, targets: Targets) -> list[sp.csr_array]:
        parts = [gathered(graph.adjacency, np.arange(graph.n))]
        if graph.features is not None:
            parts.append(sp.csr_array(self._features(graph, "glr"), dtype=np.float64))
        return [sp.csr_array(sp.hstack([_unit(part) if unit else part for part in parts])) for unit in (False, True)]

    def _learn(self, inputs: list[sp.csr_array], setting: dict[str, Any], targets: Targets) -> Learned:
        table = inputs[setting["unit"]]
        model = LogisticRegression(C=setting["C"], max_iter=1000)
        with one_thread():
            model.fit(table[targets.fit], targets.codes[targets.fit])
        return targets.learned(_scores(model, [table], targets.classes))


@dataclass(kw_only=True, eq=False, repr=False)
class GraphAnyBasis(_Tabular):
    """The closed-form part of GraphAny: five least-squares regressions whose answers are added with chosen weights.

        F_j = p_j(A_row) X,   W_j = F_j[L]⁺ Y[L],   scores = Σ_j w_j F_j W_j,   w_j ≥ 0, Σ w_j = 1

    L are the training rows, Y their one-hot labels, p_j the polynomials of `BASIS`. The regressions are those of the paper.
    Its weights are not: there an attention that was trained on other graphs gives each node weights of its own; here all
    nodes have the same ones, multiples of 1/4, chosen on the validation rows.

    Parameters
    ----------
    cv : int, default=5
        Folds when no validation rows are given.
    normalize_features : "row" or None, default="row"
        "row" divides each row of X by its sum; None takes X as it is.
    engine : "memory" or engine, default="memory"
        Where products with the graph are computed.
    random_state : int, default=0
        Seed of the folds.
    """

    def settings(self) -> list[dict[str, Any]]:
        """Return the 70 weightings by quarters."""
        bars = combinations(range(PARTS + len(BASIS) - 1), len(BASIS) - 1)
        parts = [np.diff((-1, *each, PARTS + len(BASIS) - 1)) - 1 for each in bars]
        return [dict(zip(BASIS, (each / PARTS).tolist(), strict=True)) for each in parts]

    def _prepare(self, graph: Graph, targets: Targets) -> tuple[Graph, Any, Answers]:
        inputs: tuple[Graph, Any, Answers] = graph, self._features(graph, "graphany"), {}
        if targets.check is not None:
            self._answers(inputs, targets)
        return inputs

    def _learn(self, inputs: tuple[Graph, Any, Answers], setting: dict[str, Any], targets: Targets) -> Learned:
        answers = self._answers(inputs, targets)
        return targets.learned(sum(setting[name] * each for name, each in zip(BASIS, answers, strict=True)))

    def _answers(self, inputs: tuple[Graph, Any, Answers], targets: Targets) -> list[Array]:
        """F_j W_j of each j (n × c), solved once for each set of training rows.

        Only the training rows of F_j are formed; on all nodes, p_j(A_row) is applied to X W_j, which has c columns.
        """
        graph, features, known = inputs
        key = targets.fit.tobytes()
        if key not in known:
            matrix, engine = operator("A_row", graph.adjacency), self._engine()
            ways = [steps([matrix] * hops, targets.fit, (0,) * hops + (1,)) for hops in (1, 2)]
            rows = [features[targets.fit], *(way.apply(features[way.reached]) for way in ways)]
            hops = [np.asarray(dense_rows(each), np.float64) for each in rows]
            labels = one_hot(targets.codes, targets.fit, targets.classes)[targets.fit]
            known[key] = []
            for coefficients in BASIS.values():
                columns = sum(c * each for c, each in zip(coefficients, hops, strict=True))
                with one_thread():
                    answer = features @ np.linalg.lstsq(columns, labels, rcond=None)[0]
                start = engine.row_matrix(np.ascontiguousarray(answer, np.float32))
                known[key].append(engine.to_array(matrix.series(engine, start, coefficients)))
        return known[key]


@dataclass(kw_only=True, eq=False, repr=False)
class BoostedTrees(_Tabular):
    """Gradient-boosted trees on a node's features and the means over its neighbours, [X | A_row X].

    Columns that are constant on the training rows cannot be split and are left out. Trees are grown on one thread, so that
    the number of threads changes no bit.

    Parameters
    ----------
    library : "scikit-learn" or "lightgbm", default="scikit-learn"
        What grows the trees; "lightgbm" needs ``slimg[compare]``.
    iterations : int, default=100
        Rounds of boosting, each with one tree for each class.
    learning_rate : float or sequence of float, default=0.1
        Share of each tree in the sum, or several to choose from.
    min_samples_leaf : int or sequence of int, default=(5, 20)
        Fewest training rows in a leaf, or several to choose from.
    cv : int, default=5
        Folds when no validation rows are given.
    normalize_features : "row" or None, default="row"
        "row" divides each row of X by its sum; None takes X as it is.
    engine : "memory" or engine, default="memory"
        Where the features are prepared.
    random_state : int, default=0
        Seed of the folds and of the trees.
    """

    library: str = "scikit-learn"
    iterations: int = 100
    learning_rate: float | Sequence[float] = 0.1
    min_samples_leaf: int | Sequence[int] = (5, 20)

    def settings(self) -> list[dict[str, Any]]:
        """Return one setting per pair of learning rate and leaf size."""
        check_names("library", [self.library], LIBRARIES)
        rates = one_or_several("learning_rate", self.learning_rate, "a number above 0", lambda each: each > 0)
        leaves = one_or_several("min_samples_leaf", self.min_samples_leaf, "a whole number of at least 1",
                                lambda each: each >= 1 and each == int(each))  # fmt: skip
        return [{"learning_rate": float(a), "min_samples_leaf": int(b)} for a, b in product(rates, leaves)]

    def _prepare(self, graph: Graph, targets: Targets) -> tuple[Any, Any]:
        features = self._features(graph, "trees")
        way = steps([operator("A_row", graph.adjacency)], np.arange(graph.n), (0, 1))
        return features, way.apply(features[way.reached])

    def _learn(self, inputs: tuple[Any, Any], setting: dict[str, Any], targets: Targets) -> Learned:
        parts = [part[:, _varying(part[targets.fit])] for part in inputs]
        model = self._create(setting)
        with threadpool_limits(1, user_api="openmp"):
            model.fit(_dense(parts, targets.fit), targets.codes[targets.fit])
            return targets.learned(_scores(model, parts, targets.classes))

    def _create(self, setting: dict[str, Any]) -> Any:
        rate, leaf, seed = setting["learning_rate"], setting["min_samples_leaf"], int(self.random_state)
        if self.library == "scikit-learn":
            return HistGradientBoostingClassifier(
                max_iter=self.iterations, learning_rate=rate, min_samples_leaf=leaf, early_stopping=False, random_state=seed
            )
        kind = require("lightgbm", "compare", "trees with library='lightgbm'").LGBMClassifier
        return kind(n_estimators=self.iterations, learning_rate=rate, min_child_samples=leaf, random_state=seed, n_jobs=1,
                    deterministic=True, force_row_wise=True, verbose=-1)  # fmt: skip


def _unit(part: sp.csr_array) -> sp.csr_array:
    """Rows at length one; rows of zeros stay."""
    length = np.sqrt(np.asarray(part.multiply(part).sum(axis=1)).ravel())
    return sp.csr_array(sp.diags_array(np.divide(1, length, out=np.zeros_like(length), where=length > 0)) @ part)


def _varying(rows: Any) -> Array:
    """Columns that are not constant."""
    values = dense_rows(rows)
    return np.flatnonzero((values != values[:1]).any(axis=0))


def _dense(parts: Sequence[Any], rows: Any) -> Array:
    return np.hstack([np.asarray(dense_rows(part[rows]), np.float64) for part in parts])


def _scores(model: Any, parts: Sequence[Any], classes: int) -> Array:
    """Logarithms of the probabilities of all nodes (n × classes); zero for classes that the model has not seen."""
    n, sparse = parts[0].shape[0], isinstance(model, LogisticRegression)
    found = np.zeros((n, classes))
    for start in range(0, n, ROWS_AT_ONCE):
        rows = slice(start, min(start + ROWS_AT_ONCE, n))
        found[rows, model.classes_] = model.predict_proba(parts[0][rows] if sparse else _dense(parts, rows))
    return log_probabilities(found, np.full(classes, 1 / classes))
