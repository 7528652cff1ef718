"""The solver against a first-order method, adelie and scikit-learn's SAGA; its certificate, λ_max and exact zeros."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax

from benchmarks.oracles import adelie_point, saga_point
from oracles import Task, fista, gap, random_task, shrink
from slimg.engine.memory import MemoryEngine
from slimg.learn.objective import BLOCK_ENTRIES, Labelled, Problem
from slimg.learn.solver import solve

TOL = 3e-8
"""Rounding of the objective hides what a step gains from about the root of float64's precision on."""
PAIRS = [(0.0, 0.03), (0.02, 0.0), (0.01, 0.02), (1e-3, 1e-3), (0.05, 0.05)]


def problem_of(task, dtype=np.float64, threads=1):
    matrix = task.matrix.astype(dtype)
    engine = MemoryEngine(threads)
    return Problem.build(
        matrix, task.codes, task.classes, task.group_of, engine, task.row_weights, fit_intercept=task.fit_intercept
    )


def task_of(seed, l1, group, **options):
    """With λ₁ = 0 every column is in a group: without any penalty there is no certificate."""
    return random_task(seed, l1, group, loose=2 if l1 else 0, **options)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("l1", "group"), PAIRS)
def test_objective_and_weights_equal_a_first_order_method(seed, l1, group):
    task = task_of(seed, l1, group, c=2 + seed % 3, m=60)
    weights, intercept = fista(task)
    solution = solve(problem_of(task), l1, group, tol=TOL)
    least = task.objective(weights, intercept)
    assert solution.converged
    assert task.objective(solution.weights, solution.intercept) == pytest.approx(least, rel=TOL)
    assert solution.objective == pytest.approx(least, rel=TOL)
    ours, theirs = task.matrix @ solution.weights + solution.intercept, task.matrix @ weights + intercept
    np.testing.assert_allclose(softmax(ours, axis=1), softmax(theirs, axis=1), atol=1e-3)
    assert solution.intercept.sum() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(("l1", "group"), PAIRS)
def test_without_intercept(l1, group):
    task = task_of(7, l1, group, fit_intercept=False)
    solution = solve(problem_of(task), l1, group, tol=TOL)
    weights, intercept = fista(task)
    assert not intercept.any() and not solution.intercept.any()
    assert solution.objective == pytest.approx(task.objective(weights, 0.0), rel=TOL)


@pytest.mark.parametrize(("l1", "group"), [(0.0, 0.02), (1e-3, 1e-3)])
def test_what_rounding_left_of_a_group_does_not_keep_it_from_moving(l1, group):
    task = task_of(3, l1, group)
    problem = problem_of(task)
    solution = solve(problem, l1, group, tol=TOL)
    largest = int(problem.penalty(l1, group).norms(solution.weights).argmax())
    weights = solution.weights.copy()
    weights[task.group_of == largest] *= 1e-15
    again = solve(problem, l1, group, replace(solution, weights=weights), tol=TOL)
    assert again.converged
    assert again.objective == pytest.approx(solution.objective, rel=TOL)


def test_weights_of_rows_are_repetitions():
    task = task_of(1, 0.01, 0.02)
    times = np.random.default_rng(0).integers(1, 4, len(task.codes))
    weighted = replace(task, row_weights=times / times.sum())
    repeated = replace(
        task,
        matrix=np.repeat(task.matrix, times, axis=0),
        codes=np.repeat(task.codes, times),
        row_weights=np.full(times.sum(), 1 / times.sum()),
    )
    a, b = (solve(problem_of(each), 0.01, 0.02, tol=TOL) for each in (weighted, repeated))
    assert a.objective == pytest.approx(b.objective, rel=TOL)
    np.testing.assert_allclose(a.weights, b.weights, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("l1", "group"), PAIRS)
def test_the_gap_is_never_below_what_is_missing(l1, group, dtype):
    """At every stage of the descent: certified gap ≥ objective − minimum; and a dual point found otherwise agrees."""
    task = task_of(3, l1, group)
    task.matrix = task.matrix.astype(np.float32).astype(np.float64)
    problem = problem_of(task, dtype)
    unit, least = problem.loss.at_zero(), task.objective(*fista(task))
    rounding = 1e-12 if dtype == np.float64 else 1e-6
    for steps in range(8):
        solution = solve(problem, l1, group, tol=1e-9, max_iter=max(steps, 1)) if steps else start_of(problem, l1, group)
        missing = task.objective(solution.weights, solution.intercept) - least
        assert solution.gap * unit >= missing - rounding
        own = gap(task, solution.weights, solution.intercept)
        assert solution.gap * unit == pytest.approx(own, rel=1e-2, abs=rounding)


