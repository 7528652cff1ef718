"""The nine sanity cases: what the features contain × what the edges contain, and which of them predict the classes.

                  semantic X    structural X   random X
    homophily A   both help     both help      A helps
    heterophily A both help     both help      A helps
    uniform A     X helps       none helps     none helps

A case is named features-structure: ``semantic-uniform``. `make` draws its A (n × n), X (n × d) and c classes.
Clusters, edges, features and each kind of noise have a random stream of
their own: cases with the same structure have the same edges, and changing one setting leaves the rest as it was.

Edges: n nodes lie in c clusters, in random row order. Each pair of nodes is an edge independently, with a probability
that depends on their clusters only. With p the density and ε = 0.4:

    homophily     p inside a cluster,                             ε·p elsewhere
    heterophily   p between the clusters of a pair (0,1), (2,3) …, ε·p elsewhere
    uniform       p·(Σ_k s_k² + ε(1 − Σ_k s_k²)) everywhere, s_k = share of cluster k

For c equal clusters the uniform density is p·(1 + (c − 1)ε)/c: all three have the same expected number of edges. Edges are
drawn block by block: the gaps between successes of a Bernoulli sequence are geometric, so memory is proportional to the
number of edges, not to the n²/2 pairs.

Features:

    random      x ~ U(0, 1)^d
    semantic    v_1 … v_c ~ U(0, 1)^d, each divided by its sum; x ~ U(0, 1)^d given that argmax_k x·v_k is the label
    structural  A ≈ UΣVᵀ of rank d; X = ReLU(U), each column then of mean 0 and variance 1

Semantic features are drawn by rejection: a vector that its class does not need is used for another class, which has the
same distribution as redrawing node by node.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from slimg.engine import Engine, MemoryEngine
from slimg.engine.blas import matmul, one_thread
from slimg.errors import InputError, check_names, check_number, check_whole_number
from slimg.graph import Adjacency, Graph, Split, splits
from slimg.linalg import plan_svd

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
BETWEEN = 0.4
"""ε: density elsewhere, as a share of the density in the chosen pairs of clusters."""
BATCH = 1 << 12
"""Vectors drawn at a time."""
DRAWS_PER_NODE = 200
"""Draws after which the rejection gives up: some class almost never has the largest product."""


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
    clusters = draw_clusters(n, c, imbalance, streams[0])
    densities = block_densities(structure, np.bincount(clusters), density)
    edges = draw_edges(clusters, densities, streams[1])
    if edge_noise:
        edges = rewire(edges, n, edge_noise, streams[2])
    adjacency, _ = Adjacency.from_edges(edges[:, 0], edges[:, 1], n, directed=False)
    vectors = None
    if features == "semantic":
        matrix, vectors = semantic_features(clusters, d, streams[3])
    elif features == "structural":
        matrix = structural_features(adjacency, d, engine)
    else:
        matrix = random_features(n, d, streams[3])
    if feature_noise:
        matrix = replace_rows(matrix, feature_noise, streams[4])
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
        check_number(settings[name], name, f"a number {needed}", holds)


# drawing -------------------------------------------------------------------------------------------------------------


def draw_clusters(n: int, c: int, imbalance: float, rng: np.random.Generator) -> np.ndarray:
    """Draw the cluster of each row.

    Returns
    -------
    ndarray of int64, shape (n,)
        Cluster sizes fall geometrically, the first ``imbalance`` times the last.
    """
    shares = imbalance ** -(np.arange(c) / (c - 1))
    ends = np.rint(n * np.cumsum(shares) / shares.sum()).astype(np.int64)
    sizes = np.diff(ends, prepend=0)
    if sizes.min() < 1:
        raise InputError(f"n={n} with c={c} and imbalance={imbalance:g} leaves a class without nodes: raise n")
    return rng.permutation(np.repeat(np.arange(c), sizes))


def block_densities(structure: str, sizes: np.ndarray, density: float) -> np.ndarray:
    """Probability of an edge between two clusters.

    Returns
    -------
    ndarray of float64, shape (c, c)
        Symmetric.
    """
    c = len(sizes)
    squares = float(np.square(sizes / sizes.sum()).sum())
    if structure == "uniform":
        return np.full((c, c), density * (squares + BETWEEN * (1 - squares)))
    chosen = np.arange(c) if structure == "homophily" else np.arange(c) ^ 1
    blocks = np.full((c, c), BETWEEN * density)
    blocks[np.arange(c), chosen] = density
    return blocks


def draw_edges(clusters: np.ndarray, blocks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw each pair as an edge with the probability of its block.

    Returns
    -------
    ndarray of int64, shape (m, 2)
        Distinct edges u < v.
    """
    c = len(blocks)
    members = [np.flatnonzero(clusters == k) for k in range(c)]
    edges = []
    for a, b in combinations_with_replacement(range(c), 2):
        rows, columns = _block_pairs(len(members[a]), len(members[b]), a == b, blocks[a, b], rng)
        edges.append(np.column_stack([members[a][rows], members[b][columns]]))
    return np.sort(np.concatenate(edges), axis=1)


