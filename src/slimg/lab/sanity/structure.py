"""Random graphs over known clusters.

n nodes lie in c clusters; rows are in random order, so that a row number tells nothing. Each pair of nodes is an edge
independently, with a probability that depends on their clusters alone. With p the density and ε = 0.4:

    homophily     p inside a cluster,                             ε·p elsewhere
    heterophily   p between the clusters of a pair (0,1), (2,3) …, ε·p elsewhere
    uniform       p·(Σ_k s_k² + ε(1 − Σ_k s_k²)) everywhere, s_k = share of cluster k

For c equal clusters the uniform density is p·(1 + (c − 1)ε)/c: all three have the same expected number of edges.

Edges are drawn block by block: the gaps between successes of a Bernoulli sequence are geometric, so that the memory is
in proportion to the edges and never to the n²/2 pairs.
"""

from __future__ import annotations

import numpy as np

from slimg.errors import InputError

BETWEEN = 0.4
"""ε: density elsewhere, as a share of the density in the chosen pairs of clusters."""


def draw_clusters(n: int, c: int, imbalance: float, rng: np.random.Generator) -> np.ndarray:
    """Cluster of each row (int64, n): sizes fall geometrically, the first ``imbalance`` times the last."""
    shares = imbalance ** -(np.arange(c) / (c - 1))
    ends = np.rint(n * np.cumsum(shares) / shares.sum()).astype(np.int64)
    sizes = np.diff(ends, prepend=0)
    if sizes.min() < 1:
        raise InputError(f"n={n} with c={c} and imbalance={imbalance:g} leaves a class without nodes: raise n")
    return rng.permutation(np.repeat(np.arange(c), sizes))


def block_densities(structure: str, sizes: np.ndarray, density: float) -> np.ndarray:
    """Probability of an edge between clusters (c × c, symmetric)."""
    c = len(sizes)
    squares = float(np.square(sizes / sizes.sum()).sum())
    if structure == "uniform":
        return np.full((c, c), density * (squares + BETWEEN * (1 - squares)))
    chosen = np.arange(c) if structure == "homophily" else np.arange(c) ^ 1
    blocks = np.full((c, c), BETWEEN * density)
    blocks[np.arange(c), chosen] = density
    return blocks


def draw_edges(clusters: np.ndarray, blocks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Distinct edges u < v as rows (m × 2), each pair with the probability of its block."""
    c = len(blocks)
    members = [np.flatnonzero(clusters == k) for k in range(c)]
    edges = []
    for a in range(c):
        for b in range(a, c):
            rows, columns = _block_pairs(len(members[a]), len(members[b]), a == b, blocks[a, b], rng)
            edges.append(np.column_stack([members[a][rows], members[b][columns]]))
    return np.sort(np.concatenate(edges), axis=1)


def rewire(edges: np.ndarray, n: int, share: float, rng: np.random.Generator) -> np.ndarray:
    """Replace a share of the edges by as many others, drawn uniformly from the pairs that are not edges then."""
    moved = round(share * len(edges))
    keys = edges[:, 0] * np.int64(n) + edges[:, 1]
    kept = np.sort(rng.permutation(keys)[moved:])
    found = np.empty(0, np.int64)
    while len(found) < moved:
        ends = np.sort(rng.integers(n, size=(2 * (moved - len(found)) + 16, 2)), axis=1)
        fresh = ends[ends[:, 0] < ends[:, 1]] @ np.array([n, 1])
        fresh = fresh[~_in_sorted(fresh, kept)]
        found = _in_order_of_appearance(np.concatenate([found, fresh]))
    return np.column_stack(np.divmod(np.concatenate([kept, found[:moved]]), n))


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


def _in_sorted(values: np.ndarray, ascending: np.ndarray) -> np.ndarray:
    if len(ascending) == 0:
        return np.zeros(len(values), bool)
    place = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    return ascending[place] == values


def _in_order_of_appearance(values: np.ndarray) -> np.ndarray:
    """Distinct values; sorted ones, cut off, would favour small row numbers."""
    first = np.unique(values, return_index=True)[1]
    return values[np.sort(first)]
