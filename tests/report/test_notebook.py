"""Notebooks: what a model shows of itself, with everything of the user's escaped."""

from html.parser import HTMLParser

import numpy as np
import pytest

from explain_graphs import planted
from slimg import Graph, SlimG

EVIL = "<img src=x onerror=alert(1)>"


class Balanced(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen, self.words = [], set(), []

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def parsed(html):
    parser = Balanced()
    parser.feed(html)
    assert not parser.open
    return parser


@pytest.fixture(scope="module")
def model():
    base = planted(outside=0.1)
    labels = np.where(base.labels == "ash", EVIL, base.labels)
    graph = Graph.from_arrays(base.adjacency, base.features, labels).with_notes(f"Read from {EVIL}.")
    return SlimG(grid=[(0, 0.08)]).fit(graph)


def test_it_shows_the_components_and_the_counts(model):
    words = " ".join(parsed(model._repr_html_()).words)
    assert "150 nodes" in words and "3 classes" in words and "λ₂ = 0.08" in words
    for name, value in model.component_weights().items():
        assert name in words and ("removed" if value == 0 else f"{value:.2f}") in words


def test_what_users_give_is_escaped(model):
    html = model._repr_html_()
    assert EVIL not in html and "img" not in parsed(html).seen
    assert EVIL in " ".join(parsed(html).words), "shown as text, twice: a class and a note"


def test_before_fit_the_parameters_are_shown():
    html = SlimG(cv=3)._repr_html_()
    assert "cv" in html and "3" in html


def test_notebooks_take_the_same(model):
    bundle = model._repr_mimebundle_()
    assert bundle["text/html"] == model._repr_html_() and bundle["text/plain"].startswith("SlimG(")


def test_a_loaded_model_shows_itself_alike(model, tmp_path):
    assert SlimG.load(model.save(tmp_path / "m.slimg"))._repr_html_() == model._repr_html_()