def start_of(problem, l1, group):
    """W = 0: a loose tolerance accepts it."""
    solution = solve(problem, l1, group, tol=1e9)
    assert solution.iterations == 0 and not solution.weights.any()
    return solution


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("l1", [0.0, 1e-3, 2e-2])
@pytest.mark.parametrize("seed", range(3))
def test_lambda_max_is_exact(seed, l1, dtype):
    problem = problem_of(random_task(seed, l1, 0.0, loose=0), dtype)
    largest = problem.penalty(l1, 0.0).lambda_max(problem.gradient_at_zero())
    for share in (1.0 + 1e-6, 1.5, 100.0):
        solution = solve(problem, l1, share * largest, tol=1e-7)
        assert not solution.weights.any() and solution.converged and solution.gap <= 1e-7
    below = solve(problem, l1, 0.99 * largest, tol=1e-7)
    assert below.weights.any() and below.objective < problem.loss.at_zero()


def test_lambda_max_is_the_definition_and_without_groups_the_largest_slope():
    task = random_task(2, 0.0, 0.0, loose=0)
    problem = problem_of(task)
    share = np.bincount(task.codes, task.row_weights)
    slope = task.matrix.T @ (task.row_weights[:, None] * (share - np.eye(3)[task.codes]))
    np.testing.assert_allclose(problem.gradient_at_zero(), slope, atol=1e-12)
    expected = max(np.linalg.norm(shrink(slope[mine], 0.01)) for mine in task.members)
    assert problem.penalty(0.01, 0.0).lambda_max(slope) == pytest.approx(expected, rel=1e-12)
    assert not solve(problem, np.abs(slope).max() * (1 + 1e-9), 0.0, tol=1e-12).weights.any()
    assert solve(problem, np.abs(slope).max() * 0.99, 0.0, tol=1e-9).weights.any()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_groups_and_coordinates_that_are_zero_are_exactly_zero(seed, dtype):
    """Where the minimiser is zero with room to spare, the solution is zero to the last bit, and nowhere else."""
    task = random_task(seed, 0.01, 0.06, widths=(4, 5, 3, 4), loose=2, m=80)
    task.matrix[:, task.group_of == seed % 4] *= 0.1
    weights, intercept = fista(task)
    slope = task.matrix.T @ task.residual(task.matrix @ weights + intercept)
    solution = solve(problem_of(task, dtype), 0.01, 0.06, tol=1e-9 if dtype == np.float64 else 1e-6)
    inactive = [mine for mine in task.members if np.linalg.norm(shrink(slope[mine], 0.01)) < 0.98 * 0.06]
    assert inactive
    for mine in inactive:
        assert not weights[mine].any() and not solution.weights[mine].any()
    active = [mine for mine in task.members if np.linalg.norm(weights[mine]) > 1e-2]
    assert active and all(solution.weights[mine].any() for mine in active)
    inside = np.isin(task.group_of, [task.group_of[mine[0]] for mine in active]) | (task.group_of < 0)
    surely_zero = (np.abs(slope) < 0.98 * 0.01) & inside[:, None]
    assert surely_zero.any() and not solution.weights[surely_zero].any()


def test_the_default_gap_has_the_zero_groups_of_a_thousandth_of_it():
    """Groups that restate one another: within a gap of 1e-4 the weaker one can keep a weight that the solution has not."""
    wrong, counts = 0, set()
    for seed in range(3):
        problem = twin_groups(seed)
        largest = problem.penalty(0.0, 0.0).lambda_max(problem.gradient_at_zero())
        for group in largest * np.geomspace(0.9, 0.02, 25):
            start = solve(problem, 0.0, 0.8 * group)  # where more groups have weights
            loose, exact = (solve(problem, 0.0, group, start, exact_zeros=decided) for decided in (False, True))
            fine = solve(problem.in_double(), 0.0, group, tol=1e-7)
            zero = [problem.penalty(0.0, group).norms(each.weights) == 0 for each in (loose, exact, fine)]
            np.testing.assert_array_equal(zero[1], zero[2])
            assert exact.converged and exact.gap <= 1e-4
            wrong += (zero[0] != zero[2]).any()
            counts.add(int(zero[2].sum()))
    assert wrong and len(counts) > 1


def twin_groups(seed):
    """Four groups of twelve columns: the same view of the classes, each with its own noise."""
    rng = np.random.default_rng(seed)
    codes = np.arange(150) % 4
    view = rng.standard_normal((150, 12)) + 1.5 * np.eye(4, 12)[codes]
    matrix = np.hstack([view + 0.3 * rng.standard_normal(view.shape) for _ in range(4)]).astype(np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    return Problem.build(matrix, codes, 4, np.repeat(np.arange(4), 12), MemoryEngine(1))


def test_a_start_anywhere_ends_at_the_minimum():
    task = task_of(5, 1e-3, 0.01)
    problem = problem_of(task)
    cold = solve(problem, 1e-3, 0.01, tol=TOL)
    far = replace(cold, weights=5 * np.random.default_rng(0).standard_normal(cold.weights.shape))
    assert solve(problem, 1e-3, 0.01, start=far, tol=TOL).objective == pytest.approx(cold.objective, rel=TOL)
    again = solve(problem, 1e-3, 0.01, start=cold, tol=TOL)
    assert again.iterations == 0 and again.objective == pytest.approx(cold.objective, rel=1e-12)


def test_twin_and_empty_columns_do_no_harm():
    task = task_of(6, 1e-3, 0.01)
    columns = [0, 0, 1, 2, 3, 4, 5]
    wide = Task(
        np.column_stack([task.matrix[:, columns], np.zeros(len(task.codes))]), task.codes,
        np.array([0, 0, 0, 0, 1, 1, 1, 1]), task.row_weights, 1e-3, 0.01,
    )  # fmt: skip
    solution = solve(problem_of(wide), 1e-3, 0.01, tol=TOL)
    assert solution.objective == pytest.approx(wide.objective(*fista(wide)), rel=TOL)
    assert not solution.weights[-1].any()


def test_separable_classes_and_tiny_penalties_are_certified_in_float32():
    """Weights of norm 100 and losses near zero: float32 alone cannot show the gap, float64 goes on."""
    rng = np.random.default_rng(0)
    codes = np.arange(40) % 4
    matrix = (np.eye(4)[codes] @ rng.standard_normal((4, 30)) + 0.1 * rng.standard_normal((40, 30))).astype(np.float32)
    task = Task(matrix.astype(np.float64), codes, np.repeat([0, 1, 2], 10), np.full(40, 1 / 40), 1e-6, 1e-6)
    solution = solve(problem_of(task, np.float32), 1e-6, 1e-6, tol=1e-6)
    assert solution.converged
    assert gap(task, solution.weights, solution.intercept) <= 2e-6 * np.log(4)


@pytest.mark.parametrize(("seed", "l1", "group"), [(69, 1e-4, 1e-4), (585, 1e-4, 1e-4), (662, 1e-3, 1e-3), (866, 1e-3, 1e-3)])
def test_steps_that_gain_no_more_than_rounding_are_left_to_float64(seed, l1, group):
    """In float32 each lowered the objective by 1e-11 until none was left of 500; float64 needs a few."""
    rng = np.random.default_rng(seed)
    m, c, widths = int(rng.integers(8, 40)), int(rng.integers(2, 5)), rng.integers(2, 9, 3)
    codes, blocks = rng.permutation(np.arange(m) % c), []
    for width in widths:
        block = rng.normal(size=(m, width)) + rng.choice([0, 1, 3]) * np.eye(c, width)[codes]
        block -= block.mean(axis=0)
        blocks.append(block / np.linalg.norm(block, axis=1, keepdims=True))
    groups = np.repeat(np.arange(3), widths)
    problem = Problem.build(np.hstack(blocks).astype(np.float32), codes, c, groups, MemoryEngine(threads=1))
    found = solve(problem, l1, group, None, 1e-7, 500)
    assert found.converged and found.gap <= 1e-7 and found.iterations < 50


def test_threads_do_not_change_a_bit():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 5, 60_000)
    matrix = (np.eye(5)[codes] @ rng.standard_normal((5, 80)) + 4 * rng.standard_normal((60_000, 80))).astype(np.float32)
    group_of = np.repeat(np.arange(4), 20)

    def bits(threads):
        problem = Problem.build(matrix, codes, 5, group_of, MemoryEngine(threads))
        assert len(problem.rows._tasks(5)) > 1 and matrix.shape[0] * 5 > 2 * BLOCK_ENTRIES
        solution = solve(problem, 1e-3, 1e-2)
        return solution.weights.tobytes(), solution.intercept.tobytes(), solution.gap

    assert bits(1) == bits(2)


def evaluated(labelled, name, l1, group, rows=None):
    """Ours at tolerance 1e-7 in float64 on a real graph's rows, and the function that evaluates any point there."""
    matrix, codes, widths = labelled(name)
    if rows is not None:
        matrix, codes = matrix[rows], codes[rows]
    group_of = np.repeat(np.arange(len(widths)), widths)
    task = Task(matrix.astype(np.float64), codes, group_of, np.full(len(codes), 1 / len(codes)), l1, group)
    solution = solve(problem_of(task), l1, group, tol=1e-7)
    assert solution.converged
    assert task.objective(solution.weights, solution.intercept) == pytest.approx(solution.objective, rel=TOL)
    return task, widths, solution


@pytest.mark.parametrize(("name", "group", "rows"), [("cora", 0.1, slice(0, None, 2)), ("pubmed", 0.05, slice(0, None, 8))])
def test_without_l1_the_objective_is_adelies(labelled, name, group, rows):
    """Every second row of Cora, every eighth of PubMed: adelie takes minutes with all (`benchmarks/oracles.py` does)."""
    pytest.importorskip("adelie")
    task, widths, solution = evaluated(labelled, name, 0.0, group, rows)
    theirs = task.objective(*adelie_point(task.matrix, task.codes, widths, group, tol=1e-9))
    assert solution.objective == pytest.approx(theirs, rel=1e-5)
    assert solution.objective <= theirs + 1e-7 * np.log(task.classes)


@pytest.mark.parametrize(("name", "l1"), [("cora", 2e-2), ("pubmed", 1e-2)])
def test_without_groups_the_objective_is_sagas(labelled, name, l1):
    task, _, solution = evaluated(labelled, name, l1, 0.0)
    theirs = task.objective(*saga_point(task.matrix, task.codes, l1, tol=1e-5, max_iter=400))
    assert solution.objective == pytest.approx(theirs, rel=1e-5)
    assert solution.objective <= theirs + 1e-7 * np.log(task.classes)


@pytest.mark.parametrize("ratio", [1, 50, 400])
def test_a_gap_is_never_negative_nor_below_that_of_float64(ratio):
    """Residuals of a rare class, times its large intercept, made gaps of float32 negative."""
    rng = np.random.default_rng(ratio)
    for k in range(12):
        m, p = int(rng.integers(60, 400)), int(rng.integers(5, 40))
        codes = np.r_[0, 1, (rng.random(m - 2) < 1 / (1 + ratio)).astype(int)]
        x = rng.standard_normal((m, p)) + 0.7 * rng.standard_normal((2, p))[codes]
        rows = (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)
        labelled = Labelled(rows, codes, 2, np.full(m, 1 / m), {"a": p // 2, "b": p - p // 2}, MemoryEngine(threads=1))
        problem, (l1, group) = labelled.problem(), [(0, 1e-2), (1e-4, 1e-3), (1e-5, 1e-5)][k % 3]
        solution = solve(problem, l1, group)
        weights, bias = solution.weights.astype(float), solution.intercept.astype(float)

        def losses(scores, codes=codes):
            return np.logaddexp.reduce(scores, axis=1) - scores[np.arange(len(codes)), codes]

        scores = rows.astype(float) @ weights + bias  # the oracle: scipy finds the best intercept, numpy the rest
        found = minimize(lambda shift, scores=scores: losses(scores + np.array([0, shift[0]])).mean(), [0.0], tol=1e-14)
        q = np.exp(scores + np.array([0, found.x[0]]))
        q /= q.sum(axis=1, keepdims=True)
        z = rows.astype(float).T @ ((q - np.eye(2)[codes]) / m)
        scale = problem.penalty(l1, group).feasible_scale(z)
        dual = scale * q + (1 - scale) * np.eye(2)[codes]
        entropy = -(dual * np.log(np.maximum(dual, 1e-300))).sum(axis=1).mean()
        norms = sum(np.linalg.norm(part) for part in np.split(weights, [p // 2]))
        primal = losses(scores).mean() + l1 * np.abs(weights).sum() + group * norms
        truth = (primal - entropy) / problem.loss.at_zero()
        assert solution.gap >= 0 and solution.gap >= truth - 2e-6
        assert solution.converged == (solution.gap <= 1e-4)
