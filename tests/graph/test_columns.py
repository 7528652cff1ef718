"""Columns keep every value as it was; and which column of a table is which."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from slimg.errors import InputError
from slimg.graph.columns import (
    as_column,
    as_text,
    codes_of,
    edge_columns,
    hint_of_ids,
    id_column,
    label_column,
    list_names,
    missing,
    rows_in,
    show,
    text_column,
)


@pytest.mark.parametrize(
    ("values", "kind", "items"),
    [
        ([1, 2], "i", [1, 2]),
        ([1, "a"], "O", [1, "a"]),
        ([(1, 2), (3, 4)], "O", [(1, 2), (3, 4)]),
        ([2**70, 1], "O", [2**70, 1]),
        ([True, False], "b", [True, False]),
        ([1, True], "O", [1, True]),
        (np.array(["x", "yy"]), "O", ["x", "yy"]),
        (pd.Series(["x", "y"]), "O", ["x", "y"]),
        (pd.Index([3, 4]), "i", [3, 4]),
        (pa.array([1, 2]), "i", [1, 2]),
        (pa.chunked_array([["a"], ["b"]]), "O", ["a", "b"]),
        (np.array([[1], [2]]), "i", [1, 2]),
        (range(3), "i", [0, 1, 2]),
        ((k for k in "ab"), "O", ["a", "b"]),
    ],
)
def test_values_survive(values, kind, items):
    column = as_column(values, "values")
    assert column.dtype.kind == kind and column.tolist() == items
    assert [type(v) for v in column.tolist()] == [type(v) for v in items]


def test_missing_of_every_sort():
    column = as_column([None, float("nan"), pd.NA, pd.NaT, "x", 0, ""], "values")
    assert missing(column).tolist() == [True] * 4 + [False] * 3
    dates = np.array(["2020-01-01", "NaT"], "datetime64[D]")
    assert missing(dates).tolist() == [False, True]


def test_values_that_cannot_be_compared_have_an_order():
    classes, codes = codes_of(as_column(["b", 2, "a", 1, 2], "values"), "values")
    assert classes.tolist() == [1, 2, "a", "b"] and codes.tolist() == [3, 1, 2, 0, 1]


def test_show_stops():
    assert show(range(5)) == "0, 1, 2, 3, 4" and show(range(9)) == "0, 1, 2, 3, 4 …"
    assert show(np.array([1.5])) == "1.5"


@pytest.mark.parametrize("values", ["abc", 3, {"a": 1}, np.ones((2, 2))])
def test_not_a_column(values):
    with pytest.raises(InputError, match="ids must be"):
        as_column(values, "ids")


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
    assert id_column(nodes, None, pd.Index(["ann", "bob"])) == "handle"
    assert id_column(nodes, None, None) == "number"
    assert id_column(frame(id=["9", "8"], handle=["ann", "bob"]), None, pd.Index(["ann"])) == "handle"
    assert id_column(nodes, "number", None) == "number"
    shared = frame(name=["f:1", "get", "set"], function=["f:1", "g:1", "h:1"])  # names, one of which is an id too
    assert id_column(shared, None, pd.Index(["f:1", "g:1", "h:1"])) == "function"


def test_numbers_that_are_ids_too_are_no_column_of_ids():
    table = pd.DataFrame({"customer": [f"{k:04}" for k in range(100)], "name": ["Ann", "Bob"] * 50, "age": [18, 19, 20, 21] * 25})
    numbers = as_text(pd.Series(range(100)))
    assert id_column(table, None, numbers) == "customer", "every age is an id, but few ids are ages"
    assert id_column(table, None, None) == "customer", "names that are there twice are no ids"
    twice = pd.concat([table.assign(customer=range(100))] * 2)
    assert id_column(twice, None, numbers) == "customer", "ids that are there twice are told as such"


def test_leading_zeros_are_offered():
    assert "'0038'" in hint_of_ids("38", ["0001", "0038"]) and "ids look like" in hint_of_ids("99", ["0001", "0038"])
    assert hint_of_ids("003", ["0003", "0038", "0030"]) == "did you mean '0038' or '0030'?", "zeros that are typed count"


def test_labels():
    assert label_column(frame(id=[1], Class=["x"]), None) == "Class"
    with pytest.raises(InputError, match=r"label.*columns are id, x"):
        label_column(frame(id=[1], x=[2]), None)


def test_ids_as_text():
    def texts(values):
        return as_text(values).to_numpy(dtype=object, na_value=None).tolist()

    assert texts(pd.Series([1, None], dtype="Int64")) == ["1", None]
    assert texts(pd.Series([1.0, 2.5, float("nan"), "x"], dtype=object)) == ["1", "2.5", None, "x"]
    assert texts(pd.Series(["a", ""])) == ["a", None]


def test_long_lists_of_columns_end():
    assert list_names([f"c{k}" for k in range(40)]).endswith("c29 and 10 more")


def test_a_weight_is_no_end_of_an_edge():
    assert edge_columns(frame(w=[1.0], a=["x"], b=["y"]), None, None, None, None)[:3] == ("a", "b", "w")


def test_what_is_said_names_the_parameter_or_the_option():
    edges = frame(a=["x"], b=["y"])
    with pytest.raises(InputError, match="there is no column 'c' for source: the columns are a, b"):
        edge_columns(edges, "c", None, None, None)
    with pytest.raises(InputError, match="--source and --target name the same column 'a'"):
        edge_columns(edges, "a", "a", None, None, "--")


def test_places_of_many_columns_of_text():
    rng = np.random.default_rng(0)
    known = np.array([f"n{k}" for k in range(50)], object)
    for kinds in (["string"] * 5, ["string", "large_string", "string"], ["string"]):
        columns = [np.array([f"n{k}" for k in rng.integers(0, 60, size)], object) for size in (7, 0, 3, 9, 1)[: len(kinds)]]
        texts = [text_column(pa.array(column, getattr(pa, kind)())) for column, kind in zip(columns, kinds, strict=True)]
        found = rows_in(known, "ids", *texts)
        assert [rows.tolist() for rows in found] == [[int(v[1:]) if int(v[1:]) < 50 else -1 for v in c] for c in columns]
