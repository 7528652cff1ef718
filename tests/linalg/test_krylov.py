"""The energy rule by hand; block Lanczos against dense eigenvalues, with restarts, multiplicities and low rank."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slimg.engine import MemoryEngine
from slimg.engine.blas import matmul
from slimg.linalg.krylov import LanczosLayout, RankRule, lanczos_layout, leading_eigenpairs

ENGINE = MemoryEngine(threads=2)


def decaying(n, seed=0, rate=0.97):
    rng = np.random.default_rng(seed)
    q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    values = rate ** np.arange(n) * rng.choice([-1, 1], n)
    return (q * values @ q.T).astype(np.float32)


def solve(a, rule, **options):
    return leading_eigenpairs(ENGINE, lambda block: matmul(a, block), len(a), rule, **options)


def check(a, values, vectors, tolerance):
    a = a.astype(np.float64)
    residuals = np.linalg.norm(a @ vectors - vectors * values, axis=0)
    assert (residuals <= tolerance * np.abs(values) + 1e-5 * np.abs(values[0])).all()
    np.testing.assert_allclose(vectors.T.astype(np.float64) @ vectors, np.eye(len(values)), atol=1e-5)


@pytest.mark.parametrize("rank", [1, 5, 40])
def test_fixed_rank(rank):
    a = decaying(400)
    values, vectors = solve(a, RankRule(np.inf, rank), tolerance=1e-4)
    truth = np.linalg.eigvalsh(a.astype(np.float64))
    truth = truth[np.argsort(-np.abs(truth))][:rank]
    np.testing.assert_allclose(np.abs(values), np.abs(truth), rtol=1e-4)
    check(a, values, vectors, 1e-4)


def test_energy_rule_finds_the_rank_of_the_dense_spectrum():
    a = decaying(600, rate=0.98)
    target = 0.9 * float(np.square(a, dtype=np.float64).sum())
    values, vectors = solve(a, RankRule(target, 600))
    truth = np.sort(np.abs(np.linalg.eigvalsh(a.astype(np.float64))))[::-1]
    assert len(values) == RankRule(target, 600).rank(truth)
    check(a, values, vectors, 1e-2)


def test_restarts_converge_on_a_slowly_decaying_spectrum():
    a = decaying(900, rate=0.999)
    values, vectors = solve(a, RankRule(np.inf, 30), tolerance=1e-3)
    truth = np.sort(np.abs(np.linalg.eigvalsh(a.astype(np.float64))))[::-1][:30]
    np.testing.assert_allclose(np.abs(values), truth, rtol=1e-4)
    check(a, values, vectors, 1e-3)


def test_an_eigenvalue_of_higher_multiplicity_than_a_block_is_wide():
    q, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((300, 300)))
    a = (q * np.repeat([2.0, 1.0], [150, 150]) @ q.T).astype(np.float32)
    values, vectors = solve(a, RankRule(np.inf, 120))
    np.testing.assert_allclose(values, 2.0, rtol=1e-5)
    check(a, values, vectors, 1e-2)


def test_low_rank_ends_with_what_there_is():
    rng = np.random.default_rng(0)
    b = rng.standard_normal((200, 3))
    a = (b @ b.T).astype(np.float32)
    target = float(np.square(a, dtype=np.float64).sum()) * 0.99999
    values, vectors = solve(a, RankRule(target, 50))
    assert len(values) in (2, 3)
    check(a, values, vectors, 1e-2)


def test_a_matrix_smaller_than_a_block():
    a = decaying(5, rate=0.5)
    values, vectors = solve(a, RankRule(np.inf, 5))
    np.testing.assert_allclose(np.sort(values), np.linalg.eigvalsh(a.astype(np.float64)), atol=1e-6)
    check(a, values, vectors, 1e-4)


def test_same_seed_same_bits_on_any_number_of_threads():
    a = decaying(500)
    results = [
        leading_eigenpairs(MemoryEngine(threads=t), lambda block: matmul(a, block), 500, RankRule(np.inf, 20))
        for t in (1, 2)
    ]
    assert results[0][0].tobytes() == results[1][0].tobytes()
    assert results[0][1].tobytes() == results[1][1].tobytes()


def test_rank_is_the_largest_that_holds_less():
    values = np.sqrt([5.0, 3.0, 1.0, 1.0])
    assert RankRule(8.5, 10).rank(values) == 2
    assert RankRule(8.0, 10).rank(values) == 1, "exactly the target is not less than it"
    assert RankRule(10.5, 10).rank(values) == 4
    assert RankRule(8.5, 1).rank(values) == 1


def test_at_least_one():
    assert RankRule(1.0, 5).rank(np.array([10.0, 1.0])) == 1


def test_no_target_is_a_fixed_rank():
    rule = RankRule(np.inf, 3)
    assert rule.rank(np.ones(10)) == 3
    assert not rule.is_decided(2, 1e9) and rule.is_decided(3, 0.0)


def test_decided_once_the_target_is_held():
    assert RankRule(5.0, 100).is_decided(1, 5.0)
    assert not RankRule(5.0, 100).is_decided(99, 4.9)


@given(st.lists(st.floats(0.01, 10), min_size=1, max_size=30), st.floats(0.05, 0.99), st.integers(1, 40))
def test_rank_equals_the_definition(values, energy, cap):
    falling = np.sort(values)[::-1]
    held = np.cumsum(np.square(falling))
    target = energy * held[-1]
    assert RankRule(target, cap).rank(falling) == min(max(int((held < target).sum()), 1), cap)


def test_large_graphs_get_a_basis_of_fixed_size():
    """On 2.45 M nodes 100 pairs take four blocks of 32 columns, the last of which is not multiplied by A."""
    assert lanczos_layout(2_449_029, 100) == LanczosLayout(width=32, basis=128, columns=96, is_sketched=True)
    assert lanczos_layout(2_449_029, 1000) == LanczosLayout(width=64, basis=1280, columns=1216, is_sketched=True)
    assert lanczos_layout(2_708, 1433) == LanczosLayout(width=64, basis=3122, columns=6448.5, is_sketched=False)
    assert not lanczos_layout(1 << 20, 64).is_sketched and lanczos_layout((1 << 20) + 1, 64).is_sketched
