"""One sparse × row matrix product, ours against torch and scipy, on a generated graph of the size of ogbn-products.

    python benchmarks/sparse_product.py                                # 2.4 M nodes, 60 M edges, 100 columns
    python benchmarks/sparse_product.py --nodes 20000 --edges 400000   # seconds

The graph is made, not real. Nodes have weights drawn from a Pareto law (exponent 2.2, so degrees are skewed) and belong to
communities whose sizes follow a Zipf law; an edge's second end is drawn by weight, from the first end's community with
probability 0.8, else from all nodes. Node numbers are then shuffled, as in a graph that was collected rather than sorted:
neighbours are far apart in memory, which is the hard case. `--order community` keeps them together.

Each product is A_row X (binary A, float32 X). Ours scales after the pass; torch and scipy are given the values of A_row.
The printed ratios are of the best of `--repeat` rounds in one process, in which the contenders take turns on the same
number of threads. A record is written to `benchmarks/results/sparse_product.json`.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numba import njit

from slimg.engine import MemoryEngine
from slimg.engine.base import Threads
from slimg.graph.adjacency import Adjacency
from slimg.linalg.operators import operator, products

RESULT = Path(__file__).parent / "results" / "sparse_product.json"


def main() -> None:
    options = _options()
    begun = time.perf_counter()
    adjacency = generate(options.nodes, options.edges, options.order == "community", options.seed)
    degree = np.diff(adjacency.indptr)
    print(f"{adjacency} in {time.perf_counter() - begun:.0f} s; degrees: median {np.median(degree):.0f},"
          f" 99 % {np.percentile(degree, 99):.0f}, largest {degree.max():,}")  # fmt: skip
    x = np.random.default_rng(options.seed).standard_normal((adjacency.n, options.columns), dtype=np.float32)
    seconds = measure(adjacency, x, options.repeat, set(options.skip))
    record = describe(adjacency, options, seconds)
    for name, value in {**seconds, **record["ratios"]}.items():
        print(f"{name:>28}  {value:8.3f}")
    if options.write:
        RESULT.parent.mkdir(exist_ok=True)
        RESULT.write_text(json.dumps(record, indent=2) + "\n")


def measure(adjacency: Adjacency, x: np.ndarray, repeat: int, skip: set[str]) -> dict[str, float]:
    """Best seconds of each contender. They take turns of two runs each: a busy moment of the machine hits all of them, and
    the second run finds caches and pages as the same contender left them."""
    engine = MemoryEngine()
    row, sym = operator("A_row", adjacency), operator("Ã_sym", adjacency)
    narrow = np.ascontiguousarray(x[:, :32])
    contenders = {
        "slimg": lambda: row.apply(engine, x),
        "slimg, two fused": lambda: products(engine, [row, sym], x)[0],
        "slimg, two passes": lambda: (row.apply(engine, x), sym.apply(engine, x))[0],
        "slimg, 32 columns": lambda: row.apply(engine, narrow),
    }
    values = np.repeat(row.scaling.after, np.diff(adjacency.indptr))
    if "torch" not in skip:
        contenders["torch CSR"] = _torch(adjacency, values, x)
    if "scipy" not in skip:
        contenders["scipy CSR"] = _scipy(adjacency, values, x)
    few = np.flatnonzero(np.diff(adjacency.indptr))[:100]
    expected = np.stack([x[adjacency.neighbours(i)].mean(axis=0, dtype=np.float64) for i in few])
    seconds = dict.fromkeys(contenders, np.inf)
    for _ in range(repeat):
        for name, run in [each for each in contenders.items() for _ in range(2)]:
            begun = time.perf_counter()
            result = run()
            seconds[name] = min(seconds[name], time.perf_counter() - begun)
            error = np.abs(np.asarray(result[few]) - expected[:, : result.shape[1]]).max()
            assert error < 1e-3, f"{name} is wrong by {error}"
            del result
    return seconds


def _torch(adjacency: Adjacency, values: np.ndarray, x: np.ndarray) -> Callable[[], Any]:
    import torch

    warnings.filterwarnings("ignore", message="Sparse")
    parts = (torch.from_numpy(each) for each in (adjacency.indptr.astype(np.int32), adjacency.indices, values))
    matrix, dense = torch.sparse_csr_tensor(*parts, size=(adjacency.n, adjacency.n)), torch.from_numpy(x)
    return lambda: (matrix @ dense).numpy()


def _scipy(adjacency: Adjacency, values: np.ndarray, x: np.ndarray) -> Callable[[], Any]:
    parts = values, adjacency.indices, adjacency.indptr.astype(np.int32)
    matrix = sp.csr_matrix(parts, shape=(adjacency.n, adjacency.n))
    return lambda: matrix @ x


def describe(adjacency: Adjacency, options: argparse.Namespace, seconds: dict[str, float]) -> dict:
    ratios = {
        f"slimg / {other}": seconds["slimg"] / seconds[other] for other in ("torch CSR", "scipy CSR") if other in seconds
    }
    gathered = adjacency.nnz * (4 * options.columns + 4)
    return {
        "what": __doc__.splitlines()[0],
        "sizes": {"nodes": adjacency.n, "entries": adjacency.nnz, "columns": options.columns, "order": options.order},
        "seconds": seconds,
        "ratios": ratios,
        "gathered GB/s": gathered / seconds["slimg"] / 1e9,
        "threads": Threads().count,
        "seed": options.seed,
        "cpu": _cpu(),
        "versions": {name: version(name) for name in ("numpy", "scipy", "numba", "torch")},
        "peak GiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "date": time.strftime("%Y-%m-%d"),
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def generate(n: int, edges: int, by_community: bool, seed: int) -> Adjacency:
    """The graph of the module's text."""
    rng = np.random.default_rng(seed)
    sizes = (1 / np.arange(1, max(n // 500, 2) + 1)) ** 0.8
    community = np.searchsorted(np.cumsum(sizes) / sizes.sum(), (np.arange(n) + 0.5) / n).astype(np.int32)
    weight = np.minimum(rng.pareto(2.2, n) + 0.5, n**0.5)
    drawn = 1.11 * edges  # about a tenth are repetitions or loops
    draws = np.floor(weight * drawn / weight.sum() + rng.random(n)).astype(np.int64)
    first = np.searchsorted(community, np.arange(community[-1] + 2))
    numbers = np.arange(n, dtype=np.int32) if by_community else rng.permutation(n).astype(np.int32)
    source, target = _draw(draws, community, first, numbers, rng)
    indptr, indices = _to_csr(source, target, n)
    return Adjacency(indptr, indices)


@njit
def _draw(draws, community, first, numbers, rng):
    """For each stub of each node, the other end, by weight: a random stub of its community or of all."""
    n = len(draws)
    starts = np.zeros(n + 1, np.int64)
    for i in range(n):
        starts[i + 1] = starts[i] + draws[i]
    owner = np.empty(starts[n], np.int32)
    for i in range(n):
        owner[starts[i] : starts[i + 1]] = i
    target = np.empty(starts[n], np.int32)
    for i in range(n):
        low, high = starts[first[community[i]]], starts[first[community[i] + 1]]
        for s in range(starts[i], starts[i + 1]):
            if rng.random() < 0.8:
                target[s] = owner[low + int(rng.random() * (high - low))]
            else:
                target[s] = owner[int(rng.random() * starts[n])]
    for s in range(len(owner)):
        owner[s] = numbers[owner[s]]
        target[s] = numbers[target[s]]
    return owner, target


@njit
def _to_csr(source, target, n):
    """Both directions of each edge, sorted, without loops and repetitions."""
    indptr = np.zeros(n + 1, np.int64)
    for s in range(len(source)):
        if source[s] != target[s]:
            indptr[source[s] + 1] += 1
            indptr[target[s] + 1] += 1
    for i in range(n):
        indptr[i + 1] += indptr[i]
    indices = np.empty(indptr[n], np.int32)
    place = indptr[:-1].copy()
    for s in range(len(source)):
        i, j = source[s], target[s]
        if i != j:
            indices[place[i]] = j
            place[i] += 1
            indices[place[j]] = i
            place[j] += 1
    kept = np.int64(0)
    for i in range(n):
        start, stop = indptr[i], place[i]
        row = np.sort(indices[start:stop])
        indptr[i] = kept
        for p in range(len(row)):
            if p == 0 or row[p] != row[p - 1]:
                indices[kept] = row[p]
                kept += 1
    indptr[n] = kept
    return indptr, indices[:kept].copy()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=2_400_000)
    parser.add_argument("--edges", type=int, default=60_000_000)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--order", choices=["shuffled", "community"], default="shuffled")
    parser.add_argument("--repeat", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--skip", nargs="*", default=[], choices=["torch", "scipy"])
    parser.add_argument("--no-write", dest="write", action="store_false")
    return parser.parse_args()


if __name__ == "__main__":
    main()
