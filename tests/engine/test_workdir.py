"""The journal: what is finished is found again, what was cut off is not, and digests tell inputs apart."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slimg.engine.workdir import Digest, Workdir, save_array
from slimg.errors import InputError


def finished(folder, *names):
    """A folder whose run was killed after these steps."""
    work = Workdir(folder)
    for name in names:
        save_array(work.path / f"{name}.npy", np.ones(3))
        work.record(name, "sum", "abc", file=f"{name}.npy")
    work.keep = True
    work.close()
    return work.path


def test_finished_steps_are_found_again_and_other_files_are_removed(tmp_path):
    path = finished(tmp_path, "1", "2")
    (path / "3.tall").write_bytes(b"half")
    work = Workdir(tmp_path)
    assert work.recorded("2", "sum", "abc")["file"] == "2.npy" and work.recorded("3", "sum", "abc") is None
    assert {each.name for each in path.iterdir()} == {"journal.jsonl", "1.npy", "2.npy"}
    work.close()
    assert not path.exists()


def test_a_line_cut_off_by_a_kill_counts_as_not_finished(tmp_path):
    journal = finished(tmp_path, "1", "2") / "journal.jsonl"
    journal.write_text(journal.read_text()[:-9])
    work = Workdir(tmp_path)
    assert work.recorded("1", "sum", "abc") and work.recorded("2", "sum", "abc") is None
    work.record("2", "sum", "abc", file="2.npy")
    work.keep = True
    work.close()
    assert [json.loads(line).get("step") for line in journal.read_text().splitlines()] == [None, "1", "2"]


def test_a_step_of_something_else_is_refused(tmp_path):
    finished(tmp_path, "1")
    work = Workdir(tmp_path)
    for what, digest in (("product", "abc"), ("sum", "abd")):
        with pytest.raises(InputError, match="another graph or other settings"):
            work.recorded("1", what, digest)


def test_dropped_files_go_with_the_next_step_and_pinned_ones_stay(tmp_path):
    work = Workdir(tmp_path)
    for name in ("a", "b"):
        (work.path / name).touch()
    work.pin(work.path / "b")
    work.drop(work.path / "a")
    work.drop(work.path / "b")
    assert (work.path / "a").exists()
    work.record("1", "sum", "abc")
    assert not (work.path / "a").exists() and (work.path / "b").exists()


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
