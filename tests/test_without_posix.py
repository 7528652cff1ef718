"""Where the system has no POSIX calls (Windows), everything but files beyond memory works, and that says so."""

import subprocess
import sys

import pytest

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


@pytest.mark.parametrize("engine", ["auto", "memory"])
def test_engines_in_memory(engine):
    run = python(
        """
from slimg import SlimG
from slimg.lab import sanity
graph = sanity.make("semantic", "homophily", n=200, d=10, seed=0, density=0.1).graph
print(len(SlimG(engine=sys.argv[1]).fit(graph, train=range(0, 200, 3)).predict()))
""",
        engine,
    )
    assert run.stdout.strip() == "200", run.stderr


def test_the_engine_of_files_says_that_it_cannot():
    run = python("""
from slimg.engine.mapped import MappedEngine
from slimg.errors import InputError
try:
    MappedEngine("1GB")
except InputError as error:
    print(error)
""")
    assert "use engine='memory'" in run.stdout, run.stderr
