"""`slimg predict`: the same graph to the digit, and one that grew."""

import json

import pandas as pd

from slimg import SlimG


def test_the_same_graph_again(fitted, slimg):
    code, out, _ = slimg("predict", "--edges", "follows.csv", "--nodes", "users.csv", "--out", "again.csv")
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


def new_rows(fitted):
    """Three users who came later, each with eight friends of one team, and one friend among themselves."""
    bios = ["car bus train bus", "tea milk juice tea", "cat dog bird cat"]
    new = pd.DataFrame({"user": ["new-1", "new-2", "new-3"], "age": [33, 38, 30], "city": ["rome"] * 3, "bio": bios})
    friends = [fitted.users["user"][fitted.truth == team].head(8) for team in ("green", "red", "blue")]
    edges = [(who, whom) for who, group in zip(new["user"], friends, strict=True) for whom in group]
    return new, pd.DataFrame([*edges, ("new-1", "new-2")], columns=["who", "whom"])


def test_new_rows_alone(fitted, slimg):
    new, edges = new_rows(fitted)
    new.to_csv("new.csv", index=False)
    edges.to_csv("new_edges.csv", index=False)
    pd.concat([fitted.users.drop(columns="team"), new]).to_csv("all.csv", index=False)
    pd.concat([fitted.follows, edges]).to_csv("all_edges.csv", index=False)
    for name in ("users.csv", "follows.csv"):
        (fitted.path / name).unlink()  # what the model was fitted on is gone
    code, out, err = slimg("predict", "--nodes", "new.csv", "--edges", "new_edges.csv", "--out", "alone.csv")
    assert code == 0, err
    assert "3 new nodes" in out and "120 nodes" in out and "refit is" in out
    assert slimg("predict", "--nodes", "all.csv", "--edges", "all_edges.csv", "--out", "whole.csv")[0] == 0
    alone, whole = pd.read_csv("alone.csv", dtype=str), pd.read_csv("whole.csv", dtype=str)
    assert alone["user"].tolist() == ["new-1", "new-2", "new-3"]
    assert alone["prediction"].tolist() == whole["prediction"].tolist()[-3:] == ["green", "red", "blue"]
    assert abs(alone["probability"].astype(float) - whole["probability"].tail(3).astype(float).to_numpy()).max() < 0.05
    words = ("--nodes", "new.csv", "--edges", "new_edges.csv", "--coverage", "0.9", "--json", "--force")
    record = json.loads(slimg("predict", *words, "--out", "alone.csv")[1])
    assert (record["nodes"], record["new"], record["refit_due"]) == (3, 3, False)
    assert set(record["drift"]) == {"new", "degree", "features", "structure"}
    assert "green" in pd.read_csv("alone.csv")["prediction_set"][0]
    code, out, err = slimg("explain", "new-1", "--nodes", "new.csv", "--edges", "new_edges.csv")
    assert code == 0 and "green" in out, err


def test_new_rows_that_are_wrong(fitted, slimg):
    new, edges = new_rows(fitted)
    new.to_csv("new.csv", index=False)
    edges.replace("new-3", "nobody").to_csv("new_edges.csv", index=False)
    code, _, err = slimg("predict", "--nodes", "new.csv", "--edges", "new_edges.csv")
    assert code == 2 and "nobody" in err and "--unknown" in err
    new.drop(columns="bio").to_csv("new.csv", index=False)
    assert "'bio'" in slimg("predict", "--nodes", "new.csv")[2]


def test_files_that_a_model_names_are_not_read(fitted, slimg):
    for name in ("users.csv", "follows.csv"):
        (fitted.path / name).write_text("secret,of\nsomeone,else\n")
    code, out, err = slimg("predict", "--out", "kept.csv")
    assert code == 0 and "model.slimg keeps" in out, err
    first, kept = (pd.read_csv(name, dtype=str) for name in ("slimg-out/predictions.csv", "kept.csv"))
    pd.testing.assert_frame_equal(kept, first[kept.columns])
    model = SlimG.load("slimg-out/model.slimg")
    model.save("slimg-out/model.slimg", keep_graph=False)
    code, _, err = slimg("predict", "--out", "none.csv")
    assert code == 2 and "--nodes users.csv" in err and "secret" not in err


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
    assert "lacks 'bio'" in slimg("predict", "--nodes", "less.csv")[2]
    (fitted.path / "predictions.csv").write_text("mine")
    code, _, err = slimg("predict")
    assert code == 2
    assert "--force" in err
