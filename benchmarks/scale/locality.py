"""How near the sparse pass comes to what the memory can do, and what another order of the nodes would give.

    python benchmarks/scale/locality.py /data/products --columns 64 100

Measured in one run, with all threads: the triad a = b + s·c and a sum (bytes per second of contiguous memory), a gather of
random cache lines (lines per second), and one pass T ↦ A T, with one thread too, for each order of the nodes:

    given       as the graph has them (generate.py shuffles them)
    degree      from the largest to the smallest
    communities by a few sweeps of label propagation: each node takes the label most frequent among its neighbours
    true        communities as they were generated: what no method can beat by much

The limit of a pass in which every gathered row comes from memory, with e entries, n nodes and rows of l lines:

    64·l·e (rows) + 4·e (indices) + 4·n·k (result)  bytes  /  bytes per second of the faster of triad and sum

An order pays when (seconds saved per pass) · (passes of a fit) exceeds finding it, and moving A and X into it.
The record is kept in benchmarks/results/scale.json under "sparse pass".
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import records
from scale.sizing import halo_share

from slimg.engine.base import Scaling, Threads, runs
from slimg.engine.memory import MemoryEngine
from slimg.graph.adjacency import Adjacency
from slimg.io.disk import open_graph

LINE = 64
TRIAD = 1 << 27
"""Entries of each array of the triad: beyond all caches."""
DRAWN = 1 << 24
"""Random lines per thread."""
BEST_OF = 3
SWEEPS = 2
"""Of label propagation: one gives most of the gain, a third nothing more."""


def main() -> None:
    options = _options()
    graph, threads = open_graph(options.graph), Threads()
    given = Adjacency(graph.adjacency.indptr, np.array(graph.adjacency.indices))
    record: dict[str, Any] = {
        "graph": str(graph),
        "commit": records.environment()["commit"],
        "load average before": os.getloadavg()[0],
        "threads": threads.count,
        "triad GB/s": triad(threads) / 1e9,
        "read GB/s": reading(threads) / 1e9,
        "million random lines/s": lines(threads) / 1e6,
    }
    print(record, flush=True)
    record["orders"] = {}
    for name in options.orders:
        order, found = _timed(lambda name=name: _order(name, given, options.sweeps))  # type: ignore[misc]
        matrix, moved = (given, 0.0) if order is None else _timed(lambda order=order: reordered(given, order))  # type: ignore[misc]
        row: dict[str, Any] = {
            "seconds to find": found,
            "seconds to move A": moved,
            "halo of 16 parts": halo_share(matrix, 16),
        }
        row["passes"] = {str(k): _pass(matrix, k, max(record["triad GB/s"], record["read GB/s"])) for k in options.columns}
        record["orders"][name] = row
        print(name, row, flush=True)
        del matrix
    if options.write:
        records.write("scale", {**records.read("scale"), "sparse pass": record})


def triad(threads: Threads) -> float:
    """Bytes per second of a = b + s·c, counting the three arrays once each."""
    a, b, c = (np.ones(TRIAD, np.float32) for _ in range(3))
    seconds = _best(lambda: threads.for_each(partial(_triad, a, b, c, np.float32(1.5)), runs(TRIAD, TRIAD // 64)))
    return 12 * TRIAD / seconds


def reading(threads: Threads) -> float:
    """Bytes per second of a sum: reads alone, without the lines that a write brings in first."""
    a = np.ones(TRIAD, np.float32)
    return 4 * TRIAD / _best(lambda: threads.for_each(partial(_sum, a), runs(TRIAD, TRIAD // 64)))


def lines(threads: Threads) -> float:
    """Random cache lines per second, from 2 GiB, many on their way at a time."""
    memory = np.ones((1 << 25, 16), np.float32)
    draws = np.random.default_rng(0).integers(0, len(memory), (threads.count, DRAWN), dtype=np.int32)
    seconds = _best(lambda: threads.for_each(lambda which, _: _lines(memory, draws[which]), runs(threads.count, 1)))
    return threads.count * DRAWN / seconds


def _pass(matrix: Adjacency, columns: int, rate: float) -> dict[str, float]:
    engine, alone = MemoryEngine(), MemoryEngine(threads=1)
    row_matrix = engine.random(matrix.n, columns, 0)
    seconds, by_one = (_best(lambda each=each: each.products(matrix, row_matrix, [Scaling()])) for each in (engine, alone))
    row_lines = (4 * columns + LINE - 4) / LINE  # of rows that begin anywhere
    moved = matrix.nnz * (LINE * row_lines + 4) + 4 * matrix.n * columns
    limit = moved / (rate * 1e9)
    return {"seconds": seconds, "by one thread": by_one, "limit": limit, "share of the limit": limit / seconds,
            "million lines/s": matrix.nnz * row_lines / seconds / 1e6}  # fmt: skip


def _order(name: str, matrix: Adjacency, sweeps: int) -> np.ndarray | None:
    """Old numbers in their new order."""
    if name == "given":
        return None
    if name == "degree":
        return np.argsort(-np.diff(matrix.indptr), kind="stable")
    if name == "true":
        return np.random.default_rng([0, 1]).permutation(matrix.n)  # as generate.py numbered its nodes
    return community_order(matrix, sweeps)


def reordered(matrix: Adjacency, order: np.ndarray) -> Adjacency:
    """The same graph with its nodes numbered in that order."""
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    rows = matrix.to_scipy()[order]
    return Adjacency(rows.indptr.astype(np.int64), places[rows.indices].astype(matrix.indices.dtype))


def community_order(matrix: Adjacency, sweeps: int) -> np.ndarray:
    """Nodes sorted by the label that label propagation gives them."""
    labels = np.arange(matrix.n, dtype=matrix.indices.dtype)
    counts, near = np.zeros(matrix.n, np.int32), np.empty(int(np.diff(matrix.indptr).max(initial=0)), labels.dtype)
    for _ in range(sweeps):
        _sweep(np.asarray(matrix.indptr), np.asarray(matrix.indices), labels, counts, near)
    return np.argsort(labels, kind="stable")


@njit(cache=True)
def _sweep(indptr, indices, labels, counts, near):
    for i in range(len(labels)):
        begin, end = indptr[i], indptr[i + 1]
        best, most = labels[i], 0
        for j in range(begin, end):
            label = labels[indices[j]]
            near[j - begin] = label
            counts[label] += 1
            if counts[label] > most:
                best, most = label, counts[label]
        for j in range(end - begin):
            counts[near[j]] = 0
        labels[i] = best


@njit(nogil=True, cache=True, fastmath=True)
def _triad(a, b, c, s, start, stop):
    for i in range(start, stop):
        a[i] = b[i] + s * c[i]


@njit(nogil=True, cache=True, fastmath=True)
def _sum(a, start, stop):
    total = np.float32(0)
    for i in range(start, stop):
        total += a[i]
    return total


@njit(nogil=True, cache=True, fastmath=True)
def _lines(memory, draws):
    total = np.float32(0)
    for i in range(len(draws)):
        total += memory[draws[i], 0]
    return total


def _timed(run: Callable[[], Any]) -> tuple[Any, float]:
    begun = time.perf_counter()
    return run(), time.perf_counter() - begun


def _best(run: Callable[[], Any]) -> float:
    run()
    return min(_timed(run)[1] for _ in range(BEST_OF))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graph", type=Path, help="folder made by generate.py")
    parser.add_argument("--columns", type=int, nargs="+", default=[64, 100])
    parser.add_argument("--orders", nargs="+", default=["given", "degree", "communities", "true"])
    parser.add_argument("--sweeps", type=int, default=SWEEPS)
    parser.add_argument("--no-write", dest="write", action="store_false")
    return parser.parse_args()


if __name__ == "__main__":
    main()
