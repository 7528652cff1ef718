"""The journal: steps are numbered the same way each time, looked up before they are computed, and done once."""

import json

import numpy as np
import pytest

from slimg.engine.files import Steps, Workdir, parts_of
from slimg.engine.mapped import MappedEngine
from slimg.errors import InputError


def finished(folder, *names):
    """A folder whose run was killed after these steps."""
    work = Workdir(folder)
    for name in names:
        np.save(work.path / f"{name}.npy", np.ones(3))
        work.record(name, "sum", "abc", file=f"{name}.npy")
    work.keep = True
    work.close()
    return work.path


def test_finished_steps_are_found_again_and_other_files_are_removed(tmp_path):
    path = finished(tmp_path, "1", "2")
    (path / "3.rows").write_bytes(b"half")
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


def steps_in(folder):
    return Steps(Workdir(folder), lambda rows: 4)


def row_matrix_of(steps, fill):
    """A step with one row matrix of shape (4, 3)."""

    def compute(new):
        (out,) = new((4, 3))
        fill(out)
        return [out]

    return steps.row_matrices("map", [1], 1, compute)[0]


def leave(steps):
    """As a kill would: the files stay."""
    steps.work.keep = True
    steps.work.close()


def test_a_step_that_is_recorded_is_not_computed_again(tmp_path):
    first, values = steps_in(tmp_path), np.arange(12, dtype=np.float32).reshape(4, 3)
    row_matrix = row_matrix_of(first, lambda out: out.write(0, values))
    np.testing.assert_array_equal(first.array("gram", [2], lambda: values.T @ values), values.T @ values)
    del row_matrix
    leave(first)
    again = steps_in(tmp_path)

    def never(*_):
        raise AssertionError("computed twice")

    np.testing.assert_array_equal(row_matrix_of(again, never).read(0, 4), values)
    np.testing.assert_array_equal(again.array("gram", [2], never), values.T @ values)
    assert again.array("sum", [3], lambda: np.ones(1)).tolist() == [1.0]


def test_a_step_that_failed_is_computed_again(tmp_path):
    first = steps_in(tmp_path)

    def fails(out):
        out.write(0, np.zeros((4, 3), np.float32))
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError):
        row_matrix_of(first, fails)
    assert first.work.keep
    leave(first)
    ones = np.ones((4, 3), np.float32)
    row_matrix = row_matrix_of(steps_in(tmp_path), lambda out: out.write(0, ones))
    np.testing.assert_array_equal(row_matrix.read(0, 4), ones)


def test_concurrent_tasks_are_steps_in_their_own_order(tmp_path):
    with MappedEngine("8GB", folder=tmp_path, threads=2) as engine:
        ones = engine.row_matrix(np.ones((4, 2), np.float32))
        tasks = [lambda: engine.random(4, 2, 0), lambda: engine.gram(ones), lambda: engine.random(4, 3, 1)]
        engine.concurrently(*tasks)
        lines = (tmp_path / "slimg-work" / "journal.jsonl").read_text().splitlines()[1:]
        assert [json.loads(line)["what"] for line in lines] == ["row_matrix", "random", "sum", "random"]


def test_functions_are_known_by_their_name_and_what_they_close_over():
    def maker(array, scale, inner):
        return lambda block: inner(block * scale) + array

    same = [parts_of(maker(np.ones(2), 3.0, abs)) for _ in range(2)]
    assert [str(each) for each in same[0]] == [str(each) for each in same[1]]
    assert str(parts_of(maker(np.ones(2), 4.0, abs))) != str(same[0])
    assert str(parts_of(maker(np.zeros(2), 3.0, abs))) != str(same[0])
