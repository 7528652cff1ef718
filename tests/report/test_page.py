"""The page in a browser: nothing is fetched, nothing breaks out, everything can be done by keyboard."""

import re

import numpy as np
import pytest
from hostile import HOSTILE, SCRIPT

from slimg.report.page import as_json, render

FOCUSED = "document.activeElement"


@pytest.fixture
def page(browser, fitted):
    return browser.open(fitted / "report.html")


def heading(browser):
    return browser.run("document.querySelector('#detail h3').textContent")


def test_it_opens_offline_without_a_word_on_the_console(page):
    assert page.console == []
    assert [url.split(":")[0] for url in page.requests] == ["file"]
    assert page.run("document.title") == "Predicting team – slimg"
    assert page.run("[...document.querySelectorAll('h2')].map(h => h.textContent)") == [
        "Summary", "What the graph tells", "How good it is", "What it used", "Nodes", "What was read and decided",
    ]  # fmt: skip


def test_values_from_files_stay_text(page):
    assert page.run("document.images.length") == 0
    assert page.run("document.scripts.length") == 2
    assert page.run("document.querySelectorAll('section b, section i').length") == 0
    assert page.run("document.body.innerText.includes('<b>blue</b>')")
    assert page.run("document.body.innerText.includes('<i>colour</i>: x')")
    assert page.console == []


def test_search_and_choice_by_keyboard_alone(page):
    for _ in range(40):
        page.press("Tab")
        if page.run(f"{FOCUSED}.id") == "search":
            break
    assert page.run(f"{FOCUSED}.id") == "search"
    page.type("node-1")
    assert page.run("document.getElementById('count').textContent") == "1 to 10 of 10 nodes"
    page.press("ArrowDown")
    page.press("ArrowDown")
    assert page.run(f"{FOCUSED}.textContent") == "node-11"
    page.press("Enter")
    assert heading(page).startswith("node-11: ")
    assert page.run(f"{FOCUSED}.textContent").startswith("node-11: "), "a screen reader is led to the explanation"
    page.press("Escape")
    assert page.run(f"{FOCUSED}.textContent") == "node-11"
    page.press("ArrowUp")
    page.press("ArrowUp")
    assert page.run(f"{FOCUSED}.id") == "search"
    page.press("Enter")
    assert heading(page).startswith("node-10: "), "Enter in the search takes the first"


@pytest.mark.parametrize("name", [HOSTILE, SCRIPT, "line\u2028separator"])
def test_hostile_ids_can_be_searched_and_do_nothing(page, name):
    page.run("document.getElementById('search').focus()")
    page.type(name[:8])
    page.press("Enter")
    assert heading(page).startswith(f"{name}: ")
    assert page.run("document.images.length") == 0
    assert page.console == []


def test_an_explanation_adds_up_and_its_neighbours_are_drawn(page, record):
    page.run("document.getElementById('search').focus()")
    page.type("node-04")
    page.press("Enter")
    told = next(each for each in record["explained"].values() if each["id"] == "node-04")
    parts = sum(part.get("value", 0) for part in told["parts"])
    assert np.isclose(told["bias"] + parts, told["score"], atol=1e-3)
    for part in told["parts"]:
        if part.get("features"):
            total = sum(value for _, value in part["features"]) + part["other_features"][1]
            assert np.isclose(total, part["value"], atol=1e-3)
    assert page.run("document.querySelectorAll('#detail circle').length") >= len(told["neighbours"])
    names = page.run("document.querySelector('#detail .around svg').getAttribute('aria-label')")
    assert all(name in names for name, _ in told["neighbours"])


def test_a_node_without_explanation_names_the_command(browser, record, tmp_path):
    (tmp_path / "bare.html").write_text(render({**record, "explained": {}}), encoding="utf-8")
    page = browser.open(tmp_path / "bare.html")
    page.run("document.getElementById('search').focus()")
    page.type("it's")
    page.press("Enter")
    command = page.run("document.querySelector('#detail code').textContent")
    folder = record["read"]["folder"]
    assert command == f"""slimg explain --model {folder}/model.slimg -- 'it'\\''s "quoted" & more'"""
    assert page.console == []


