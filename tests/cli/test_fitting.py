"""A command's fit is the model's own, whatever is loaded beside it."""

import subprocess
import sys

import numpy as np
import pytest

from slimg import Graph, SlimG
from slimg.cli.console import Progress
from slimg.cli.fitting import components_of, fitted
from slimg.errors import InputError


@pytest.fixture
def graph():
    rng = np.random.default_rng(0)
    codes = np.arange(120) % 3
    ends = rng.integers(0, 120, (2, 500))
    features = rng.random((120, 8)) + np.eye(3, 8)[codes]
    labels = np.where(rng.random(120) < 0.5, codes.astype(object), None)
    return Graph.from_edges({"source": ends[0], "target": ends[1]}, np.arange(120), label=labels, features=features)


def test_a_commands_fit_is_the_models_own(graph):
    progress = Progress(quiet=True)
    found, own = fitted(graph, 3, progress), SlimG(random_state=3).fit(graph)
    np.testing.assert_array_equal(found.decision_function(), own.decision_function())
    assert found.get_params() == own.get_params() and found.chosen_["val_loss"] == own.chosen_["val_loss"]
    assert list(progress.seconds) == ["components", "learning"]


def test_components_are_those_of_the_model(graph):
    parts, own = components_of(graph, 0, Progress(quiet=True)), SlimG().propagate(graph)
    for name in own.names:
        np.testing.assert_array_equal(parts.blocks[name], own.blocks[name])


def test_labels_that_do_not_suffice_are_told_before_anything_is_computed(graph, monkeypatch):
    monkeypatch.setattr("slimg.components.components.compute_components", None)
    with pytest.raises(InputError, match="no labels"):
        fitted(graph.mask_labels([]), 0, Progress(quiet=True))


def test_components_need_none_of_what_is_loaded_beside_them():
    code = "import sys, slimg.cli.fit, slimg.components.components; print('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


def test_reading_needs_none_of_it_either(folder):
    code = (
        "import sys; from slimg.io.inputs import Options, read_inputs; from slimg.io.source import Source;"
        " read_inputs(Options(edges=Source.parse('follows.csv'), nodes=Source.parse('users.csv'), label='team', id='user'));"
        " print('sklearn' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
