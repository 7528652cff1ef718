"""Files that are none or change while they are read; each ending goes to its reader, and an error names the file."""

import os

import pandas as pd
import pytest

from slimg.errors import InputError
from slimg.io import READERS, Source, _reader, read, unchanged


def test_a_missing_file_names_its_neighbours(tmp_path):
    (tmp_path / "follows.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match=r"folows.csv does not exist: did you mean 'follows.csv'\?"):
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


def test_only_a_source_is_read():
    with pytest.raises(InputError, match=r"Source, not str"):
        read("follows.csv")


@pytest.mark.parametrize("ending", READERS)
def test_every_ending_has_a_reader_that_is_there(ending, tmp_path):
    module, function = READERS[ending]
    found = _reader(Source(tmp_path / f"a{ending}"))
    assert found.__module__ == f"slimg.io.{module}" and found.__name__ == function


@pytest.mark.parametrize("name", ["a.CSV", "a.csv", "a.csv.gz"])
def test_endings_in_capitals_and_packed_ones(tmp_path, name):
    pd.DataFrame({"u": ["x"], "v": ["y"]}).to_csv(tmp_path / name, index=False)
    assert read(Source(tmp_path / name)).frame["v"].tolist() == ["y"]


@pytest.mark.parametrize(
    ("name", "told"),
    [("a.ods", r"the ending '\.ods' of .*a\.ods names no format slimg reads: use one of \.csv"),
     ("plain", r"plain without an ending names no format")],
)  # fmt: skip
def test_other_endings_list_what_there_is(tmp_path, name, told):
    (tmp_path / name).write_text("u,v\n1,2\n")
    with pytest.raises(InputError, match=told):
        read(Source(tmp_path / name))


def test_errors_of_readers_name_the_file(tmp_path):
    (tmp_path / "broken.npz").write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"broken\.npz: it is no numpy archive"):
        read(Source(tmp_path / "broken.npz"))
