"""Columns keep every value as it was."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from slimg.errors import InputError
from slimg.graph.columns import as_column, codes_of, missing, show


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
