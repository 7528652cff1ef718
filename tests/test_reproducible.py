"""Equal seeds give equal bits whatever the number of threads, and importing is quick. Each run is a process of its own."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")

DIGESTS = """
import hashlib, sys
import numpy as np
import scipy.sparse as sp
from dataclasses import replace
from slimg import Graph, SlimG
from slimg.components import EnergyRank, compute_components, paper_components
from slimg.lab import datasets
from slimg.graph.splits import REAL, stratified


def generated(n=6_000, edges=90_000, d=40, c=4):
    rng = np.random.default_rng(0)
    y = rng.integers(0, c, n)
    order = np.argsort(y, kind="stable")
    ends = order[np.sort(rng.integers(0, n, (2, edges)), axis=1)]
    ends[1] = np.where(rng.random(edges) < 0.6, order[rng.integers(0, n, edges)], np.roll(ends[1], 3))
    a = sp.coo_array((np.ones(edges, np.float32), tuple(ends)), (n, n))
    x = rng.random((c, d))[y] + rng.random((n, d)) * 2
    return Graph.from_arrays(a, features=x, labels=y, duplicates="max")


def digest(*arrays):
    return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()


graph = generated() if sys.argv[1] == "generated" else datasets.load(sys.argv[1], root=sys.argv[2])
fractions = (0.025, 0.025, 0.95) if sys.argv[1] == "generated" else REAL
split = stratified(graph, fractions, 0)
model = SlimG(random_state=0).fit(graph, train=split.train, val=split.val)
parts = model.components_
if sys.argv[1] == "generated":
    listed = paper_components(rank=EnergyRank(max_rank=60))
    for x in (graph.features, sp.random(graph.n, 300, 0.05, random_state=1, format="csr", dtype=np.float32)):
        found = compute_components(replace(graph, features=x, feature_names=None), components=listed)
        print("by energy", digest(*found.blocks.values()))
print("components", digest(*(parts.engine.to_array(block) for block in parts.blocks.values())))
print("weights", digest(*model.coef_.values(), model.intercept_))
print("predictions", digest(model.predict(), model.predict_proba()))
print("selection", [(r["l1"], r["group"], r["val_accuracy"], r["dual_gap"]) for r in model.selection_])
print("accuracy", (model.predict() == graph.labels)[split.test].mean())
"""


def run(code, *arguments, threads=None):
    environment = {name: value for name, value in os.environ.items() if name not in THREADS}
    if threads is not None:
        environment |= dict.fromkeys(THREADS, str(threads))
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["cora", "generated"])
def test_one_thread_and_two_give_the_same_bits(name, data_dir, request):
    if name == "cora":
        request.getfixturevalue("load_real")(name)
    with ThreadPoolExecutor(2) as pool:
        one, two = pool.map(lambda threads: run(DIGESTS, name, data_dir, threads=threads), (1, 2))
    assert one == two
    assert "components" in one and float(one.split()[-1]) > 0.7


def test_importing_is_quick():
    code = "import time; t = time.perf_counter(); import slimg; print(time.perf_counter() - t)"
    assert min(float(run(code)) for _ in range(3)) < 0.5


def test_importing_changes_nothing():
    """No environment edits, no thread pools, no heavy library."""
    code = (
        "import os, sys, threading; before = dict(os.environ); import slimg;"
        "assert dict(os.environ) == before and threading.active_count() == 1;"
        "print(sorted({'numba', 'sklearn', 'torch', 'pandas', 'scipy'} & set(sys.modules)))"
    )
    assert run(code).strip() == "[]"
