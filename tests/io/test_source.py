"""Files that are none, and files that change while they are read."""

import os

import pytest

from slimg.errors import InputError
from slimg.io import Source, read
from slimg.io.source import unchanged


def test_a_missing_file_names_its_neighbours(tmp_path):
    (tmp_path / "follows.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match=r"folows.csv does not exist: did you mean follows.csv\?"):
        read(Source(tmp_path / "folows.csv"))
    with pytest.raises(InputError, match="there is no folder"):
        read(Source(tmp_path / "nowhere" / "a.csv"))


def test_a_directory_is_refused(tmp_path):
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(InputError, match="is a directory: name one of the files in it"):
        read(Source(tmp_path / "d.csv"))


def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "p.csv")
    with pytest.raises(InputError, match="neither a file nor a directory"):
        read(Source(tmp_path / "p.csv"))


def test_a_file_that_changes_while_it_is_read(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id\n1\n")
    with pytest.raises(InputError, match=r"a.csv changed while it was read"), unchanged(Source(path)):
        path.write_text("id\n1\n2\n")


def test_databases_take_a_table(tmp_path):
    assert Source.parse("shop.db:orders") == Source(Source.parse("shop.db").path, "orders")
    assert Source.parse("C:odd.csv").table is None
    (tmp_path / "a.db:b").write_text("x")
    assert Source.parse(str(tmp_path / "a.db:b")).table is None, "a file of that very name"


@pytest.mark.parametrize(("name", "suffix"), [("a.CSV", ".csv"), ("a.tar.csv.gz", ".csv"), ("a.gz", ".gz"), ("a", "")])
def test_the_ending_names_the_format(name, suffix):
    assert Source.parse(name).suffix == suffix
