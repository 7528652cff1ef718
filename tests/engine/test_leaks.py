"""Nothing is left behind by a fit; a kernel cache that fails is passed over."""

import os
import resource
import subprocess
import sys
import tempfile
import threading

import numpy as np

from explain_graphs import planted
from slimg import SlimG
from slimg.engine.memory import MemoryEngine

FIT = """
import numpy as np, scipy.sparse as sp
from slimg.engine.memory import MemoryEngine
from slimg.engine import Scaling
from slimg.graph.adjacency import Adjacency
path, _ = Adjacency.from_edges([0, 1], [1, 2], 3)
print(MemoryEngine(threads=1).products(path, MemoryEngine(threads=1).row_matrix(np.eye(3)), [Scaling()])[0].tolist())
"""
PATH = "[[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]"


def held():
    return threading.active_count(), len(os.listdir("/proc/self/fd")), len(os.listdir(tempfile.gettempdir()))


def test_twenty_fits_leave_no_threads_files_or_folders(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    graph = planted()
    models = [SlimG(grid=[(1e-4, 1e-3)], engine=MemoryEngine(threads=2)).fit(graph)]
    before = held()
    models += [SlimG(grid=[(1e-4, 1e-3)], engine=MemoryEngine(threads=2)).fit(graph) for _ in range(20)]
    assert held() == before
    np.testing.assert_array_equal(models[0].decision_function(), models[-1].decision_function())


def run(folder, code=FIT, **options):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300, **options
    )


def test_a_damaged_cache_is_passed_over(tmp_path):
    """Cut, with a byte changed, and a file of something else: each is compiled again, and then whole."""
    assert run(tmp_path).stdout.strip() == PATH
    files = sorted(tmp_path.rglob("*.nbc"))
    assert files
    for damage in (lambda b: b[: len(b) // 2], lambda b: b[:90] + bytes([b[90] ^ 1]) + b[91:], lambda b: b"not a kernel"):
        for path in files:
            path.write_bytes(damage(path.read_bytes()))
        done = run(tmp_path)
        assert done.returncode == 0 and done.stdout.strip() == PATH and "damaged" in done.stderr, done.stderr
        again = run(tmp_path)
        assert again.stdout.strip() == PATH and again.stderr == ""


def test_a_full_disk_under_the_cache_is_passed_over(tmp_path):
    done = run(tmp_path, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)))
    assert done.returncode == 0 and done.stdout.strip() == PATH and "not kept" in done.stderr, done.stderr
    assert not list(tmp_path.rglob("*.nbc*"))


def test_a_cache_folder_that_vanished_and_cannot_be_made(tmp_path):
    (tmp_path / "cache").mkdir()
    code = f"import slimg.engine.memory, shutil\nshutil.rmtree({str(tmp_path / 'cache')!r})\n"
    code += f"open({str(tmp_path / 'cache')!r}, 'w')\n" + FIT
    done = run(tmp_path / "cache", code)
    assert done.returncode == 0 and done.stdout.strip() == PATH, done.stderr
