"""The search for the pair: what validation rows and folds decide, and when patience ends."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import log_softmax

from slimg.engine.memory import MemoryEngine
from slimg.errors import InputError
from slimg.learn.objective import Labelled, stratified_folds
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
    found = search(SearchConfig(PAIRS, folds=3, average=1), labelled, None)
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
    found = search(SearchConfig(PAIRS, folds=3, average=1), labelled, None)
    right = found.held_out_scores.argmax(axis=1) == labelled.codes
    by_fold = [right[check].mean() for _, check in stratified_folds(labelled.codes, 3, 0)]
    assert found.records[found.chosen].val_accuracy == pytest.approx(np.mean(by_fold))


@pytest.mark.parametrize("grid", ["path", PAIRS])
def test_folds_run_concurrently_give_the_same_bits(labelled, grid, monkeypatch):
    one, two = (search(SearchConfig(grid), replace(labelled, engine=MemoryEngine(threads)), None) for threads in (1, 2))
    monkeypatch.setattr("slimg.learn.objective.SHARED_WORK", 0)
    in_turn = search(SearchConfig(grid), labelled, None)
    for other in (two, in_turn):
        assert other.solution.weights.tobytes() == one.solution.weights.tobytes()
        assert other.held_out_scores.tobytes() == one.held_out_scores.tobytes()
        assert [_known(record) for record in other.records] == [_known(record) for record in one.records]


def test_patience_holds_within_a_warm_start_group_as_it_does_along_the_path(labelled):
    impatient = search(SearchConfig("paper", patience=1), labelled, None)
    patient = {record.pair: record.val_accuracy for record in search(SearchConfig("paper"), labelled, None).records}
    assert len(impatient.records) < len(patient)
    for record in impatient.records:  # from another start, and solved loosely
        assert record.val_accuracy == pytest.approx(patient[record.pair], abs=0.03)


def _known(record):
    return record.pair, record.val_accuracy, record.val_loss, record.dual_gap, record.nonzero


def test_validation_rows_choose_the_solution_that_is_best_on_them(labelled):
    rows = np.arange(90) % 2 == 0
    part = Labelled(labelled.matrix[rows], labelled.codes[rows], 3, np.ones(45), labelled.widths, labelled.engine)
    check = labelled.matrix[~rows], labelled.codes[~rows]
    found = search(SearchConfig(PAIRS, average=1), part, check)
    scores = check[0] @ found.solution.weights + found.solution.intercept
    accuracy = (scores.argmax(axis=1) == check[1]).mean()
    assert accuracy == pytest.approx(max(record.val_accuracy for record in found.records))


def test_folds_hold_each_row_once_and_each_class(labelled):
    folds = stratified_folds(labelled.codes, 5, 0)
    np.testing.assert_array_equal(np.sort(np.concatenate([check for _, check in folds])), np.arange(90))
    assert all(set(labelled.codes[fit]) == {0, 1, 2} for fit, _ in folds)


def test_a_small_class_is_held_out_in_some_folds_and_a_single_row_in_none():
    codes = np.array([0] * 15 + [1] * 15 + [2] * 2 + [3])
    folds = stratified_folds(codes, 5, 0)
    assert len(folds) == 5 and all(set(codes[fit]) == {0, 1, 2, 3} for fit, _ in folds)
    np.testing.assert_array_equal(np.sort(np.concatenate([check for _, check in folds])), np.arange(32))
    assert all(len(check) and not set(fit) & set(check) and len(fit) + len(check) == 33 for fit, check in folds)
    with pytest.raises(InputError, match="two classes"):
        stratified_folds(np.array([0, 0, 0, 1, 2]), 5, 0)


def test_a_row_that_no_fold_held_out_has_no_score(labelled):
    codes = np.where(np.arange(90) == 7, 3, labelled.codes)
    found = search(SearchConfig(PAIRS, folds=3), replace(labelled, codes=codes, classes=4), None)
    missing = np.isnan(found.held_out_scores)
    assert missing[7].all() and not missing[np.arange(90) != 7].any()
    assert found.solution.weights.shape[1] == 4 and np.isfinite(found.solution.weights).all()


def members_of(found, labelled, tol=1e-7):
    pairs = [found.records[place].pair for place in found.members]
    return [solve(labelled.problem(), pair.l1, pair.group, tol=tol) for pair in pairs]


@pytest.fixture(scope="module")
def several(labelled):
    """A search that may pick each of three candidates five times, and one for each candidate alone, in the same order."""
    config = SearchConfig([{"a": 0.05}, {"b": 0.05}, (0.0, 0.3)], folds=3, tol=1e-7)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("slimg.learn.search.REACH", 1e9)  # none is left
        found = search(config, labelled, None)
    grids = [record.separate or record.pair for record in found.records]
    return found, [search(replace(config, grid=[grid]), labelled, None) for grid in grids]


def test_the_model_is_the_sum_of_its_members_by_weight_and_so_are_its_scores(labelled, several):
    found, alone = several
    weights = np.array([record.weight for record in found.records])
    assert len(found.members) > 1 and sorted(found.members) == np.flatnonzero(weights).tolist()
    assert found.members[0] == found.chosen == best(found.records)
    summed = {key: np.tensordot(weights, [getattr(each.solution, key) for each in alone], 1) for key in ("weights", "intercept")}
    np.testing.assert_allclose(found.solution.weights, summed["weights"], atol=5e-3)
    np.testing.assert_allclose(found.solution.intercept, summed["intercept"], atol=5e-3)
    assert found.solution.gap == max(found.records[place].dual_gap for place in found.members) <= 1e-7
    scores = np.tensordot(weights, [each.held_out_scores for each in alone], 1)
    np.testing.assert_allclose(found.held_out_scores, scores, atol=0.1)


def test_picks_are_those_with_the_least_loss_of_the_mean(labelled, several):
    """The best first, then by scipy's softmax what a loop over all counts of the next pick finds."""
    found, alone = several
    rows = np.arange(len(labelled.codes))

    def loss(scores):
        return -log_softmax(scores, axis=1)[rows, labelled.codes].mean()

    scores = [each.held_out_scores.astype(float) for each in alone]
    scaled = [min((loss(t * s) * len(rows) + np.log(t) ** 2 / 2, t) for t in 2 ** np.arange(-1, 5.5, 0.5))[1] for s in scores]
    counts = np.eye(3)[found.chosen]
    for k in range(2, 6):
        trials = [counts + np.eye(3)[at] for at in range(3)]
        losses = [loss(sum(n * t * s for n, t, s in zip(trial, scaled, scores, strict=True)) / k) for trial in trials]
        counts = trials[int(np.argmin(losses))]
    np.testing.assert_allclose([record.weight for record in found.records], counts * scaled / 5, rtol=1e-6)


