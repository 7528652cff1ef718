"""Inputs that went wrong in silence are read rightly, or told; each as it is typed."""

import json

import pandas as pd
import pytest

from slimg import SlimG

WORDS = ("--edges", "follows.csv", "--nodes", "users.csv", "--label", "team", "--id", "user")


def test_ignore_given_twice_ignores_both(folder, slimg):
    code, out, err = slimg("fit", *WORDS, "--no-measure-fold-in", "--ignore", "age", "--ignore", "city", "--json")
    assert code == 0, err
    notes = " ".join(json.loads(out)["notes"])
    assert "'age'" not in notes and "'city'" not in notes and "'bio'" in notes


def test_a_payment_id_is_no_end_of_an_edge(folder, slimg):
    pays = folder.follows.rename(columns={"who": "account", "whom": "other"})
    pays.insert(0, "payment_id", range(len(pays)))
    pays.to_csv("pays.csv", index=False)
    folder.users[["user", "team"]].to_csv("teams.csv", index=False)
    words = ("--edges", "pays.csv", "--labels", "teams.csv", "--label", "team")
    code, out, err = slimg("fit", *words, "--no-measure-fold-in", "--json")
    assert code == 0, err
    assert "Guessed for the edges: source = 'account', target = 'other'." in json.loads(out)["notes"]


def test_predict_does_not_guess_columns_afresh(folder, slimg):
    words = ("--edges", "follows.csv", "--nodes", "users.csv", "--label", "team")
    assert slimg("fit", *words, "--no-measure-fold-in")[0] == 0
    folder.follows[["whom", "who"]].assign(source="x", target="y").to_csv("more.csv", index=False)
    folder.users.assign(id=range(len(folder.users))).to_csv("more_users.csv", index=False)
    code, out, err = slimg("predict", "--edges", "more.csv", "--nodes", "more_users.csv", "--out", "again.csv")
    assert code == 0, err
    assert "The graph is the one the model was fitted on" in out


def test_an_unseen_category_is_told(fitted, slimg):
    fitted.users.assign(city=["atlantis", *fitted.users["city"][1:]]).to_csv("moved.csv", index=False)
    _, out, _ = slimg("predict", "--nodes", "moved.csv", "--out", "moved-out.csv")
    assert "'city'" in out and "'atlantis'" in out and "1 row " in out


def test_predictions_of_an_earlier_run_are_no_features(fitted, slimg):
    features = SlimG.load("slimg-out/model.slimg").feature_names_
    words = ("--edges", "follows.csv", "--nodes", "slimg-out/predictions.csv", "--label", "team", "--id", "user")
    code, out, err = slimg("fit", *words, "--out", "second", "--no-measure-fold-in", "--json")
    assert code == 0, err
    assert SlimG.load("second/model.slimg").feature_names_ == features
    assert any("prediction, probability, margin" in note for note in json.loads(out)["notes"])


def test_a_workbook_is_a_workbook(fitted, slimg):
    openpyxl = pytest.importorskip("openpyxl")
    assert slimg("predict", "--out", "p.xlsx")[0] == 0
    rows = list(openpyxl.load_workbook("p.xlsx").active.iter_rows(values_only=True))
    assert len(rows) == 121 and "prediction" in rows[0]
    code, _, err = slimg("predict", "--out", "p.ods")
    assert code == 2 and ".ods" in err and ".xlsx" in err
    code, _, err = slimg("fit", "--edges", "follows.csv", "--out", "fitted.xlsx")
    assert code == 2 and "fitted.xlsx" in err and "folder" in err


def test_many_numbers_as_classes_are_told(folder, slimg):
    folder.users.assign(year=[1950 + k % 40 for k in range(120)]).to_csv("years.csv", index=False)
    words = ("--edges", "follows.csv", "--nodes", "years.csv", "--label", "year", "--id", "user", "--ignore", "team")
    _, out, _ = slimg("diagnose", *words)
    assert "'year' holds 40 different numbers" in out


