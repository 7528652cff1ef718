"""Files are written whole or not at all, inert in a spreadsheet, and never over what is there without leave."""

import csv
import json
import os

import pandas as pd
import pytest

from slimg.errors import InputError
from slimg.io import FORMULA_STARTS, make_folder, refuse_existing, write_table, write_text


@pytest.mark.parametrize("start", FORMULA_STARTS)
def test_text_that_a_spreadsheet_would_run_is_quoted(tmp_path, start):
    path = write_table(pd.DataFrame({f"{start}name": [f"{start}1+1", "plain"], "n": [-1.5, 2]}), tmp_path / "a.csv")
    with open(path, newline="", encoding="utf-8") as file:
        assert list(csv.reader(file)) == [[f"'{start}name", "n"], [f"'{start}1+1", "-1.5"], ["plain", "2.0"]]


def test_numbers_as_text_stay_numbers(tmp_path):
    path = write_table(pd.DataFrame({"x": ["-3.5", "+1e3", "-", "=1"]}), tmp_path / "a.csv")
    assert pd.read_csv(path)["x"].tolist() == ["-3.5", "+1e3", "'-", "'=1"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("old")
    monkeypatch.setattr(pd.DataFrame, "to_csv", lambda *args, **kwargs: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_table(pd.DataFrame({"name": ["x"]}), path)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["a.csv"]


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_each_format_comes_back(tmp_path, ending):
    table = pd.DataFrame({"id": ["a", "b"], "x": [1.5, 2.0], "n": [1, 2]})
    path = write_table(table, tmp_path / f"t.{ending}")
    readers = {"csv": pd.read_csv, "tsv": lambda p: pd.read_csv(p, sep="\t"), "parquet": pd.read_parquet}
    found = readers[ending](path) if ending != "jsonl" else pd.DataFrame(map(json.loads, path.read_text().splitlines()))
    assert found.to_numpy().tolist() == table.to_numpy().tolist()


def test_lists_missing_and_mixed_values(tmp_path):
    table = pd.DataFrame({"mixed": ["a", 1, None], "lists": [["x"], None, ["y", "z"]], "n": pd.array([1, None, 3], "Int64")})
    rows = [json.loads(line) for line in write_table(table, tmp_path / "t.jsonl").read_text().splitlines()]
    assert rows[1] == {"mixed": 1, "lists": None, "n": None}
    found = pd.read_parquet(write_table(table, tmp_path / "t.parquet"))
    assert found["mixed"].tolist()[:2] == ["a", "1"]


def test_output_that_exists_needs_leave(tmp_path):
    path = write_text("x", tmp_path / "a" / "b.txt")
    with pytest.raises(InputError, match=r"b.txt would be written over: .* --force"):
        refuse_existing([path, tmp_path / "c"], force=False)
    refuse_existing([path], force=True)


def test_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "f").write_text("")
    with pytest.raises(InputError, match="is a file, not a folder"):
        make_folder(tmp_path / "f")
    with pytest.raises(InputError, match="is a file, not a folder"):
        make_folder(tmp_path / "f" / "g")


def test_no_write_permission(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *args: False)
    with pytest.raises(InputError, match="may not be written to: choose another folder"):
        make_folder(tmp_path)
    with pytest.raises(InputError, match="cannot be made"):
        make_folder(type(tmp_path)("/proc/slimg"))
