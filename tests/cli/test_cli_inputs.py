"""What a user types for each format gives the same graph; a model's file records how its tables were read."""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from written import TABLES

from slimg import Graph, SlimG
from slimg.cli.inputs import (
    add_input_options,
    add_model_option,
    load_with_graph,
    options_of,
    predictions_path,
    rows_of_nodes,
    with_recorded,
    write_predictions,
)
from slimg.errors import InputError
from slimg.io.inputs import Inputs, read_inputs


def typed(*words):
    parser = argparse.ArgumentParser()
    add_model_option(parser)
    add_input_options(parser)
    return parser.parse_args(words)


def graph_of(*words):
    return read_inputs(options_of(typed(*words))).graph


@pytest.mark.parametrize("write", TABLES, ids=lambda write: write.__name__[3:])
def test_each_format_gives_the_same_graph(folder, write):
    expected = graph_of("--edges", "follows.csv", "--nodes", "users.csv", "--label", "team", "--id", "user")
    graph = graph_of(*write(folder.users, folder.follows))
    assert graph.ids.tolist() == expected.ids.tolist() == list(folder.users["user"])
    assert graph.labels.tolist() == expected.labels.tolist()
    assert (graph.adjacency.to_scipy() != expected.adjacency.to_scipy()).nnz == 0
    assert graph.feature_names == expected.feature_names
    assert np.allclose(graph.features.toarray(), expected.features.toarray(), atol=1e-6)


def test_matrix_market_and_npz(folder):
    import scipy.io

    expected = graph_of("--edges", "follows.csv", "--nodes", "users.csv", "--label", "team", "--id", "user")
    matrix = sp.coo_array(expected.adjacency.to_scipy())
    scipy.io.mmwrite("a.mtx", matrix)
    scipy.io.mmwrite("x.mtx", expected.features)
    numbered = folder.users.assign(user=np.arange(1, 121))
    numbered.to_csv("n.csv", index=False)
    words = ("--nodes", "n.csv", "--label", "team", "--id", "user", "--feature-matrix", "x.mtx")
    graph = graph_of("--edges", "a.mtx", *words)
    assert (graph.adjacency.to_scipy() != expected.adjacency.to_scipy()).nnz == 0
    assert np.allclose(graph.features.toarray(), expected.features.toarray(), atol=1e-6)
    np.savez("g.npz", edges=np.column_stack([matrix.row, matrix.col]), features=expected.features.toarray(),
             labels=expected.codes)  # fmt: skip
    graph = graph_of("--edges", "g.npz", "--unlabelled", "-1")
    assert graph.codes.tolist() == expected.codes.tolist()
    assert (graph.adjacency.to_scipy() != expected.adjacency.to_scipy()).nnz == 0


def test_options_are_what_was_typed():
    words = ("--edges", "e.csv", "--separator", r"\t", "--no-header", "--ignore", "a, b", "--category", "c", "--text", "d")
    options = options_of(typed(*words, "--missing", "?,-", "--no-directed"))
    assert options.edges[0].separator == "\t"
    assert options.edges[0].header is False
    assert options.ignore == ("a", "b")
    assert options.kinds == {"c": "category", "d": "words"}
    assert options.missing == ("", "?", "-")
    assert options.directed is False
    assert options.unknown == "fail"


def test_later_commands_say_less():
    first = typed("--edges", "e.csv", "--nodes", "n.csv", "--id", "key", "--unknown", "keep")
    later = with_recorded(typed("--nodes", "new.csv"), vars(first))
    options = options_of(later)
    files = [str(source) for source in (*options.edges, *options.nodes)]
    assert (files, options.id, options.unknown) == (["new.csv"], "key", "keep"), "files that a model names are not read"
    words = ("--edges", "p=e.csv", "--edges", "q.csv", "--relation", "kind", "--directed", "p,r", "--directed", "q")
    kept = vars(typed(*words))
    options = options_of(with_recorded(typed(), kept))
    assert options.edges == () and (options.relation, options.directed) == ("kind", ("p", "r", "q"))
    again = options_of(with_recorded(typed("--no-directed"), kept))
    assert again.directed is False and options_of(typed("--directed")).directed is True
    assert options_of(with_recorded(typed(), {"edges": "e.csv", "ignore": "a,b", "directed": True})).ignore == ("a", "b")


