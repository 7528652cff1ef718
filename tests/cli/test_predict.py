"""`slimg predict`: the same graph to the digit, and one that grew."""

import json

import pandas as pd

from slimg import SlimG


def test_the_same_graph_again(fitted, slimg):
    code, out, _ = slimg("predict", "--out", "again.csv")
    assert code == 0
    assert "The graph is the one the model was fitted on (120 nodes)." in out
    first, again = (
        pd.read_csv(name, dtype=str, keep_default_na=False) for name in ("slimg-out/predictions.csv", "again.csv")
    )
    pd.testing.assert_frame_equal(first, again)


def test_a_graph_that_grew(fitted, slimg):
    new = pd.DataFrame({"user": ["new-1"], "team": [""], "age": ["33"], "city": ["lima"], "bio": ["car bus train bus"]})
    pd.concat([fitted.users.astype(str), new]).to_csv("users2.csv", index=False)
    green = fitted.users["user"][fitted.truth == "green"].head(4)
    more = pd.DataFrame({"who": ["new-1"] * 4, "whom": green})
    pd.concat([fitted.follows, more]).to_csv("follows2.csv", index=False)
    code, out, _ = slimg("predict", "--nodes", "users2.csv", "--edges", "follows2.csv", "--out", "grown.csv", "--json")
    record = json.loads(out)
    assert code == 0
    assert (record["nodes"], record["new"], record["changed"]) == (121, 1, 4)
    assert record["fold_in_agreement"] == SlimG.load("slimg-out/model.slimg").fold_in_agreement_ > 0.5
    _, said, _ = slimg("predict", "--nodes", "users2.csv", "--edges", "follows2.csv", "--out", "grown.csv", "--force")
    assert "1 of 121 nodes is new, 4 have other edges or features than before" in said
    assert f"{record['fold_in_agreement']:.1%}" in said
    table = pd.read_csv("grown.csv", dtype=str)
    assert table["user"].iloc[-1] == "new-1"
    assert table["prediction"].iloc[-1] == "green"


def test_a_model_that_was_not_measured_says_so(folder, slimg):
    words = ("--edges", "follows.csv", "--nodes", "users.csv", "--label", "team", "--id", "user")
    assert slimg("fit", *words, "--no-measure-fold-in")[0] == 0
    folder.follows.iloc[5:].to_csv("fewer.csv", index=False)
    _, said, _ = slimg("predict", "--edges", "fewer.csv", "--out", "fewer-out.csv")
    assert "was not measured" in said and "--measure-fold-in" in said
    assert "was not measured" not in slimg("predict", "--out", "same.csv")[1], "nothing was folded in"


def test_labels_are_not_needed(fitted, slimg):
    fitted.users.drop(columns="team").to_csv("bare.csv", index=False)
    code, _, err = slimg("predict", "--nodes", "bare.csv", "--out", "bare-out.csv")
    assert code == 0, err
    assert "team" not in pd.read_csv("bare-out.csv").columns


def test_bad_input(fitted, slimg):
    assert "none.slimg does not exist" in slimg("predict", "--model", "none.slimg")[2]
    (fitted.path / "bad.slimg").write_bytes(b"no model")
    code, _, err = slimg("predict", "--model", "bad.slimg")
    assert code == 2
    assert "bad.slimg" in err
    fitted.users.drop(columns="bio").to_csv("less.csv", index=False)
    assert "no column 'bio'" in slimg("predict", "--nodes", "less.csv")[2]
    (fitted.path / "predictions.csv").write_text("mine")
    code, _, err = slimg("predict")
    assert code == 2
    assert "--force" in err
