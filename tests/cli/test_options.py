"""What a user types for each format gives the same graph."""

import argparse

import numpy as np
import pytest
import scipy.sparse as sp
from written import TABLES

from slimg.cli.options import add_input_options, as_record, options_of, with_recorded
from slimg.io.inputs import read_inputs


def typed(*words):
    parser = argparse.ArgumentParser()
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
    assert options.edges.separator == "\t"
    assert options.edges.header is False
    assert options.ignore == ("a", "b")
    assert options.kinds == {"c": "category", "d": "words"}
    assert options.missing == ("", "?", "-")
    assert options.directed is False
    assert options.unknown == "fail"


def test_later_commands_say_less():
    first = typed("--edges", "e.csv", "--nodes", "n.csv", "--id", "key", "--unknown", "keep")
    later = with_recorded(typed("--nodes", "new.csv"), as_record(first))
    options = options_of(later)
    assert (str(options.edges), str(options.nodes), options.id, options.unknown) == ("e.csv", "new.csv", "key", "keep")
