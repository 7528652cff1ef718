"""Which column is which."""

import pandas as pd
import pytest

from slimg.errors import InputError
from slimg.graph.guess import as_text, edge_columns, id_column, label_column, listed, text_of


def frame(**columns):
    return pd.DataFrame(columns)


def test_names_in_any_case():
    edges = frame(Weight=[1], TARGET=["b"], Source=["a"])
    assert edge_columns(edges, None, None, None, None)[:3] == ("Source", "TARGET", "Weight")


def test_values_that_are_ids_win_over_places():
    edges = frame(time=["1", "2"], liker=["a", "b"], liked=["b", "c"])
    first, second, weight, guessed = edge_columns(edges, None, None, None, pd.Index(["a", "b", "c"]))
    assert (first, second, weight) == ("liker", "liked", None)
    assert guessed == ["source = 'liker'", "target = 'liked'"]


def test_what_is_given_is_not_guessed():
    edges = frame(a=["x"], b=["y"], c=["z"])
    assert edge_columns(edges, "c", "a", None, None) == ("c", "a", None, [])
    assert edge_columns(edges, "b", None, None, None)[:2] == ("b", "a")


def test_the_id_is_what_edges_refer_to():
    nodes = frame(number=["1", "2"], handle=["ann", "bob"])
    assert id_column(nodes, None, pd.Index(["ann", "bob"])) == ("handle", True)
    assert id_column(nodes, None, None) == ("number", True)
    assert id_column(frame(id=["9", "8"], handle=["ann", "bob"]), None, pd.Index(["ann"]))[0] == "handle"
    assert id_column(nodes, "number", None) == ("number", False)


def test_labels():
    assert label_column(frame(id=[1], Class=["x"]), None) == ("Class", True)
    with pytest.raises(InputError, match="say which column holds the labels with label: the columns are id, x"):
        label_column(frame(id=[1], x=[2]), None)


def test_ids_as_text():
    assert text_of(pd.array([1, None], "Int64").astype(object)).tolist() == ["1", None]
    assert list(as_text(pd.Series([1.0, 2.5, float("nan"), "x"], dtype=object))) == ["1", "2.5", None, "x"]


def test_long_lists_of_columns_end():
    assert listed([f"c{k}" for k in range(40)]).endswith("c29 and 10 more")


def test_a_weight_is_no_end_of_an_edge():
    assert edge_columns(frame(w=[1.0], a=["x"], b=["y"]), None, None, None, None)[:3] == ("a", "b", "w")


def test_what_is_said_names_the_parameter_or_the_option():
    edges = frame(a=["x"], b=["y"])
    with pytest.raises(InputError, match="there is no column 'c' for source: the columns are a, b"):
        edge_columns(edges, "c", None, None, None)
    with pytest.raises(InputError, match="--source and --target name the same column 'a'"):
        edge_columns(edges, "a", "a", None, None, "--")
