"""Cells and their keys; a store survives what is killed, and refuses what is no store."""

import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slimg.errors import InputError
from slimg.lab.bench.store import HEADER, Cell, Store, canonical


def record(key, **facts):
    return {"key": key, "status": "ok", "accuracy": 0.5, **facts}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "folder" / "records.jsonl"
    with Store(path).writing() as store:
        for key in "abc":
            store.append(record(key, text="ü\n|"))
    return path


def test_what_was_written_is_read(path):
    store = Store(path)
    assert list(store.records) == list("abc") and store.records["b"]["text"] == "ü\n|" and store.notes == ()
    assert json.loads(path.read_text().splitlines()[0]) == HEADER


def test_an_absent_file_is_an_empty_store_and_is_not_made(tmp_path):
    assert Store(tmp_path / "none.jsonl").records == {} and not (tmp_path / "none.jsonl").exists()


@settings(max_examples=15, deadline=None)
@given(cut=st.integers(1, 200))
def test_wherever_the_file_is_cut_whole_lines_are_kept_and_the_next_line_is_whole(tmp_path_factory, cut):
    path = tmp_path_factory.mktemp("cut") / "records.jsonl"
    with Store(path).writing() as store:
        for key in "abc":
            store.append(record(key))
    content = path.read_bytes()
    path.write_bytes(content[:-cut])
    store = Store(path)
    whole = content[:-cut].count(b"\n")
    assert list(store.records) == list("abc")[: max(whole - 1, 0)]
    with store.writing():
        store.append(record("d"))
    again = Store(path)
    assert list(again.records)[-1] == "d" and again.notes == ()
    assert len(path.read_bytes().splitlines()) == max(whole, 1) + 1


def test_a_torn_line_is_told(path):
    path.write_bytes(path.read_bytes() + b'{"key": "d", "sta')
    (note,) = Store(path).notes
    assert "cut off (17 bytes)" in note and str(path) in note


def test_another_version_is_refused_in_one_sentence(path):
    path.write_text(path.read_text().replace('"version": 1', '"version": 7'))
    with pytest.raises(InputError, match="written in version 7 of the format and this slimg reads version 1: use another"):
        Store(path)


@pytest.mark.parametrize("first", ["[]", "hello", '{"format": "other", "version": 1}'])
def test_another_file_is_refused(path, first):
    path.write_text(first + "\n")
    with pytest.raises(InputError, match="is no store of slimg bench"):
        Store(path)


@pytest.mark.parametrize("line", ["{", "[1]", '{"key": "x"}', '{"key": "x", "status": "fine"}'])
def test_a_damaged_line_in_the_middle_is_named(path, line):
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:2], line, *lines[2:]]) + "\n")
    with pytest.raises(InputError, match="line 3 is not a record: remove the line"):
        Store(path)


def test_of_two_records_of_a_cell_the_later_counts(path):
    with Store(path).writing() as store:
        store.append(record("a", accuracy=0.9))
    assert Store(path).records["a"]["accuracy"] == 0.9 and list(Store(path).records) == list("abc")


def test_one_writer_at_a_time_over_processes(path):
    held = f"import fcntl; file = open({str(path)!r}, 'ab'); fcntl.flock(file, fcntl.LOCK_EX)"
    program = f"{held}; print('held', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=-1, stdout=-1, text=True) as other:
        program_holds = other.stdout.readline()
        with pytest.raises(InputError, match="is being written by another run"), Store(path).writing():
            pass
        other.communicate("\n")
    assert program_holds == "held\n"
    with Store(path).writing():
        pass


def test_a_writer_sees_what_another_wrote_before(path):
    early = Store(path)
    with Store(path).writing() as store:
        store.append(record("z"))
    with early.writing():
        assert early.records["z"] is not None


def test_append_needs_the_file(path):
    with pytest.raises(RuntimeError):
        Store(path).append(record("d"))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4) | st.floats(-1, 1),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
CELL = Cell({"name": "cora"}, (0.025, 0.025, 0.95), {"kind": "slimg", "grid": "paper"}, 0)


def turned(value):
    """The same value with the keys of every object in reverse order."""
    if isinstance(value, dict):
        return {key: turned(value[key]) for key in reversed(value)}
    return [turned(each) for each in value] if isinstance(value, list) else value


@settings(max_examples=40, deadline=None)
@given(VALUES)
def test_equal_values_have_equal_text_and_come_back_from_it(value):
    assert canonical(value) == canonical(turned(value)) and json.loads(canonical(value)) == value


def test_a_key_is_the_same_in_every_process():
    assert CELL.key == "98dfb4a49d30d2b1"  # as in the recorded results


def test_whatever_changes_the_run_changes_the_key():
    others = [
        Cell({"name": "photo"}, CELL.split, CELL.model, 0),
        Cell(CELL.data, (0.6, 0.2, 0.2), CELL.model, 0),
        Cell(CELL.data, CELL.split, {**CELL.model, "pca": False}, 0),
        Cell(CELL.data, CELL.split, CELL.model, 1),
    ]
    assert len({CELL.key, *(each.key for each in others)}) == 5
    assert Cell.of(CELL.identity()) == CELL and Cell.of(json.loads(json.dumps(CELL.identity()))).key == CELL.key
