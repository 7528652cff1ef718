"""Time of the whole fit against edges and against features, as the paper's table of scalability has it.

    for share in 0.1 0.2 0.4 0.7 1; do python benchmarks/scale/growth.py /data/products --edges $share; done
    for count in 20 40 60 80 100; do python benchmarks/scale/growth.py /data/products --features $count; done
    python benchmarks/scale/growth.py /data/products --slopes

Edges and columns of the graph are removed at random (the nodes stay, as in the paper). Each call measures one size in this
process, and keeps it in benchmarks/results/scale.json under "growth"; ``--slopes`` fits log seconds to log size by least
squares and prints the paper's seconds beside ours.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import records
from scale import rivals

from slimg import SlimG
from slimg.graph import Graph
from slimg.graph.adjacency import Adjacency
from slimg.io.disk import open_graph
from slimg.lab.bench.store import peak_memory

PAPER = "scalability_products_seconds"


def main() -> None:
    options = _options()
    if options.slopes:
        slopes()
        return
    load, graph = os.getloadavg()[0], open_graph(options.graph)
    kind = "features" if options.features else "edges"
    if options.features:
        smaller = Graph(graph.adjacency, np.ascontiguousarray(graph.features[:, : options.features]), graph.labels)
    else:
        smaller = Graph(thinned(graph.adjacency, options.edges), graph.features, graph.labels)
    rows = rivals.split_of(smaller)
    begun = time.perf_counter()
    model = SlimG(grid="paper").fit(smaller, train=rows["train"], val=rows["val"])
    model.predict()
    row = {
        "size": smaller.d if options.features else smaller.edges,
        "seconds": time.perf_counter() - begun,
        "components": model.seconds_["total"],
        "learning": model.seconds_["learning"],
        "peak": peak_memory(),
        "load average before": load,
        "commit": records.environment()["commit"],
    }
    print(kind, row)
    kept = records.read("scale")
    growth = kept.get("growth", {"edges": {}, "features": {}})
    growth[kind][str(row["size"])] = row
    records.write("scale", {**kept, "growth": growth})


def slopes() -> None:
    """d log seconds / d log size of the whole fit and of the components."""
    kept = records.read("scale")
    for kind in ("edges", "features"):
        rows = sorted(kept["growth"][kind].values(), key=lambda row: row["size"])
        fitted: dict[str, Any] = {}
        for what in ("seconds", "components"):
            sizes, seconds = (np.log([row[name] for row in rows]) for name in ("size", what))
            fitted[what] = float(np.polyfit(sizes, seconds, 1)[0])
        kept["growth"].setdefault("slopes", {})[kind] = fitted
        print(kind, fitted)
        for row in rows:
            print(f"  {row['size']:>12,} {row['seconds']:7.1f} s, components {row['components']:6.1f} s")
        print("  paper:", records.shared("tables.json").get(PAPER, {}).get(kind))
    records.write("scale", kept)


def thinned(adjacency: Adjacency, share: float) -> Adjacency:
    """The edges whose hash is below a share: both directions of an edge are kept or dropped."""
    if share >= 1:
        return adjacency
    indices, kept = np.asarray(adjacency.indices), np.zeros(adjacency.n + 1, np.int64)
    out = np.empty(len(indices), indices.dtype)
    count = _thin(np.asarray(adjacency.indptr), indices, np.uint64(share * 2**64), out, kept)
    return Adjacency(kept, out[:count].copy())


@njit(cache=True)
def _thin(indptr, indices, below, out, kept):
    count = 0
    for i in range(len(indptr) - 1):
        for j in range(indptr[i], indptr[i + 1]):
            low, high = np.uint64(min(i, indices[j])), np.uint64(max(i, indices[j]))
            mixed = (low * np.uint64(0x9E3779B97F4A7C15)) ^ (high * np.uint64(0xC2B2AE3D27D4EB4F))
            mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
            if mixed ^ (mixed >> np.uint64(32)) < below:
                out[count] = indices[j]
                count += 1
        kept[i + 1] = count
    return count


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graph", type=Path, help="folder made by generate.py")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--edges", type=float, help="share of the edges that is kept")
    what.add_argument("--features", type=int, help="number of features that are kept")
    what.add_argument("--slopes", action="store_true", help="fit the sizes measured so far")
    return parser.parse_args()


if __name__ == "__main__":
    main()
