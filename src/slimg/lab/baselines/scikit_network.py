"""`ScikitNetwork`: classifiers of scikit-network, which read edges and labels alone.

    pagerank             one personalised PageRank per class; the class with the largest answers
    diffusion            heat from the labelled nodes; each class compared with its mean temperature
    nearest_neighbours   the three nearest labelled nodes in a space made from the graph

The space of the last is a random projection, the embedding of scikit-network whose result is set by a seed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from slimg.errors import InputError, choices, require
from slimg.graph.graph import Graph
from slimg.lab.baselines.base import Baseline, Learned, Targets, judged
from slimg.lab.baselines.smoothing import log_probabilities

_KINDS = {"pagerank": "PageRankClassifier", "diffusion": "DiffusionClassifier", "nearest_neighbours": "NNClassifier"}
CLASSIFIERS = {
    "pagerank": ["damping_factor", "solver", "n_iter", "tol", "n_jobs"],
    "diffusion": ["n_iter", "centering", "scale"],
    "nearest_neighbours": ["n_neighbors", "embedding_method", "normalize"],
}
"""Names and their options."""
EXTRA = "compare"
COLUMNS = 64
"""Of the random projection."""


class ScikitNetwork(Baseline):
    """A classifier of scikit-network; needs ``slimg[compare]``.

    Parameters
    ----------
    classifier : "pagerank", "diffusion" or "nearest_neighbours"
    cv, random_state : folds when no validation rows are given; the seed of folds and of the random projection
    **options : of the scikit-network class, such as damping_factor
    """

    def __init__(self, classifier: str = "pagerank", *, cv: int = 5, random_state: int = 0, **options: Any):
        self.classifier = classifier
        self.cv = cv
        self.random_state = random_state
        self.options = options

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {**super().get_params(deep=deep), **self.options}

    def set_params(self, **params: Any) -> ScikitNetwork:
        own = set(self._get_param_names())
        self.options = {**self.options, **{k: v for k, v in params.items() if k not in own}}
        return super().set_params(**{k: v for k, v in params.items() if k in own})

    def _prepare(self, graph: Graph, targets: Targets) -> sp.csr_matrix:
        if graph.edges == 0:
            raise InputError(f"{self.classifier} needs edges, which the graph has not: use slimg or lr")
        self._made()
        return sp.csr_matrix(graph.adjacency.to_scipy())

    def _learn(self, inputs: sp.csr_matrix, setting: Mapping[str, Any], targets: Targets) -> Learned:
        labels = np.full(len(targets.codes), -1)
        labels[targets.fit] = targets.codes[targets.fit]
        found = self._made().fit(inputs, labels=labels).predict_proba()
        prior = np.bincount(targets.codes[targets.fit], minlength=targets.classes) / len(targets.fit)
        values = found.toarray() if sp.issparse(found) else np.asarray(found)
        scores = log_probabilities(np.nan_to_num(values), prior)
        return Learned(scores, *judged(scores, targets))

    def _made(self) -> Any:
        if self.classifier not in CLASSIFIERS:
            raise choices("classifier", self.classifier, list(CLASSIFIERS))
        kind = getattr(require("sknetwork.classification", EXTRA, self.classifier), _KINDS[self.classifier])
        options = dict(self.options)
        if self.classifier == "nearest_neighbours" and "embedding_method" not in options:
            embedding = require("sknetwork.embedding", EXTRA, self.classifier)
            options["embedding_method"] = embedding.RandomProjection(COLUMNS, random_state=int(self.random_state))
        try:
            return kind(**options)
        except TypeError as error:
            raise InputError(f"{self.classifier} of scikit-network does not take these options: {error}") from None
