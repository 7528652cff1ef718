"""Pairs, their order, warm starts, the rotation that λ₁ = 0 allows; records, and the best: accuracy, loss, sparsity."""

from dataclasses import replace

import numpy as np
import pytest

from oracles import Task, gap
from slimg.engine.memory import MemoryEngine
from slimg.errors import InputError
from slimg.learn.objective import Problem
from slimg.learn.path import (
    SEPARATE,
    Pair,
    Record,
    Rotation,
    best,
    default_pairs,
    describe,
    merge,
    paper_pairs,
    resolve_pairs,
    series_of,
    solve_path,
    validate,
    warm_start_groups,
)
from slimg.learn.search import LOOSE
from slimg.learn.solver import Solution, solve

PLAIN = Record(1e-4, 1e-3, False, 0.8, 0.5, 1e-5, ("U",), 100.0, True, 1.0)


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    codes = np.arange(30) % 3
    matrix = rng.standard_normal((30, 80)) + np.eye(3)[codes] @ rng.standard_normal((3, 80))
    return Problem.build(matrix, codes, 3, np.repeat([0, 1], [50, 30]), MemoryEngine())


def test_the_paper_has_twelve_pairs_from_strong_to_weak():
    pairs = paper_pairs()
    assert len(set(pairs)) == 12
    assert pairs[0] == (1e-3, 1e-3, False) and pairs[-1] == (1e-5, 1e-6, False)


def test_own_pairs_go_from_strong_to_weak_without_repetition_joint_ones_last(problem):
    pairs = resolve_pairs([(0, 1e-3), (1e-4, 1e-2), (0.0, 1e-3), (1e-3, 1e-2), (0, 1e-2, True)], problem)
    assert pairs == [(1e-3, 1e-2, False), (1e-4, 1e-2, False), (0, 1e-3, False), (0, 1e-2, True)]


def test_skipped_pairs_are_left_out_when_their_turn_comes(problem):
    asked = []

    def skip(pair):
        asked.append(pair)
        return pair.l1 == 1e-4

    solved = [pair for pair, _ in solve_path(problem, paper_pairs(), 1e-3, 50, skip)]
    assert asked == paper_pairs()
    assert solved == [pair for pair in paper_pairs() if pair.l1 != 1e-4]


def test_default_pairs_start_below_lambda_max(problem):
    pairs = default_pairs(problem)
    assert {pair.l1 for pair in pairs} >= {0.0, 1e-3}
    assert {pair.joint for pair in pairs} == {False, True}
    for pair in pairs:
        if not pair.joint:
            assert 0 < pair.group < problem.penalty(pair.l1, 0).lambda_max(problem.gradient_at_zero())


def test_a_joint_pair_is_one_group_of_everything(problem):
    ((_, joint),) = solve_path(problem, [Pair(0.0, 0.05, True)], 1e-9, 200)
    whole = Problem.build(problem.rows.matrix, problem.loss.codes, 3, np.zeros(80, int), MemoryEngine())
    assert joint.objective == pytest.approx(solve(whole, 0.0, 0.05, tol=1e-9).objective, rel=1e-7)


def test_rotation_keeps_objective_and_norms(problem):
    rotation = Rotation(problem)
    assert rotation.helps and rotation.problem.rows.shape == (30, 60)
    plain = solve(problem, 0.0, 0.02, tol=1e-10)
    rotated = rotation.back(solve(rotation.problem, 0.0, 0.02, tol=1e-10))
    assert rotated.objective == pytest.approx(plain.objective, rel=1e-8)
    penalty = problem.penalty(0.0, 0.02)
    np.testing.assert_allclose(penalty.norms(rotated.weights), penalty.norms(plain.weights), rtol=1e-3)
    np.testing.assert_allclose(problem.rows.times(rotated.weights), problem.rows.times(plain.weights), atol=2e-3)


def test_rotation_of_a_real_graph_keeps_the_solution(labelled):
    """Cora: components of 256 columns become 67, one per labelled row."""
    matrix, codes, widths = labelled("cora")
    problem = Problem.build(matrix.astype(np.float64), codes, 7, np.repeat(np.arange(len(widths)), widths), MemoryEngine())
    rotation = Rotation(problem)
    assert rotation.problem.rows.shape[1] == sum(min(width, len(codes)) for width in widths) < matrix.shape[1] / 3
    plain, rotated = solve(problem, 0.0, 0.01, tol=1e-7), solve(rotation.problem, 0.0, 0.01, tol=1e-7)
    assert rotated.objective == pytest.approx(plain.objective, rel=1e-6)
    back, penalty = rotation.back(rotated), problem.penalty(0.0, 0.01)
    np.testing.assert_allclose(penalty.norms(back.weights), penalty.norms(plain.weights), atol=0.05)
    value = problem.loss.evaluate(problem.rows.times(back.weights), back.intercept).value + penalty.value(back.weights)
    assert value == pytest.approx(rotated.objective, rel=1e-9)
    np.testing.assert_array_equal(penalty.norms(back.weights) == 0, penalty.norms(plain.weights) == 0)


