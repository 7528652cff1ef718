"""SparseGroupLogisticRegression as a scikit-learn classifier."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from slimg.errors import InputError
from slimg.learn import SparseGroupLogisticRegression

EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": "compares fits to 1e-7, but a fit is certified to tol = 1e-4;"
    " the equivalence itself is tested below at a small tol",
}


@parametrize_with_checks([SparseGroupLogisticRegression()], expected_failed_checks=lambda estimator: EXPECTED)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(150, 12, n_informative=6, n_classes=3, random_state=0)
    return X, np.array(["ash", "elm", "oak"])[y]


def test_weights_are_repetitions(data):
    X, y = data
    times = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = SparseGroupLogisticRegression(tol=1e-10).fit(X, y, sample_weight=times)
    repeated = SparseGroupLogisticRegression(tol=1e-10).fit(np.repeat(X, times, 0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-4)


def test_class_weight_is_a_sample_weight(data):
    X, y = data
    by_class = SparseGroupLogisticRegression(class_weight={"oak": 3.0}, tol=1e-10).fit(X, y)
    by_sample = SparseGroupLogisticRegression(tol=1e-10).fit(X, y, sample_weight=np.where(y == "oak", 3.0, 1.0))
    np.testing.assert_allclose(by_class.coef_, by_sample.coef_, atol=1e-4)


def test_groups_as_widths_and_as_sets(data):
    X, y = data
    widths = SparseGroupLogisticRegression(1e-3, 5e-2, [4, 8], tol=1e-9).fit(X, y)
    sets = SparseGroupLogisticRegression(1e-3, 5e-2, [np.arange(4, 12), [0, 1, 2, 3]], tol=1e-9).fit(X, y)
    assert widths.objective_ == pytest.approx(sets.objective_, rel=1e-7)


def test_features_in_no_group_have_the_l1_part_alone(data):
    """With a group penalty that nothing survives, the rest is a lasso over the features in no group."""
    X, y = data
    ours = SparseGroupLogisticRegression(1e-2, 10.0, [[0, 1, 2], [7, 11]], tol=1e-9).fit(X, y)
    free = [3, 4, 5, 6, 8, 9, 10]
    alone = SparseGroupLogisticRegression(1e-2, 0.0, tol=1e-9).fit(X[:, free], y)
    assert not np.delete(ours.coef_, free, axis=1).any()
    assert ours.objective_ == pytest.approx(alone.objective_, rel=1e-7)
    np.testing.assert_allclose(ours.coef_[:, free], alone.coef_, atol=2e-3)


def test_balanced_weights_are_those_of_scikit_learn(data):
    X, y = data
    X, y = X[np.r_[0:60, 100:150]], np.where(y == "oak", "oak", "else")[np.r_[0:60, 100:150]]
    weights = len(y) / (2 * np.where(y == "oak", (y == "oak").sum(), (y != "oak").sum()))
    balanced = SparseGroupLogisticRegression(class_weight="balanced", tol=1e-9).fit(X, y)
    by_sample = SparseGroupLogisticRegression(tol=1e-9).fit(X, y, sample_weight=weights)
    assert balanced.objective_ == pytest.approx(by_sample.objective_, rel=1e-8)
    np.testing.assert_allclose(balanced.coef_, by_sample.coef_, atol=1e-4)


def test_two_classes_are_the_binary_problem_with_half_weights(data):
    """softmax over ±w/2 is the sigmoid of w, so ‖W‖₁ = ‖w‖₁: C as in scikit-learn's binary SAGA."""
    X, y = data[0], data[1] == "oak"
    ours = SparseGroupLogisticRegression(2e-2, 0.0, tol=1e-8).fit(X, y)
    saga = LogisticRegression(l1_ratio=1, solver="saga", C=1 / (2e-2 * len(y)), tol=1e-9, max_iter=50_000).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), saga.decision_function(X), atol=2e-3)
    np.testing.assert_allclose(ours.predict_proba(X), saga.predict_proba(X), atol=1e-3)
    assert ours.decision_function(X).shape == (len(y),) and ours.classes_.tolist() == [False, True]


