"""Charts take their colours from the page, keep text as text, and do not disturb one another."""

import re
from xml.etree import ElementTree

import pytest

from slimg.report import charts

BINS = [{"probability": 0.5, "correct": 0.4, "low": 0.2, "high": 0.6, "nodes": 9}]
PLAIN = {"joint": False, "apart": None, "val_accuracy": 0.5}
PAIRS = [{"l1": l1, "group": group, **PLAIN} for l1 in (0.0, 1e-4) for group in (0.1, 0.01)]
DRAWN = {
    "bars": lambda: charts.bars({"<b>a</b>": 1.0, "b & c": 0.0}, "weights", "norm"),
    "intervals": lambda: charts.intervals({"a": (0.5, 0.4, 0.6), "b": (1.0, 0.9, 1.0 - 1e-12)}, "parts", "accuracy"),
    "reliability": lambda: charts.reliability(BINS, "reliability"),
    "path": lambda: charts.path(PAIRS, PAIRS[0], 'path "of" penalties'),
}


@pytest.mark.parametrize("name", DRAWN)
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
