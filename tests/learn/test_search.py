"""The search for the pair: what validation rows and folds decide, and when patience ends."""

from dataclasses import replace

import numpy as np
import pytest

from slimg.engine.memory import MemoryEngine
from slimg.learn.labelled import Labelled, stratified_folds
from slimg.learn.path import Pair, best
from slimg.learn.search import SearchConfig, _Patience, search
from slimg.learn.solver import solve

PAIRS = [(0.0, 0.3), (0.0, 0.03), (1e-3, 1e-2)]


@pytest.fixture(scope="module")
def labelled():
    rng = np.random.default_rng(0)
    codes = np.arange(90) % 3
    matrix = rng.standard_normal((90, 10)) + 1.5 * np.eye(3, 10)[codes]
    return Labelled(matrix.astype(np.float32), codes, 3, np.ones(90), {"a": 6, "b": 4}, MemoryEngine(1))


def test_folds_judge_and_all_rows_are_solved_again(labelled):
    found = search(SearchConfig(PAIRS, folds=3), labelled, None)
    pair = found.records[found.chosen].pair
    assert [record.pair for record in found.records] == sorted((Pair(*p) for p in PAIRS), key=lambda p: (-p.group, -p.l1))
    assert found.chosen == best(found.records)
    whole = solve(labelled.problem(), pair.l1, pair.group)
    np.testing.assert_allclose(found.solution.weights, whole.weights, atol=5e-3)
    by_hand = []
    for fit, check in stratified_folds(labelled.codes, 3, 0):
        part = solve(labelled.problem(fit), pair.l1, pair.group)
        scores = labelled.matrix[check] @ part.weights + part.intercept
        by_hand.append((scores.argmax(axis=1) == labelled.codes[check]).mean())
    assert found.records[found.chosen].val_accuracy == pytest.approx(np.mean(by_hand), abs=0.02)


def test_scores_of_rows_held_out_are_those_the_record_counts(labelled):
    found = search(SearchConfig(PAIRS, folds=3), labelled, None)
    right = found.held_out_scores.argmax(axis=1) == labelled.codes
    by_fold = [right[check].mean() for _, check in stratified_folds(labelled.codes, 3, 0)]
    assert found.records[found.chosen].val_accuracy == pytest.approx(np.mean(by_fold))


@pytest.mark.parametrize("grid", ["path", PAIRS])
def test_folds_run_concurrently_give_the_same_bits(labelled, grid, monkeypatch):
    one, two = (search(SearchConfig(grid), replace(labelled, engine=MemoryEngine(threads)), None) for threads in (1, 2))
    monkeypatch.setattr("slimg.learn.labelled.SHARED_WORK", 0)
    in_turn = search(SearchConfig(grid), labelled, None)
    for other in (two, in_turn):
        assert other.solution.weights.tobytes() == one.solution.weights.tobytes()
        assert other.held_out_scores.tobytes() == one.held_out_scores.tobytes()
        assert [_known(record) for record in other.records] == [_known(record) for record in one.records]


def test_patience_holds_within_a_warm_start_group_as_it_does_along_the_path(labelled):
    impatient = search(SearchConfig("path", patience=1), labelled, None)
    patient = {record.pair: record.val_accuracy for record in search(SearchConfig("path"), labelled, None).records}
    assert len(impatient.records) < len(patient)
    assert all(patient[record.pair] == record.val_accuracy for record in impatient.records)


def _known(record):
    return record.pair, record.val_accuracy, record.val_loss, record.dual_gap, record.nonzero


def test_validation_rows_choose_the_solution_that_is_best_on_them(labelled):
    rows = np.arange(90) % 2 == 0
    part = Labelled(labelled.matrix[rows], labelled.codes[rows], 3, np.ones(45), labelled.widths, labelled.engine)
    check = labelled.matrix[~rows], labelled.codes[~rows]
    found = search(SearchConfig(PAIRS), part, check)
    scores = check[0] @ found.solution.weights + found.solution.intercept
    accuracy = (scores.argmax(axis=1) == check[1]).mean()
    assert accuracy == pytest.approx(max(record.val_accuracy for record in found.records))


def test_folds_hold_each_row_once_and_each_class(labelled):
    folds = stratified_folds(labelled.codes, 5, 0)
    np.testing.assert_array_equal(np.sort(np.concatenate([check for _, check in folds])), np.arange(90))
    assert all(set(labelled.codes[fit]) == {0, 1, 2} for fit, _ in folds)
    rare = Labelled(labelled.matrix[:32], np.array([0] * 15 + [1] * 15 + [2] * 2), 3, np.ones(32), {"a": 10}, None)
    assert len(stratified_folds(rare.codes, 5, 0)) == 2


def test_patience_counts_pairs_without_gain_for_each_series():
    patience = _Patience(2)
    series = [Pair(0.0, g) for g in (0.4, 0.2, 0.1)]
    for pair, accuracy in zip(series, (0.5, 0.5, 0.4), strict=True):
        assert not patience.reached(pair)
        patience.note(pair, accuracy)
    assert patience.reached(Pair(0.0, 0.05)) and not patience.reached(Pair(1e-3, 0.05))
    assert not _Patience(None).reached(series[0])