def test_filters(page, record):
    page.run(
        "const state = document.getElementById('state');state.value = 'known'; state.dispatchEvent(new Event('change'))"
    )
    known = sum(code >= 0 for code in record["nodes"]["label"])
    assert page.run("document.getElementById('count').textContent").endswith(f"of {known} nodes")
    page.run("document.getElementById('next').click()")
    assert page.run("document.getElementById('count').textContent").startswith("13 to ")


@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_is_wider_than_the_window(browser, fitted, width, dark):
    browser.open(fitted / "report.html", width=width, height=800, dark=dark)
    assert browser.run("document.documentElement.scrollWidth") <= width
    ink, paper = browser.run("[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]")
    assert contrast(ink, paper) > 10
    muted = browser.run("getComputedStyle(document.querySelector('.muted')).color")
    assert contrast(muted, paper) > 4.5


WIDE = """[...document.querySelectorAll('.scroll')].map(box => ({
    name: box.getAttribute('aria-label'), wide: box.scrollWidth > box.clientWidth,
    told: getComputedStyle(box, '::before').content.includes('Scroll sideways'), shown: box.clientWidth <= innerWidth,
}))"""


def test_on_a_phone_tables_fit_or_say_that_they_scroll(browser, record, tmp_path):
    """Twelve classes with long names: the confusion is wider than a phone, and no other table is."""
    classes = [f"class number {k}" for k in range(12)]
    row = {**record["held_out"]["classes"][0], "nodes": 1234}
    many = {**record["held_out"], "classes": [row] * 12, "confusion": [[100] * 12] * 12}
    nodes = {**record["nodes"], "prediction": [k % 12 for k in range(len(record["nodes"]["ids"]))]}
    text = render({**record, "classes": classes, "held_out": many, "nodes": nodes, "explained": {}})
    (tmp_path / "many.html").write_text(text, encoding="utf-8")
    page = browser.open(tmp_path / "many.html", width=390, height=800)
    assert page.run("document.documentElement.scrollWidth <= innerWidth")
    boxes = page.run(WIDE)
    assert len(boxes) > 4 and all(box["shown"] and box["wide"] == box["told"] for box in boxes)
    assert [box["name"].split(":")[0] for box in boxes if box["wide"]] == ["Confusion"]
    page.run("document.querySelector('.scroll.more').scrollLeft = 300")
    left = page.run("document.querySelector('.scroll.more tbody th').getBoundingClientRect().left")
    assert left >= 0, "names stay in sight"


def contrast(first, second):
    """The contrast ratio of two colours, as WCAG defines it."""

    def luminance(colour):
        parts = np.array([int(part) for part in re.findall(r"\d+", colour)[:3]]) / 255
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_everything_has_a_name_for_a_screen_reader(page):
    assert page.run("document.querySelectorAll('table').length === document.querySelectorAll('table > caption').length")
    assert page.run("[...document.querySelectorAll('svg[role=img]')].every(s => s.getAttribute('aria-label'))")
    assert page.run(
        "[...document.querySelectorAll('input, select')].every(e => document.querySelector(`label[for=${e.id}]`))"
    )
    assert page.run("[...document.querySelectorAll('th')].every(t => t.scope)")
    ids = page.run("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    levels = page.run("[...document.querySelectorAll('h1, h2, h3')].map(h => Number(h.tagName[1]))")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert max(np.diff(levels)) <= 1


def test_json_inside_a_script_element():
    text = as_json({"a": f"{SCRIPT}&\u2028\u2029"})
    assert not set("<>&\u2028\u2029") & set(text)
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_json(float("nan"))


def test_the_page_of_a_record_is_always_the_same(record):
    assert render(record) == render(record)


def test_a_hundred_thousand_nodes_fit_in_six_megabytes(record):
    n = 100_000
    rng = np.random.default_rng(0)
    nodes = {
        "total": n,
        "ids": [f"{int(rng.integers(2**62)):032x}-{k:03}" for k in range(n)],
        "label": [-1] * n,
        "prediction": rng.integers(0, 10, n).tolist(),
        "probability": rng.integers(0, 1000, n).tolist(),
    }
    assert len(render({**record, "nodes": nodes}).encode()) < 6_000_000