@pytest.mark.parametrize("words", [("--directed", "--no-directed"), ("--directed", "a", "--directed")])
def test_directions_that_exclude_each_other(words):
    with pytest.raises(InputError, match="--no-directed"):
        options_of(typed("--edges", "e.csv", *words))


def test_the_kept_graph_and_options_of_the_fit_are_those_of_later(fitted):
    model, inputs, options = load_with_graph(typed())
    assert options.edges == () and options.id == "user" and options.label is None
    assert inputs.graph.n == 120 and len(inputs.graph.labelled) == 0, "labels are not needed to predict"
    assert model.predict(inputs.graph).tolist() == SlimG.load("slimg-out/model.slimg").predict(inputs.graph).tolist()
    assert model.data_["reading"]["label"] == "team"


def test_features_are_encoded_as_they_were(fitted):
    """A table in which every word and city is another keeps the columns of the fit."""
    _, before, _ = load_with_graph(typed())
    fitted.users.assign(city="lima", bio="never seen").to_csv("other.csv", index=False)
    _, after, _ = load_with_graph(typed("--nodes", "other.csv"))
    assert after.graph.feature_names == before.graph.feature_names
    names = list(before.graph.feature_names)
    age = [k for k, name in enumerate(names) if "age" in name]
    assert (after.graph.features.toarray()[:, age] == before.graph.features.toarray()[:, age]).all()


def test_a_model_without_files_asks_for_them(fitted):
    _, inputs, _ = load_with_graph(typed())
    labels = fitted.users["team"].replace("", None).to_numpy(object)
    SlimG(grid=[(0.0, 0.1)]).fit(inputs.graph.with_labels(labels)).save("bare.slimg", keep_graph=False)
    with pytest.raises(InputError, match=r"bare\.slimg.*--edges"):
        load_with_graph(typed("--model", "bare.slimg"))


def test_a_model_that_is_not_there(folder):
    with pytest.raises(InputError, match=r"slimg-out/model\.slimg.*slimg fit"):
        load_with_graph(typed())
    assert typed().model == Path("slimg-out/model.slimg")


def test_nodes_are_named_as_text():
    graph = Graph.from_edges({"source": [30, 7], "target": [7, 5]}, [30, 7, 5])
    assert rows_of_nodes(graph, ["5", "30"]) == [2, 0] and rows_of_nodes(graph, ()) == []
    with pytest.raises(InputError, match=r"nobody.*30, 7, 5"):
        rows_of_nodes(graph, ["nobody"])


CHANCES = np.array([[1 / 3, 2 / 3], [1.0 - 1e-7, 1e-7], [3e-12, 1.0]], np.float32)


@pytest.mark.parametrize("name", ["p.csv", "p.tsv", "p.jsonl", "p.parquet"])
def test_written_probabilities_lose_no_digit(tmp_path, name):
    table = pd.DataFrame({"id": ["a", "b", "c"], "margin": [1, 2, 3]})
    graph = Graph.from_edges({"source": ["a"], "target": ["b"]}, ["a", "b", "c"])
    inputs = Inputs(graph, table, "id", "label", None, ())
    notes = write_predictions(inputs, np.array(["no", "yes"]), CHANCES.astype(float) * (1 + 1e-12), tmp_path / name)
    assert len(notes) == 1 and "slimg_" in notes[0], "margin was there"
    read = {".parquet": pd.read_parquet, ".jsonl": lambda path: pd.read_json(path, lines=True, precise_float=True)}
    path = tmp_path / name
    found = read.get(path.suffix, lambda path: pd.read_csv(path, sep="," if path.suffix == ".csv" else "\t"))(path)
    np.testing.assert_array_equal(found[["slimg_p(no)", "slimg_p(yes)"]].to_numpy(np.float32), CHANCES)
    assert found["slimg_prediction"].tolist() == ["yes", "no", "yes"] and found["margin"].tolist() == [1, 2, 3]
    if path.suffix == ".csv":
        assert "0.33333334" in path.read_text() and "0.333333343" not in path.read_text(), "as few digits as suffice"


def test_predictions_have_the_ending_of_the_nodes():
    for given, ending in (("n.pq", ".parquet"), ("n.tab", ".tsv"), ("n.json", ".jsonl"), ("n.mtx", ".csv")):
        options = options_of(typed("--edges", "e.csv", "--nodes", given))
        assert predictions_path(Path("out"), options) == Path("out") / f"predictions{ending}"
