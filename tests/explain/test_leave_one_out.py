"""Leave-one-out by formula against refitting, permuted labels against chance; whether more labels would help."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from slimg.engine.memory import MemoryEngine
from slimg.explain.held_out import (
    ALPHAS,
    Gain,
    HeldOut,
    LearningCurve,
    Point,
    Ridge,
    _divide,
    learning_curve,
    monotone,
)


def drawn(m, d, distance, seed, c=3):
    """Classes lie ``distance`` standard deviations from the middle, over d features: the more, the more labels it takes."""
    rng = np.random.default_rng(seed)
    centres = distance * np.linalg.qr(rng.standard_normal((d, c)))[0].T
    codes = np.arange(m) % c
    return (rng.standard_normal((m, d)) + centres[codes]) / np.sqrt(d), codes


def curve_of(rows, codes, seed=0, c=3):
    kernel = rows @ rows.T
    return learning_curve(kernel, Ridge(kernel).held_out(codes, c), c, np.random.default_rng(seed), MemoryEngine())


def test_labels_that_help_are_asked_for():
    found = [curve_of(*drawn(400, 200, 2.5, seed)) for seed in range(20)]
    told = [curve.outlook for curve in found]
    assert told.count("more") >= 12 and "little" not in told
    for curve in found:
        assert [point.labels for point in curve.points] == [50, 100, 200, 400]
        assert curve.points[0].score < curve.points[-1].score


def test_labels_that_do_not_help_are_not():
    """Three features, classes that overlap: the best there is was reached with fifty labels."""
    found = [curve_of(*drawn(400, 3, 1.5, seed)) for seed in range(20)]
    assert sum(curve.outlook == "more" for curve in found) <= 1, "one in twenty"


def test_noise_alone_is_no_gain():
    found = []
    for seed in range(40):
        rows, codes = drawn(200, 30, 0.0, seed)
        found.append(curve_of(rows, codes).outlook)
    assert found.count("more") <= 3


def test_many_labels_that_change_nothing_say_so():
    assert curve_of(*drawn(1500, 3, 3.0, 0)).outlook == "little"


def test_points_are_what_fresh_samples_of_that_size_reach():
    """Each point against ridge regression on other draws of so many rows from the same classes, judged on fresh rows."""
    rng = np.random.default_rng(5)
    centres = rng.standard_normal((3, 40)) * 0.25

    def sample(m):
        codes = np.arange(m) % 3
        return rng.standard_normal((m, 40)) / 3 + centres[codes], codes

    rows, codes = sample(600)
    for point in curve_of(rows, codes).points:
        reached = []
        for _ in range(12):
            mine, labels = sample(point.labels)
            fresh, truth = sample(600)
            best = 0.0
            for alpha in (0.02, 0.2, 2.0):
                dual = np.linalg.solve(mine @ mine.T + 1 + alpha * np.eye(len(mine)), np.eye(3)[labels] - 1 / 3)
                best = max(best, (((fresh @ mine.T + 1) @ dual).argmax(axis=1) == truth).mean())
            reached.append(best)
        assert point.score == pytest.approx(np.mean(reached), abs=0.04)


def test_too_few_labels_for_a_doubling():
    curve = curve_of(*drawn(24, 5, 2.0, 0))
    assert len(curve.points) == 1 and curve.doubling is None and curve.outlook == "unclear"


@pytest.mark.parametrize(
    ("before", "rise", "error", "outlook"),
    [
        (0.04, 0.03, 0.01, "more"),
        (0.04, 0.026, 0.02, "unclear"),
        (0.005, 0.03, 0.01, "unclear"),
        (0.0, 0.012, 0.003, "little"),
        (None, 0.031, 0.01, "more"),
        (None, 0.029, 0.01, "unclear"),
        (0.0, 0.008, 0.001, "little"),
        (0.0, 0.0, 0.02, "unclear"),
        (0.0, 0.0, 0.004, "little"),
    ],
)
def test_a_rise_counts_when_it_exceeds_its_error_and_was_there_before(before, rise, error, outlook):
    heights = [0.5, 0.5 + rise] if before is None else [0.5 - before, 0.5, 0.5 + rise]
    points = tuple(Point(50 << k, height, error, height) for k, height in enumerate(heights))
    assert LearningCurve(points, Gain(rise, error)).outlook == outlook


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0.1, 10)), min_size=1, max_size=8))
def test_monotone_is_isotonic_regression(points):
    values, weights = (np.array(each) for each in zip(*points, strict=True))
    expected = IsotonicRegression().fit_transform(np.arange(len(values)), values, sample_weight=weights)
    np.testing.assert_allclose(monotone(values, weights), expected, atol=1e-9)


@pytest.mark.parametrize("parts", [2, 4, 8])
def test_a_division_gives_every_part_its_share_of_every_class(parts):
    rng = np.random.default_rng(0)
    codes = rng.choice(3, 101, p=[0.6, 0.3, 0.1])
    part_of = _divide(codes, parts, rng)
    counts = np.array([np.bincount(codes[part_of == part], minlength=3) for part in range(parts)])
    assert (counts.max(axis=0) - counts.min(axis=0) <= 1).all() and counts.sum() == 101


def rows_and_codes(m=40, d=6, c=3, signal=1.0, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.arange(m) % c
    return rng.standard_normal((m, d)) + signal * np.eye(c, d)[codes], codes


def test_the_formula_is_refitting_without_each_row():
    matrix, codes = rows_and_codes()
    ridge, targets = Ridge(matrix @ matrix.T), np.eye(3)[codes]
    wide = np.column_stack([matrix, np.ones(len(matrix))])
    for alpha, found in zip(ALPHAS, ridge._predictions(targets), strict=True):
        for i in range(len(matrix)):
            rest = np.arange(len(matrix)) != i
            gram = wide[rest].T @ wide[rest] + alpha * np.eye(wide.shape[1])
            weights = np.linalg.solve(gram, wide[rest].T @ (targets[rest] - targets.mean(axis=0)))
            np.testing.assert_allclose(found[i], wide[i] @ weights + targets.mean(axis=0), atol=1e-8)


def test_signal_is_above_permuted_labels_and_noise_is_not():
    rng = np.random.default_rng(0)
    matrix, codes = rows_and_codes(m=150, signal=1.5)
    ridge = Ridge(matrix @ matrix.T)
    assert ridge.held_out(codes, 3).score > ridge.by_chance(codes, 3, rng).max()
    matrix, codes = rows_and_codes(m=150, signal=0.0)
    ridge = Ridge(matrix @ matrix.T)
    chance = ridge.by_chance(codes, 3, rng)
    assert chance.min() <= ridge.held_out(codes, 3).score <= chance.max() + 0.05
    assert chance.mean() == pytest.approx(1 / 3, abs=0.06)


def test_permutations_are_evaluated_like_the_labels_themselves():
    matrix, codes = rows_and_codes()
    ridge, rng = Ridge(matrix @ matrix.T), np.random.default_rng(3)
    order = np.random.default_rng(3).permutation(len(codes))
    assert ridge.by_chance(codes, 3, rng, permutations=1)[0] == ridge.held_out(codes[order], 3).score


def test_a_gain_must_be_above_its_error():
    assert Gain(0.05, 0.02).matters and not Gain(0.03, 0.02).matters and not Gain(0.004, 0.0).matters


def test_a_gain_is_of_the_same_rows():
    rng = np.random.default_rng(0)
    less = rng.random(400) < 0.6
    more = less | (rng.random(400) < 0.2)
    codes = np.zeros(400, np.int64)
    found = HeldOut(np.eye(2)[1 - more], codes).gain(HeldOut(np.eye(2)[1 - less], codes))
    assert found.value == pytest.approx(more.mean() - less.mean())
    draws = [rng.choice(400, 400) for _ in range(2000)]
    assert found.error == pytest.approx(np.std([(more[rows] * 1.0 - less[rows]).mean() for rows in draws]), rel=0.1)
