"""Components fitted separately: each solves the problem of its own columns, scores are added, the best are candidates."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slimg.engine.memory import MemoryEngine
from slimg.errors import InputError
from slimg.learn.objective import Labelled, stratified_folds
from slimg.learn.path import (
    Check,
    SeparateFits,
    check_penalties_by_component,
    largest_penalty,
    solve_separately,
)
from slimg.learn.search import SearchConfig, search
from slimg.learn.solver import solve

PENALTIES = {"a": 0.02, "b": 0.05}


def two_views(seed=0, shares=(0.6, 0.3, 0.1), rows=600, noise=0):
    """Two groups that predict the class independently of one another, and perhaps one of noise."""
    rng = np.random.default_rng(seed)
    codes = rng.choice(3, rows, p=shares)
    codes[:3] = np.arange(3)
    parts = [rng.standard_normal((rows, 4)) + np.eye(3, 4)[codes], rng.standard_normal((rows, 5)) + np.eye(3, 5)[codes]]
    widths = {"a": 4, "b": 5}
    if noise:
        parts.append(rng.standard_normal((rows, noise)))
        widths["noise"] = noise
    return Labelled(np.hstack(parts).astype(np.float32), codes, 3, np.ones(rows), widths, MemoryEngine(1))


def part_of(labelled, rows):
    return replace(labelled, matrix=labelled.matrix[rows], codes=labelled.codes[rows], weights=labelled.weights[rows])


def halves(labelled):
    rows = np.arange(len(labelled.codes)) % 2 == 0
    first = part_of(labelled, rows)
    return first, Check(labelled.matrix[~rows], labelled.codes[~rows])


def test_each_component_is_the_solution_of_its_own_columns():
    labelled = two_views()
    added = solve_separately(labelled, PENALTIES, 1e-8, 500)
    for name, penalty in PENALTIES.items():
        alone = solve(labelled.only(name).problem(), 0.0, penalty, tol=1e-8)
        np.testing.assert_allclose(added.weights[labelled.columns(name)], alone.weights, atol=1e-4)
    assert added.gap <= 1e-8 and added.converged


def test_the_shares_of_the_classes_count_once():
    """Components that predict nothing leave exactly log π, however many there are."""
    labelled = two_views(shares=(0.7, 0.2, 0.1))
    mute = {name: 2 * largest_penalty(labelled, name) for name in labelled.widths}
    added = solve_separately(labelled, mute, 1e-6, 100)
    assert not added.weights.any()
    expected = np.log(np.bincount(labelled.codes) / len(labelled.codes))
    np.testing.assert_allclose(added.intercept, expected - expected.mean(), atol=1e-4)


def test_independent_components_give_the_posterior():
    """Normal features of unit variance: log p(y | F) = log π + F·μ_y − ‖μ_y‖²/2 + const, component by component."""
    labelled = two_views(rows=60_000)
    weak = {name: 1e-3 * largest_penalty(labelled, name) for name in labelled.widths}
    scores = solve_separately(labelled, weak, 1e-6, 500).scores(labelled.matrix)
    means = np.hstack([np.eye(3, 4), np.eye(3, 5)])
    truth = np.log([0.6, 0.3, 0.1]) + labelled.matrix @ means.T
    chosen = scores.argmax(axis=1)
    assert (chosen == truth.argmax(axis=1)).mean() > 0.98


def test_all_components_are_taken_where_all_predict_and_noise_is_left_out():
    labelled, check = halves(two_views(rows=1200, noise=60))
    fits = SeparateFits(labelled, [check], 1e-4, 1e-4, 200)
    fits.add(0, labelled.each(fits.tasks(0)))
    candidates = fits.candidates()
    assert [len(each.record.separate) for each in candidates] == [1, 2, 3]
    assert set(candidates[1].record.separate) == {"a", "b"}
    accuracies = [each.record.val_accuracy for each in candidates]
    assert accuracies[1] > accuracies[0] and candidates[1].record.zero_components == ("noise",)
    losses = [each.record.val_loss for each in candidates]
    assert np.argmin(losses) == 1


def test_the_record_is_that_of_the_scores():
    labelled, check = halves(two_views())
    fits = SeparateFits(labelled, [check], 1e-4, 1e-4, 200, PENALTIES)
    fits.add(0, labelled.each(fits.tasks(0)))
    (candidate,) = fits.candidates()
    scores = fits.solve(candidate).scores(check.matrix)
    np.testing.assert_allclose(candidate.scores[0], scores, atol=1e-2)
    assert candidate.record.val_accuracy == pytest.approx((scores.argmax(axis=1) == check.codes).mean())
    assert candidate.record.separate == PENALTIES and candidate.record.group == 0.05


def test_folds_give_each_row_the_score_of_a_fit_that_held_it_out(monkeypatch):
    monkeypatch.setattr("slimg.learn.search.LOOSE", 0.0)
    labelled = two_views(rows=150)
    found = search(SearchConfig([PENALTIES], folds=3), labelled, None)
    assert found.records[0].separate == PENALTIES
    for fit, check in stratified_folds(labelled.codes, 3, 0):
        own = solve_separately(part_of(labelled, fit), PENALTIES, 1e-4, 200).scores(labelled.matrix[check])
        np.testing.assert_allclose(found.held_out_scores[check], own, atol=0.02)
    np.testing.assert_allclose(found.solution.weights, solve_separately(labelled, PENALTIES, 1e-4, 200).weights, atol=0.02)


def test_the_default_path_tries_them_and_the_papers_grid_does_not():
    labelled, check = halves(two_views())
    assert sum(record.separate is not None for record in search(SearchConfig("path"), labelled, check[:2]).records) == 2
    assert all(record.separate is None for record in search(SearchConfig("paper"), labelled, check[:2]).records)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.lists(st.floats(0.5, 3), min_size=3, max_size=3))
def test_weights_of_rows_are_rows_repeated(seed, by_class):
    labelled = two_views(seed, rows=90)
    repeats = np.ceil(by_class).astype(int)[labelled.codes]
    again = np.repeat(np.arange(90), repeats)
    weighted = replace(labelled, weights=repeats.astype(float))
    copied = replace(labelled, matrix=labelled.matrix[again], codes=labelled.codes[again], weights=np.ones(len(again)))
    one, two = (solve_separately(each, PENALTIES, 1e-9, 500).scores(labelled.matrix) for each in (weighted, copied))
    np.testing.assert_allclose(one, two, atol=2e-3)


@pytest.mark.parametrize(
    "given, words",
    [({}, "empty"), ({"c": 0.1}, "'c'"), ({"a": 0}, "penalty of a"), ({"a": "much"}, "'much'"), ({"b": np.inf}, "inf")],
)
def test_a_wrong_mapping_is_an_error(given, words):
    with pytest.raises(InputError, match=words):
        check_penalties_by_component(given, ["a", "b"])


def test_components_keep_their_own_order():
    assert list(check_penalties_by_component({"b": 1, "a": 2.0}, ["a", "b"])) == ["a", "b"]
