"""Same bits for any number of threads, in fresh processes; and a quick import."""

import os
import subprocess
import sys
import time

import pytest

SCRIPT = """
import hashlib, sys
import numpy as np
from slimg import Graph, SlimG, datasets
from slimg.graph.splits import REAL, stratified

if sys.argv[1] == "cora":
    graph = datasets.load("cora", root=sys.argv[2])
else:
    rng = np.random.default_rng(0)
    n = 40_000
    codes = rng.integers(0, 5, n)
    ends = np.sort(rng.integers(0, n, (150_000, 2)), axis=1)
    graph = Graph.from_edges(ends, label=codes, features=rng.random((n, 24)) + 0.3 * np.eye(5, 24)[codes])
split = stratified(graph, REAL, 0)
model = SlimG().fit(graph, train=split.train, val=split.val)
digest = hashlib.sha256()
for block in model.components_.blocks.values():
    digest.update(np.ascontiguousarray(model.components_.engine.to_array(block)).tobytes())
for weights in model.coef_.values():
    digest.update(np.ascontiguousarray(weights).tobytes())
digest.update(model.predict_proba().tobytes())
print(digest.hexdigest())
"""


@pytest.mark.parametrize("name", ["cora", "generated"])
def test_one_thread_and_two_give_the_same_bits(name, data_dir):
    if name == "cora" and not (data_dir / "cora").is_dir():
        pytest.skip(f"no folder cora in {data_dir}")
    found = set()
    for threads in ("1", "2"):
        numbers = dict.fromkeys(["NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"], threads)
        command = [sys.executable, "-c", SCRIPT, name, str(data_dir)]
        found.add(subprocess.run(command, env=os.environ | numbers, capture_output=True, text=True, check=True).stdout)
    assert len(found) == 1


def test_import_takes_less_than_half_a_second():
    def seconds() -> float:
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import slimg"], check=True)
        return time.perf_counter() - begun

    assert min(seconds() for _ in range(5)) < 0.5
