"""Answers of every kind: right ones counted, wrong ones refused with the reason."""

import numpy as np
import pandas as pd
import pytest

from slimg.errors import InputError
from slimg.graph import Graph
from slimg.lab.sanity.judge import accuracy

NUMBERS = Graph.from_arrays(np.ones((4, 4)) - np.eye(4), labels=[0, 1, 2, 1])
TEXT = Graph.from_arrays(np.ones((4, 4)) - np.eye(4), labels=["a", "b", "c", "b"])
TEST = np.array([1, 2, 3])


@pytest.mark.parametrize("as_type", [list, np.array, np.float32, pd.Series, lambda v: np.array(v)[:, None]])
def test_share_of_right_answers_on_the_test_rows(as_type):
    assert accuracy(as_type([2, 1, 2, 0]), NUMBERS, TEST) == pytest.approx(2 / 3)


def test_classes_of_any_type():
    assert accuracy(["c", "b", "c", "b"], TEXT, TEST) == 1
    assert accuracy(pd.array(["c", "b", "a", "a"]), TEXT, TEST) == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ([1, 2, 1], "3 answers for 4 nodes"),
        (np.zeros((4, 3)), "not probabilities"),
        (np.zeros((4, 3, 2)), r"\(4, 3, 2\)"),
        ([0, np.nan, 1, 1], "1 node without a class"),
        ([0, None, None, 1], "2 nodes without a class"),
        ([0, 7, 1, 1], "do not exist: 7"),
        (["0", "1", "1", "1"], "do not exist"),
        (None, "sequence"),
        (3, "sequence"),
        ([[0], [1, 2], [1], [1]], "hashable|shape|sequence"),
    ],
)
def test_answers_that_are_none(answers, said):
    with pytest.raises(InputError, match=said):
        accuracy(answers, NUMBERS, TEST)
