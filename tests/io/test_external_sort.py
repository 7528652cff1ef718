"""Matrices sorted on disk against those built in memory, under budgets that force many buckets."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slimg.errors import InputError
from slimg.graph.adjacency import Adjacency
from slimg.io import external_sort
from slimg.io.external_sort import Piece


class Edges:
    """Edges in memory, as a source of pieces."""

    path = Path("edges")

    def __init__(self, source, target, weights=None):
        self.source, self.target, self.weights = np.asarray(source), np.asarray(target), weights

    def pieces(self, rows):
        for start in range(0, len(self.source), rows):
            part = slice(start, start + rows)
            weights = None if self.weights is None else np.asarray(self.weights[part], np.float64)
            yield Piece(start, self.source[part], self.target[part], weights)


@pytest.fixture
def small(monkeypatch):
    """Entries cost so much that every bucket holds about a hundred of them."""
    monkeypatch.setattr(external_sort, "SORT_BYTES", 40_000)
    monkeypatch.setattr(external_sort, "PIECE_BYTES", 1 << 12)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("duplicates", ["sum", "max"])
@pytest.mark.parametrize("symmetrise", ["sum", "max"])
@pytest.mark.parametrize("weighted", [True, False])
def test_matches_the_matrix_built_in_memory(small, tmp_path, directed, duplicates, symmetrise, weighted):
    rng = np.random.default_rng(0)
    u, v = rng.integers(0, 90, (2, 3000))
    w = rng.integers(0, 4, 3000) / 4 if weighted else None
    options = {"directed": directed, "duplicates": duplicates, "symmetrise": symmetrise}
    expected, counts = Adjacency.from_edges(u, v, 90, w, **options)
    assert external_sort.write_adjacency(tmp_path, Edges(u, v, w), 90, 1 << 23, **options) == counts
    np.testing.assert_array_equal(np.load(tmp_path / "indptr.npy"), expected.indptr)
    np.testing.assert_array_equal(np.load(tmp_path / "indices.npy"), expected.indices)
    if weighted:
        np.testing.assert_allclose(np.load(tmp_path / "weights.npy"), expected.weights, rtol=1e-6)
    assert sorted(path.name for path in tmp_path.iterdir()) == (
        ["indices.npy", "indptr.npy"] + (["weights.npy"] if weighted else [])
    )


@given(st.integers(1, 40), st.lists(st.tuples(st.integers(0, 39), st.integers(0, 39)), max_size=200))
@settings(max_examples=30, deadline=None)
def test_any_edges(tmp_path_factory, n, pairs):
    pairs = [(u % n, v % n) for u, v in pairs]
    u, v = np.array(pairs, np.int64).reshape(-1, 2).T
    folder = tmp_path_factory.mktemp("sorted")
    expected, counts = Adjacency.from_edges(u, v, n)
    assert external_sort.write_adjacency(folder, Edges(u, v), n, 1 << 23) == counts
    np.testing.assert_array_equal(np.load(folder / "indices.npy"), expected.indices)
    np.testing.assert_array_equal(np.load(folder / "indptr.npy"), expected.indptr)


def test_weights_that_are_all_one_are_not_stored(tmp_path):
    external_sort.write_adjacency(tmp_path, Edges([0, 1], [1, 2], np.ones(2)), 3, 1 << 23)
    assert not (tmp_path / "weights.npy").exists()


@pytest.mark.parametrize(
    ("edges", "n", "message"),
    [
        (Edges([0, 1, 2], [1, 2, 9]), 5, r"row 2 has target 9, but the 5 nodes are numbered 0 to 4"),
        (Edges([0, -1], [1, 2]), 5, r"row 1 has source -1"),
        (Edges([0, 1], [1, 2], np.array([1.0, -2.0])), 5, r"row 1 has weight -2"),
        (Edges([0, 1], [1, 2], np.array([np.nan, 1.0])), 5, r"row 0 has weight nan"),
        (Edges([0], [1]), 2**31, r"1 to 2,147,483,647 nodes, as its indices are int32; 2,147,483,648 were given"),
        (Edges([0], [1]), 10**9, r"needs at least 16,0\d\d,\d\d\d,\d\d\d bytes"),
    ],
)
def test_bad_edges_are_named(tmp_path, edges, n, message):
    with pytest.raises(InputError, match=message):
        external_sort.write_adjacency(tmp_path, edges, n, 1 << 24)
    assert not list(tmp_path.glob("bucket*"))
