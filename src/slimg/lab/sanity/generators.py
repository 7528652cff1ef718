"""Random graphs over known clusters, and features that depend on the class, on the graph, or on nothing.

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

from itertools import combinations_with_replacement

import numpy as np

from slimg.engine import Engine, MemoryEngine
from slimg.engine.blas import matmul, one_thread
from slimg.errors import InputError
from slimg.graph import Adjacency
from slimg.linalg import truncated_svd

BETWEEN = 0.4
"""ε: density elsewhere, as a share of the density in the chosen pairs of clusters."""
BATCH = 1 << 12
"""Vectors drawn at a time."""
DRAWS_PER_NODE = 200
"""Draws after which the rejection gives up: some class almost never has the largest product."""


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
    spectrum = truncated_svd(engine, adjacency, energy=np.inf, max_rank=d)
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
