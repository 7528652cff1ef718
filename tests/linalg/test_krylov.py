"""Block Lanczos against dense eigenvalues, with restarts, multiplicities and low rank."""

import numpy as np
import pytest

from slimg.engine import MemoryEngine
from slimg.engine.blas import matmul
from slimg.linalg.krylov import leading_eigenpairs
from slimg.linalg.rank import RankRule

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
