"""Files and folders appear whole or not at all."""

import os
import stat

import pytest

from slimg.errors import InputError
from slimg.system import atomic_folder, atomic_write


@pytest.mark.parametrize(("binary", "content"), [(False, "ä\r\nb"), (True, b"\x00\xff")])
def test_the_whole_file_takes_the_place_of_the_former(tmp_path, binary, content):
    target = tmp_path / "file"
    target.write_text("former")
    with atomic_write(target, binary=binary) as file:
        file.write(content)
        assert target.read_text() == "former"
    assert target.read_bytes() == (content if binary else content.encode())
    assert os.listdir(tmp_path) == ["file"] and stat.S_IMODE(target.stat().st_mode) == 0o644


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_after_an_error_the_former_file_is_there_and_no_draft(tmp_path, error):
    target = tmp_path / "file"
    target.write_text("former")
    with pytest.raises(error), atomic_write(target) as file:
        file.write("half")
        raise error
    assert target.read_text() == "former" and os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("where", [".", "absent/file"])
def test_a_place_that_takes_no_file_is_named(tmp_path, where):
    with pytest.raises(InputError, match=r"file|folder"), atomic_write(tmp_path / where):
        pass


def test_a_folder_appears_when_it_is_complete(tmp_path):
    target = tmp_path / "above" / "folder"
    (tmp_path / "above" / "folder.part").mkdir(parents=True)
    (tmp_path / "above" / "folder.part" / "left").write_text("by an interrupted process")
    with atomic_folder(target) as draft:
        (draft / "file").write_text("whole")
        assert not target.exists()
    assert os.listdir(target) == ["file"] and os.listdir(tmp_path / "above") == ["folder"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_after_an_error_there_is_no_folder_and_no_draft(tmp_path, error):
    with pytest.raises(error), atomic_folder(tmp_path / "folder") as draft:
        (draft / "file").write_text("half")
        raise error
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("where", [".", "file/folder"])
def test_a_place_that_takes_no_folder_is_named(tmp_path, where):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"exists already|cannot be made"), atomic_folder(tmp_path / where):
        pass
