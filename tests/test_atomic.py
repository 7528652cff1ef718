"""Files appear whole or not at all."""

import os
import stat

import pytest

from slimg.atomic import atomic_write
from slimg.errors import InputError


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
