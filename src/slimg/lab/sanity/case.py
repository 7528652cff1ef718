"""One synthetic graph of which it is known what helps: A (n × n), X (n × d) and c classes.

`make` draws it; `slimg.lab.sanity.structure` and `slimg.lab.sanity.features` say how. Clusters, edges, features and each kind
of noise have a stream of random numbers of their own: cases that share a structure share its edges, and turning one
dial leaves the rest as it was.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from slimg.engine import Engine
from slimg.errors import InputError
from slimg.graph import Adjacency, Graph, Split, splits
from slimg.lab.sanity.features import random_features, replace_rows, semantic_features, structural_features
from slimg.lab.sanity.scenarios import helps, name_of
from slimg.lab.sanity.structure import block_densities, draw_clusters, draw_edges, rewire

LABELLED = 0.8
"""Share of the nodes whose labels a model may see, three quarters of them to learn from: the paper's 60 / 20 / 20."""
NODES_PER_FEATURE, MEAN_DENSITY = 12, 60
"""n / d and n × density of the paper's graphs."""
DENSEST = 0.5


@dataclass(frozen=True, eq=False)
class SanityCase:
    """A synthetic graph and its ground truth.

    Attributes
    ----------
    features, structure : kinds, as given to `make`; ``name`` joins them
    graph : labels are the clusters 0 … c − 1, all nodes labelled
    helps : which of "X" and "A" tell the classes
    vectors : v_k of semantic features (c × d), else None
    settings : what `make` was called with
    notes : one sentence on the truth and one per dial that was turned
    """

    features: str
    structure: str
    graph: Graph
    helps: tuple[str, ...]
    vectors: np.ndarray | None = field(repr=False)
    settings: dict[str, Any] = field(repr=False)
    notes: tuple[str, ...]

    @property
    def name(self) -> str:
        return name_of(self.features, self.structure)

    @property
    def chance(self) -> float:
        """Accuracy of always answering with the largest class."""
        return float(np.bincount(self.graph.codes).max() / self.graph.n)

    def split(self, seed: int) -> Split:
        """Train and val are 3 : 1 of the labelled share, test is the rest; stratified by class."""
        seen = self.settings["label_fraction"]
        train, val = round(0.75 * seen, 12), round(0.25 * seen, 12)
        return splits.stratified(self.graph, (train, val, round(1 - train - val, 12)), seed)


def make(
    features: str,
    structure: str,
    n: int = 6000,
    d: int = 500,
    c: int = 4,
    seed: int = 0,
    *,
    density: float = 0.01,
    feature_noise: float = 0.0,
    edge_noise: float = 0.0,
    label_fraction: float = LABELLED,
    imbalance: float = 1.0,
    engine: Engine | None = None,
) -> SanityCase:
    """Draw a case; the defaults are the paper's.

    Parameters
    ----------
    features : "semantic", "structural" or "random"
    structure : "homophily", "heterophily" or "uniform"
    n, d, c : nodes, features, classes
    density : probability of an edge in the chosen pairs of clusters; see `scaled` for other sizes
    feature_noise : share of nodes whose features are replaced by random ones
    edge_noise : share of edges moved to a random place; structural features see the moved ones
    label_fraction : share of nodes whose labels a model may see
    imbalance : size of the largest class over that of the smallest
    engine : where the SVD of structural features runs
    """
    name = name_of(features, structure)
    settings = {
        "n": n, "d": d, "c": c, "seed": seed, "density": density, "feature_noise": feature_noise,
        "edge_noise": edge_noise, "label_fraction": label_fraction, "imbalance": imbalance,
    }  # fmt: skip
    _check(settings, structure)
    streams = [np.random.default_rng([seed, stream]) for stream in range(5)]
    clusters = draw_clusters(n, c, imbalance, streams[0])
    edges = draw_edges(clusters, block_densities(structure, np.bincount(clusters), density), streams[1])
    if edge_noise:
        edges = rewire(edges, n, edge_noise, streams[2])
    adjacency, _ = Adjacency.from_edges(edges[:, 0], edges[:, 1], n, directed=False)
    matrix, vectors = _draw_features(features, clusters, adjacency, d, streams[3], engine)
    if feature_noise:
        matrix = replace_rows(matrix, feature_noise, streams[4])
    true = tuple(part for part in helps(name) if not _drowned(part, features, settings))
    graph = Graph(adjacency, matrix, clusters)
    return SanityCase(features, structure, graph, true, vectors, settings, _notes(true, settings))


def scaled(n: int) -> dict[str, Any]:
    """``n``, ``d`` and ``density`` with the paper's mean degree and nodes per feature: about as hard at any size."""
    if n < NODES_PER_FEATURE:
        raise InputError(f"a sanity case needs n of at least {NODES_PER_FEATURE} nodes, not {n}")
    return {"n": n, "d": n // NODES_PER_FEATURE, "density": min(MEAN_DENSITY / n, DENSEST)}


def _draw_features(
    kind: str, labels: np.ndarray, adjacency: Adjacency, d: int, rng: np.random.Generator, engine: Engine | None
) -> tuple[np.ndarray, np.ndarray | None]:
    if kind == "semantic":
        return semantic_features(labels, d, rng)
    if kind == "structural":
        return structural_features(adjacency, d, engine), None
    return random_features(len(labels), d, rng), None


def _drowned(part: str, features: str, settings: dict[str, Any]) -> bool:
    """Whether noise leaves nothing of what X or A said."""
    if part == "A":
        return settings["edge_noise"] == 1
    return settings["feature_noise"] == 1 or (features == "structural" and settings["edge_noise"] == 1)


def _notes(true: tuple[str, ...], settings: dict[str, Any]) -> tuple[str, ...]:
    truth = {
        (): "Neither features nor edges tell the classes.",
        ("X",): "Only the features tell the classes.",
        ("A",): "Only the edges tell the classes.",
        ("X", "A"): "Features and edges both tell the classes.",
    }[true]
    said = [truth]
    if settings["feature_noise"]:
        said.append(f"{settings['feature_noise']:.0%} of the nodes have random features.")
    if settings["edge_noise"]:
        said.append(f"{settings['edge_noise']:.0%} of the edges were moved to a random place.")
    if settings["label_fraction"] != LABELLED:
        said.append(f"{settings['label_fraction']:.1%} of the nodes are labelled for the model.")
    if settings["imbalance"] != 1:
        said.append(f"The largest class is {settings['imbalance']:g} times the smallest.")
    return tuple(said)


def _check(settings: dict[str, Any], structure: str) -> None:
    for name, least in (("n", 1), ("d", 1), ("c", 2), ("seed", 0)):
        value = settings[name]
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
            raise InputError(f"a sanity case needs {name} as an integer of at least {least}, not {value!r}")
    if structure == "heterophily" and settings["c"] % 2:
        raise InputError(f"heterophily pairs the classes: it needs an even number of them, not c={settings['c']}")
    if not 0 < settings["density"] <= DENSEST:
        raise InputError(f"density must lie above 0 and at most at {DENSEST}, not {settings['density']!r}")
    for name in ("feature_noise", "edge_noise"):
        if not 0 <= settings[name] <= 1:
            raise InputError(f"{name} is a share between 0 and 1, not {settings[name]!r}")
    if not 0 < settings["label_fraction"] < 1:
        raise InputError(f"label_fraction is a share above 0 and below 1, not {settings['label_fraction']!r}")
    if not settings["imbalance"] >= 1:
        raise InputError(f"imbalance is the largest class over the smallest, at least 1, not {settings['imbalance']!r}")
