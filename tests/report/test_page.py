"""The page shows what the record holds, escaped; in a browser nothing is fetched and everything works by keyboard."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
from hostile import HOSTILE, SCRIPT
from markupsafe import escape

from slimg.errors import InputError
from slimg.learn.path import describe
from slimg.report.page import COLOURS, MOST_CLASSES, as_json, by_column, colours, formula, render

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
        "Summary", "Does the graph help?", "Accuracy", "What counts", "Map of the nodes", "Nodes", "Files and how they were read",
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
            total = sum(value for _, value, _ in part["features"])
            assert np.isclose(total, part["value"], atol=1e-3)
    assert page.run("document.querySelectorAll('#detail circle').length") >= len(told["neighbours"])
    names = page.run("document.querySelector('#detail .around svg').getAttribute('aria-label')")
    assert all(name in names for name, *_ in told["neighbours"])


def test_a_path_that_leads_nowhere_is_told(browser, record, tmp_path):
    row, told = next((row, each) for row, each in record["explained"].items() if each["id"] == "node-04")
    parts = [{**part, "absent": "there are none", "nodes": []} for part in told["parts"]]
    path = tmp_path / "page.html"
    path.write_text(render({**record, "explained": {row: {**told, "parts": parts}}}), encoding="utf-8")
    used = [part["title"] for part in parts if not part["removed"]]
    assert all(f"<strong>{title}: there are none " in path.read_text(encoding="utf-8") for title in used)
    browser.open(path)
    browser.run("document.getElementById('search').focus()")
    browser.type("node-04")
    browser.press("Enter")
    shown = browser.run("[...document.querySelectorAll('#detail tr.part th')].map(e => e.textContent)")
    assert shown[0].startswith("bias") and sorted(shown[1:]) == sorted(f"{title}: there are none" for title in used)


def test_without_scripts_explanations_can_be_read(fitted, record):
    """Every explained node with its parts and neighbours, in the page as it was written; with scripts they are hidden."""
    text = (fitted / "report.html").read_text(encoding="utf-8")
    static = text[text.index('id="explanations"') : text.index('id="browser"')]
    assert static.count("<details>") == len(record["explained"]) > 5
    for told in record["explained"].values():
        assert str(escape(told["id"])) in static and f"{told['score']:+.2f}".replace("-", "−") in static
        assert all(str(escape(name)) in static for part in told["parts"] for name, *_ in part["features"])


def test_with_scripts_they_are_hidden(page):
    assert page.run("document.getElementById('explanations').hidden && !document.getElementById('browser').hidden")


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


def test_long_names_of_classes_are_not_wider_than_a_phone(browser, record, tmp_path):
    """They stand in lists to choose from, whose width is that of the longest."""
    classes = [f"{name} with a name that goes on and on, longer than any line of a phone" for name in record["classes"]]
    (tmp_path / "long.html").write_text(render({**record, "classes": classes}), encoding="utf-8")
    browser.open(tmp_path / "long.html", width=390, height=800)
    assert browser.run("document.documentElement.scrollWidth") <= 390


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


def test_the_record_alone_gives_the_page_in_any_process(fitted):
    """Another process with another order of sets and dictionaries writes the bytes that `slimg fit` wrote."""
    code = "import json, sys; from slimg.report.page import render; sys.stdout.write(render(json.load(open(sys.argv[1]))))"
    words = [sys.executable, "-c", code, str(fitted / "record.json")]
    settings = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(words, capture_output=True, check=True, env=settings)
    assert done.stdout == (fitted / "report.html").read_bytes()


@pytest.mark.parametrize("broken", [{}, [], {"read": {}}, {"model": None}])
def test_what_is_no_record_is_refused(broken):
    with pytest.raises(InputError, match="record"):
        render(broken)


def test_a_record_without_a_part_of_a_section_is_refused(record):
    held = {name: value for name, value in record["held_out"].items() if name != "majority"}
    with pytest.raises(InputError, match="record"):
        render({**record, "held_out": held})


def test_a_hundred_thousand_nodes_fit_in_six_megabytes(record):
    n = 100_000
    rng = np.random.default_rng(0)
    nodes = {
        "total": n,
        "ids": [f"{int(rng.integers(2**62)):032x}-{k:03}" for k in range(n)],
        "names": None,
        "label": [-1] * n,
        "prediction": rng.integers(0, len(record["classes"]), n).tolist(),
        "probability": rng.integers(0, 1000, n).tolist(),
    }
    assert len(render({**record, "nodes": nodes}).encode()) < 6_000_000


class Tables(HTMLParser):
    """Cells of every table, row by row, by its caption."""

    def __init__(self, html):
        super().__init__()
        self.found, self.caption, self.row, self.text = {}, None, None, None
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        if tag in ("td", "th", "caption"):
            self.text = ""
        if tag == "tr":
            self.row = []

    def handle_data(self, data):
        if self.text is not None:
            self.text += data

    def handle_endtag(self, tag):
        if tag == "caption":
            self.caption = self.text
            self.found[self.caption] = []
        elif tag in ("td", "th"):
            self.row.append(self.text)
        elif tag == "tr":
            self.found[self.caption].append(self.row)
        self.text = None if tag in ("td", "th", "caption") else self.text


def section(name, record):
    """The HTML of one section of the page."""
    return re.search(f'<section id="{name}".*?</section>', render(record), re.S)[0]


def test_every_class_and_every_confusion_is_there(record):
    html = section("accuracy", record)
    held, tables = record["held_out"], Tables(html).found
    by_class = tables["Each class, on held-out labels"]
    assert [row[0] for row in by_class[1:]] == record["classes"]
    assert [int(row[1]) for row in by_class[1:]] == [each["nodes"] for each in held["classes"]]
    confusion = tables["Confusion: rows are true classes, columns predictions, on held-out labels"]
    assert [[int(cell) for cell in row[1:]] for row in confusion[1:]] == held["confusion"]
    assert f"{held['accuracy']:.1%} of the predictions are correct" in html


def test_many_classes_show_the_most_frequent_confusions(record):
    c = MOST_CLASSES + 1
    counts = [[0] * c for _ in range(c)]
    counts[3][5], counts[1][2], counts[4][4] = 7, 9, 50
    names = [f"k{code}" for code in range(c)]
    row = record["held_out"]["classes"][0]
    held = {**record["held_out"], "confusion": counts, "classes": [row] * c}
    tables = Tables(section("accuracy", {**record, "held_out": held, "classes": names})).found
    assert tables["The most frequent confusions"][1:] == [["k1", "k2", "9"], ["k3", "k5", "7"]]


def test_the_diagnosis_is_told_with_its_numbers(record):
    html, found = section("diagnosis", record), record["diagnosis"]["evidence"]
    tables = Tables(html).found
    accuracies = next(rows for caption, rows in tables.items() if caption.startswith("Accuracy on"))
    assert accuracies[1][:2] == ["all components, as fitted", f"{found['all']['value']:.1%}"]
    assert len(accuracies) == 2 + len(found["alone"]) + len(found["without"])
    curve = tables["Accuracy with fewer labels, with standard errors"]
    assert [int(row[0]) for row in curve[1:]] == [point["labels"] for point in found["curve"]["points"]]
    assert 'id="diagnosis"' not in render({**record, "diagnosis": None})


def test_one_point_is_no_curve(record):
    evidence = record["diagnosis"]["evidence"]
    short = {**evidence, "curve": {"points": evidence["curve"]["points"][-1:], "doubling": None}}
    html = section("diagnosis", {**record, "diagnosis": {**record["diagnosis"], "evidence": short}})
    assert "fewer labels" not in html and "Accuracy on" in html


def test_doubts_name_node_label_and_what_it_looks_like(record):
    doubt = {"node": "<x>", "label": "a", "looks_like": "b", "confidence": 0.9}
    evidence = {**record["diagnosis"]["evidence"], "suspicious": [doubt]}
    html = section("diagnosis", {**record, "diagnosis": {**record["diagnosis"], "evidence": evidence}})
    assert Tables(html).found["Labels that look wrong"][1] == ["<x>", "a", "b", "0.90"]
    assert "<x>" not in html


def test_weights_features_and_the_chosen_pair(record):
    html, chosen = section("model", record), record["model"]["chosen"]
    for part in record["model"]["overview"]["components"]:
        assert part["title"] in html
    assert f"{describe(chosen, formula)}, with a validation accuracy of {chosen['val_accuracy']:.1%};" in html
    labels = {row[0] for rows in Tables(html).found.values() for row in rows[1:]}
    assert labels == set(record["classes"])


def test_what_was_read(record):
    html = section("inputs", record)
    assert record["read"]["notes"], "something was decided"
    assert html.count("<li>") == len(record["read"]["notes"])
    assert [row[0] for row in Tables(html).found["Files"]] == list(record["read"]["files"])
    bare = {name: value for name, value in record["read"].items() if name not in ("files", "notes", "command")}
    assert not Tables(section("inputs", {**record, "read": bare})).found


@pytest.mark.parametrize(
    ("name", "written"), [("U", "U"), ("A_row^2 X", "A_row² X"), ("A_sym^1 X", "A_sym X")]
)
def test_names_of_components(name, written):
    assert formula(name) == written


def test_features_name_their_column_once():
    terms = [("words: a: b", 2.0), ("maker: x", 1.5), ("words: c", 1.0), ("plain", -0.5)]
    assert by_column(terms) == "words: a: b +2.0, c +1.0; maker: x +1.5; plain -0.5"


@pytest.fixture(scope="module")
def drawn(typed, tmp_path_factory):
    """Record and page of the typed graph."""
    path = tmp_path_factory.mktemp("typed") / "page.html"
    path.write_text(render(typed[2]), encoding="utf-8")
    return typed[2], path


def test_findings_are_pinned_and_lead_to_their_evidence(browser, drawn):
    record, path = drawn
    page = browser.open(path)
    links = page.run("[...document.querySelectorAll('.pins a')].map(a => a.getAttribute('href'))")
    assert len(links) == 3 and all(page.run(f"document.querySelector('{link}') !== null") for link in links)
    text = page.run("document.querySelector('.pins').innerText")
    assert all(" ".join(each["text"].split()) in text for each in record["findings"])  # a browser joins blanks


def test_relations_with_and_without_a_weight_are_named(drawn):
    record, _ = drawn
    html = section("model", record)
    assert "Share of the weights by relation and direction" in html
    for each in record["read"]["relations"]:
        assert each["direction"] in html
        assert each["weight"] or each["state"] in ("exactly zero", "screened out")


def test_of_many_classes_those_that_are_predicted_most_have_a_colour():
    predicted = [11] * 9 + [3] * 5 + list(range(12)) + [10, 9, 8, 7, 6, 5]
    found = colours({"classes": [f"c{k}" for k in range(12)], "nodes": {"prediction": predicted}})
    own = [code for code in range(12) if found[code] < COLOURS]
    assert own == [3, 5, 6, 7, 8, 9, 10, 11] and [found[code] for code in own] == list(range(COLOURS))
    assert colours({"classes": ["a", "b"], "nodes": {"prediction": [1, 1]}}) == [0, 1]


def test_names_are_found_and_relations_drawn_with_their_direction(browser, drawn):
    record, path = drawn
    page = browser.open(path)
    row = next(row for row, told in record["explained"].items() if told["neighbours"])
    page.run("document.getElementById('search').focus()")
    page.type(f"person {row} ")
    page.press("Enter")
    assert heading(page).startswith(f"Person {row} ") and page.run("document.scripts.length") == 2
    arrows = sum(len({key[-1] for key in keys}) for _, _, keys in record["explained"][row]["neighbours"])
    assert page.run("document.querySelectorAll('#detail .around polygon').length") == arrows
    kinds = page.run("[...document.querySelectorAll('#detail .kind, #detail .around figcaption')].map(e => e.textContent).join()")
    assert all(key[:-2].split()[0] in kinds for key in record["explained"][row]["neighbours"][0][2][:1])
    assert page.console == []


def test_the_likeliest_of_a_rare_class_come_first(browser, fitted_kind, tmp_path):
    record = fitted_kind("rare")[2]
    (tmp_path / "rare.html").write_text(render(record), encoding="utf-8")
    page = browser.open(tmp_path / "rare.html")
    code = record["held_out"]["ranking"]["code"]
    of_second = np.array(record["nodes"]["chances"][0])
    first = record["nodes"]["ids"][int(np.argmax(of_second if code else -of_second))]
    assert page.run("document.querySelector('#rows button').textContent") == first
    assert page.run("document.getElementById('shown').textContent") == f"probability of {record['classes'][code]}"


def test_the_map_shows_every_class_and_leads_to_a_node(browser, drawn):
    record, path = drawn
    page = browser.open(path)
    dots = page.run("[...document.querySelectorAll('#map-drawing path')].map(p => p.getAttribute('d')).join('')")
    assert dots.count("M") == len(record["map"]["rows"])
    page.run("""(() => { const svg = document.getElementById('map-drawing'), box = svg.getBoundingClientRect();
        const middle = {clientX: box.left + box.width / 2, clientY: box.top + box.height / 2};
        svg.dispatchEvent(new MouseEvent('click', middle)); })()""")
    name = heading(page).split(":")[0]
    places = np.hypot(np.array(record["map"]["x"]) - 500, np.array(record["map"]["y"]) - 500)
    assert name.startswith(f"Person {record['map']['rows'][int(places.argmin())]} ")


def test_without_scripts_the_findings_the_scores_and_the_map_are_there(record):
    html = re.sub("<script.*?</script>", "", render(record), flags=re.S)
    assert all(escape(each["text"]) in html for each in record["findings"])
    assert html.count("<svg") >= 6 and 'id="explanations"' in html