def test_one_member_is_the_best_candidate(labelled):
    found = search(SearchConfig(PAIRS, folds=3, average=1, tol=1e-7), labelled, None)
    assert found.members == (found.chosen,)
    np.testing.assert_allclose(found.solution.weights, members_of(found, labelled)[0].weights, atol=2e-3)


def test_a_component_is_zero_only_if_it_is_in_all_members(labelled):
    """Beyond its λ_max nothing is left of b in one member; the mean has half of what the other one has."""
    found = search(SearchConfig([{"a": 0.02}, {"a": 0.02, "b": 0.001}], folds=3, average=2), labelled, None)
    assert len(found.members) == 2
    parts = [found.records[place].zero_components for place in found.members]
    assert sorted(parts) == [(), ("b",)] and found.solution.weights[6:].any()


def test_a_candidate_that_is_surely_worse_is_left_after_the_first_folds_and_is_no_member():
    rng = np.random.default_rng(0)
    codes = np.arange(1500) % 3
    matrix = (rng.standard_normal((1500, 10)) + 1.5 * np.eye(3, 10)[codes]).astype(np.float32)
    labelled = Labelled(matrix, codes, 3, np.ones(1500), {"a": 6, "b": 4}, MemoryEngine(1))
    found = search(SearchConfig([(0.0, 5.0), (0.0, 0.03), (0.0, 0.02)]), labelled, None)
    assert [record.folds for record in found.records if record.group == 5.0] == [1]
    assert all(found.records[place].folds == 5 and found.records[place].group < 1 for place in found.members)


