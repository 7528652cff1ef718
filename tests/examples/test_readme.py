"""README tells the truth: its code and command run, its numbers are those of the records, its version is recorded."""

import json
import re
import shlex
from pathlib import Path

import pandas as pd

from slimg import __version__, cli

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_is_short():
    assert len(README.splitlines()) <= 90


def test_the_example_has_six_lines_and_runs(monkeypatch, capsys):
    code = re.search(r"```python\n(.*?)```", README, re.S)[1]
    assert len([line for line in code.splitlines() if line.strip()]) == 6
    monkeypatch.chdir(ROOT)
    exec(compile(code, "README.md", "exec"), {})
    accuracy, components = capsys.readouterr().out.split(" ", 1)
    assert float(accuracy) > 0.7, "the most frequent section alone would give 0.44"
    assert all(name in components for name in ("'U'", "'X'", "A_row", "Depends"))


def test_the_command_runs(tmp_path, monkeypatch):
    line = re.search(r"^    (slimg fit .*)$", README, re.MULTILINE)[1]
    users = [f"user{k}" for k in range(40)]
    teams = ["red" if k % 2 else "blue" for k in range(40)]
    ends = [(k, (k + step) % 40) for k in range(40) for step in (2, 4)]
    monkeypatch.chdir(tmp_path)
    known = {"user": users, "age": range(40), "team": [team if k % 3 else None for k, team in enumerate(teams)]}
    pd.DataFrame(known).to_csv("users.csv", index=False)
    for name in ("follows", "pays"):
        pd.DataFrame([(users[a], users[b]) for a, b in ends], columns=["source", "target"]).to_csv(f"{name}.csv", index=False)
        ends = [(b, a + 1 if a < 39 else 0) for a, b in ends]
    assert cli.main(shlex.split(line)[1:]) == 0
    assert (tmp_path / "slimg-out" / "report.html").exists()


def test_numbers_are_those_of_the_records():
    def record(name):
        return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))

    rare, new, cora = record("rare"), record("new_rows")["results"], record("speed")["cora"]
    right = rare["informative"]["right"] + rare["useless"]["right"]
    assert f"{right} of {rare['informative']['of'] + rare['useless']['of']}" in README
    text = " ".join(README.split())
    assert f"in {new['seconds']['new_rows']} s with the classes that a refit of {new['seconds']['refit']:.0f} s gives" in text
    assert new["agreement_with_refit"] == 1 and new["new"] == 100 and new["nodes"] == 1_000_000
    both = record("trees")["interaction"]["mean"]
    assert f"right for {both['boosted trees']:.0%} of the nodes and slimg for {both['SlimG']:.0%}".replace("%", " %") in text
    assert f"takes {cora['seconds']:.1f} s on two cores, 1/{1 / cora['ratio']:.0f} of" in text


def test_changelog_names_this_version():
    assert f"## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
