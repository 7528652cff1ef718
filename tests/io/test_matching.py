"""Ids of two files are matched whatever their types, and every node has a row."""

import numpy as np
import pandas as pd
import pytest

from slimg.errors import InputError
from slimg.io.matching import comparable, distinct, graph_of, with_strangers


def test_numbers_stay_numbers_and_anything_else_is_compared_as_text():
    ids, (first, _) = comparable(pd.Series([1, 2]), [pd.Series([2, 1]), pd.Series([1, 1])])
    assert ids.tolist() == [1, 2] and first.tolist() == [2, 1]
    ids, (first, second) = comparable(pd.Series([1, 2]), [pd.Series(["2", "x"]), pd.Series([1.0, None])])
    assert ids.tolist() == ["1", "2"] and first.tolist() == ["2", "x"] and second.tolist() == ["1", None]


def test_an_empty_text_is_no_id():
    ids, (ends,) = comparable(pd.Series(["a", "b"]), [pd.Series(["", "b"])])
    assert ids.tolist() == ["a", "b"] and ends.tolist() == [None, "b"]


def test_ids_of_the_edges_are_in_order_if_they_can_be():
    assert distinct([pd.Series([3, 1]), pd.Series([2, 3])]).tolist() == [1, 2, 3]
    assert distinct([pd.Series(["b", 1], dtype=object), pd.Series(["a", "b"], dtype=object)]).tolist() == ["b", 1, "a"]


def graph(unknown):
    edges = {"source": np.array(["a", "c"], object), "target": np.array(["b", "a"], object)}
    return graph_of(edges, np.array(["a", "b"], object), None, np.eye(2), ("x", "y"), True, unknown)


def test_strangers_get_a_row_and_nobody_else():
    table = pd.DataFrame({"name": ["a", "b"], "age": [1, 2]})
    kept = graph("keep")
    assert with_strangers(table, "name", kept)["name"].tolist() == kept.ids.tolist() == ["a", "b", "c"]
    assert with_strangers(table, "name", graph("drop")) is table and kept.feature_names == ("x", "y")


def test_strangers_are_told_in_the_words_of_the_command_line():
    with pytest.raises(InputError, match=r"'c'.*--unknown keep or --unknown drop"):
        graph("fail")
