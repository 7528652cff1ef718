"""One worker of a cluster against two, on this machine: processes with one thread each.

    python benchmarks/scale/workers.py /data/pokec --rank 32

Components of the same graph by the same code; the bits must agree. The engine in memory with one thread stands beside, so
that the price of partitions and messages shows. The record is kept in benchmarks/results/scale.json under "workers".
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import records

from slimg.components import EnergyRank, compute_components, paper_components
from slimg.engine.dask import DaskEngine
from slimg.engine.memory import MemoryEngine
from slimg.io.disk import open_graph


def main() -> None:
    options = _options()
    load, graph = os.getloadavg()[0], open_graph(options.graph)
    record: dict[str, Any] = {"graph": str(graph), "rank": options.rank, "load average before": load, "workers": {}}
    sample = np.random.default_rng(0).integers(0, graph.n, 1000)
    rows = []
    for workers in (2, 1):
        seconds, chosen = on_cluster(graph, workers, options, sample)
        record["workers"][str(workers)] = seconds
        rows.append(chosen)
    if options.memory:
        begun = time.perf_counter()
        capped = paper_components(rank=EnergyRank(max_rank=options.rank))
        compute_components(graph, MemoryEngine(threads=1), components=capped)
        record["in memory, one thread"] = time.perf_counter() - begun
    record["same bits"] = all(np.array_equal(rows[0][name], rows[1][name]) for name in rows[0])
    record["one / two"] = record["workers"]["1"] / record["workers"]["2"]
    record["commit"] = records.environment()["commit"]
    print(json.dumps(record, indent=1))
    if options.write:
        records.write("scale", {**records.read("scale"), "workers": record})


def on_cluster(graph: Any, workers: int, options: argparse.Namespace, sample: np.ndarray) -> tuple[float, dict[str, Any]]:
    """Seconds with the cluster up and its kernels loaded, and some rows of each component."""
    from distributed import Client, LocalCluster

    settings = {"n_workers": workers, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with LocalCluster(**settings) as cluster, Client(cluster) as client, DaskEngine(client, options.folder) as engine:
        small = graph.subgraph(np.arange(3_000))
        compute_components(small, engine, components=paper_components(rank=EnergyRank(max_rank=4)))
        begun = time.perf_counter()
        parts = compute_components(graph, engine, components=paper_components(rank=EnergyRank(max_rank=options.rank)))
        chosen = {name: engine.rows(block, sample) for name, block in parts.blocks.items()}
        seconds = time.perf_counter() - begun
        del parts
        return seconds, chosen


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graph", type=Path, help="folder of a graph on disk")
    parser.add_argument("--rank", type=int, default=32, help="columns of each component")
    parser.add_argument("--folder", type=Path, help="where arrays in memory are handed over")
    parser.add_argument("--no-memory", dest="memory", action="store_false")
    parser.add_argument("--no-write", dest="write", action="store_false")
    return parser.parse_args()


if __name__ == "__main__":
    main()
