"""Figures show the numbers of the model; charts take their colours from the page; matplotlib is imported when needed."""

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot

from explain_graphs import planted
from slimg import Graph, SlimG
from slimg.report import plots
from slimg.report.plots import bar_chart, interval_chart, path_chart, reliability_chart

matplotlib.use("Agg")
BINS = [{"probability": 0.5, "correct": 0.4, "low": 0.2, "high": 0.6, "nodes": 9}]
SHARES = {"a": {"value": 0.5, "interval": (0.4, 0.6)}, "b": {"value": 1.0, "interval": (0.9, 1.0 - 1e-12)}}
PLAIN = {"joint": False, "separate": None, "val_accuracy": 0.5}
PAIRS = [{"l1": l1, "group": group, **PLAIN} for l1 in (0.0, 1e-4) for group in (0.1, 0.01)]
DRAWN = {
    "bars": lambda: bar_chart({"<b>a</b>": 1.0, "b & c": 0.0}, "weights", "norm"),
    "intervals": lambda: interval_chart(SHARES, "parts", "accuracy"),
    "long names": lambda: interval_chart({"orders.customer_id ← " * 8 + k: each for k, each in SHARES.items()}, "paths", ""),
    "long bars": lambda: bar_chart({"orders.customer_id → " * 8 + k: 1.0 for k in "ab"}, "paths of bars", "norm"),
    "reliability": lambda: reliability_chart(BINS, "reliability"),
    "path": lambda: path_chart(PAIRS, PAIRS[0], 'path "of" penalties'),
}


@pytest.fixture(scope="module")
def model():
    return SlimG(grid=[(0, 0.08), (1e-4, 1e-2), (0.0, 0.2, True)]).fit(planted(outside=0.1))


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def test_components_are_bars_of_their_norms(model):
    ax = model.plot.components()
    widths = [bar.get_width() for bar in ax.patches]
    assert widths == pytest.approx(list(model.component_weights().values()))
    assert sum(text.get_text().strip() == "removed" for text in ax.texts) == len(model.zero_components_)


def test_the_path_holds_every_pair_and_the_chosen_one(model):
    ax = model.plot.path()
    drawn = {tuple(point) for line in ax.lines[:-1] for point in line.get_xydata()}
    assert drawn == {(record["group"], record["val_accuracy"]) for record in model.selection_}
    assert ax.lines[-1].get_xdata()[0] == model.group_ and ax.get_xscale() == "log"


def test_features_are_the_summarys(model):
    ax = model.plot.features("oak", "X", k=3)
    terms = model.summary().top_features("X", "oak", 3)
    assert [label.get_text() for label in ax.get_yticklabels()] == [term.name for term in terms]


def test_an_explanation_on_axes_of_ones_own(model):
    _, mine = pyplot.subplots()
    ax = model.plot.explanation("n5", ax=mine)
    assert ax is mine
    widths = [bar.get_width() for bar in ax.patches]
    expected = model.explain("n5").components(against="mean")
    assert np.sum(widths) + expected["rounding"] == pytest.approx(model.explain("n5").score(against="mean"))


def test_dollars_are_not_mathematics(model):
    """Between two dollars, x^ would be a formula with an error, which fails when it is drawn."""
    graph = planted()
    names = ["$x^$", *graph.feature_names[1:]]
    labels = np.where(graph.labels == "ash", "$ash^$", graph.labels)
    named = SlimG(grid=[(1e-4, 1e-3)]).fit(Graph(graph.adjacency, graph.features, labels, feature_names=names))
    ax = named.plot.features("$ash^$", "A_row^2 X", k=len(names))
    ax.figure.canvas.draw()
    assert r"\$x^\$" in [label.get_text() for label in ax.get_yticklabels()]
    assert r"\$ash^\$" in ax.get_title()


def test_matplotlib_is_not_loaded_before_it_is_needed():
    code = "import sys; from slimg import SlimG; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr


def test_the_colours_are_those_of_the_style_sheet():
    sheet = (Path(plots.__file__).parent / "page.css").read_text()
    for colour, variable in plots.VARIABLES.items():
        assert f"{variable}: {colour};" in sheet


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.filterwarnings("error:constrained_layout")
def test_colours_are_the_pages(name):
    svg = DRAWN[name]()
    ElementTree.fromstring(svg)
    assert "var(--ink)" in svg
    assert not re.search(r"#(?!c)[0-9a-f]{6}\b", svg), "no colour of its own"
    assert 'role="img" aria-label="' in svg
    assert svg == DRAWN[name](), "drawn the same again"


def test_text_stays_text_and_is_escaped():
    svg = DRAWN["bars"]()
    assert "&lt;b&gt;a&lt;/b&gt;" in svg
    assert "b &amp; c" in svg
    assert 'aria-label="path &quot;of&quot; penalties"' in DRAWN["path"]()


def test_ids_of_two_charts_differ():
    ids = [set(re.findall(r' id="([^"]+)"', draw())) for draw in DRAWN.values()]
    assert all(not first & second for k, first in enumerate(ids) for second in ids[:k])
    for draw in DRAWN.values():
        svg = draw()
        used = set(re.findall(r"(?:href=\"|url\()#([^\")]+)", svg))
        assert used <= set(re.findall(r' id="([^"]+)"', svg))
