"""`slimg diagnose`: sentences first, numbers as JSON."""

import json

INPUT = ("--edges", "follows.csv", "--nodes", "users.csv", "--label", "team", "--id", "user")


def test_sentences_and_json(folder, slimg):
    code, out, _ = slimg("diagnose", *INPUT)
    assert code == 0
    assert "Homophily: neighbours tend to be of the same class" in out
    assert "What to do next:" in out
    code, out, _ = slimg("diagnose", *INPUT, "--json")
    record = json.loads(out)
    assert code == 0
    assert record["relation"] == "homophily"
    assert record["labelled"] == int((folder.users["team"] != "").sum())
    assert sorted(file.name for file in folder.path.iterdir()) == ["follows.csv", "users.csv"], "nothing is written"
