"""Pairs, their order, warm starts and the rotation that λ₁ = 0 allows."""

import numpy as np
import pytest

from slimg.engine.memory import MemoryEngine
from slimg.errors import InputError
from slimg.learn.path import Pair, Rotation, default_pairs, paper_pairs, resolve_pairs, solve_path
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


@pytest.mark.parametrize("grid", ["best", [], [(0, 0)], [(-1, 1)], [3], [(1, np.nan)], 7])
def test_wrong_grids(problem, grid):
    with pytest.raises(InputError, match="grid"):
        resolve_pairs(grid, problem)
