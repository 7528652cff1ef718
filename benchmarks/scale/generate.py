"""Large graphs with skewed degrees, communities, and labels and features that follow them, streamed to disk.

    python benchmarks/scale/generate.py products /data/products          # 2.45 M nodes, 62 M edges, 100 features, 39 classes
    python benchmarks/scale/generate.py arxiv /data/arxiv --scale 0.1
    python benchmarks/scale/generate.py huge /data/huge --memory 3GB     # 20 M nodes, 300 M edges, 64 features

The folder is that of `slimg.io.disk`. The graph is made, not real:

- communities of about 500 nodes, their sizes by a Zipf law; each has a main class, classes are skewed;
- a node's label is its community's class with probability ``purity``, else drawn from all classes;
- degrees follow a Pareto law (exponent 2.2) times a factor of the community; an edge's second end is drawn by degree, from
  the first end's community with probability ``inside``, from the communities of its main class with probability
  ``classmates``, else from all nodes; ``activity`` is the spread of the logarithm of the factor: real spectra fall off, they
  do not form a plateau; numbers of nodes are shuffled, as in a graph that was collected, not sorted;
- features: x = m(label) + spread · o(community) + noise · ε, with m, o and ε standard normal. Averages over neighbours
  remove ε but not o, which a linear model cannot undo when there are many more communities than features: so ``noise``
  sets the accuracy of logistic regression on X, ``spread`` that of SGC.

``repeated`` is how many edges are drawn for each one wanted, as some are repetitions or loops. The products preset was set
so that logistic regression, SGC and U alone have the accuracies that the paper reports for ogbn-Products (56, 75, 74 %).

Every block of nodes has random numbers of its own (seed and number of the block): same seed, same files.
"""

from __future__ import annotations

import argparse
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import njit

from slimg.graph import Graph
from slimg.io.disk import EdgeFile, finish, open_graph
from slimg.io.external_sort import NpyAppender, write_adjacency
from slimg.system import as_bytes, require_room

BLOCK_STUBS = 1 << 22
BLOCK_ENTRIES = 1 << 22


@dataclass(frozen=True)
class Recipe:
    """Sizes and the strengths of the module's text."""

    nodes: int
    edges: int
    features: int
    classes: int
    purity: float = 0.9
    inside: float = 0.8
    classmates: float = 0.0
    activity: float = 0.8
    spread: float = 1.0
    noise: float = 3.0
    repeated: float = 1.11
    seed: int = 0

    def scaled(self, factor: float) -> Recipe:
        """The same with fewer (or more) nodes and edges."""
        return replace(self, nodes=max(1000, int(self.nodes * factor)), edges=max(2000, int(self.edges * factor)))


PRESETS = {
    "arxiv": Recipe(169_343, 1_166_243, 128, 40),
    "pokec": Recipe(1_632_803, 30_622_564, 65, 2),
    "products": Recipe(
        2_449_029,
        61_859_140,
        100,
        39,
        purity=0.75,
        inside=0.35,
        classmates=0.4,
        activity=0.3,
        spread=2.4,
        noise=3.9,
        repeated=1.037,
    ),
    "huge": Recipe(20_000_000, 300_000_000, 64, 40, repeated=1.14),
}


class _Communities(NamedTuple):
    """In community order: community of each node, first node of each, class of each, and stubs before each node."""

    of: np.ndarray
    first: np.ndarray
    main: np.ndarray
    stubs: np.ndarray


