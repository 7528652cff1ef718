"""What a user would try first, each from the labels of the graph it is given: one class code per package.

    majority             the most frequent class among the labelled
    features alone       logistic regression on L2-normalised counts X
    label propagation    label spreading, F ← α D^-½ A D^-½ F + (1 − α) Y: no features
    smoothed features    logistic regression on Ã_sym² X, L2-normalised (SGC)
    both                 logistic regression on X ‖ Ã_sym² X, each L2-normalised

The strength C of each regression is chosen by stratified cross-validation on the labelled rows. Label spreading is
scikit-learn's with its default α = 0.2.
"""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import normalize
from sklearn.semi_supervised import LabelSpreading
from threadpoolctl import threadpool_limits

from slimg import Graph

Baseline = Callable[[Graph, int], np.ndarray]


def majority(graph: Graph, seed: int) -> np.ndarray:
    return np.full(graph.n, np.bincount(graph.codes[graph.labelled]).argmax())


def features_alone(graph: Graph, seed: int) -> np.ndarray:
    return _regression(normalize(graph.features), graph, seed)


def label_propagation(graph: Graph, seed: int) -> np.ndarray:
    adjacency = _pattern(graph)
    model = LabelSpreading(kernel=lambda rows, _: adjacency, max_iter=100)
    return model.fit(np.arange(graph.n)[:, None], graph.codes).transduction_


def smoothed_features(graph: Graph, seed: int) -> np.ndarray:
    return _regression(_smoothed(graph), graph, seed)


def own_and_smoothed_features(graph: Graph, seed: int) -> np.ndarray:
    return _regression(sp.hstack([normalize(graph.features), _smoothed(graph)], format="csr"), graph, seed)


BASELINES: dict[str, Baseline] = {
    "majority class": majority,
    "label propagation": label_propagation,
    "logistic regression, smoothed features": smoothed_features,
    "logistic regression, features alone": features_alone,
    "logistic regression, features + smoothed": own_and_smoothed_features,
}


def _regression(features: sp.csr_array, graph: Graph, seed: int) -> np.ndarray:
    train, codes = graph.labelled, graph.codes
    folds = StratifiedKFold(3, shuffle=True, random_state=seed)
    strengths = {"C": np.logspace(-1, 4, 6)}
    search = GridSearchCV(LogisticRegression(max_iter=1000), strengths, cv=folds)
    with threadpool_limits(1):  # these products are too small to share: two threads take longer than one
        return search.fit(features[train], codes[train]).predict(features)


def _smoothed(graph: Graph) -> sp.csr_array:
    looped = _pattern(graph) + sp.eye_array(graph.n)
    scale = sp.diags_array(1 / np.sqrt(looped.sum(axis=1)))
    hop = scale @ looped @ scale
    return normalize(hop @ (hop @ graph.features))


def _pattern(graph: Graph) -> sp.csr_array:
    return sp.csr_array(graph.adjacency.to_scipy(), dtype=float)
