"""`slimg fit` as a person types it: files in, predictions by the original ids out."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from forked import Forked
from slimg import SlimG, read
from slimg.cli.fit import SCORING
from slimg.io import Source
from slimg.io.inputs import Options, read_inputs
from slimg.learn.objective import METRICS

FIT = ("fit", "--edges", "follows.csv", "--nodes", "users.csv", "--label", "team", "--id", "user")


def test_two_files_and_one_command(folder):
    code = Forked(*FIT, "--verbose", stdout="said.txt", stderr="told.txt").wait(300)
    said, told = Path("said.txt").read_text(), Path("told.txt").read_text()
    assert (code, told) == (0, ""), "progress is silent when nobody watches"
    assert "Guessed for the edges: source = 'who', target = 'whom'." in said
    assert "Column 'age' is read as a number, standardised." in said
    assert "Column 'city' is read as a category of 2 values, one-hot." in said
    assert "Column 'bio' is read as text, a bag of 9 words." in said
    assert "Accuracy on held-out labels" in said
    table = pd.read_csv("slimg-out/predictions.csv", dtype={"user": str}, keep_default_na=False)
    assert list(table["user"]) == list(folder.users["user"]), "ids as they were written, with their zeros"
    assert list(table.columns[:5]) == list(folder.users.columns)
    chances = table[["p(blue)", "p(green)", "p(red)"]].to_numpy()
    assert np.allclose(chances.sum(axis=1), 1, atol=1e-6)
    ordered = np.sort(chances, axis=1)
    assert np.allclose(table["probability"], ordered[:, -1])
    assert np.allclose(table["margin"], ordered[:, -1] - ordered[:, -2], atol=1e-6)
    assert list(table["prediction"]) == [["blue", "green", "red"][k] for k in chances.argmax(axis=1)]
    hidden = table["team"] == ""
    assert (table["prediction"] == folder.truth)[hidden].mean() > 0.7, "a third would be chance"


def test_five_lines(fitted, slimg):
    """What was read and guessed, the score beside others, what counts, what to be careful of, where the page is."""
    code, out, _ = slimg(*FIT, "--force")
    record = json.loads(Path("slimg-out/record.json").read_text(encoding="utf-8"))
    read, score, counts, careful, page = out.splitlines()
    assert code == 0 and "120 nodes" in read and "source = 'who'" in read
    assert all(f"{each['value']:.1%}" in score for each in record["comparison"]["models"])
    assert len(record["comparison"]["models"]) == 4
    low, high = record["held_out"]["score_interval"]
    assert f"({low:.1%} to {high:.1%})" in score and f"{record['held_out']['baseline']:.1%}" in score
    parts = sorted(record["model"]["overview"]["components"], key=lambda part: -part["norm"])
    assert all(f"{part['short_title']} {part['share']:.0%}" in counts for part in parts[:4] if not part["removed"])
    assert careful.startswith("Careful: ") and "slimg-out/report.html" in page


def test_scoring_and_weights_of_the_classes(folder, slimg):
    assert set(SCORING) == set(METRICS)
    code, _, err = slimg(*FIT, "--scoring", "log_loss", "--class-weight", "balanced", "--no-measure-fold-in")
    assert code == 0, err
    edges, nodes = Source(Path("follows.csv")), Source(Path("users.csv"))
    inputs = read_inputs(Options(edges=edges, nodes=nodes, label="team", id="user"))
    model = SlimG.load("slimg-out/model.slimg")
    assert (model.scoring_, model.class_weight) == ("log_loss", "balanced")
    same = SlimG(scoring="log_loss", class_weight="balanced", random_state=0).fit(inputs.graph)
    assert np.array_equal(model.predict_proba(), same.predict_proba())
    for other in ({"scoring": "log_loss"}, {"class_weight": "balanced"}):
        assert SlimG(**other, random_state=0).fit(inputs.graph).chosen_["val_score"] != same.chosen_["val_score"]


def test_predictions_are_those_of_the_library(fitted):
    graph = read(edges=fitted.follows, nodes=fitted.users.replace({"team": {"": None}}), label="team", id="user")
    expected = SlimG(random_state=0).fit(graph).predict()
    assert list(pd.read_csv("slimg-out/predictions.csv")["prediction"]) == list(expected)


def test_what_is_there_is_not_written_over(fitted, slimg):
    code, _, err = slimg(*FIT)
    assert code == 2
    assert all(f"slimg-out/{name}" in err for name in ("predictions.csv", "model.slimg", "report.html", "record.json"))
    assert "--force" in err


def test_the_record_says_what_is_true(fitted):
    record = json.loads((fitted.path / "slimg-out/record.json").read_text(encoding="utf-8"))
    assert record["read"]["nodes"] == 120
    assert record["read"]["labelled"] == int((fitted.users["team"] != "").sum())
    assert record["classes"] == ["blue", "green", "red"]
    assert record["diagnosis"]["relation"] == "homophily"
    low, high = record["held_out"]["interval"]
    assert low < record["held_out"]["accuracy"] <= high
    assert record["read"]["command"].startswith("slimg fit --edges follows.csv --nodes users.csv")
    table = pd.read_csv("slimg-out/predictions.csv", dtype=str, keep_default_na=False)
    assert record["nodes"]["ids"] == list(table["user"])
    assert [record["classes"][code] for code in record["nodes"]["prediction"]] == list(table["prediction"])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--label", "tea"), "users.csv: there is no column 'tea' for --label: the columns are user, team, age, city, bio"),
        (("--source", "x"), "follows.csv: there is no column 'x' for --source: the columns are who, whom"),
        (("--id", "team"), "column 'team' cannot be both id and label"),
        (("--nodes", "user.csv"), "user.csv does not exist: did you mean 'users.csv'?"),
        (("--nodes", "."), ". is a directory: name one of the files in it"),
        (("--features", "agee"), "there is no column 'agee' for --features"),
    ],
)
def test_wrong_input_is_one_sentence(folder, slimg, arguments, told):
    words = dict(zip(FIT[1::2], FIT[2::2], strict=True)) | dict([arguments])
    code, out, err = slimg("fit", *(word for pair in words.items() for word in pair))
    assert (code, out) == (2, "")
    assert told in err
    assert err.count("\n") == 1


def test_a_script_gets_json(folder, slimg):
    code, out, _ = slimg(*FIT, "--unknown", "keep", "--json")
    record = json.loads(out)
    assert code == 0
    assert record["files"]["predictions"] == "predictions.csv"
    assert record["verdict"][0].startswith("Homophily")
    stages = ["reading", "components", "learning", "measuring", "comparing", "diagnosing", "explaining", "writing"]
    assert list(record["seconds"]) == stages


def test_folding_in_is_measured_on_small_graphs_or_when_asked_for(folder, slimg):
    unmeasured = json.loads(slimg(*FIT, "--no-measure-fold-in", "--json")[1])
    assert unmeasured["fold_in_agreement"] is None and "measuring" not in unmeasured["seconds"]
    measured = json.loads(slimg(*FIT, "--measure-fold-in", "--force", "--json")[1])
    model = SlimG.load("slimg-out/model.slimg")
    assert measured["fold_in_agreement"] == model.fold_in_agreement_ > 0.5
    everyone = folder.users.assign(team=folder.truth)
    everyone.to_csv("everyone.csv", index=False)
    words = ["everyone.csv" if word == "users.csv" else word for word in FIT]
    code, _, err = slimg(*words, "--measure-fold-in", "--force")
    assert code == 2 and "every node has a label" in err


def test_labels_that_do_not_suffice_are_reported_before_anything_is_computed(folder, slimg, monkeypatch):
    monkeypatch.setattr("slimg.classifier.compute_components", None)
    folder.users.assign(team=np.where(np.arange(len(folder.users)) < 5, "blue", "")).to_csv("users.csv", index=False)
    code, _, err = slimg(*FIT)
    assert code == 2 and "class" in err and not (folder.path / "slimg-out/model.slimg").exists()


def test_columns_that_are_there_stay(folder, slimg):
    """New columns get a prefix, which the page's notes name."""
    folder.users.assign(prediction="mine").to_csv("users.csv", index=False)
    code, out, _ = slimg(*FIT, "--ignore", "prediction", "--no-measure-fold-in", "--json")
    table = pd.read_csv("slimg-out/predictions.csv", dtype=str)
    assert code == 0 and set(table["prediction"]) == {"mine"} and "slimg_prediction" in table.columns
    assert any("slimg_" in note for note in json.loads(out)["notes"])