def test_several_classes_in_one_value_are_refused(folder, slimg):
    teams = folder.users["team"].where(folder.users.index != 0, "red|blue")
    folder.users.assign(team=teams).to_csv("both.csv", index=False)
    words = ("--edges", "follows.csv", "--nodes", "both.csv", "--label", "team", "--id", "user")
    code, _, err = slimg("diagnose", *words)
    assert code == 2 and "'red|blue'" in err and "both.csv" in err


def test_files_as_people_have_them(fitted, slimg):
    """Decimal commas, odd cells, rows that are there twice, packed files, folders, patterns and the standard input."""
    ages = fitted.users["age"].astype(str).str.replace(".", ",", regex=False) + ",5"
    ages[3], ages[5] = "-", "n/a"
    users = fitted.users.assign(age=ages)
    pd.concat([users, users.iloc[:2]]).to_csv("users.csv.zip", index=False, sep=";")
    (fitted.path / "parts").mkdir()
    for part in range(3):
        fitted.follows.iloc[part::3].to_parquet(fitted.path / "parts" / f"{part}.parquet")
        fitted.follows.iloc[part::3].to_csv(f"part-{part}.csv", index=False)
    for number, edges in enumerate(("parts", "part-*.csv")):
        words = ("--edges", edges, "--nodes", "users.csv.zip", "--label", "team", "--id", "user")
        code, out, err = slimg("fit", *words, "--out", f"out-{number}", "--no-measure-fold-in", "--json")
        assert code == 0, err
        found, notes = json.loads(out), " ".join(json.loads(out)["notes"])
        assert found["nodes"] == 120 and found["edges"] == 548
        assert "earlier row of the nodes left out: 2" in notes and "3 files" in notes
        assert "decimal comma" in notes and "'-' (1)" in notes and "'n/a' (1)" in notes


def test_a_doubt_about_the_files_is_the_thing_to_be_careful_of(folder, slimg):
    folder.users["team"].replace({"red": "NA"}).to_frame().assign(user=folder.users["user"]).to_csv("users.csv", index=False)
    code, out, err = slimg("fit", *WORDS, "--no-measure-fold-in")
    assert code == 0, err
    assert "Careful: Check the labels: 'NA' (" in out and "--missing ''" in out
    code, out, err = slimg("fit", *WORDS, "--no-measure-fold-in", "--force", "--missing", "")
    assert code == 0 and "'NA'" in out and "Check" not in out, err


def test_one_file_of_edges_goes_by_its_name(folder, slimg):
    code, out, err = slimg("diagnose", *WORDS, "--directed", "follows")
    assert code == 0 and "taken as undirected" not in out, err
    code, _, err = slimg("diagnose", *WORDS, "--directed", "likes")
    assert code == 2 and "'likes'" in err


def test_nodes_alone_have_the_edges_that_the_model_keeps(fitted, slimg):
    code, out, err = slimg("predict", "--nodes", "users.csv", "--out", "again.csv")
    assert code == 0 and "no edges" not in out and "the one the model was fitted on" in out, err
    code, _, err = slimg("explain", "003")
    assert code == 2 and "did you mean '0030'" in err


def test_known_rows_among_new_ones_are_told(fitted, slimg):
    head, old = fitted.users.iloc[:0], fitted.users.iloc[:1]
    new = fitted.users.iloc[1:2].assign(user="new", age=None)
    pd.concat([head, old, new]).to_csv("some.csv", index=False)
    code, out, err = slimg("predict", "--nodes", "some.csv", "--out", "some-out.csv")
    assert code == 0 and "left out" in out and "'0000'" in out, err
    assert list(pd.read_csv("some-out.csv", dtype=str)["user"]) == ["new"]
    old.to_csv("old.csv", index=False)
    code, _, err = slimg("predict", "--nodes", "old.csv", "--out", "old-out.csv")
    assert code == 2 and "old.csv" in err and "'0000'" in err
    new.drop(columns=["age", "bio"]).to_csv("bare.csv", index=False)
    code, _, err = slimg("predict", "--nodes", "bare.csv", "--out", "bare-out.csv")
    assert code == 2 and "lacks 'age', 'bio'" in err and err.count("bare.csv") == 1