def rewire(edges: np.ndarray, n: int, share: float, rng: np.random.Generator) -> np.ndarray:
    """Replace a share of the edges by as many others, drawn uniformly from the pairs that are no edges.

    Returns
    -------
    ndarray of int64, shape (m, 2)
    """
    moved = round(share * len(edges))
    keys = edges[:, 0] * np.int64(n) + edges[:, 1]
    kept = np.sort(rng.permutation(keys)[moved:])
    found = np.empty(0, np.int64)
    while len(found) < moved:
        ends = np.sort(rng.integers(n, size=(2 * (moved - len(found)) + 16, 2)), axis=1)
        fresh = ends[ends[:, 0] < ends[:, 1]] @ np.array([n, 1])
        found = np.concatenate([found, fresh[~np.isin(fresh, kept)]])
        # in order of appearance: sorted values, cut off, would favour small row numbers
        found = found[np.sort(np.unique(found, return_index=True)[1])]
    return np.column_stack(np.divmod(np.concatenate([kept, found[:moved]]), n))


def random_features(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Draw X from U(0, 1).

    Returns
    -------
    ndarray of float32, shape (n, d)
    """
    return rng.random((n, d), dtype=np.float32)


def semantic_features(labels: np.ndarray, d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw X such that the label of each row is its largest product with the vectors of the classes.

    Returns
    -------
    features : ndarray of float32, shape (n, d)
    vectors : ndarray of float64, shape (c, d)
    """
    sizes = np.bincount(labels)
    vectors = rng.random((len(sizes), d))
    vectors /= vectors.sum(axis=1, keepdims=True)
    features = np.empty((len(labels), d), np.float32)
    waiting = [np.flatnonzero(labels == k) for k in range(len(sizes))]
    for _ in range(-(-DRAWS_PER_NODE * len(labels) // BATCH)):
        if not any(map(len, waiting)):
            return features, vectors
        drawn = random_features(BATCH, d, rng)
        with one_thread():
            largest = matmul(drawn.astype(np.float64), vectors.T).argmax(axis=1)
        for k, rows in enumerate(waiting):
            fit = drawn[largest == k][: len(rows)]
            features[rows[: len(fit)]] = fit
            waiting[k] = rows[len(fit) :]
    raise InputError(f"d={d} features cannot separate c={len(sizes)} classes: raise d or lower c")


def structural_features(adjacency: Adjacency, d: int, engine: Engine | None = None) -> np.ndarray:
    """Compute X from the singular vectors of A; a column that is zero after the ReLU stays zero.

    Returns
    -------
    ndarray of float32, shape (n, d)
    """
    if not 0 < d <= adjacency.n:
        raise InputError(f"structural features need d between 1 and n={adjacency.n:,}, not {d}")
    if adjacency.nnz == 0:
        raise InputError("structural features need edges, but none was drawn: raise n or the density")
    engine = engine or MemoryEngine()
    plan = plan_svd(engine, adjacency, energy=np.inf, max_rank=d)
    plan.prepare()
    spectrum = plan.solve()
    positive = np.maximum(engine.to_array(spectrum.vectors), 0).astype(np.float64)
    spread = positive.std(axis=0)
    return ((positive - positive.mean(axis=0)) / np.where(spread > 0, spread, 1)).astype(np.float32)


def replace_rows(features: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Fill a share of the rows with entries drawn at random from the same columns.

    Returns
    -------
    ndarray, shape (n, d)
        A copy; only the scale of the replaced rows is kept.
    """
    n, d = features.shape
    rows = rng.permutation(n)[: round(share * n)]
    noisy = features.copy()
    noisy[rows] = features[rng.integers(n, size=(len(rows), d)), np.arange(d)]
    return noisy


def _block_pairs(
    rows: int, columns: int, triangle: bool, probability: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of places in a block of rows × columns, or above the diagonal of a square one."""
    if not triangle:
        row, column = np.divmod(_successes(rows * columns, probability, rng), columns)
        return row, column
    place = _successes(rows * (rows - 1) // 2, probability, rng)
    later = ((1 + np.sqrt(1 + 8 * place.astype(np.float64))) / 2).astype(np.int64)
    later -= later * (later - 1) // 2 > place  # the square root may be rounded up
    later += (later + 1) * later // 2 <= place
    return place - later * (later - 1) // 2, later


def _successes(trials: int, probability: float, rng: np.random.Generator) -> np.ndarray:
    """Places of the successes among independent trials, ascending."""
    if trials == 0 or probability <= 0:
        return np.empty(0, np.int64)
    expected = trials * probability
    size = int(expected + 6 * np.sqrt(expected) + 16)
    places = np.cumsum(rng.geometric(probability, size)) - 1
    while places[-1] < trials:
        places = np.concatenate([places, places[-1] + np.cumsum(rng.geometric(probability, size))])
    return places[: np.searchsorted(places, trials)]
