"""Parts of the page say what the record holds, escaped."""

import re
from html.parser import HTMLParser

import pytest

from slimg.learn.path import describe
from slimg.report import sections


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


def test_every_class_and_every_confusion_is_there(record):
    html = sections.accuracy(record)
    held, tables = record["held_out"], Tables(html).found
    by_class = tables["Each class, on labels not seen"]
    assert [row[0] for row in by_class[1:]] == record["classes"]
    assert [int(row[1]) for row in by_class[1:]] == [each["nodes"] for each in held["classes"]]
    confusion = tables["Confusion: rows are true classes, columns predictions, on labels not seen"]
    assert [[int(cell) for cell in row[1:]] for row in confusion[1:]] == held["confusion"]
    assert f"{held['accuracy']:.1%} were right" in re.sub(r"\s+", " ", html)


def test_many_classes_show_the_most_frequent_confusions(record):
    c = sections.MOST_CLASSES + 1
    counts = [[0] * c for _ in range(c)]
    counts[3][5], counts[1][2], counts[4][4] = 7, 9, 50
    names = [f"k{code}" for code in range(c)]
    row = record["held_out"]["classes"][0]
    held = {**record["held_out"], "confusion": counts, "classes": [row] * c}
    tables = Tables(sections.accuracy({**record, "held_out": held, "classes": names})).found
    assert tables["The most frequent confusions"][1:] == [["k1", "k2", "9"], ["k3", "k5", "7"]]


def test_the_diagnosis_is_told_with_its_numbers(record):
    html, found = sections.diagnosis(record), record["diagnosis"]["evidence"]
    tables = Tables(html).found
    accuracies = next(rows for caption, rows in tables.items() if caption.startswith("Accuracy on"))
    assert accuracies[1][:2] == ["all components", f"{found['all']['value']:.1%}"]
    assert len(accuracies) == 2 + len(found["alone"]) + len(found["without"])
    curve = tables["What fewer labels would have given, with standard errors"]
    assert [int(row[0]) for row in curve[1:]] == [point["labels"] for point in found["curve"]["points"]]
    assert sections.diagnosis({**record, "diagnosis": None}) == ""


def test_one_point_is_no_curve(record):
    evidence = record["diagnosis"]["evidence"]
    short = {**evidence, "curve": {"points": evidence["curve"]["points"][-1:], "doubling": None}}
    html = sections.diagnosis({**record, "diagnosis": {**record["diagnosis"], "evidence": short}})
    assert "fewer labels" not in html


def test_doubts_name_node_label_and_what_it_looks_like(record):
    doubt = {"node": "<x>", "label": "a", "looks_like": "b", "confidence": 0.9}
    evidence = {**record["diagnosis"]["evidence"], "suspicious": [doubt]}
    html = sections.diagnosis({**record, "diagnosis": {**record["diagnosis"], "evidence": evidence}})
    assert Tables(html).found["Labels that everything else contradicts"][1] == ["<x>", "a", "b", "0.90"]
    assert "<x>" not in html


def test_weights_features_and_the_chosen_pair(record):
    html, chosen = sections.model(record), record["model"]["chosen"]
    for part in record["model"]["overview"]["components"]:
        assert part["title"] in html
    assert f"{describe(chosen, sections.formula)}, with {chosen['val_accuracy']:.1%} on" in re.sub(r"\s+", " ", html)
    labels = {row[0] for rows in Tables(html).found.values() for row in rows[1:]}
    assert labels == set(record["classes"])


def test_what_was_read(record):
    html = sections.inputs(record)
    assert record["read"]["notes"], "something was decided"
    assert html.count("<li>") == len(record["read"]["notes"])
    assert [row[0] for row in Tables(html).found["Files"]] == list(record["read"]["files"])
    assert sections.inputs({"read": {}}) == ""


@pytest.mark.parametrize(
    ("name", "written", "said"),
    [
        ("U", "U", "network (U)"),
        ("X", "X", "own features (X)"),
        ("A_row^2 X", "A_row² X", "nodes further away (A_row² X)"),
        ("A_sym^1 X", "A_sym X", "neighbourhood (A_sym X)"),
    ],
)
def test_names_of_components(name, written, said):
    assert sections.formula(name) == written and sections.called(name) == said


def test_features_name_their_column_once():
    terms = [("words: a: b", 2.0), ("maker: x", 1.5), ("words: c", 1.0), ("plain", -0.5)]
    assert sections._by_column(terms) == "words: a: b +2.0, c +1.0; maker: x +1.5; plain -0.5"