def test_rotation_has_nothing_to_do_where_rows_outnumber_columns():
    rng = np.random.default_rng(0)
    problem = Problem.build(rng.standard_normal((50, 20)), np.arange(50) % 2, 2, np.repeat([0, 1], 10), MemoryEngine())
    assert not Rotation(problem).helps


def test_starts_do_not_change_solutions(problem):
    for pair, warm in solve_path(problem, paper_pairs()[:6], 1e-9, 200):
        assert warm.objective == pytest.approx(solve(problem, *pair[:2], tol=1e-9).objective, rel=1e-6)


@pytest.mark.parametrize("name", ["cora", "chameleon", "photo"])
def test_members_are_certified_on_real_graphs(load_real, name):
    from slimg import SlimG
    from slimg.graph.splits import REAL, stratified

    graph = load_real(name)
    split = stratified(graph, REAL, 0)
    propagated = SlimG().propagate(graph)
    for grid in ("path", "paper"):
        model = SlimG(grid=grid).fit(graph, train=split.train, val=split.val, propagated=propagated)
        assert model.dual_gap_ == max(record["dual_gap"] for record in model.members_) <= 1e-4
        assert all(record["converged"] and record["weight"] for record in model.members_)
        assert max(record["dual_gap"] for record in model.selection_) <= LOOSE


@pytest.mark.parametrize("name", ["cora", "chameleon"])
def test_certificates_of_float32_hold_in_float64(labelled, name):
    """Each pair's gap, worked out again from its weights by other code in float64, is at most 1e-4 too (and a rounding)."""
    matrix, codes, widths = labelled(name)
    group_of = np.repeat(np.arange(len(widths)), widths)
    problem = Problem.build(matrix, codes, int(codes.max()) + 1, group_of, MemoryEngine())
    unit, rows = problem.loss.at_zero(), matrix.astype(np.float64)
    for pair, solution in solve_path(problem, [*default_pairs(problem), *paper_pairs()], 1e-4, 200):
        groups = np.zeros_like(group_of) if pair.joint else group_of
        task = Task(rows, codes, groups, np.full(len(codes), 1 / len(codes)), pair.l1, pair.group)
        assert gap(task, solution.weights, solution.intercept) / unit <= 1.05e-4, pair


@pytest.mark.parametrize("grid", ["best", [], [(0, 0)], [(-1, 1)], [3], [(1, np.nan)], 7])
def test_wrong_grids(problem, grid):
    with pytest.raises(InputError, match="grid"):
        resolve_pairs(grid, problem)


def test_a_warm_start_group_alone_gives_the_bits_of_the_whole_path(problem):
    pairs = default_pairs(problem)
    whole = dict(solve_path(problem, pairs, 1e-4, 200))
    groups = warm_start_groups(pairs)
    assert sorted(pair for group in groups for pair in group) == sorted(pairs) and len(groups) == 3
    for group in groups:
        for pair, solution in solve_path(problem, group, 1e-4, 200):
            assert solution.weights.tobytes() == whole[pair].weights.tobytes()


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


def test_a_candidate_is_described_by_its_penalties():
    joint = replace(PLAIN, joint=True, l1=0.0)
    several, single = replace(PLAIN, separate={"U": 0.02, "X": 0.0013}), replace(PLAIN, separate={"U": 0.02})
    texts = [describe(each.as_dict()) for each in (PLAIN, joint, several, single)]
    assert "λ₁ = 0.0001, λ₂ = 0.001" in texts[0] and "joint" not in texts[0] and "λ₁ = 0, λ₂ = 0.001" in texts[1]
    assert "joint" in texts[1] and "U (λ = 0.02), X (λ = 0.0013)" in texts[2] and "U (λ = 0.02)" in texts[3]
    assert len(set(texts)) == 4 and describe(several.as_dict(), str.lower).startswith("u (")


def test_a_line_of_the_figure_for_each_kind_of_candidate():
    records = [replace(PLAIN, group=0.1), PLAIN, replace(PLAIN, joint=True), replace(PLAIN, separate={"U": 0.001})]
    series = series_of([record.as_dict() for record in records])
    assert list(series) == ["λ₁ = 0.0001", "one joint group", SEPARATE]
    assert series["λ₁ = 0.0001"] == [(0.001, 0.8), (0.1, 0.8)]
