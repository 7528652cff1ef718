"""README tells the truth: its example runs, its links exist, its version is recorded."""

import re
from pathlib import Path

import pytest

from slimg import __version__

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


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "examples/README.md", "examples/debian/README.md"])
def test_links_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert target.startswith("https://") or ((ROOT / page).parent / target).exists(), f"{page}: {target}"


def test_changelog_names_this_version():
    assert f"## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
