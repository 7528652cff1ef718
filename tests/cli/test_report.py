"""`slimg report` makes the page of a fit again."""


def test_the_page_again_with_another_title(fitted, slimg):
    code, _, _ = slimg("report", "slimg-out", "--title", "Teams & <more>", "--out", "teams.html")
    assert code == 0
    page = (fitted.path / "teams.html").read_text(encoding="utf-8")
    first = (fitted.path / "slimg-out/report.html").read_text(encoding="utf-8")
    assert page == first.replace("Predicting team", "Teams &amp; &lt;more&gt;")


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
