"""`slimg fit` as a person types it: files in, predictions by the original ids out."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from slimg import Graph, SlimG
from slimg.files.features import plan_features

FIT = ("fit", "--edges", "follows.csv", "--nodes", "users.csv", "--label", "team", "--id", "user")


def test_two_files_and_one_command(folder):
    done = subprocess.run([sys.executable, "-m", "slimg.cli", *FIT], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "progress is silent when nobody watches"
    table = pd.read_csv("slimg-out/predictions.csv", dtype={"user": str}, keep_default_na=False)
    assert list(table["user"]) == list(folder.users["user"]), "ids as they were written, with their zeros"
    assert list(table.columns[:5]) == list(folder.users.columns)
    chances = table[["p(blue)", "p(green)", "p(red)"]].to_numpy()
    assert np.allclose(chances.sum(axis=1), 1, atol=3e-4)
    ordered = np.sort(chances, axis=1)
    assert np.allclose(table["probability"], ordered[:, -1])
    assert np.allclose(table["margin"], ordered[:, -1] - ordered[:, -2], atol=2e-4)
    assert list(table["prediction"]) == [["blue", "green", "red"][k] for k in chances.argmax(axis=1)]
    hidden = table["team"] == ""
    assert (table["prediction"] == folder.truth)[hidden].mean() > 0.7, "a third would be chance"


def test_predictions_are_those_of_the_library(folder, slimg):
    code, _, _ = slimg(*FIT)
    assert code == 0
    plan = plan_features(folder.users, ["age", "city", "bio"])
    labels = folder.users["team"].replace("", None).to_numpy(object)
    edges = folder.follows.rename(columns={"who": "source", "whom": "target"})
    graph = Graph.from_edges(edges, folder.users["user"].to_numpy(object), label=labels, features=plan.encode(folder.users))
    expected = SlimG(random_state=0).fit(graph).predict()
    assert list(pd.read_csv("slimg-out/predictions.csv")["prediction"]) == list(expected)


def test_what_was_guessed_is_told(folder, slimg):
    _, out, _ = slimg("fit", "--edges", "follows.csv", "--nodes", "users.csv", "--label", "team")
    assert "Guessed of the edges: source = 'who', target = 'whom'." in out
    assert "Guessed of the nodes: id = 'user'." in out
    assert "Column 'age' is read as a number, standardised." in out
    assert "Column 'city' is read as a category of 2 values, one-hot." in out
    assert "Column 'bio' is read as text, a bag of 9 words." in out


def test_json_is_for_scripts(folder, slimg):
    code, out, _ = slimg(*FIT, "--json")
    record = json.loads(out)
    assert code == 0
    assert record["nodes"] == 120
    assert record["classes"] == ["blue", "green", "red"]
    assert record["labelled"] == int((folder.users["team"] != "").sum())
    assert record["files"]["predictions"] == "predictions.csv"
    assert record["interval"][0] < record["accuracy"] <= record["interval"][1]
    assert record["verdict"][0].startswith("Homophily")


def test_what_is_there_is_not_written_over(folder, slimg):
    assert slimg(*FIT)[0] == 0
    before = (folder.path / "slimg-out/predictions.csv").read_bytes()
    code, _, err = slimg(*FIT)
    assert code == 2
    assert "slimg-out/predictions.csv" in err
    assert "--force" in err
    assert slimg(*FIT, "--force")[0] == 0
    assert (folder.path / "slimg-out/predictions.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--label", "tea"), "users.csv: there is no column 'tea' for --label: the columns are user, team, age, city, bio"),
        (("--source", "x"), "follows.csv: there is no column 'x' for --source: the columns are who, whom"),
        (("--id", "team"), "column 'team' cannot be both id and label"),
        (("--nodes", "user.csv"), "user.csv does not exist: did you mean users.csv?"),
        (("--nodes", "."), ". is a directory: name one of the files in it"),
        (("--features", "agee"), "there is no column 'agee' for --features"),
    ],
)
def test_wrong_input_is_one_sentence(folder, slimg, arguments, told):
    code, out, err = slimg(*FIT, *arguments)
    assert (code, out) == (2, "")
    assert told in err
    assert err.count("\n") == 1


def test_edges_to_unknown_ids(folder, slimg):
    folder.users.iloc[:100].to_csv("users.csv", index=False)
    code, _, err = slimg(*FIT)
    assert code == 2
    assert "20 ids of the edges are not among the nodes: '0100', '0101', '0102', '0103', '0104' …" in err
    assert "--unknown keep or --unknown drop" in err
    for rule, rows in (("drop", 100), ("keep", 120)):
        assert slimg(*FIT, "--unknown", rule, "--force")[0] == 0
        table = pd.read_csv("slimg-out/predictions.csv", dtype=str, keep_default_na=False)
        assert list(table["user"]) == [f"{i:04}" for i in range(rows)]
        assert (table["prediction"] != "").all()
