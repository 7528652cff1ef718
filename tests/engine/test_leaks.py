"""Nothing is left behind by a fit; a kernel cache that fails is passed over."""

import hashlib
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
import numpy as np
from slimg.engine.memory import MemoryEngine
from slimg.engine import Scaling
from slimg.graph.adjacency import Adjacency
path, _ = Adjacency.from_edges([0, 1], [1, 2], 3)
engine = MemoryEngine(threads=1)
print(engine.products(path, engine.row_matrix(np.eye(3)), [Scaling()])[0].tolist())
"""
THREE = FIT + """
for times in (2, 4):
    wide = np.tile(np.eye(3), times)
    found = engine.products(path, engine.row_matrix(wide), [Scaling()])[0]
    assert (found == np.tile([[0, 1, 0], [1, 0, 1], [0, 1, 0]], times)).all()
"""
"""The same with kernels for 3, 6 and 12 columns."""
PATH = "[[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]"


def held():
    return threading.active_count(), len(os.listdir("/proc/self/fd")), len(os.listdir(tempfile.gettempdir()))


def test_ten_fits_leave_no_threads_files_or_folders(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    graph = planted()
    models = [SlimG(grid=[(1e-4, 1e-3)], engine=MemoryEngine(threads=2)).fit(graph)]
    before = held()
    models += [SlimG(grid=[(1e-4, 1e-3)], engine=MemoryEngine(threads=2)).fit(graph) for _ in range(9)]
    assert held() == before
    np.testing.assert_array_equal(models[0].decision_function(), models[-1].decision_function())


def run(folder, code=FIT, **options):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300, **options
    )


def test_a_damaged_cache_is_passed_over(tmp_path):
    """One file cut, one with a byte changed, one of something else: each is compiled again, and then whole."""
    assert run(tmp_path, THREE).stdout.strip() == PATH
    files = sorted(tmp_path.rglob("*.nbc"))
    ways = (lambda b: b[: len(b) // 2], lambda b: b[:90] + bytes([b[90] ^ 1]) + b[91:], lambda b: b"not a kernel")
    damaged = {}
    for path, damage in zip(files, ways, strict=True):
        damaged[path] = damage(path.read_bytes())
        path.write_bytes(damaged[path])
    done = run(tmp_path, THREE)
    assert done.returncode == 0 and done.stdout.strip() == PATH and "damaged" in done.stderr, done.stderr
    for path, before in damaged.items():
        now = path.read_bytes()
        assert now != before and hashlib.sha256(now[:-32]).digest() == now[-32:]
    again = run(tmp_path, THREE)
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
