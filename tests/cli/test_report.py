"""`slimg report` makes the page of a fit again, or prints what it says."""

import html
import json
import re

import pytest


@pytest.fixture(autouse=True)
def charts_without_rendering():
    """Charts are rendered here: pages are compared."""


def test_the_page_again_with_another_title(fitted, slimg):
    code, _, _ = slimg("report", "slimg-out", "--title", "Teams & <more>", "--out", "teams.html")
    assert code == 0
    page = (fitted.path / "teams.html").read_text(encoding="utf-8")
    first = (fitted.path / "slimg-out/report.html").read_text(encoding="utf-8")
    first = first.replace("Predicting team", "Teams &amp; &lt;more&gt;")
    for name in ("predictions.csv", "model.slimg", "record.json"):
        assert first.count(f'href="{name}"') == 2, "the page links to the files of its fit, from where it is"
        first = first.replace(f'href="{name}"', f'href="slimg-out/{name}"')
    assert page == first


def test_one_record_three_faces(fitted, slimg):
    """Page, Markdown and JSON hold the same sentences and numbers."""
    record = json.loads((fitted.path / "slimg-out/record.json").read_text(encoding="utf-8"))
    page = (fitted.path / "slimg-out/report.html").read_text(encoding="utf-8")
    page = html.unescape(page.split('<script type="application/json"')[0])
    code, text, _ = slimg("report", "--markdown")
    assert code == 0
    text = re.sub(r"\\\\(.)", r"\\1", text)
    printed = json.loads(slimg("report", "--json")[1])
    for name in ("findings", "classes"):
        assert printed[name] == record[name]
    for each in record["findings"]:
        assert each["text"] in page and each["text"] in text
    for sentence in (*record["diagnosis"]["verdict"], *record["diagnosis"]["advice"], *record["read"]["notes"]):
        assert sentence in page and sentence in text and sentence in [*printed["verdict"], *printed["advice"], *printed["notes"]]
    for each in record["comparison"]["models"]:
        assert each in printed["comparison"]["models"]
        assert f"{each['value']:.1%}" in page and f"| {each['name']} | {each['value']:.1%} |" in text
    for name, each in zip(record["classes"], record["held_out"]["classes"], strict=True):
        assert printed["per_class"][name] == each and f"| {name} | {each['nodes']} | {each['precision']:.0%} |" in text
        assert f"<td>{each['nodes']}</td><td>{each['precision']:.0%}</td>" in page
    for part in record["model"]["overview"]["components"]:
        assert printed["weights"][part["name"]] == part["norm"] and part["short_title"] in page and part["short_title"] in text


def test_markdown_into_a_file(fitted, slimg):
    assert slimg("report", "--markdown", "--out", "report.md")[0] == 0
    assert (fitted.path / "report.md").read_text(encoding="utf-8").startswith("# Predicting team")
    assert "--json" in slimg("report", "--json", "--out", "x.json")[2]


def test_bad_input(fitted, slimg):
    assert "nowhere/record.json does not exist" in slimg("report", "nowhere")[2]
    assert "--force" in slimg("report")[2]
    (fitted.path / "slimg-out/record.json").write_text('{"read": {}}')
    code, _, err = slimg("report", "--out", "new.html")
    assert code == 2
    assert "slimg-out/record.json" in err and "fit again" in err
    (fitted.path / "slimg-out/record.json").write_text("no JSON")
    code, _, err = slimg("report", "--out", "new.html")
    assert code == 2 and "slimg-out/record.json" in err
    assert not (fitted.path / "new.html").exists()
