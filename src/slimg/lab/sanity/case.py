"""The nine sanity cases: what the features contain × what the edges contain, and which of them predict the classes.

                  semantic X    structural X   random X
    homophily A   both help     both help      A helps
    heterophily A both help     both help      A helps
    uniform A     X helps       none helps     none helps

A case is named features-structure: ``semantic-uniform``. `make` draws its A (n × n), X (n × d) and c classes;
`slimg.lab.sanity.generators` has the formulas. Clusters, edges, features and each kind of noise have a random stream of
their own: cases with the same structure have the same edges, and changing one setting leaves the rest as it was.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from slimg.engine import Engine
from slimg.errors import InputError, check_names, check_whole_number
from slimg.graph import Adjacency, Graph, Split, splits
from slimg.lab.sanity import generators

FEATURES = ("semantic", "structural", "random")
STRUCTURES = ("homophily", "heterophily", "uniform")
CASES = (
    "semantic-uniform", "random-homophily", "random-heterophily", "structural-homophily", "structural-heterophily",
    "semantic-homophily", "semantic-heterophily",
)  # fmt: skip
"""The seven informative cases, in the order of the paper's table."""
EMPTY = ("structural-uniform", "random-uniform")
"""The two in which nothing predicts the classes: a model that beats chance here has seen the test labels."""

LABELLED = 0.8
"""Share of the nodes whose labels a model may see, three quarters of them to learn from: the paper's 60 / 20 / 20."""
NODES_PER_FEATURE, MEAN_DENSITY = 12, 60
"""n / d and n × density of the paper's graphs."""
DENSEST = 0.5


