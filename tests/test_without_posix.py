"""Where the system has no POSIX calls (Windows), everything but files beyond memory works, and that says so."""

import subprocess
import sys

FORBID = """
import os, sys
import numpy, numba, sklearn, pandas, pyarrow
for name in ("fcntl", "resource", "termios", "pwd", "grp"):
    sys.modules[name] = None
for name in ("preadv", "pwrite", "sched_getaffinity", "killpg", "sysconf"):
    delattr(os, name)
import pathlib
import slimg.system
slimg.system.PROC = pathlib.Path("nowhere")
from slimg.cli import main
"""


def python(code, *arguments, cwd=None):
    command = [sys.executable, "-c", FORBID + code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=cwd)


def test_from_files_to_predictions(tmp_path):
    edges = [(a, b) for a in range(40) for b in range(a) if (a < 20) == (b < 20) and (a + b) % 3]
    (tmp_path / "edges.csv").write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in edges))
    rows = "".join(f"{i},{'red' if i < 20 else 'blue'},{i % 7}\n" for i in range(40))
    (tmp_path / "nodes.csv").write_text("id,team,size\n" + rows)
    words = ["fit", "--edges", "edges.csv", "--nodes", "nodes.csv", "--label", "team", "--id", "id", "--out", "out"]
    run = python("sys.exit(main(sys.argv[1:]))", *words, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "out").is_dir()


def test_engines():
    """In memory, also when the engine is chosen; that of files says that it cannot work here."""
    run = python("""
from slimg import SlimG
from slimg.engine.mapped import MappedEngine
from slimg.errors import InputError
from slimg.lab import sanity
graph = sanity.make("semantic", "homophily", n=200, d=10, seed=0, density=0.1).graph
for engine in ("auto", "memory"):
    print(len(SlimG(engine=engine).fit(graph, train=range(0, 200, 3)).predict()))
try:
    MappedEngine("1GB")
except InputError as error:
    print(error)
""")
    assert run.stdout.startswith("200\n200\n") and "use engine='memory'" in run.stdout, run.stderr
