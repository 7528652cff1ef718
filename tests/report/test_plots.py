"""Figures show the numbers of the model, and matplotlib is loaded when the first is asked for."""

import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot

from explain_graphs import planted
from slimg import Graph, SlimG

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def model():
    return SlimG(grid=[(0, 0.08), (1e-4, 1e-2), (0.0, 0.2, True)]).fit(planted(outside=0.1))


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def test_components_are_bars_of_their_norms(model):
    ax = model.plot.components()
    heights = [bar.get_height() for bar in ax.patches]
    assert heights == pytest.approx(list(model.component_weights().values()))
    assert sum(text.get_text() == "removed" for text in ax.texts) == len(model.zero_components_)


def test_the_path_holds_every_pair_and_the_chosen_one(model):
    ax = model.plot.path()
    drawn = {tuple(point) for line in ax.lines[:-1] for point in line.get_xydata()}
    assert drawn == {(record["group"], record["val_accuracy"]) for record in model.selection_}
    assert ax.lines[-1].get_xdata()[0] == model.group_ and ax.get_xscale() == "log"


def test_features_are_the_summarys(model):
    ax = model.plot.features("oak", "X", k=3)
    terms = model.summary().top_features("X", "oak", 3)
    assert [label.get_text() for label in ax.get_yticklabels()][::-1] == [term.name for term in terms]


def test_an_explanation_on_axes_of_ones_own(model):
    _, mine = pyplot.subplots()
    ax = model.plot.explanation("n5", ax=mine)
    assert ax is mine
    widths = [bar.get_width() for bar in ax.patches]
    expected = model.explain("n5").components(against="mean")
    assert np.sum(widths) + expected["rounding"] == pytest.approx(model.explain("n5").score(against="mean"))


def test_dollars_are_not_mathematics(model):
    graph = planted()
    names = ["$x^", *graph.feature_names[1:]]
    named = Graph(graph.adjacency, graph.features, graph.labels, feature_names=names)
    SlimG(grid=[(1e-4, 1e-3)]).fit(named).plot.features("ash").figure.canvas.draw()


def test_matplotlib_is_not_loaded_before_it_is_needed():
    code = "import sys; from slimg import SlimG; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr
