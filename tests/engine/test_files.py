"""Row matrices in files: any run of rows and slice of columns is what was written, and what is missing is named."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slimg.engine.files import FileArray, FileTall, stored_at
from slimg.errors import InputError


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(1, 30), st.integers(1, 20), st.integers(1, 25))
def test_any_part_is_what_was_written(tmp_path_factory, data, n, k, panel):
    values = np.random.default_rng(n * 100 + k).standard_normal((n, k)).astype(np.float32)
    row_matrix = FileTall(tmp_path_factory.mktemp("tall") / "a.tall", (n, k), panel, writable=True)
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
    row_matrix = FileTall(tmp_path / "a.tall", (5, 7), 3, writable=True)
    row_matrix.write(0, np.zeros((5, 7), np.float32))
    row_matrix.write(2, np.ones((2, 3), np.float32), first=3)
    expected = np.zeros((5, 7), np.float32)
    expected[2:4, 3:6] = 1
    np.testing.assert_array_equal(row_matrix.read(0, 5), expected)


def test_its_path_is_released_when_nobody_holds_it(tmp_path):
    gone = []
    row_matrix = FileTall(tmp_path / "a.tall", (2, 2), 2, writable=True, released=gone.append)
    row_matrix.write(0, np.ones((2, 2), np.float32))
    assert not gone
    del row_matrix
    assert gone == [tmp_path / "a.tall"]


def test_views_of_mapped_files_are_found_in_their_file(tmp_path):
    whole = np.arange(60, dtype=np.float64).reshape(12, 5)
    np.save(tmp_path / "a.npy", whole)
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    for part in (mapped, mapped[3:9], mapped[3:9][2:]):
        path, offset = stored_at(part)
        np.testing.assert_array_equal(FileArray(path, part.dtype, offset).read(0, part.size), np.ravel(part))
    assert stored_at(mapped[:, 1]) is None and stored_at(whole) is None


def test_a_file_that_is_gone_or_cut_off_is_named(tmp_path):
    row_matrix = FileTall(tmp_path / "gone.tall", (2, 2), 2)
    with pytest.raises(InputError, match=r"gone\.tall is gone"):
        row_matrix.read(0, 2)
    (tmp_path / "short.tall").write_bytes(bytes(12))
    with pytest.raises(InputError, match="ends at byte 12"):
        FileTall(tmp_path / "short.tall", (2, 2), 2).read(0, 2)
