"""One page of a small graph whose ids, labels and columns try to break out of it, and a browser to look at it."""

import functools
import json

import numpy as np
import pandas as pd
import pytest
from browser import Browser
from contradictions import random_graph
from hostile import HOSTILE, SCRIPT

from slimg import SlimG, cli
from slimg.report.record import fit_record


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
def fitted_kind():
    """``fitted_kind(kind)``: a random graph of a kind, a fit of it, and its record; every other name of a node is hostile."""

    @functools.cache
    def fitted(kind):
        graph = random_graph(kind, 100)
        names = [f"Person {row} {SCRIPT if row % 2 else ''}" for row in range(graph.n)]
        return graph, (model := SlimG(random_state=100).fit(graph)), fit_record(model, graph, names=names)

    return fitted


@pytest.fixture(scope="session")
def typed(fitted_kind):
    return fitted_kind("typed")


@pytest.fixture(scope="session")
def browser():
    """One headless Chromium for all tests."""
    opened = Browser()
    yield opened
    opened.close()