def test_a_coverage_adds_a_column_of_sets(folder, slimg):
    """The sets of fit and predict are those of the library; they hold the class of most nodes."""
    assert slimg(*FIT, "--coverage", "0.8", "--no-measure-fold-in")[0] == 0
    fitted, model = pd.read_csv("slimg-out/predictions.csv", keep_default_na=False), SlimG.load("slimg-out/model.slimg")
    expected = ["|".join(model.classes_[each]) for each in model.predict_set(0.8)]
    assert list(fitted["prediction_set"]) == expected
    hidden = folder.users["team"] == ""
    held = np.array([truth in each.split("|") for truth, each in zip(folder.truth, expected, strict=True)])
    assert held[hidden].mean() > 0.7 and {len(each.split("|")) for each in expected} != {3}, "sets are not all classes"
    assert slimg("predict", "--coverage", "0.8", "--out", "again.csv")[0] == 0
    assert list(pd.read_csv("again.csv", keep_default_na=False)["prediction_set"]) == expected


def test_names_are_shown_beside_ids_unless_they_are_texts(folder, slimg):
    folder.users.assign(name=[f"User {k}" for k in range(len(folder.users))]).to_csv("users.csv", index=False)
    words = (*FIT, "--no-measure-fold-in", "--ignore", "name", "--json")
    assert slimg(*words)[0] == 0
    nodes = json.loads(Path("slimg-out/record.json").read_text(encoding="utf-8"))["nodes"]
    assert nodes["names"][:2] == ["User 0", "User 1"]
    shared = [f"Name {k % 9}" for k in range(len(folder.users))]
    for names in (folder.users["bio"] * 6, shared):  # texts, and names that tell no node from another
        folder.users.assign(name=names).to_csv("users.csv", index=False)
        assert slimg(*words, "--force")[0] == 0
        assert json.loads(Path("slimg-out/record.json").read_text(encoding="utf-8"))["nodes"]["names"] is None
