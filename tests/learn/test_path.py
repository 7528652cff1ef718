"""Pairs, their order, warm starts and the rotation that λ₁ = 0 allows."""

import numpy as np
import pytest

from oracles import Task, gap
from slimg.engine.memory import MemoryEngine
from slimg.errors import InputError
from slimg.learn.path import Pair, Rotation, default_pairs, lanes, paper_pairs, resolve_pairs, solve_path
from slimg.learn.solver import Problem, solve


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
    assert {pair.l1 for pair in pairs} >= {0.0, 1e-4}
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
    turned = rotation.back(solve(rotation.problem, 0.0, 0.02, tol=1e-10))
    assert turned.objective == pytest.approx(plain.objective, rel=1e-8)
    penalty = problem.penalty(0.0, 0.02)
    np.testing.assert_allclose(penalty.norms(turned.weights), penalty.norms(plain.weights), rtol=1e-3)
    np.testing.assert_allclose(problem.rows.times(turned.weights), problem.rows.times(plain.weights), atol=2e-3)


def test_rotation_of_a_real_graph_keeps_the_solution(labelled):
    """Cora: 4 × 1,052 columns become 4 × 67, one per labelled row."""
    matrix, codes, widths = labelled("cora")
    problem = Problem.build(matrix.astype(np.float64), codes, 7, np.repeat(np.arange(4), widths), MemoryEngine())
    rotation = Rotation(problem)
    assert rotation.problem.rows.shape[1] == 4 * len(codes) < matrix.shape[1] / 10
    plain, turned = solve(problem, 0.0, 0.01, tol=1e-7), solve(rotation.problem, 0.0, 0.01, tol=1e-7)
    assert turned.objective == pytest.approx(plain.objective, rel=1e-6)
    back, penalty = rotation.back(turned), problem.penalty(0.0, 0.01)
    np.testing.assert_allclose(penalty.norms(back.weights), penalty.norms(plain.weights), atol=0.05)
    value = problem.loss.evaluate(problem.rows.times(back.weights), back.intercept).value + penalty.value(back.weights)
    assert value == pytest.approx(turned.objective, rel=1e-9)
    np.testing.assert_array_equal(penalty.norms(back.weights) == 0, penalty.norms(plain.weights) == 0)


def test_rotation_has_nothing_to_do_where_rows_outnumber_columns():
    rng = np.random.default_rng(0)
    problem = Problem.build(rng.standard_normal((50, 20)), np.arange(50) % 2, 2, np.repeat([0, 1], 10), MemoryEngine())
    assert not Rotation(problem).helps


def test_starts_do_not_change_solutions(problem):
    for pair, warm in solve_path(problem, paper_pairs()[:6], 1e-9, 200):
        assert warm.objective == pytest.approx(solve(problem, *pair[:2], tol=1e-9).objective, rel=1e-6)


@pytest.mark.parametrize("name", ["cora", "chameleon", "photo"])
def test_every_pair_is_certified_on_real_graphs(load_real, name):
    from slimg import SlimG
    from slimg.graph.splits import REAL, stratified

    graph = load_real(name)
    split = stratified(graph, REAL, 0)
    propagated = SlimG().propagate(graph)
    for grid in ("path", "paper"):
        model = SlimG(grid=grid).fit(graph, train=split.train, val=split.val, propagated=propagated)
        assert max(record["dual_gap"] for record in model.selection_) <= 1e-4
        assert all(record["converged"] for record in model.selection_)


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


def test_a_lane_alone_gives_the_bits_of_the_whole_path(problem):
    pairs = default_pairs(problem)
    whole = dict(solve_path(problem, pairs, 1e-4, 200))
    apart = lanes(pairs)
    assert sorted(pair for lane in apart for pair in lane) == sorted(pairs) and len(apart) == 3
    for lane in apart:
        for pair, solution in solve_path(problem, lane, 1e-4, 200):
            assert solution.weights.tobytes() == whole[pair].weights.tobytes()
