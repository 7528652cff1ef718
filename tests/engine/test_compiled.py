"""What is kept on disk is what was compiled, however many processes compile at once."""

import json
import os
import subprocess
import sys

import pytest

from slimg.engine import kernels

WORK = """
import sys
import numpy as np
import scipy.sparse as sp
from slimg.engine import kernels

a = sp.random(40, 40, 0.2, format="csr", dtype=np.float32, random_state=0)
some = np.random.default_rng(0).random(40, dtype=np.float32)
report = []
for case in sys.argv[1:]:
    lanes, weighted, before, after = map(int, case.split(","))
    data = a.data if weighted else np.ones_like(a.data)
    row_matrix = np.random.default_rng(lanes).standard_normal((40, 2 * lanes), dtype=np.float32)
    out = np.empty_like(row_matrix)
    kernel = kernels.gather(lanes)
    left, right = some if after else None, some if before else None
    kernel(a.indptr, a.indices, data if weighted else None, row_matrix, right, left, 0.0, out, 0, 40)
    expected = sp.csr_matrix((data, a.indices, a.indptr), a.shape) @ (row_matrix * some[:, None] if before else row_matrix)
    np.testing.assert_allclose(out, expected * some[:, None] if after else expected, atol=1e-4)
    report.append([sum(kernel.stats.cache_hits.values()), *(o.fndesc.mangled_name for o in kernel.overloads.values())])
import json
print(json.dumps(report))
"""
CASES = ["8,0,0,0", "8,0,1,1", "8,1,0,1", "8,1,1,0"]


def start(folder, *cases, **env):
    command = [sys.executable, "-c", WORK, *cases]
    env = {**os.environ, "NUMBA_CACHE_DIR": str(folder), **env}
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process):
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return json.loads(out)


def test_processes_that_compile_at_once_keep_what_each_compiled(tmp_path):
    for process in [start(tmp_path, *CASES), start(tmp_path, *reversed(CASES)), start(tmp_path, *CASES[2:], *CASES[:2])]:
        finish(process)
    hits = [line[0] for line in finish(start(tmp_path, *CASES))]
    assert hits == list(range(1, len(CASES) + 1))


def test_kernels_compiled_in_two_processes_are_two_symbols_in_a_third(tmp_path):
    finish(start(tmp_path, "8,1,1,1"))
    finish(start(tmp_path, "32,1,1,1"))
    (hits, narrow), (_, wide) = finish(start(tmp_path, "8,1,1,1", "32,1,1,1"))
    assert hits == 1 and narrow != wide


def test_without_a_folder_to_write_to_each_process_compiles_for_itself(tmp_path):
    (line,) = finish(start(tmp_path, "8,0,0,0", NUMBA_CACHE_LOCATOR_CLASSES="ZipCacheLocator"))
    assert line[0] == 0 and not list(tmp_path.iterdir())


@pytest.mark.parametrize("change", [("other", "stamp", "key"), ("base", "later", "key"), ("base", "stamp", "another")])
def test_what_was_saved_for_something_else_is_never_loaded(tmp_path, change):
    base, stamp, key = change
    kernels._FilesByContent(str(tmp_path), "base", "stamp").save("key", "kernel")
    assert kernels._FilesByContent(str(tmp_path), base, stamp).load(key) is None
    assert kernels._FilesByContent(str(tmp_path), "base", "stamp").load("key") == "kernel"
