"""What type checkers tell a user: the mistakes in a short script, and the share of the public surface that has types."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src"
SCRIPT = """\
import numpy as np

from slimg import Graph, SlimG

edges = np.array([[0, 1], [1, 2], [2, 3]])
graph = Graph.from_edges(edges, labels=["a", "a", "b", None])
model = SlimG(random_stat=0)
model = SlimG(random_state="zero")
model.fit(5)
model.fit(graph).predcit()
"""
MISTAKES = {7, 8, 9, 10}
"""Lines of a misspelt keyword, a wrong type, something that is no graph, and a misspelt method."""
LEAST_TYPED = 0.98


@pytest.fixture
def script(tmp_path) -> Path:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(SOURCE)]}))
    return path


def run(*words: str, folder: Path) -> str:
    environment = os.environ | {"MYPYPATH": str(SOURCE), "PYTHONPATH": str(SOURCE)}
    return subprocess.run([sys.executable, "-m", *words], cwd=folder, env=environment, capture_output=True, text=True).stdout


def pyright(*words: str, folder: Path) -> str:
    pytest.importorskip("pyright", reason="PYRIGHT IS NOT INSTALLED: pip install '.[lint]'")
    answer = run("pyright", *words, folder=folder)
    if not answer:
        pytest.skip("PYRIGHT DOES NOT START (it needs node, or a network to fetch it)")
    return answer


def test_mypy_strict_finds_the_mistakes_in_a_script(script):
    pytest.importorskip("mypy", reason="MYPY IS NOT INSTALLED: pip install '.[lint]'")
    options = ["--strict", "--ignore-missing-imports", "--follow-imports=silent", f"--cache-dir={script.parent / 'cache'}"]
    answer = run("mypy", *options, "script.py", folder=script.parent)
    assert {int(line) for line in re.findall(r"^script\.py:(\d+): error", answer, re.M)} == MISTAKES, answer


def test_pyright_finds_the_mistakes_in_a_script(script):
    answer = json.loads(pyright("--outputjson", "script.py", folder=script.parent))
    found = {each["range"]["start"]["line"] + 1 for each in answer["generalDiagnostics"] if each["severity"] == "error"}
    assert found == MISTAKES, answer["generalDiagnostics"]


def test_the_public_surface_has_types(tmp_path):
    answer = json.loads(pyright("--verifytypes", "slimg", "--ignoreexternal", "--outputjson", folder=tmp_path))
    score = answer["typeCompleteness"]["completenessScore"]
    assert score >= LEAST_TYPED, f"{score:.1%} of the public names have known types"
