"""Files are written whole or not at all, inert in a spreadsheet, and never over what is there without leave."""

import csv
import json
import os

import pandas as pd
import pytest

from slimg.errors import InputError
from slimg.io import Source, make_folder, read, refuse_existing, write_text
from slimg.io.write import FORMULA_STARTS, write_table


@pytest.mark.parametrize("start", FORMULA_STARTS)
def test_text_that_a_spreadsheet_would_run_is_quoted(tmp_path, start):
    path = write_table(pd.DataFrame({f"{start}name": [f"{start}1+1", "plain"], "n": [-1.5, 2]}), tmp_path / "a.csv")
    with open(path, newline="", encoding="utf-8") as file:
        assert list(csv.reader(file)) == [[f"'{start}name", "n"], [f"'{start}1+1", "-1.5"], ["plain", "2"]]


def test_numbers_as_text_stay_numbers(tmp_path):
    path = write_table(pd.DataFrame({"x": ["-3.5", "+1e3", "-", "=1"]}), tmp_path / "a.csv")
    assert pd.read_csv(path)["x"].tolist() == ["-3.5", "+1e3", "-", "'=1"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_table(pd.DataFrame({"name": ["x", "\ud800"]}), path)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["a.csv"]


def test_ids_are_written_as_they_are(tmp_path):
    path = write_table(pd.DataFrame({"id": ["=a", "b"], "x": ["=a", "b"]}), tmp_path / "a.csv", keep=["id"])
    assert pd.read_csv(path).to_numpy().tolist() == [["=a", "'=a"], ["b", "b"]]


def test_a_workbook_comes_back_and_runs_nothing(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    table = pd.DataFrame({"id": ["=1+1", "b"], "x": [1.5, None], "n": [1, 2]})
    path = write_table(table, tmp_path / "t.xlsx")
    assert {cell.data_type for row in openpyxl.load_workbook(path).active for cell in row} == {"s", "n"}
    found = read(Source(path)).frame
    assert found["id"].tolist() == ["=1+1", "b"] and found["x"][0] == 1.5 and found["n"].tolist() == [1, 2]


@pytest.mark.parametrize("name", ["p.feather", "p.xls", "p.csv.gz"])
def test_formats_that_are_not_written_are_refused(tmp_path, name):
    with pytest.raises(InputError, match=r"\.xlsx \.jsonl"):
        write_table(pd.DataFrame({"x": [1]}), tmp_path / name)
    assert not list(tmp_path.iterdir())


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
