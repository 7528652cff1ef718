"""Leave-one-out by formula against leaving each row out, and permuted labels against luck."""

import numpy as np
import pytest

from slimg.explain.ridge import ALPHAS, Gain, Ridge, gain


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
    assert ridge.held_out(codes, 3).accuracy > ridge.by_chance(codes, 3, rng).max()
    matrix, codes = rows_and_codes(m=150, signal=0.0)
    ridge = Ridge(matrix @ matrix.T)
    chance = ridge.by_chance(codes, 3, rng)
    assert chance.min() <= ridge.held_out(codes, 3).accuracy <= chance.max() + 0.05
    assert chance.mean() == pytest.approx(1 / 3, abs=0.06)


def test_permutations_are_judged_like_the_labels_themselves(monkeypatch):
    matrix, codes = rows_and_codes()
    ridge, rng = Ridge(matrix @ matrix.T), np.random.default_rng(3)
    order = np.random.default_rng(3).permutation(len(codes))
    assert ridge.by_chance(codes, 3, rng, permutations=1)[0] == ridge.held_out(codes[order], 3).accuracy


def test_a_gain_must_be_above_its_error():
    assert Gain(0.05, 0.02).matters and not Gain(0.03, 0.02).matters and not Gain(0.004, 0.0).matters


def test_a_gain_is_of_the_same_rows():
    rng = np.random.default_rng(0)
    less = rng.random(400) < 0.6
    more = less | (rng.random(400) < 0.2)
    found = gain(more, less)
    assert found.value == pytest.approx(more.mean() - less.mean())
    draws = [rng.choice(400, 400) for _ in range(2000)]
    assert found.error == pytest.approx(np.std([(more[rows] * 1.0 - less[rows]).mean() for rows in draws]), rel=0.1)
