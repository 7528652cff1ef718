"""Each ending goes to its reader, and an error names the file."""

import pandas as pd
import pytest

from slimg.errors import InputError
from slimg.io import Source, read
from slimg.io.formats import READERS, _reader


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
    [("a.xlsx", r"the ending '\.xlsx' of .*a\.xlsx names no format slimg reads: use one of \.csv"),
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
