"""Matrices in files: any part is what was written, a pass over CSR rows is the product, and digests tell inputs apart."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from slimg.engine import base as blocks
from slimg.engine.base import FileArray, FileMatrix, Scaling, runs, stored_at
from slimg.engine.files import Digest, FileRowMatrix
from slimg.engine.mapped import MappedEngine
from slimg.errors import InputError
from slimg.graph.adjacency import Adjacency


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(1, 30), st.integers(1, 20), st.integers(1, 25))
def test_any_part_is_what_was_written(tmp_path_factory, data, n, k, panel):
    values = np.random.default_rng(n * 100 + k).standard_normal((n, k)).astype(np.float32)
    row_matrix = FileRowMatrix(tmp_path_factory.mktemp("rows") / "a.rows", (n, k), panel)
    cut = data.draw(st.integers(0, n))
    row_matrix.write(cut, values[cut:])
    row_matrix.write(0, values[:cut])
    start, first = data.draw(st.integers(0, n)), data.draw(st.integers(0, k - 1))
    stop, last = data.draw(st.integers(start, n)), data.draw(st.integers(first + 1, k))
    np.testing.assert_array_equal(row_matrix.read(start, stop, first, last), values[start:stop, first:last])
    place = np.full((stop - start, 2 * (last - first)), np.nan, np.float32)
    row_matrix.read(start, stop, first, last, place[:, ::2])
    np.testing.assert_array_equal(place[:, ::2], values[start:stop, first:last])
    assert np.isnan(place[:, 1::2]).all()


def test_a_slice_of_panels_is_written_alone(tmp_path):
    row_matrix = FileRowMatrix(tmp_path / "a.rows", (5, 7), 3)
    row_matrix.write(0, np.zeros((5, 7), np.float32))
    row_matrix.write(2, np.ones((2, 3), np.float32), first=3)
    expected = np.zeros((5, 7), np.float32)
    expected[2:4, 3:6] = 1
    np.testing.assert_array_equal(row_matrix.read(0, 5), expected)


def test_its_path_is_released_when_nobody_holds_it(tmp_path):
    gone = []
    row_matrix = FileRowMatrix(tmp_path / "a.rows", (2, 2), 2, released=gone.append)
    row_matrix.write(0, np.ones((2, 2), np.float32))
    assert not gone
    del row_matrix
    assert gone == [tmp_path / "a.rows"]


def test_views_of_mapped_files_are_found_in_their_file(tmp_path):
    whole = np.arange(60, dtype=np.float64).reshape(12, 5)
    np.save(tmp_path / "a.npy", whole)
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    for part in (mapped, mapped[3:9], mapped[3:9][2:]):
        path, offset = stored_at(part)
        np.testing.assert_array_equal(FileArray(path, part.dtype.str, offset)[0 : part.size], np.ravel(part))
    assert stored_at(mapped[:, 1]) is None and stored_at(whole) is None


def test_a_file_that_is_gone_or_cut_off_is_named(tmp_path):
    row_matrix = FileRowMatrix(tmp_path / "gone.rows", (2, 2), 2)
    with pytest.raises(InputError, match=r"gone\.rows is gone"):
        row_matrix.read(0, 2)
    (tmp_path / "short.rows").write_bytes(bytes(12))
    with pytest.raises(InputError, match="ends at byte 12"):
        FileRowMatrix(tmp_path / "short.rows", (2, 2), 2).read(0, 2)


N = 60


@pytest.fixture
def small_reads(monkeypatch):
    monkeypatch.setattr(blocks, "READ_ENTRIES", 40)
    monkeypatch.setattr(blocks, "READ_ROWS", 9)


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
    rows = FileMatrix(stored)
    cuts = rows.blocks()
    assert cuts[0][0] == 0 and cuts[-1][1] == N
    assert all(one[1] == other[0] for one, other in pairwise(cuts))
    assert max(stop - start for start, stop in cuts) <= 9
    for start, stop in cuts:
        indptr, indices, weights = rows.read(start, stop)
        part = sp.csr_matrix((weights, indices, indptr), (stop - start, N))
        assert abs(part - a[start:stop]).nnz == 0


def test_the_key_is_of_the_content_not_of_the_place(matrix, tmp_path):
    a, stored = matrix
    plain = Adjacency(a.indptr.astype(np.int64), a.indices.astype(np.int32), a.data)
    other = Adjacency(a.indptr.astype(np.int64), a.indices.astype(np.int32), a.data * 2)
    with MappedEngine("8GB", folder=tmp_path) as engine:
        keys = [engine._matrix(each)[1] for each in (stored, plain, other)]
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.parametrize("threads", [1, 3])
def test_a_product_in_slices_has_every_scaling(matrix, small_reads, monkeypatch, threads):
    a, stored = matrix
    rng = np.random.default_rng(1)
    values, before, after = rng.standard_normal((N, 7)).astype(np.float32), *rng.random((2, N)).astype(np.float32)
    scalings = [Scaling(None, after, 0.0), Scaling(before, after, 1.0), Scaling(before, None, 0.5)]
    with MappedEngine("8GB", threads=threads) as engine:
        monkeypatch.setattr(engine, "_slices", lambda n, k: runs(k, 3))
        outs = [engine.to_array(out) for out in engine.products(stored, engine.row_matrix(values), scalings)]
    for scaling, out in zip(scalings, outs, strict=True):
        left = np.ones(N) if scaling.after is None else scaling.after
        right = np.ones(N) if scaling.before is None else scaling.before
        dense = a.toarray().astype(float) + scaling.loop * np.eye(N)
        np.testing.assert_allclose(out, left[:, None] * (dense @ (right[:, None] * values)), atol=1e-4)


arrays = st.lists(st.integers(-3, 3), max_size=4).map(lambda each: np.asarray(each, np.int32))
parts = st.one_of(st.integers(-3, 3), st.floats(-1, 1), st.text(max_size=2), arrays)


@given(parts, parts)
def test_digests_differ_exactly_where_the_parts_do(one, other):
    kinds = [(type(each), each.tobytes() if isinstance(each, np.ndarray) else repr(each)) for each in (one, other)]
    assert (str(Digest(one)) == str(Digest(other))) == (kinds[0] == kinds[1])


def test_a_digest_sees_type_and_shape():
    flat = np.zeros(4, np.float32)
    assert len({str(Digest(each)) for each in (flat, flat.reshape(2, 2), flat.view(np.int32), flat[:3])}) == 4
    assert str(Digest(flat[::2])) == str(Digest(flat[:2].copy()))
