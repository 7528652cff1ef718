"""What a graph of the size of ogbn-papers100M takes on a cluster, from rates measured here.

    python benchmarks/scale/sizing.py /data/products --network 1.25     # GB/s of each worker's network

Measured: the rates of this machine (`slimg.engine.rates`) and, on the given graph, the share of a row matrix's rows that
one of W partitions asks of the others (its halo). The rest follows from the passes: the columns of U through A, a fused hop
and two more with d columns each (`columns_through`). Memory is that of the estimate, shared out, and one halo of d columns
beside it.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import records

from slimg.components.compute import columns_through
from slimg.components.estimate import Sizes, estimate
from slimg.engine.rates import Rates, measure
from slimg.graph.adjacency import Adjacency
from slimg.io.disk import open_graph

PAPERS = Sizes(111_059_956, 1_615_685_872, 128, 172, 1_500_000)
WORKERS = (4, 8, 16, 32, 64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graph", type=Path, help="folder of a graph, whose halos are measured")
    parser.add_argument("--network", type=float, default=1.25, help="GB/s of one worker's network (default: 1.25)")
    parser.add_argument("--no-write", dest="write", action="store_false")
    options = parser.parse_args()
    load = os.getloadavg()[0]  # rates of a busy machine are too slow: the record says how busy it was
    rates, adjacency = measure(), open_graph(options.graph).adjacency
    rows = [_row(rates, workers, halo_share(adjacency, workers), options.network) for workers in WORKERS]
    print("| workers | halo | memory each, GB | sent by each, GB | minutes |\n|---|---|---|---|---|")
    for row in rows:
        print(f"| {row['workers']} | {row['halo']:.0%} | {row['memory']:.0f} | {row['sent']:.0f} | {row['minutes']:.0f} |")
    print(f"\nload average {load:.1f} on {os.cpu_count()} cores while the rates were measured")
    if options.write:
        record = {
            "load average": load,
            "cores": os.cpu_count(),
            "sizes": vars(PAPERS),
            "rates": vars(rates),
            "network GB/s": options.network,
            "workers": rows,
        }
        records.write("scale", {**records.read("scale"), "papers100M": record})


def halo_share(adjacency: Adjacency, parts: int) -> float:
    """Rows that the middle one of ``parts`` partitions asks of the others, as a share of all rows."""
    n = adjacency.n
    start, stop = (parts // 2) * n // parts, (parts // 2 + 1) * n // parts
    seen = np.zeros(n, bool)
    seen[adjacency.indices[adjacency.indptr[start] : adjacency.indptr[stop]]] = True
    seen[start:stop] = False
    return float(seen.mean())


def _row(rates: Rates, workers: int, halo: float, network: float) -> dict[str, Any]:
    n = PAPERS.nodes
    need = estimate(PAPERS, rates=rates).engines["memory"]
    sent = 4 * n * halo * columns_through(PAPERS) / 1e9
    seconds = need.seconds / workers + sent / network
    memory = need.memory / workers + 4 * n * halo * PAPERS.features
    return {"workers": workers, "halo": halo, "memory": memory / 1e9, "sent": sent, "minutes": seconds / 60}


if __name__ == "__main__":
    main()