@pytest.mark.parametrize("folds", [True, False])
def test_many_rows_are_tried_on_a_sample_first_and_the_same_candidates_win(folds, monkeypatch):
    rng = np.random.default_rng(0)
    codes = np.arange(1800) % 3
    matrix = (rng.standard_normal((1800, 10)) + 0.8 * np.eye(3, 10)[codes]).astype(np.float32)
    labelled = Labelled(matrix[:1500], codes[:1500], 3, np.ones(1500), {"a": 6, "b": 4}, MemoryEngine(1))
    check = None if folds else (matrix[1500:], codes[1500:])
    config = SearchConfig([(0.0, 5.0), (0.0, 0.03), (0.0, 0.003), (1e-3, 4.0)], average=1, scoring="log_loss")
    whole = search(config, labelled, check)
    monkeypatch.setattr("slimg.learn.search.LARGE", 1000)
    monkeypatch.setattr("slimg.learn.search.SAMPLE", 200)
    found = search(config, labelled, check)
    assert {record.pair for record in found.records} == {record.pair for record in whole.records}
    assert {record.pair.group for record in found.records if record.folds == 0} == {5.0, 4.0}
    winners = [{each.records[place].pair for place in each.members} for each in (found, whole)]
    assert winners[0] == winners[1]
    assert found.solution.converged and found.solution.gap <= config.tol
    np.testing.assert_allclose(found.solution.weights, whole.solution.weights, atol=5e-3)
    assert (found.held_out_scores is None) == (not folds)
    if folds:
        np.testing.assert_allclose(found.held_out_scores, whole.held_out_scores, atol=0.05)


def test_weaker_penalties_than_those_that_a_sample_favours_are_tried_on_all_rows(monkeypatch):
    rng = np.random.default_rng(1)
    codes = np.arange(3000) % 2
    matrix = (rng.standard_normal((3000, 60)) + 0.3 * rng.standard_normal((2, 60))[codes]).astype(np.float32)
    labelled = Labelled(matrix[:2000], codes[:2000], 2, np.ones(2000), {"a": 60}, MemoryEngine(1))
    monkeypatch.setattr("slimg.learn.search.LARGE", 1000)
    monkeypatch.setattr("slimg.learn.search.SAMPLE", 60)
    found = search(SearchConfig([(0.0, 0.3), (0.0, 0.1), (0.0, 1e-4)]), labelled, (matrix[2000:], codes[2000:]))
    assert next(record for record in found.records if record.group == 1e-4).folds == 1


def test_a_loose_gap_chooses_what_an_exact_one_chooses(labelled, monkeypatch):
    loose = search(SearchConfig("path"), labelled, None)
    monkeypatch.setattr("slimg.learn.search.LOOSE", 0.0)
    exact = search(SearchConfig("path"), labelled, None)
    by_pair = {(each.pair, str(each.separate)): each for each in exact.records}
    pairs = [(record, by_pair[record.pair, str(record.separate)]) for record in loose.records]
    compared = [(a.val_accuracy, b.val_accuracy) for a, b in pairs if a.folds == b.folds]
    assert len(compared) >= len(pairs) - 2  # one that is at the edge of being left may be tried on more folds
    for a, b in compared:
        assert a == pytest.approx(b, abs=0.04)
    assert pairs[loose.chosen][1].val_accuracy >= exact.records[exact.chosen].val_accuracy - 0.02


def test_patience_counts_pairs_without_gain_for_each_series():
    patience = _Patience(2)
    series = [Pair(0.0, g) for g in (0.4, 0.2, 0.1)]
    for pair, accuracy in zip(series, (0.5, 0.5, 0.4), strict=True):
        assert not patience.reached(pair)
        patience.note(pair, accuracy)
    assert patience.reached(Pair(0.0, 0.05)) and not patience.reached(Pair(1e-3, 0.05))
    assert not _Patience(None).reached(series[0])