def generate(recipe: Recipe, folder: Path, memory: str | int = "2GB") -> Graph:
    """Make the folder of the graph, and open it."""
    part = folder.with_name(folder.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        require_room(part, 4 * recipe.nodes * recipe.features + 40 * recipe.edges, "generating the graph")
        people = _communities(recipe)
        order = np.random.default_rng([recipe.seed, 1]).permutation(recipe.nodes).astype(np.int32)
        _write_edges(recipe, people, order, part / "edges.npy")
        place = np.empty_like(order)
        place[order] = np.arange(recipe.nodes, dtype=np.int32)
        labels = _labels(recipe, people)[place]
        np.save(part / "labels.npy", labels)
        _write_features(recipe, people.of[place], labels, part / "features.npy")
        del people, order, place
        counts = write_adjacency(part, EdgeFile(part / "edges.npy"), recipe.nodes, as_bytes(memory) // 2, directed=False)
        (part / "edges.npy").unlink()
        finish(part, recipe.nodes, counts.edges)
        part.replace(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return open_graph(folder)


def _communities(recipe: Recipe) -> _Communities:
    rng = np.random.default_rng([recipe.seed, 0])
    n, count = recipe.nodes, max(recipe.nodes // 500, 2 * recipe.classes)
    sizes = (1 / np.arange(1, count + 1)) ** 0.5
    of = np.searchsorted(np.cumsum(sizes) / sizes.sum(), (np.arange(n) + 0.5) / n).astype(np.int32)
    first = np.searchsorted(of, np.arange(count + 1))
    share = (1 / np.arange(1, recipe.classes + 1)) ** 0.9
    main = rng.choice(recipe.classes, count, p=share / share.sum()).astype(np.int16)
    main[: recipe.classes] = rng.permutation(recipe.classes)
    weight = np.minimum(rng.pareto(2.2, n) + 0.5, n**0.5) * rng.lognormal(0, recipe.activity, count)[of]
    draws = np.floor(weight * (recipe.repeated * recipe.edges / weight.sum()) + rng.random(n)).astype(np.int64)
    return _Communities(of, first, main, np.concatenate([[0], np.cumsum(draws)]))


def _labels(recipe: Recipe, people: _Communities) -> np.ndarray:
    """In community order."""
    rng = np.random.default_rng([recipe.seed, 2])
    other = rng.integers(0, recipe.classes, recipe.nodes, dtype=np.int16)
    return np.where(rng.random(recipe.nodes) < recipe.purity, people.main[people.of], other)


def _write_edges(recipe: Recipe, people: _Communities, order: np.ndarray, path: Path) -> None:
    kin, chances = _by_class(recipe, people), (recipe.inside, recipe.inside + recipe.classmates)
    with NpyAppender(path, np.int32, 2) as out:
        for block, (start, stop) in enumerate(_community_runs(people)):
            rng = np.random.default_rng([recipe.seed, 3, block])
            pairs = _draw(people.stubs, people.of, people.first, people.main, kin, start, stop, chances, rng)
            out.append(order[pairs])


def _by_class(recipe: Recipe, people: _Communities) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Communities by their main class, the first of each class among them, and the stubs before each."""
    order = np.argsort(people.main, kind="stable")
    ends = people.stubs[people.first]
    before = np.concatenate([[0], np.cumsum(np.diff(ends)[order])])
    return order, np.searchsorted(people.main[order], np.arange(recipe.classes + 1)), before


def _community_runs(people: _Communities) -> Iterator[tuple[int, int]]:
    """Runs of whole communities with about `BLOCK_STUBS` stubs."""
    ends = people.stubs[people.first]
    start = 0
    while start < len(ends) - 1:
        stop = max(int(np.searchsorted(ends, ends[start] + BLOCK_STUBS)), start + 1)
        yield int(people.first[start]), int(people.first[min(stop, len(ends) - 1)])
        start = stop


@njit(cache=True)
def _draw(stubs, community, first, main, kin, start, stop, chances, rng):
    """For each stub of nodes [start, stop), its node and the other end: the owner of a random stub of the community, of
    one of its class, or of anywhere."""
    order, first_kin, before = kin
    base, total = stubs[start], stubs[-1]
    owner = np.empty(stubs[stop] - base, np.int32)
    for i in range(start, stop):
        owner[stubs[i] - base : stubs[i + 1] - base] = i
    pairs = np.empty((len(owner), 2), np.int32)
    for i in range(start, stop):
        low, high = stubs[first[community[i]]] - base, stubs[first[community[i] + 1]] - base
        for s in range(stubs[i] - base, stubs[i + 1] - base):
            pairs[s, 0] = i
            chance = rng.random()
            if chance < chances[0]:
                pairs[s, 1] = owner[low + int(rng.random() * (high - low))]
            elif chance < chances[1]:
                begin, end = before[first_kin[main[community[i]]]], before[first_kin[main[community[i]] + 1]]
                stub = begin + int(rng.random() * (end - begin))
                which = np.searchsorted(before, stub, "right") - 1
                pairs[s, 1] = np.searchsorted(stubs, stubs[first[order[which]]] + stub - before[which], "right") - 1
            else:
                pairs[s, 1] = np.searchsorted(stubs, int(rng.random() * total), "right") - 1
    return pairs


def _write_features(recipe: Recipe, community: np.ndarray, labels: np.ndarray, path: Path) -> None:
    rng = np.random.default_rng([recipe.seed, 4])
    means = rng.standard_normal((recipe.classes, recipe.features), np.float32)
    offsets = recipe.spread * rng.standard_normal((community.max() + 1, recipe.features), np.float32)
    step = max(1, BLOCK_ENTRIES // recipe.features)
    with NpyAppender(path, np.float32, recipe.features) as out:
        for block, start in enumerate(range(0, recipe.nodes, step)):
            rows = slice(start, start + step)
            x = np.random.default_rng([recipe.seed, 5, block]).standard_normal(
                (len(labels[rows]), recipe.features), np.float32
            )
            x *= recipe.noise
            x += means[labels[rows]]
            x += offsets[community[rows]]
            out.append(x)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("preset", choices=sorted(PRESETS))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--scale", type=float, default=1.0, help="factor on nodes and edges")
    parser.add_argument("--features", type=int, help="number of features")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--memory", default="2GB")
    options = parser.parse_args()
    recipe = replace(PRESETS[options.preset].scaled(options.scale), seed=options.seed)
    if options.features:
        recipe = replace(recipe, features=options.features)
    begun = time.perf_counter()
    graph = generate(recipe, options.folder, options.memory)
    degree = np.diff(graph.adjacency.indptr)
    print(f"{graph} in {time.perf_counter() - begun:.0f} s; degrees: median {np.median(degree):.0f},"
          f" 99 % {np.percentile(degree, 99):.0f}, largest {degree.max():,}")  # fmt: skip


if __name__ == "__main__":
    main()
