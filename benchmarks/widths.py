"""Seconds of the components against the number of features, and against the paper's rule.

A generated graph of 20,000 nodes and 100,000 edges, the default list of components (256 columns of features, 64 of U).
Sparse: 50 words a row, drawn with frequencies that fall as 1/rank from d words; dense: normal numbers. Best of `--repeats`
runs. `previous` is the paper's list, the default before, once at 5,000 sparse features in the same run.

    python benchmarks/widths.py [--most-dense 3000] [--repeats 2]
    python benchmarks/widths.py --wordnet FILE.npz      one undirected graph: src, dst, Xd, Xi, Xp, Xs
"""

from __future__ import annotations

import argparse
import resource
import time
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from records import read, write

from slimg import Graph
from slimg.components import compute_components, default_components, paper_components

NODES, EDGES, WORDS = 20_000, 100_000, 50
WIDTHS = (100, 200, 300, 400, 500, 700, 1_000, 2_000, 3_000, 5_000, 10_000, 20_000, 30_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--most-dense", type=int, default=3_000)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--wordnet")
    parser.add_argument("--without-previous", action="store_true")
    options = parser.parse_args()
    found = read("widths")
    found.pop("circumstances", None)
    if options.wordnet:
        found["wordnet"] = wordnet(options.wordnet)
    else:
        found |= sweep(options)
    write("widths", {**found, "protocol": __doc__.split("\n\n")[1]})


def sweep(options: argparse.Namespace) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    ends = rng.integers(0, NODES, (2, EDGES))
    edges = sp.coo_array((np.ones(EDGES, np.float32), tuple(ends)), (NODES, NODES))
    found: dict[str, Any] = {"sparse": {}, "dense": {}}
    for kind, most in (("sparse", WIDTHS[-1]), ("dense", options.most_dense)):
        for d in (each for each in WIDTHS if each <= most):
            x = words(rng, d) if kind == "sparse" else rng.standard_normal((NODES, d), dtype=np.float32)
            graph = Graph.from_arrays(edges, features=x, duplicates="max")
            seconds, stages = best(graph, default_components(), options.repeats)
            entries = int(x.nnz if kind == "sparse" else x.size)
            found[kind][str(d)] = {"seconds": seconds, "entries": entries, "stages": stages}
            print(f"{kind:<7}{d:>7}{seconds:>9.2f} s   {stages}", flush=True)
            if kind == "sparse" and d == 5_000 and not options.without_previous:
                found["previous"] = {"features": d, "seconds": best(graph, paper_components(), 1)[0], "now": seconds}
                print(f"previous default at {d} features: {found['previous']['seconds']:.1f} s", flush=True)
        found[f"{kind}_slope"] = slope(found[kind])
        times = [each["seconds"] for each in found[kind].values()]
        found[f"{kind}_largest_jump"] = round(max(b / a for a, b in pairwise(times)), 2)
        print(kind, "slope", found[f"{kind}_slope"], "largest jump", found[f"{kind}_largest_jump"], flush=True)
    return found


def words(rng: np.random.Generator, d: int) -> sp.csr_array:
    """Bags of up to 50 different words; of few words, some columns at random."""
    chance = 1 / np.arange(1, d + 1)
    drawn = rng.choice(d, (NODES, min(WORDS, d // 2)), p=chance / chance.sum())
    x = sp.csr_array((np.ones(drawn.size, np.float32), drawn.ravel(), np.arange(NODES + 1) * drawn.shape[1]), (NODES, d))
    x.sum_duplicates()
    return x


def best(graph: Graph, components: Any, repeats: int) -> tuple[float, dict[str, float]]:
    runs = [compute_components(graph, components=components).seconds for _ in range(repeats)]
    least = min(runs, key=lambda each: each["total"])
    return round(least["total"], 3), {stage: round(seconds, 2) for stage, seconds in least.items()}


def slope(found: dict[str, Any]) -> float:
    """Of log seconds against log d, for d from 1,000 on."""
    wide = {int(d): each["seconds"] for d, each in found.items() if int(d) >= 1_000}
    return round(float(np.polyfit(np.log(list(wide)), np.log(list(wide.values())), 1)[0]), 3)


def wordnet(path: str) -> dict[str, Any]:
    with np.load(path) as file:
        x = sp.csr_matrix((file["Xd"], file["Xi"], file["Xp"]), shape=tuple(file["Xs"]))
        edges = sp.coo_array((np.ones(len(file["src"]), np.float32), (file["src"], file["dst"])), (x.shape[0],) * 2)
    graph = Graph.from_arrays(edges, features=x, duplicates="max")
    begun = time.perf_counter()
    parts = compute_components(graph)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    found = {"nodes": graph.n, "edges": graph.edges, "features": graph.d, "widths": parts.widths}
    found |= {"seconds": round(time.perf_counter() - begun, 2), "peak_gib": round(peak, 2)}
    found["stages"] = {stage: round(seconds, 2) for stage, seconds in parts.seconds.items()}
    print(found, flush=True)
    return found


if __name__ == "__main__":
    main()
