"""Text files: separators, headers and encodings are guessed and told; every value stays the text it is."""

import gzip
from dataclasses import replace

import pytest

from slimg.errors import InputError
from slimg.io import Source, read

ROWS = [["source", "target", "note"], ["007", "a b", "x;y"], ["008", "NA", "p|q"], ["009", "a b", ""]]


def write(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return Source(path)


@pytest.mark.parametrize(("separator", "ending"), [(",", "csv"), ("\t", "tsv"), (";", "csv"), ("|", "txt"), ("\t", "csv")])
def test_separators_are_guessed(tmp_path, separator, ending):
    def quoted(value):
        return f'"{value}"' if separator in value else value

    text = "\n".join(separator.join(map(quoted, row)) for row in ROWS)
    found = read(write(tmp_path / f"t.{ending}", text))
    assert list(found.frame.columns) == ROWS[0]
    assert found.frame.to_numpy().tolist() == ROWS[1:]
    assert found.separator == separator
    assert "the first line holds the names of the columns" in found.notes[0]


def test_a_list_of_edges_with_blanks_and_comments(tmp_path):
    found = read(write(tmp_path / "web.edges", "# from SNAP\n# nodes: 3\n1 2\n2\t3\n10   2\n"))
    assert found.frame.to_numpy().tolist() == [["1", "2"], ["2", "3"], ["10", "2"]]
    assert list(found.frame.columns) == ["column 1", "column 2"]


def test_a_first_line_of_ids_that_occur_again_is_no_header(tmp_path):
    found = read(write(tmp_path / "e.csv", "ann,bob\nbob,cy\ncy,ann\n"))
    assert found.frame.to_numpy().tolist() == [["ann", "bob"], ["bob", "cy"], ["cy", "ann"]]
    named = read(Source(tmp_path / "e.csv", header=True))
    assert list(named.frame.columns) == ["ann", "bob"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize("asked", ["latin-1", "cp1252"])
def test_a_mark_decides_whatever_encoding_the_other_files_have(tmp_path, encoding, asked):
    source = write(tmp_path / "n.csv", "id,name\n1,Zoë\n", encoding)
    assert list(read(replace(source, encoding=asked)).frame["name"]) == ["Zoë"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_with_marks_are_read(tmp_path, encoding):
    found = read(write(tmp_path / "n.csv", "id,name\n1,Zoë\n", encoding))
    assert list(found.frame.columns) == ["id", "name"]
    assert found.frame["name"][0] == "Zoë"


def test_compressed_text(tmp_path):
    (tmp_path / "n.csv.gz").write_bytes(gzip.compress(b"id,x\n1,2\n"))
    assert read(Source(tmp_path / "n.csv.gz")).frame.to_numpy().tolist() == [["1", "2"]]


def test_json_lines_keep_types(tmp_path):
    found = read(write(tmp_path / "n.jsonl", '{"id": 1, "x": null}\n\n{"id": 2, "x": 7, "tags": ["a"]}\n')).frame
    assert found["id"].tolist() == [1, 2]
    assert found["x"].astype(object).tolist()[1] == 7
    assert str(found["x"].dtype) == "Int64"
    assert found["tags"].tolist() == [None, ["a"]]


def test_a_json_list(tmp_path):
    assert read(write(tmp_path / "n.json", '[{"id": "a"}, {"id": "b"}]')).frame["id"].tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        (
            "a.csv",
            "id,x\n1,é\n".encode("latin-1"),
            "byte 0xe9 in line 2 is not utf-8: name the file's encoding with --encoding",
        ),
        ("a.csv", b"id,x\n1,2\n1,2,3\n", "line 3 has 3 values where 2 are expected: name the separator with --separator"),
        ("a.csv", b"id,x\n1,2,3\n", "the first line has 2 names of columns, the second 3 values"),
        ("a.csv", b"", "is empty: it needs at least one row"),
        ("a.csv", b"\n\n", "the file is empty"),
        ("a.csv", b"id,x\n", "there are no rows below the names of the columns ('id', 'x')"),
        ("a.csv", b"PK\x03\x04\x00\x00", "zero bytes in it"),
        ("a.csv.gz", b"no gzip", "is no .gz file, or damaged"),
        ("a.jsonl", b'{"id": 1}\n{"id": \n', "line 2 is not JSON"),
        ("a.jsonl", b"[1]\n", "line 1 is no JSON object"),
        ("a.doc", b"x", "the ending '.doc' of"),
        ("a", b"x", "without an ending names no format slimg reads"),
    ],
)
def test_bad_files_are_one_sentence(tmp_path, name, content, told):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        read(Source(tmp_path / name))
    assert told in str(caught.value)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_lines_with_fewer_values_are_told(tmp_path):
    (tmp_path / "short.csv").write_text("id,age,city\n1,5,rome\n2,6\n3,,oslo\n4\n")
    found = read(Source(tmp_path / "short.csv"))
    assert found.frame.to_numpy().tolist() == [["1", "5", "rome"], ["2", "6", ""], ["3", "", "oslo"], ["4", "", ""]]
    assert "2 lines have fewer values" in found.notes[0] and "'2,6', '4'" in found.notes[0]


def test_an_encoding_that_does_not_exist(tmp_path):
    path = write(tmp_path / "a.csv", "id,x\n1,2\n").path
    with pytest.raises(InputError, match="there is no encoding 'klingon'"):
        read(Source(path, encoding="klingon"))
