"""The checks as a test of a model."""

import pytest
from sanity_reports import Majority
from sklearn.linear_model import LogisticRegression

from slimg.lab.sanity import assert_passes, from_sklearn

LR = from_sklearn(LogisticRegression(C=0.1, max_iter=500), name="lr")


def test_a_model_that_passes_gives_its_report():
    report = assert_passes(LR, ["semantic-uniform", "random-uniform"])
    assert report.passes("lr")


def test_a_model_that_fails_is_shown_its_matrix_and_its_verdict():
    with pytest.raises(AssertionError, match=r"failed by Majority(.|\n)*✗(.|\n)*Majority passes 0 of the 1 checks"):
        assert_passes([LR, Majority], ["semantic-uniform"])
