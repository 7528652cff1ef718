"""Notebooks: what a model shows of itself, with everything of the user's escaped."""

from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import slimg
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


def test_a_graph_an_explanation_and_a_diagnosis_show_themselves(model):
    graph = model.graph_
    words = " ".join(parsed(graph._repr_html_()).words)
    assert "150 nodes" in words and EVIL in words and EVIL not in graph._repr_html_()
    explanation = model.explain("n1" if "n1" in graph.ids else graph.ids[1])
    words = " ".join(parsed(explanation._repr_html_()).words)
    for name, value in explanation.components(against="mean").items():
        assert name == "rounding" or (name in words and f"{round(value, 2):g}" in words)
    found = slimg.diagnose(graph)
    words = " ".join(parsed(found._repr_html_()).words)
    assert all(sentence in words for sentence in (*found.verdict, *found.advice))
    assert EVIL not in explanation._repr_html_() and EVIL not in found._repr_html_()


def test_relations_of_a_graph_are_named():
    graph = Graph.from_edges({"follows": [(0, 1)], "<b>pays</b>": [(1, 2), (0, 2)]}, directed=True)
    words = " ".join(parsed(graph._repr_html_()).words)
    assert "follows (1 edge)" in words and "<b>pays</b> (2 edges)" in words and "<b>" not in graph._repr_html_()


def test_the_page_is_embedded_or_written(model, tmp_path):
    shown = model.report(title="Trees & more")
    assert shown.startswith("<!DOCTYPE html>") and "Trees &amp; more" in shown and len(repr(shown)) < 100
    assert parsed(shown._repr_html_()).seen == {"iframe"} and EVIL not in shown._repr_html_()
    path = model.report(tmp_path / "page.html", title="Trees & more")
    assert path.read_text(encoding="utf-8")[:200] == shown[:200]
    with pytest.raises(NotFittedError, match="fitted here"):
        SlimG.load(model.save(tmp_path / "m.slimg")).report()


def test_help_lists_calls_that_work(model, tmp_path):
    """Each call of the list runs, for a model fitted here and for one from a file; before a fit there is one."""
    assert repr(SlimG().help()).split()[0] == "model.fit(graph)"
    bare = SlimG.load(model.save(tmp_path / "bare.slimg", keep_graph=False))
    seen = {}
    for name, each in {"here": model, "file": SlimG.load(model.save(tmp_path / "m.slimg")), "bare": bare}.items():
        calls = [line.split("   ")[0] for line in each.help().splitlines()]
        seen[name] = len(calls)
        for call in calls:
            if not call.startswith(("model.report", "model.save", "model.fold_in", "model.plot")):
                eval(call, {"model": each, "slimg": slimg})
    assert seen["here"] > seen["file"] > seen["bare"] > 4
