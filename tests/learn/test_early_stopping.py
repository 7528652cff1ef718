"""L-BFGS stopped early: its optimum, its epochs, and that the row space is all it needs."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from slimg.learn import early_stopping
from slimg.learn.early_stopping import fit_stopped


def problem(m=60, p=8, c=3, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((m, p))
    codes = (rows @ rng.standard_normal((p, c)) + rng.gumbel(size=(m, c))).argmax(1)
    return rows, codes


def objective(rows, codes, fit, wd):
    scores = rows @ fit.weights + fit.intercept
    scores = scores - scores.max(1, keepdims=True)
    loss = np.mean(np.log(np.exp(scores).sum(1)) - scores[np.arange(len(codes)), codes])
    return loss + wd / 2 * (np.square(fit.weights).sum() + np.square(fit.intercept).sum())


def test_without_validation_it_runs_to_the_optimum_that_scikit_learn_finds():
    rows, codes = problem()
    wd = 0.01
    fit = fit_stopped(rows, codes, 3, wd)
    # the intercept is penalised like any weight, so scikit-learn is given a column of ones and none of its own
    with_ones = np.hstack([rows, np.ones((len(rows), 1))])
    sklearn = LogisticRegression(C=1 / (wd * len(rows)), fit_intercept=False, tol=1e-10, max_iter=5000)
    coef = sklearn.fit(with_ones, codes).coef_.T
    np.testing.assert_allclose(np.vstack([fit.weights, fit.intercept]), coef, atol=2e-3)


@pytest.mark.parametrize("wd", [0.0, 5e-4])
@pytest.mark.parametrize("epochs", [1, 2])
def test_the_run_in_the_row_space_is_the_run_over_all_columns(monkeypatch, wd, epochs):
    rows, codes = problem(m=20, p=200)
    check = problem(m=30, p=200, seed=1)
    small = fit_stopped(rows, codes, 3, wd, check, epochs=epochs)
    monkeypatch.setattr(early_stopping, "_row_space", lambda rows: (np.eye(rows.shape[1]), rows))
    large = fit_stopped(rows, codes, 3, wd, check, epochs=epochs)
    assert small.epoch == large.epoch
    np.testing.assert_allclose(small.weights, large.weights, atol=1e-3 * np.abs(large.weights).max())


def test_the_epoch_with_the_best_validation_accuracy_is_kept():
    rows, codes = problem(m=40, p=30)
    check = problem(m=200, p=30, seed=1)
    kept = fit_stopped(rows, codes, 3, 0.0, check)
    after = [fit_stopped(rows, codes, 3, 0.0, check, epochs=e, patience=100) for e in range(1, kept.epoch + 5)]
    accuracies = [np.mean((check[0] @ e.weights + e.intercept).argmax(1) == check[1]) for e in after]
    assert kept.val_accuracy == max(accuracies)
    assert kept.epoch == after[-1].epoch == int(np.argmax(accuracies)) + 1


def test_patience_ends_the_run():
    rows, codes = problem(m=400, p=200)
    rows[:, 0] *= 1e4  # badly scaled: many iterations
    check_rows = problem(m=50, p=200, seed=1)[0]
    counted = []
    original = early_stopping._Run._end_epoch

    class Counting(early_stopping._Run):
        def _end_epoch(self, flat):
            counted.append(self.iterations)
            original(self, flat)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(early_stopping, "_Run", Counting)
        fit = fit_stopped(rows, codes, 3, 0.0, (check_rows, np.full(50, -1)), patience=3)
    assert counted == [20, 40, 60, 80]
    assert (fit.epoch, fit.val_accuracy, fit.val_loss) == (1, 0.0, np.inf)


def test_the_objective_falls_with_the_epochs():
    rows, codes = problem(m=80, p=40)
    values = [objective(rows, codes, fit_stopped(rows, codes, 3, 1e-4, epochs=e), 1e-4) for e in (1, 2, 10)]
    assert values[0] >= values[1] >= values[2]


def test_loss_and_accuracy_on_validation_rows_are_those_of_the_kept_weights():
    rows, codes = problem()
    check_rows, check_codes = problem(seed=1)
    fit = fit_stopped(rows, codes, 3, 1e-3, (check_rows, check_codes))
    assert fit.val_loss == pytest.approx(objective(check_rows, check_codes, fit, 0), rel=1e-5)
    assert fit.val_accuracy == np.mean((check_rows @ fit.weights + fit.intercept).argmax(1) == check_codes)


def test_a_strong_weight_decay_leaves_nothing():
    rows, codes = problem()
    fit = fit_stopped(rows, codes, 3, 1e6)
    assert np.abs(fit.weights).max() < 1e-5


def test_rows_of_zeros_are_learned_as_the_shares_of_the_classes():
    codes = np.array([0, 0, 0, 1])
    fit = fit_stopped(np.zeros((4, 3)), codes, 2, 0.0)
    assert not fit.weights.any()
    p = np.exp(fit.intercept) / np.exp(fit.intercept).sum()
    np.testing.assert_allclose(p, [0.75, 0.25], atol=1e-4)