def test_without_intercept_it_is_zero(data):
    X, y = data
    model = SparseGroupLogisticRegression(1e-3, 1e-2, fit_intercept=False, tol=1e-7).fit(X, y)
    assert model.converged_ and not model.intercept_.any()


def test_penalties_beyond_lambda_max_leave_the_shares_of_the_classes(data):
    X, y = data
    model = SparseGroupLogisticRegression(0.0, 100.0).fit(X, y)
    assert not model.coef_.any() and model.n_iter_ == 0
    shares = [np.mean(y == label) for label in model.classes_]
    np.testing.assert_allclose(model.predict_proba(X), np.tile(shares, (len(y), 1)), atol=1e-6)


def test_threads_and_repetition_give_the_same_bits(data):
    X, y = data
    fits = [SparseGroupLogisticRegression(threads=threads).fit(X, y) for threads in (1, 2, 2)]
    assert len({fit.coef_.tobytes() + fit.intercept_.tobytes() for fit in fits}) == 1


def test_l1_alone_is_saga(data):
    X, y = data
    ours = SparseGroupLogisticRegression(2e-2, 0.0, tol=1e-8).fit(X, y)
    saga = LogisticRegression(l1_ratio=1, solver="saga", C=1 / (2e-2 * len(y)), tol=1e-10, max_iter=50_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, saga.coef_, atol=2e-4)
    assert ((ours.coef_ == 0) == (np.abs(saga.coef_) < 1e-7)).all()


def test_scores_probabilities_and_labels_agree(data):
    X, y = data
    model = SparseGroupLogisticRegression().fit(X.astype(np.float32), y)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert (model.classes_[proba.argmax(1)] == model.predict(X)).all() and model.predict(X).dtype == y.dtype
    two = SparseGroupLogisticRegression().fit(X, y == "oak")
    assert ((two.decision_function(X) > 0) == two.predict(X)).all() and model.dual_gap_ <= 1e-4


def test_the_warning_names_the_gap(data):
    with pytest.warns(ConvergenceWarning, match="duality gap is .* after 1 Newton steps"):
        SparseGroupLogisticRegression(1e-6, 1e-6, max_iter=1, tol=1e-9).fit(*data)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"l1": -1}, "l1 must be"), ({"group": np.nan}, "group must be"), ({"l1": 0, "group": 0}, "both 0"),
        ({"groups": [5, 6]}, "add up to the 12 features"), ({"groups": [0, 12]}, "positive"),
        ({"groups": [[0, 1], [1, 2]]}, "feature 1 is named twice"), ({"groups": [[0, 3, 3]]}, "feature 3 is named twice"),
        ({"groups": [[0, 99]]}, "feature 99"), ({"groups": [[0, -1]]}, "feature -1"), ({"groups": [[]]}, "non-empty"),
        ({"groups": [[0.5]]}, "feature numbers"), ({"groups": []}, "None is one group"), ({"groups": 3}, "None is one"),
        ({"groups": [[0, 1]], "l1": 0}, "feature 2 is in no group"),
        ({"class_weight": {"fir": 2}}, "'fir'"), ({"class_weight": "heavy"}, "balanced"),
        ({"class_weight": [1, 2]}, "a dict"), ({"class_weight": {"oak": -1}}, "positive weights"),
        ({"l1": "much"}, "l1 must be"), ({"group": None}, "group must be"),
        ({"tol": 0}, "tol must be"), ({"tol": np.inf}, "tol must be"), ({"max_iter": 0}, "max_iter must be"),
        ({"max_iter": 2.5}, "max_iter must be"), ({"threads": 0}, "threads must be"),
        ({"fit_intercept": "no"}, "fit_intercept.*'no'"),
    ],
)  # fmt: skip
def test_wrong_parameters(data, options, words):
    with pytest.raises(InputError, match=words) as error:
        SparseGroupLogisticRegression(**options).fit(*data)
    assert "\n" not in str(error.value)


def test_one_class_only(data):
    with pytest.raises(InputError, match="one class only"):
        SparseGroupLogisticRegression().fit(data[0], np.full(150, "oak"))
