"""The space of sketched Lanczos against dense eigenvalues: energy held, orthonormal vectors, number of passes, bits."""

from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from slimg.engine import MemoryEngine
from slimg.linalg.krylov import LanczosLayout, RankRule
from slimg.linalg.sketched_lanczos import sketched_eigenpairs


class Rows(NamedTuple):
    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray


class Counting(MemoryEngine):
    """Records the width of every pass."""

    def products(self, matrix, row_matrix, scalings):
        self.__dict__.setdefault("widths", []).append(row_matrix.shape[1])
        return super().products(matrix, row_matrix, scalings)


def rows_of(a):
    a = sp.csr_array(a)
    return Rows(a.indptr.astype(np.int64), a.indices.astype(np.int32), a.data.astype(np.float32))


def decaying(n, rate, seed=0):
    rng = np.random.default_rng(seed)
    q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    return ((q * (rate ** np.arange(n) * rng.choice([-1, 1], n))) @ q.T).astype(np.float32)


def star(n):
    a = np.zeros((n, n), np.float32)
    a[0, 1:] = a[1:, 0] = 1
    return a


def solve(a, cap, engine=None, seed=0):
    pairs = sketched_eigenpairs(engine or MemoryEngine(threads=1), rows_of(a), RankRule(np.inf, cap), seed)
    return pairs.values, pairs.rows(np.ones(len(pairs.values)))


@pytest.mark.parametrize(("n", "rate", "cap", "share"), [(800, 0.98, 100, 0.97), (1200, 0.995, 300, 0.98)])
def test_a_basis_of_fixed_size_holds_nearly_the_best_energy(n, rate, cap, share):
    a, engine = decaying(n, rate), Counting(threads=1)
    values, vectors = solve(a, cap, engine)
    width, basis, columns, _ = LanczosLayout.sketched(cap)
    assert engine.widths == [width] * (basis // width - 1) and sum(engine.widths) == columns
    truth = np.sort(np.abs(np.linalg.eigvalsh(a.astype(np.float64))))[::-1][:cap]
    inside = vectors.T.astype(np.float64) @ a @ vectors
    assert np.square(inside).sum() >= share * np.square(truth).sum()
    assert np.square(values).sum() <= (1 + 1e-5) * np.square(truth).sum()
    np.testing.assert_allclose(vectors.T.astype(np.float64) @ vectors, np.eye(cap), atol=1e-5)


def test_many_blocks_stay_orthonormal_where_most_pairs_have_converged():
    _, vectors = solve(decaying(900, 0.97), 500)
    np.testing.assert_allclose(vectors.T.astype(np.float64) @ vectors, np.eye(500), atol=1e-5)


def test_a_rank_below_the_cap_ends_the_search():
    b = np.random.default_rng(0).standard_normal((600, 5))
    a = (b @ b.T).astype(np.float32)
    values, vectors = solve(a, 50)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(b.T @ b)[::-1], rtol=1e-4)
    np.testing.assert_allclose(a @ vectors, vectors * values, atol=1e-3 * values[0])


def test_a_star_has_two_pairs():
    values, vectors = solve(star(500), 40)
    np.testing.assert_allclose(np.sort(values), [-np.sqrt(499), np.sqrt(499)], rtol=1e-4)
    np.testing.assert_allclose(vectors.T.astype(np.float64) @ vectors, np.eye(2), atol=1e-4)


def test_the_rule_may_ask_for_fewer():
    a = decaying(600, 0.9)
    target = 0.9 * float(np.square(a, dtype=np.float64).sum())
    pairs = sketched_eigenpairs(MemoryEngine(threads=1), rows_of(a), RankRule(target, 100))
    truth = np.sort(np.abs(np.linalg.eigvalsh(a.astype(np.float64))))[::-1]
    assert len(pairs.values) == RankRule(target, 100).rank(truth)


def test_same_seed_same_bits_on_any_number_of_threads():
    results = [solve(decaying(700, 0.98), 60, MemoryEngine(threads=t)) for t in (1, 2)]
    assert results[0][0].tobytes() == results[1][0].tobytes()
    assert results[0][1].tobytes() == results[1][1].tobytes()
