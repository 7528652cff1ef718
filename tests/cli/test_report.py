"""`slimg report` makes the page of a fit again, or prints what it says."""

import json

import pytest

from slimg.report.page import markdown
from slimg.report.record import json_values, results


@pytest.fixture(autouse=True)
def quick_page():
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
    """The commands print what `tests/report/test_faces.py` compares."""
    record = json.loads((fitted.path / "slimg-out/record.json").read_text(encoding="utf-8"))
    code, text, _ = slimg("report", "--markdown")
    assert (code, text.strip()) == (0, markdown(record).strip())
    assert json.loads(slimg("report", "--json")[1]) == json_values(results(record))


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
