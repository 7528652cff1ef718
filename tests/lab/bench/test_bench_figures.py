"""Figures: files that are images, the same for the same numbers, with the labels they should have."""

from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slimg.lab.bench import figures
from slimg.lab.bench.figures import Measured, _overlap, _place_labels

FAILED = Measured("G²CN", None, None, None)
MODELS = [Measured("SlimG", 0.9, 1.5, 6), Measured("GCN", 0.8, 20.0, 50), Measured("LR", 0.4, 0.1, None), FAILED]
DRAW = {
    "speed": lambda path: figures.accuracy_against_time(path, MODELS, "a graph"),
    "weights": lambda path: figures.component_weights(path, {"useless features": {"U": 0.9, "X": 0.1, "A_row^2 X": 0.0}}),
    "polynomials": figures.polynomials,
    "structures": lambda path: figures.structures(path, 60),
    "growth": lambda path: figures.growth(path, {"edges": (np.array([1e5, 2e5]), np.array([1.0, 2.5]))}),
}


@pytest.mark.parametrize("name", DRAW)
def test_each_figure_is_written_whole_and_again_the_same(tmp_path, name):
    svg, again = (DRAW[name](tmp_path / file) for file in ("a.svg", "b.svg"))
    assert ElementTree.parse(svg).getroot().tag.endswith("svg") and svg.stat().st_size > 5000
    assert svg.read_bytes() == again.read_bytes()
    assert not list(tmp_path.glob("*.part"))


def test_a_figure_may_be_a_png(tmp_path):
    png = DRAW["growth"](tmp_path / "a.png")
    assert png.read_bytes().startswith(b"\x89PNG") and png.stat().st_size > 5000


def test_a_model_that_failed_is_named_and_has_no_point(tmp_path):
    text = figures.accuracy_against_time(tmp_path / "a.svg", MODELS, "a graph").read_text()
    assert "no result: G²CN" in text and "SlimG (6 it.)" in text and "<!-- LR -->" in text


def test_without_any_result_a_figure_is_drawn(tmp_path):
    assert figures.accuracy_against_time(tmp_path / "a.svg", [FAILED], "none").stat().st_size > 1000


@settings(max_examples=30)
@given(st.lists(st.tuples(st.floats(0.2, 0.6), st.floats(0.1, 0.9)), min_size=1, max_size=5))
def test_few_labels_never_cover_each_other(points):
    texts = ["a label"] * len(points)
    boxes = []
    for (x, y, ends), text in zip(_place_labels(np.array(points), texts), texts, strict=True):
        width = 0.0135 * len(text)
        boxes.append((x - width if ends else x, y - 0.018, x if ends else x + width, y + 0.018))
    assert not any(_overlap(a, b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_a_label_at_the_edge_turns_inwards():
    (left, _, ends_left), (right, _, ends_right) = _place_labels(np.array([(0.02, 0.5), (0.97, 0.5)]), ["a label"] * 2)
    assert (ends_left, ends_right) == (False, True) and left > 0.02 and right < 0.97


@pytest.mark.parametrize("name", ["weights", "growth"])
def test_a_reduced_protocol_is_named_in_the_figure(tmp_path, name):
    draw = {
        "weights": lambda title: figures.component_weights(tmp_path / "a.svg", {"none": {"U": 1.0}}, title),
        "growth": lambda title: figures.growth(tmp_path / "a.svg", {"edges": (np.array([1.0]), np.array([1.0]))}, title),
    }[name]
    assert "QUICK" in draw("QUICK, a reduced protocol").read_text() and "QUICK" not in draw("").read_text()
