"""Rows of a matrix in files: blocks cover them, reading gives them back, and a pass is the product."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from slimg.engine import file_matrix
from slimg.engine.base import Scaling
from slimg.engine.file_matrix import FileMatrix, Pass
from slimg.engine.files import FileTall
from slimg.engine.threads import Threads
from slimg.graph.adjacency import Adjacency

N = 60


@pytest.fixture
def small_reads(monkeypatch):
    monkeypatch.setattr(file_matrix, "READ_ENTRIES", 40)
    monkeypatch.setattr(file_matrix, "READ_ROWS", 9)


@pytest.fixture(params=["memory", "files"])
def matrix(request, tmp_path):
    """A with weights, and how it is stored: plain arrays, or arrays mapped from files."""
    a = sp.random(N, N, 0.1, format="csr", dtype=np.float32, random_state=0)
    parts = {"indptr": a.indptr.astype(np.int64), "indices": a.indices.astype(np.int32), "weights": a.data}
    if request.param == "files":
        for name, part in parts.items():
            np.save(tmp_path / f"{name}.npy", part)
        parts = {name: np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in parts}
    return a, Adjacency(**parts)


def test_blocks_cover_all_rows_and_reading_gives_them_back(matrix, small_reads):
    a, stored = matrix
    rows = FileMatrix(stored, digested=False)
    blocks = rows.blocks()
    assert blocks[0][0] == 0 and blocks[-1][1] == N
    assert all(one[1] == other[0] for one, other in pairwise(blocks))
    assert max(stop - start for start, stop in blocks) <= 9
    for start, stop in blocks:
        indptr, indices, weights = rows.read(start, stop, 5)
        part = sp.csr_matrix((weights, indices - 5, indptr), (stop - start, N))
        assert abs(part - a[start:stop]).nnz == 0


def test_the_key_is_of_the_content_not_of_the_place(matrix, tmp_path):
    a, stored = matrix
    plain = Adjacency(a.indptr.astype(np.int64), a.indices.astype(np.int32), a.data)
    other = Adjacency(a.indptr.astype(np.int64), a.indices.astype(np.int32), a.data * 2)
    assert FileMatrix(stored, True).key == FileMatrix(plain, True).key != FileMatrix(other, True).key


@pytest.mark.parametrize("threads", [1, 3])
def test_a_pass_is_the_product_with_every_scaling(matrix, small_reads, tmp_path, threads):
    a, stored = matrix
    rng = np.random.default_rng(1)
    values, before, after = rng.standard_normal((N, 7)).astype(np.float32), *rng.random((2, N)).astype(np.float32)
    row_matrix = FileTall(tmp_path / "t", (N, 7), 3, writable=True)
    row_matrix.write(0, values)
    scalings = [Scaling(None, after, 0.0), Scaling(before, after, 1.0), Scaling(before, None, 0.5)]
    outs = [FileTall(tmp_path / f"o{place}", (N, 7), 3, writable=True) for place in range(3)]
    room = lambda rows, columns: np.full((rows, columns), np.nan, np.float32)  # noqa: E731
    one_pass = Pass(Threads(threads), FileMatrix(stored, False), scalings, room)
    for first in range(0, 7, 3):
        one_pass.run(row_matrix, outs, first, min(first + 3, 7))
    for scaling, out in zip(scalings, outs, strict=True):
        left = np.ones(N) if scaling.after is None else scaling.after
        right = np.ones(N) if scaling.before is None else scaling.before
        dense = a.toarray().astype(float) + scaling.loop * np.eye(N)
        np.testing.assert_allclose(out.read(0, N), left[:, None] * (dense @ (right[:, None] * values)), atol=1e-4)
