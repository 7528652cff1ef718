"""Small folders as users have them: who follows whom, and users, some of whom have a team."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from slimg import cli

TEAMS = np.array(["blue", "green", "red"])
WORDS = (["cat", "dog", "bird"], ["car", "bus", "train"], ["tea", "milk", "juice"])
FIT = ("fit", "--edges", "follows.csv", "--nodes", "users.csv", "--label", "team", "--id", "user")


@dataclass
class Folder:
    path: Path
    users: pd.DataFrame
    follows: pd.DataFrame
    truth: np.ndarray


def make_people(n=120, seed=0):
    """Friends share teams in two of three cases, and so do words; ages differ a little."""
    rng = np.random.default_rng(seed)
    team = np.arange(n) % 3
    known = rng.random(n) < 0.4
    bios = [" ".join(rng.choice(WORDS[t] if rng.random() < 0.7 else [*WORDS[0], *WORDS[1], *WORDS[2]], 4)) for t in team]
    users = pd.DataFrame(
        {
            "user": [f"{i:04}" for i in range(n)],
            "team": np.where(known, TEAMS[team], ""),
            "age": np.round(30 + 4 * team + 8 * rng.standard_normal(n)).astype(int),
            "city": rng.choice(["rome", "oslo"], n),
            "bio": bios,
        }
    )
    first = rng.integers(0, n, 5 * n)
    alike = np.array([rng.choice(np.flatnonzero(team == team[i])) for i in first])
    second = np.where(rng.random(5 * n) < 0.6, alike, rng.integers(0, n, 5 * n))
    follows = pd.DataFrame({"who": users["user"].to_numpy()[first], "whom": users["user"].to_numpy()[second]})
    return users, follows, TEAMS[team]


@pytest.fixture(autouse=True)
def _quick_page(quick_page):
    """In all tests here; `fitted_once` has the whole page."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder holds users.csv and follows.csv."""
    users, follows, truth = make_people()
    users.to_csv(tmp_path / "users.csv", index=False)
    follows.to_csv(tmp_path / "follows.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return Folder(tmp_path, users, follows, truth)


@pytest.fixture(scope="session")
def fitted_once(tmp_path_factory):
    """The outputs of one `slimg fit` of that folder."""
    path = tmp_path_factory.mktemp("fitted")
    users, follows, _ = make_people()
    users.to_csv(path / "users.csv", index=False)
    follows.to_csv(path / "follows.csv", index=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        assert cli.main([*FIT, "--json"]) == 0
    return path / "slimg-out"


@pytest.fixture
def fitted(folder, fitted_once):
    """The current folder after `slimg fit`."""
    shutil.copytree(fitted_once, folder.path / "slimg-out")
    return folder


@pytest.fixture
def slimg(capsys):
    """Call the command line in this process: exit code, output, errors."""

    def call(*arguments):
        capsys.readouterr()
        code = cli.main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call
