"""Objects of a user's file, and what is said of files that do not give one."""

import sys

import pytest

from slimg.errors import InputError
from slimg.lab.shared.process import load_object


def test_an_object_and_what_its_file_imports(tmp_path):
    (tmp_path / "beside.py").write_text("value = 41\n")
    (tmp_path / "mine.py").write_text("from beside import value\nanswer = value + 1\n")
    before = list(sys.path)
    assert load_object(f"{tmp_path / 'mine.py'}:answer") == 42
    assert sys.path == before


@pytest.mark.parametrize("address", ["mine.py", ":name", "mine.py:", "mine.py:not a name"])
def test_what_is_no_address(address):
    with pytest.raises(InputError, match=r"is no address of an object: FILE\.py:NAME is needed"):
        load_object(address)


def test_files_that_do_not_give_it(tmp_path):
    file = tmp_path / "mine.py"
    with pytest.raises(InputError, match="there is no file"):
        load_object(f"{file}:answer")
    file.write_text("_hidden = 1\nother = 2\n")
    with pytest.raises(InputError, match="has no answer; it has other"):
        load_object(f"{file}:answer")
    file.write_text("1 / 0\n")
    with pytest.raises(InputError, match="importing it raised ZeroDivisionError: division by zero"):
        load_object(f"{file}:answer")
    plain = tmp_path / "mine.txt"
    plain.write_text("answer = 42")
    with pytest.raises(InputError, match="is not a Python file"):
        load_object(f"{plain}:answer")
