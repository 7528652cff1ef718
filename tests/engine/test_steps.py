"""Steps of a run: numbered the same way each time, looked up before they are computed, done once."""

import numpy as np
import pytest

from slimg.engine.steps import Steps, parts_of
from slimg.engine.threads import Threads
from slimg.engine.workdir import Workdir


def steps_in(folder):
    return Steps(Workdir(folder), lambda rows: 4)


def leave(steps):
    """As a kill would: the files stay."""
    steps.work.keep = True
    steps.work.close()


def test_a_step_that_is_recorded_is_not_computed_again(tmp_path):
    first, values = steps_in(tmp_path), np.arange(12, dtype=np.float32).reshape(4, 3)
    row_matrix = first.row_matrix("map", [1], (4, 3), lambda out: out.write(0, values))
    np.testing.assert_array_equal(first.array("gram", [2], lambda: values.T @ values), values.T @ values)
    del row_matrix
    leave(first)
    again = steps_in(tmp_path)

    def never(*_):
        raise AssertionError("computed twice")

    np.testing.assert_array_equal(again.row_matrix("map", [1], (4, 3), never).read(0, 4), values)
    np.testing.assert_array_equal(again.array("gram", [2], never), values.T @ values)
    assert again.array("sum", [3], lambda: np.ones(1)).tolist() == [1.0]


def test_a_step_that_failed_is_computed_again(tmp_path):
    first = steps_in(tmp_path)

    def fails(out):
        out.write(0, np.zeros((4, 3), np.float32))
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError):
        first.row_matrix("map", [1], (4, 3), fails)
    assert first.work.keep
    leave(first)
    ones = np.ones((4, 3), np.float32)
    row_matrix = steps_in(tmp_path).row_matrix("map", [1], (4, 3), lambda out: out.write(0, ones))
    np.testing.assert_array_equal(row_matrix.read(0, 4), ones)


def test_numbers_of_concurrent_tasks_do_not_depend_on_who_is_first(tmp_path):
    def run(folder, order):
        steps, made = steps_in(folder), {}
        steps.array("before", [0], lambda: np.zeros(1))

        def task(which):
            def work():
                return [steps.array(f"task {which}", [which, k], lambda k=k: np.full(1, 10.0 * which + k)) for k in range(3)]

            return work

        tasks = steps.tasks(tuple(task(which) for which in range(3)))
        if order is None:
            Threads(3).concurrently(*tasks)
        else:
            for which in order:
                tasks[which]()
        steps.array("after", [9], lambda: np.ones(1))
        for line in (steps.work.path / "journal.jsonl").read_text().splitlines()[1:]:
            made[line.split('"step": "')[1].split('"')[0]] = line.split('"what": "')[1].split('"')[0]
        steps.work.close()
        return made

    one = run(tmp_path / "a", [0, 1, 2])
    assert one == run(tmp_path / "b", [2, 0, 1]) == run(tmp_path / "c", None)
    assert len(one) == 11 and one["3"] == "after"


def test_functions_are_known_by_their_name_and_what_they_close_over():
    def maker(array, scale, inner):
        return lambda block: inner(block * scale) + array

    same = [parts_of(maker(np.ones(2), 3.0, abs)) for _ in range(2)]
    assert [str(each) for each in same[0]] == [str(each) for each in same[1]]
    assert str(parts_of(maker(np.ones(2), 4.0, abs))) != str(same[0])
    assert str(parts_of(maker(np.zeros(2), 3.0, abs))) != str(same[0])
