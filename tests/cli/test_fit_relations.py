"""`slimg fit` with several relations, directions and types of nodes, as a person types it."""

import argparse
import json

import numpy as np
import pandas as pd
import pytest

from slimg import SlimG
from slimg.cli.inputs import add_input_options, add_model_option, load_with_graph

FIT = ("fit", "--nodes", "users.csv", "--label", "team", "--id", "user", "--no-measure-fold-in", "--json")


@pytest.fixture
def shop(folder):
    """Also pays.csv: who pays whom how much; and items with what was bought."""
    rng = np.random.default_rng(0)
    ids = folder.users["user"].to_numpy()
    pays = pd.DataFrame({"payer": rng.choice(ids, 300), "payee": rng.choice(ids, 300), "weight": rng.integers(1, 9, 300)})
    pays.to_csv("pays.csv", index=False)
    pd.DataFrame({"item": [f"i{k}" for k in range(9)], "price": range(9)}).to_csv("items.csv", index=False)
    items = [f"i{3 * rng.integers(0, 3) + k % 3}" for k in range(120)]
    pd.DataFrame({"buyer": ids, "what": items}).to_csv("buys.csv", index=False)
    return folder


def typed(*words):
    parser = argparse.ArgumentParser()
    add_model_option(parser)
    add_input_options(parser)
    return parser.parse_args(words)


def test_two_files_of_edges_are_both_used(shop, slimg):
    code, out, err = slimg(*FIT, "--edges", "follows.csv", "--edges", "pays.csv", "--directed", "pays")
    assert code == 0, err
    found = json.loads(out)
    assert any("follows (" in note and "pays (" in note for note in found["notes"])
    one = json.loads(slimg(*FIT, "--edges", "follows.csv", "--out", "one")[1])
    assert found["edges"] > one["edges"] and found["files"]["edges"] == "follows.csv, pays.csv"
    _, inputs, _ = load_with_graph(typed())
    assert [(r.name, r.directed) for r in inputs.graph.relations] == [("follows", False), ("pays", True)]
    code, out, err = slimg("predict", "--out", "again.csv")
    assert code == 0 and "The graph is the one the model was fitted on" in out, err
    shop.follows.assign(source="x", target="y").to_csv("later.csv", index=False)
    code, _, err = slimg("predict", "--edges", "later.csv", "--out", "later-out.csv")
    assert code == 2 and "follows, pays" in err and "follows=FILE" in err
    code, out, err = slimg("predict", "--edges", "follows=later.csv", "--edges", "pays.csv", "--out", "later-out.csv")
    assert code == 0 and "The graph is the one the model was fitted on" in out, err


def test_several_tables_of_nodes(shop, slimg):
    words = ("--edges", "follows.csv", "--edges", "buys.csv", "--nodes", "items.csv")
    code, out, err = slimg(*FIT, *words, "--directed")
    assert code == 0, err
    assert json.loads(out)["nodes"] == 129
    table = pd.read_csv("slimg-out/predictions.csv", dtype=str)
    assert table["type"].value_counts().to_dict() == {"users": 120, "items": 9} and table["prediction"].notna().all()
    model, inputs, _ = load_with_graph(typed())
    assert {"type=users", "type=items"} <= set(inputs.graph.feature_names)
    assert model.predict(inputs.graph).tolist() == SlimG.load("slimg-out/model.slimg").predict(inputs.graph).tolist()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--label", "city"), "--label was given twice, as team and city"),
        (("--seed", "0", "--seed", "1"), "--seed was given twice, as 0 and 1"),
        (("--edges", "old/follows.csv"), "follows.csv and old/follows.csv would both be the relation 'follows'"),
        (("--edges", "pays.csv", "--directed", "payss"), "no relation 'payss' for --directed: did you mean 'pays'?"),
        (("--directed", "--no-directed"), "--no-directed exclude each other"),
        (("--relation", "kind"), "follows.csv: there is no column 'kind' for --relation: the columns are who, whom"),
    ],
)
def test_wrong_options_are_one_sentence(shop, slimg, words, told):
    code, out, err = slimg(*FIT, "--edges", "follows.csv", *words)
    assert (code, out) == (2, "") and told in err and err.count("\n") == 1


def test_options_that_list_may_be_repeated(folder, slimg):
    code, out, err = slimg(*FIT, "--edges", "follows.csv", "--ignore", "bio", "--ignore", "city")
    assert code == 0, err
    assert json.loads(out)["features"] == 2, "age, high and low"


def test_every_command_refuses_what_is_given_twice(fitted, slimg):
    for words in (
        ("predict", "--out", "a.csv", "--out", "b.csv"),
        ("estimate", "--nodes", "3", "--nodes", "4"),
        ("datasets", "get", "cora", "--to", "a", "--to", "b"),
        ("explain", "0001", "--terms", "1", "--terms", "2"),
    ):
        code, _, err = slimg(*words)
        assert code == 2 and f"{words[-2]} was given twice" in err
