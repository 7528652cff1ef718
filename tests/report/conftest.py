"""One page of a small graph whose ids, labels and columns try to break out of it, and a browser to look at it."""

import json

import numpy as np
import pandas as pd
import pytest
from browser import Browser
from hostile import HOSTILE, SCRIPT

from slimg import cli


@pytest.fixture(scope="session")
def fitted(tmp_path_factory):
    """The folder of `slimg fit` on 60 nodes of two classes; node 0 is hostile, and so is a class and a feature."""
    folder = tmp_path_factory.mktemp("page")
    rng = np.random.default_rng(0)
    team = np.arange(60) % 2
    ids = np.array(
        [HOSTILE, SCRIPT, "line\u2028separator", 'it\'s "quoted" & more', *(f"node-{k:02}" for k in range(4, 60))]
    )
    known = rng.random(60) < 0.6
    names = np.array(["<b>blue</b>", "red"])
    colour = np.where(rng.random(60) < 0.95, team, 1 - team)
    nodes = pd.DataFrame(
        {"id": ids, "team": np.where(known, names[team], ""), "<i>colour</i>": np.array(["x", "y"])[colour]}
    )
    first = rng.integers(0, 60, 200)
    second = np.where(rng.random(200) < 0.6, (first + 2 * rng.integers(1, 29, 200)) % 60, rng.integers(0, 60, 200))
    nodes.to_csv(folder / "nodes.csv", index=False)
    pd.DataFrame({"source": ids[first], "target": ids[second]}).to_csv(folder / "edges.csv", index=False)
    words = [
        "fit",
        "--edges",
        folder / "edges.csv",
        "--nodes",
        folder / "nodes.csv",
        "--label",
        "team",
        "--out",
        folder / "out",
    ]
    assert cli.main([*map(str, words), "--explain", HOSTILE, "node-04", "--json"]) == 0
    return folder / "out"


@pytest.fixture(scope="session")
def record(fitted):
    return json.loads((fitted / "record.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def browser():
    """One headless Chromium for all tests."""
    opened = Browser()
    yield opened
    opened.close()