@dataclass(frozen=True, eq=False)
class SanityCase:
    """A synthetic graph and its ground truth, as `make` draws it.

    Attributes
    ----------
    features : str
        Kind of features.
    structure : str
        Kind of edges.
    graph : Graph
        All nodes labelled; labels are the clusters 0 … c − 1.
    helps : tuple of str
        Which of "X" and "A" predict the classes.
    vectors : ndarray of shape (c, d) or None
        v_k of semantic features.
    settings : dict
        What `make` was called with.
    notes : tuple of str
        One sentence on the truth and one per setting that differs from its default.

    Examples
    --------
    >>> from slimg.lab.sanity import make
    >>> case = make("semantic", "homophily", n=200, d=8, seed=0, density=0.2)
    >>> case.helps
    ('X', 'A')
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
        """Features and structure, joined by a hyphen."""
        return f"{self.features}-{self.structure}"

    @property
    def chance(self) -> float:
        """Accuracy of predicting the largest class for all nodes."""
        return float(np.bincount(self.graph.codes).max() / self.graph.n)

    def split(self, seed: int) -> Split:
        """Split the nodes, stratified by class: train and val are 3 : 1 of the labelled share, test is the rest.

        Parameters
        ----------
        seed : int
            Of the random numbers.

        Returns
        -------
        Split
            Rows of train, val and test.
        """
        seen = self.settings["label_fraction"]
        train, val = round(0.75 * seen, 12), round(0.25 * seen, 12)
        return splits.stratified(self.graph, (train, val, round(1 - train - val, 12)), seed)


def make(
    features: str, structure: str, n: int = 6000, d: int = 500, c: int = 4, seed: int = 0, *, density: float = 0.01,
    feature_noise: float = 0.0, edge_noise: float = 0.0, label_fraction: float = LABELLED, imbalance: float = 1.0,
    engine: Engine | None = None,
) -> SanityCase:  # fmt: skip
    """Draw a sanity case; the defaults are the paper's.

    Parameters
    ----------
    features : {"semantic", "structural", "random"}
        Kind of features.
    structure : {"homophily", "heterophily", "uniform"}
        Kind of edges.
    n, d, c : int, default=6000, 500, 4
        Nodes, features and classes.
    seed : int, default=0
        Of the random numbers.
    density : float, default=0.01
        Probability of an edge in the chosen pairs of clusters; see `scaled` for other sizes.
    feature_noise : float, default=0
        Share of nodes whose features are replaced by random ones.
    edge_noise : float, default=0
        Share of edges moved to a random place; structural features are computed from the moved ones.
    label_fraction : float, default=0.8
        Share of nodes whose labels a model may see.
    imbalance : float, default=1
        Size of the largest class divided by that of the smallest.
    engine : Engine or None, default=None
        Where the SVD of structural features runs; None for memory.

    Returns
    -------
    SanityCase
        The graph and its ground truth.

    Raises
    ------
    InputError
        If a kind is unknown or a number is out of its range.

    Examples
    --------
    >>> case = make("semantic", "uniform", n=120, d=10, density=0.1)
    >>> case.name, case.helps, case.graph.n
    ('semantic-uniform', ('X',), 120)
    """
    check_names("kind of features", [features], FEATURES)
    check_names("kind of structure", [structure], STRUCTURES)
    settings = {
        "n": n, "d": d, "c": c, "seed": seed, "density": density, "feature_noise": feature_noise,
        "edge_noise": edge_noise, "label_fraction": label_fraction, "imbalance": imbalance,
    }  # fmt: skip
    _check(settings, structure)
    streams = [np.random.default_rng([seed, stream]) for stream in range(5)]
    clusters = generators.draw_clusters(n, c, imbalance, streams[0])
    densities = generators.block_densities(structure, np.bincount(clusters), density)
    edges = generators.draw_edges(clusters, densities, streams[1])
    if edge_noise:
        edges = generators.rewire(edges, n, edge_noise, streams[2])
    adjacency, _ = Adjacency.from_edges(edges[:, 0], edges[:, 1], n, directed=False)
    vectors = None
    if features == "semantic":
        matrix, vectors = generators.semantic_features(clusters, d, streams[3])
    elif features == "structural":
        matrix = generators.structural_features(adjacency, d, engine)
    else:
        matrix = generators.random_features(n, d, streams[3])
    if feature_noise:
        matrix = generators.replace_rows(matrix, feature_noise, streams[4])
    no_edges = edge_noise == 1
    no_features = feature_noise == 1 or (features == "structural" and no_edges)
    noise = {"A": no_edges, "X": no_features}
    true = tuple(part for part in helps(f"{features}-{structure}") if not noise[part])
    graph = Graph(adjacency, matrix, clusters)
    return SanityCase(features, structure, graph, true, vectors, settings, _notes(true, settings))


def scaled(n: int) -> dict[str, Any]:
    """Settings of `make` for n nodes with the paper's mean degree and nodes per feature: about as hard at any size.

    Parameters
    ----------
    n : int
        Nodes, at least 12.

    Returns
    -------
    dict
        ``n``, ``d`` and ``density``.

    Examples
    --------
    >>> scaled(1200)
    {'n': 1200, 'd': 100, 'density': 0.05}
    """
    check_whole_number(n, "n", NODES_PER_FEATURE)
    return {"n": n, "d": n // NODES_PER_FEATURE, "density": min(MEAN_DENSITY / n, DENSEST)}


def parts(name: str) -> tuple[str, str]:
    """Features and structure of a case's name.

    Returns
    -------
    tuple of two str
    """
    check_names("sanity case", [name], CASES + EMPTY)
    features, structure = name.split("-")
    return features, structure


def helps(name: str) -> tuple[str, ...]:
    """Which of X and A predict the classes in the case of that name.

    Returns
    -------
    tuple of str
    """
    features, structure = parts(name)
    edges_help = structure != "uniform"
    features_help = features == "semantic" or (features == "structural" and edges_help)
    return ("X",) * features_help + ("A",) * edges_help


def select(cases: Any) -> tuple[str | SanityCase, ...]:
    """Distinct cases from names, from "informative" (seven), "empty" (two) or "all" (nine), or cases as they are.

    Returns
    -------
    tuple of str and SanityCase
        No name twice.
    """
    groups = {"informative": CASES, "empty": EMPTY, "all": CASES + EMPTY} | {name: (name,) for name in CASES + EMPTY}
    if not isinstance(cases, str | SanityCase | Iterable):
        raise InputError(f"cases are names or sanity cases, not {type(cases).__name__}")
    given = [cases] if isinstance(cases, str | SanityCase) else list(cases)
    check_names("sanity case", (each for each in given if not isinstance(each, SanityCase)), groups)
    found: list[str | SanityCase] = []
    for each in given:
        found += [each] if isinstance(each, SanityCase) else [name for name in groups[each] if name not in found]
    if not found:
        raise InputError("no sanity case was given: name at least one, or all")
    return tuple(found)


def _notes(true: tuple[str, ...], settings: dict[str, Any]) -> tuple[str, ...]:
    truth = {
        (): "Neither the features nor the edges predict the classes.",
        ("X",): "Only the features predict the classes.",
        ("A",): "Only the edges predict the classes.",
        ("X", "A"): "Features and edges both predict the classes.",
    }[true]
    sentences = {
        "feature_noise": (0, "{:.0%} of the nodes have random features."),
        "edge_noise": (0, "{:.0%} of the edges were moved to a random place."),
        "label_fraction": (LABELLED, "{:.1%} of the nodes are labelled for the model."),
        "imbalance": (1, "The largest class is {:g} times the smallest."),
    }
    changed = (text.format(settings[key]) for key, (usual, text) in sentences.items() if settings[key] != usual)
    return (truth, *changed)


def _check(settings: dict[str, Any], structure: str) -> None:
    for name, least in (("n", 1), ("d", 1), ("c", 2), ("seed", 0)):
        check_whole_number(settings[name], name, least)
    if structure == "heterophily" and settings["c"] % 2:
        raise InputError(f"heterophily pairs the classes: it needs an even number of them, not c={settings['c']}")
    ranges = {
        "density": (f"above 0 and at most {DENSEST}", lambda value: 0 < value <= DENSEST),
        "feature_noise": ("between 0 and 1", lambda value: 0 <= value <= 1),
        "edge_noise": ("between 0 and 1", lambda value: 0 <= value <= 1),
        "label_fraction": ("above 0 and below 1", lambda value: 0 < value < 1),
        "imbalance": ("of at least 1 (largest class / smallest)", lambda value: value >= 1),
    }
    for name, (needed, holds) in ranges.items():
        value = settings[name]
        if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not holds(value):
            raise InputError(f"{name} must be a number {needed}, not {value!r}")
