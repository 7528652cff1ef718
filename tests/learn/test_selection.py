"""The rule: accuracy, then loss, then sparsity."""

from dataclasses import replace

import numpy as np
import pytest

from slimg.learn.path import Pair
from slimg.learn.selection import Record, best, describe, merge, series_of, validate
from slimg.learn.solver import Solution

PLAIN = Record(1e-4, 1e-3, False, 0.8, 0.5, 1e-5, ("U",), 100.0, True, 1.0)


def test_accuracy_then_loss_then_sparsity():
    records = [
        replace(PLAIN, val_accuracy=0.79, val_loss=0.1, nonzero=1.0),
        PLAIN,
        replace(PLAIN, val_loss=0.4, nonzero=300.0),
        replace(PLAIN, val_loss=0.4, nonzero=200.0),
    ]
    assert best(records) == 3
    assert best(records[:2]) == 1


def test_equal_records_give_the_first_and_rounding_is_no_difference():
    third = replace(PLAIN, val_accuracy=0.1 + 0.2, val_loss=0.9)
    assert best([PLAIN, PLAIN]) == 0
    assert best([third, replace(third, val_accuracy=0.3, val_loss=0.8)]) == 1


def test_a_loss_that_is_infinite_loses_ties():
    assert best([replace(PLAIN, val_loss=np.inf), PLAIN]) == 1


def test_only_unseen_classes_in_validation():
    solution = Solution(np.eye(2), np.zeros(2), 1.0, 1e-6, True, 3, 5.0, 0.1)
    record = validate(Pair(0.0, 0.1), solution, ("a",), np.zeros(2, int), np.eye(2), np.array([-1, -1]))
    assert record.val_accuracy == 0 and record.val_loss == np.inf
    assert set(record.as_dict()) >= {"l1", "group", "joint", "val_accuracy", "dual_gap", "zero_components", "seconds"}
    assert record.pair == Pair(0.0, 0.1)


def test_folds_are_averaged_and_zero_means_zero_in_all():
    other = replace(PLAIN, val_accuracy=0.6, dual_gap=1e-4, zero_components=("U", "X"), converged=False)
    both = merge([PLAIN, other])
    assert both.val_accuracy == pytest.approx(0.7) and both.dual_gap == 1e-4
    assert both.zero_components == ("U",) and not both.converged and both.seconds == 2.0


def test_validate_counts_unseen_classes_as_wrong():
    weights = np.array([[4.0, 0.0], [0.0, 4.0], [0.0, 0.0]])
    solution = Solution(weights, np.zeros(2), 1.0, 1e-6, True, 3, 5.0, 0.1)
    rows, codes = np.array([[1.0, 0, 0], [0, 1.0, 0], [1.0, 0, 0]]), np.array([0, 1, -1])
    record = validate(Pair(0.0, 0.1), solution, ("a", "b"), np.array([0, 0, 1]), rows, codes)
    assert record.val_accuracy == pytest.approx(2 / 3)
    assert record.val_loss == pytest.approx(np.log1p(np.exp(-4.0)))
    assert record.zero_components == ("b",) and record.nonzero == 2


def test_candidates_in_words():
    joint = replace(PLAIN, joint=True, l1=0.0)
    several, single = replace(PLAIN, apart={"U": 0.02, "X": 0.0013}), replace(PLAIN, apart={"U": 0.02})
    assert [describe(each.as_dict()) for each in (PLAIN, joint, several, single)] == [
        "λ₁ = 0.0001, λ₂ = 0.001",
        "λ₁ = 0, λ₂ = 0.001, one joint group",
        "U (λ = 0.02), X (λ = 0.0013), learned apart and added",
        "U (λ = 0.02) alone",
    ]
    assert describe(several.as_dict(), str.lower).startswith("u (")


def test_a_line_of_the_figure_for_each_kind_of_candidate():
    records = [replace(PLAIN, group=0.1), PLAIN, replace(PLAIN, joint=True), replace(PLAIN, apart={"U": 0.001})]
    series = series_of([record.as_dict() for record in records])
    assert list(series) == ["λ₁ = 0.0001", "one joint group", "learned apart"]
    assert series["λ₁ = 0.0001"] == [(0.001, 0.8), (0.1, 0.8)]
