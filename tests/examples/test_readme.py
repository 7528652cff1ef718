"""README tells the truth: its example runs, its links exist, its version is recorded."""

import re
from pathlib import Path

import numpy as np
import pytest

from slimg import __version__
from slimg.lab.propagators import registry
from slimg.lab.sanity import make

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_first_example_has_eight_lines_and_runs(monkeypatch, capsys):
    code = re.search(r"```python\n(.*?)```", README, re.S)[1]
    assert len([line for line in code.splitlines() if line.strip()]) == 8
    monkeypatch.chdir(ROOT)
    exec(compile(code, "README.md", "exec"), {})
    accuracy, components = capsys.readouterr().out.split(" ", 1)
    assert float(accuracy) > 0.6, "the most frequent section alone would give 0.44"
    assert all(name in components for name in ("'U'", "'X'", "A_row", "A_sym"))


PAGES = ["README.md", "CONTRIBUTING.md", *(f"examples/{folder}README.md" for folder in ("", "debian/", "cases/"))]


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert target.startswith("https://") or ((ROOT / page).parent / target).exists(), f"{page}: {target}"


def test_changelog_names_this_version():
    assert f"## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_propagator_of_contributing_runs(monkeypatch):
    code = re.search(r"```python\n([^`]*@register.*?)```", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.S)[1]
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._registry()))
    graph = make("semantic", "homophily", n=200, d=8, seed=0, density=0.2).graph
    names = {"graph": graph}
    exec(compile(code, "CONTRIBUTING.md", "exec"), names)
    a, x = graph.adjacency.to_scipy().toarray(), np.asarray(graph.features, float)
    walk = np.eye(graph.n) / 2 + a / (2 * a.sum(axis=1, keepdims=True))
    (columns,) = names["get"]("lazy", K=3)(graph).blocks.values()
    np.testing.assert_allclose(columns, np.linalg.matrix_power(walk, 3) @ (x / x.sum(axis=1, keepdims=True)), atol=1e-6)
