"""The multinomial loss against scikit-learn and scipy; its dual value against Fenchel's definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.special import softmax as scipy_softmax
from sklearn.metrics import log_loss as sklearn_log_loss

from slimg.learn.objective import MultinomialLoss, log_loss, softmax


def drawn(seed, m=25, c=4, spread=2.0, fit_intercept=True, dtype=np.float64):
    """A loss with uneven weights in which every class occurs, and scores."""
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(c), rng.integers(0, c, m - c)])
    weights = rng.random(m) + 0.05
    loss = MultinomialLoss(codes, (weights / weights.sum()).astype(dtype), c, fit_intercept)
    return loss, (spread * rng.standard_normal((m, c))).astype(dtype), rng


def value(loss, scores):
    """f(T) by its definition."""
    own = scores[np.arange(len(scores)), loss.codes]
    return float(loss.row_weights @ (logsumexp(scores, axis=1) - own))


@pytest.mark.parametrize("seed", range(3))
def test_value_is_the_weighted_cross_entropy(seed):
    loss, scores, rng = drawn(seed)
    b = rng.standard_normal(4)
    fit = loss.evaluate(scores, b)
    expected = scipy_softmax(scores + b, axis=1)
    np.testing.assert_allclose(fit.probabilities, expected, rtol=1e-13)
    assert fit.value == pytest.approx(sklearn_log_loss(loss.codes, expected, sample_weight=loss.row_weights), rel=1e-12)


def test_large_scores_neither_overflow_nor_lose_the_loss():
    loss, scores, _ = drawn(0)
    fit = loss.evaluate(1e5 * scores, np.zeros(4))
    assert fit.value == pytest.approx(value(loss, 1e5 * scores), rel=1e-13)
    np.testing.assert_allclose(fit.probabilities.sum(axis=1), 1)


def test_residual_is_the_derivative_by_the_scores():
    loss, scores, rng = drawn(1)
    b, step = rng.standard_normal(4), 1e-6
    residual = loss.residual(loss.evaluate(scores, b).probabilities)
    for i, k in [(0, 0), (3, 2), (10, 1), (24, 3)]:
        move = np.zeros_like(scores)
        move[i, k] = step
        slope = (value(loss, scores + b + move) - value(loss, scores + b - move)) / (2 * step)
        assert residual[i, k] == pytest.approx(slope, abs=1e-9)


@given(seed=st.integers(0, 10_000), spread=st.floats(0, 50), dtype=st.sampled_from([np.float32, np.float64]))
@settings(max_examples=60, deadline=None)
def test_best_intercept_makes_the_residual_sum_to_zero(seed, spread, dtype):
    loss, scores, rng = drawn(seed, spread=spread, dtype=dtype)
    start = rng.standard_normal(4)
    fit = loss.with_intercept(scores, start)
    sums = loss.residual(fit.probabilities).astype(np.float64).sum(axis=0)
    assert np.abs(sums).max() <= (1e-11 if dtype == np.float64 else 1e-6 * (1 + spread))  # scores of size s are s·eps off
    assert fit.value <= loss.evaluate(scores, start).value + 1e-6
    assert fit.intercept.sum() == pytest.approx(0, abs=1e-8)


@pytest.mark.parametrize("spread", [0.0, 1.0, 8.0])
def test_best_intercept_equals_scipy(spread):
    loss, scores, _ = drawn(2, spread=spread)
    fit = loss.with_intercept(scores, np.zeros(4))
    found = minimize(lambda b: value(loss, scores + b), np.zeros(4), method="BFGS", options={"gtol": 1e-9})
    assert fit.value <= found.fun + 1e-13
    assert fit.value == pytest.approx(found.fun, rel=1e-9)
    np.testing.assert_allclose(fit.intercept, found.x - found.x.mean(), atol=1e-5)
    assert fit.value == pytest.approx(value(loss, scores + fit.intercept), rel=1e-12)


def test_without_intercept_nothing_moves():
    loss, scores, _ = drawn(3, fit_intercept=False)
    fit = loss.with_intercept(scores, np.zeros(4))
    assert not fit.intercept.any()
    assert fit.value == pytest.approx(value(loss, scores), rel=1e-13)
    assert loss.at_zero() == pytest.approx(np.log(4))


@pytest.mark.parametrize("seed", range(3))
def test_loss_at_zero_is_the_entropy_of_the_weighted_classes(seed):
    loss, scores, _ = drawn(seed)
    share = np.array([loss.row_weights[loss.codes == k].sum() for k in range(4)])
    fit = loss.with_intercept(np.zeros_like(scores), np.zeros(4))
    assert loss.at_zero() == pytest.approx(fit.value, rel=1e-12)
    np.testing.assert_allclose(fit.probabilities, np.tile(share, (25, 1)), rtol=1e-10)


@given(seed=st.integers(0, 10_000), scale=st.floats(0, 1), spread=st.floats(0.01, 20))
@settings(max_examples=100, deadline=None)
def test_dual_value_is_the_conjugate_at_the_scaled_residual(seed, scale, spread):
    """−f*(sR) = min_T f(T) − ⟨T, sR⟩: no T is below it, and T = log(y + s(p − y)) attains it."""
    loss, scores, rng = drawn(seed, spread=spread)
    probabilities = loss.evaluate(scores, np.zeros(4)).probabilities
    residual = scale * loss.residual(probabilities)
    dual = loss.dual_value(probabilities, scale)
    other = rng.uniform(0, 30) * rng.standard_normal(scores.shape)
    assert dual <= value(loss, other) - np.vdot(other, residual) + 1e-10
    mixed = scale * probabilities
    mixed[np.arange(len(mixed)), loss.codes] += 1 - scale
    attained = np.log(np.maximum(mixed, 1e-300))
    assert dual == pytest.approx(value(loss, attained) - np.vdot(attained, residual), abs=1e-10)


@pytest.mark.parametrize(("dtype", "rel"), [(np.float32, 1e-6), (np.float64, 1e-13)])
def test_softmax_and_log_loss_equal_scipy_and_scikit_learn(dtype, rel):
    _, scores, rng = drawn(5, spread=30.0, dtype=dtype)
    before = scores.copy()
    np.testing.assert_allclose(softmax(scores), scipy_softmax(scores.astype(np.float64), axis=1), rtol=1e-13)
    codes = np.where(np.arange(25) % 5 == 0, -1, rng.integers(0, 4, 25))
    own = logsumexp(scores.astype(np.float64), axis=1) - scores[np.arange(25), codes]
    assert log_loss(scores, codes) == pytest.approx(own[codes >= 0].mean(), rel=rel)
    np.testing.assert_array_equal(scores, before)


def test_log_loss_without_a_known_class_is_infinite():
    assert log_loss(np.zeros((2, 3)), np.array([-1, -1])) == np.inf
