"""Damaged and hostile files: each ends in an InputError that names it, before memory is taken."""

import json
import os
import random
import signal
import sqlite3
import struct
import time
import zipfile
from contextlib import suppress
from pathlib import Path

import duckdb
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import slimg
from benchmarks.fuzz.readers import make_seeds, mutation, outcome
from forked import Forked
from slimg.errors import InputError
from slimg.io import CHUNK, Source, databases, read
from slimg.io.write import write_table
from slimg.lab.datasets.readers import _check_present, load_mat

RNG = np.random.default_rng(0)
READERS = ("csv", "csv.gz", "csv.zst", "csv.zip", "json", "parquet", "xlsx", "npz", "npy", "mtx", "graphml", "gexf", "sqlite",
           "duckdb", "mat", "planetoid", "actor")  # fmt: skip


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    return make_seeds(tmp_path_factory.mktemp("seeds"))


@pytest.mark.parametrize("name", READERS)
def test_mutated_files_are_read_or_refused(seeds, tmp_path, name):
    """The first of the mutations that benchmarks/fuzz runs by the hundred thousand."""
    published = seeds[name][0].parent if name in ("mat", "planetoid", "actor") else None
    for path in seeds[name]:
        assert outcome(path, published, True) == "read"
    found = set()
    for number in range(8 if name == "duckdb" else 150):
        path, data = mutation(seeds[name], 7, number)
        (tmp_path / path.name).write_bytes(data)
        found.add(outcome(tmp_path / path.name, published, number % 8 == 0))
    assert found == {"read", "refused"}


@pytest.mark.parametrize("field", ["real", "integer", "pattern"])
@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
@pytest.mark.parametrize("dense", [False, True])
def test_matrix_market_as_scipy_reads_it(tmp_path, field, symmetry, dense):
    square = np.round(RNG.normal(size=(5, 5)) * (RNG.random((5, 5)) < 0.6) * 5)
    matrix = {"general": square[:4], "symmetric": square + square.T, "skew-symmetric": square - square.T}[symmetry]
    if dense and field == "pattern":
        pytest.skip("dense matrices have values")
    given = matrix if dense else sp.coo_array(matrix)
    scipy.io.mmwrite(tmp_path / "a.mtx", given, field=field, symmetry=symmetry, comment="two\nlines")
    expected = scipy.io.mmread(tmp_path / "a.mtx")
    found = read(Source(tmp_path / "a.mtx")).matrix
    assert sp.issparse(found) != dense
    assert np.array_equal(found if dense else found.toarray(), expected if dense else expected.toarray())


@pytest.mark.parametrize("packed", [False, True])
def test_matlab_files_as_scipy_reads_them(tmp_path, packed):
    arrays = {"A": sp.csc_array(RNG.integers(0, 3, (6, 4)).astype(float)), "tiny": np.array([[1, 2]], np.uint8),
              "x": RNG.normal(size=(7, 3)), "codes": RNG.integers(-9, 9, (3, 5), np.int16), "other": "text"}  # fmt: skip
    scipy.io.savemat(tmp_path / "a.mat", arrays, do_compression=packed)
    expected = scipy.io.loadmat(tmp_path / "a.mat")
    found = load_mat(tmp_path / "a.mat", ("A", "tiny", "x", "codes"))
    assert np.array_equal(found["A"].toarray(), expected["A"].toarray())
    for name in ("tiny", "x", "codes"):
        assert np.array_equal(found[name], expected[name]) and found[name].dtype == expected[name].dtype


def test_names_of_a_damaged_matlab_file_fit_into_a_line(tmp_path):
    with pytest.raises(InputError) as told:
        _check_present(tmp_path / "a.mat", "array", ["A"], ["x\n\x00y", "local_info"])
    assert "\n" not in str(told.value) and "local_info" in str(told.value)


def declared(path, size):
    """Set the unpacked size that the directory of an archive tells of its first member."""
    raw = bytearray(path.read_bytes())
    place = raw.index(b"PK\x01\x02")
    raw[place + 24 : place + 28] = struct.pack("<I", size)
    path.write_bytes(raw)


@pytest.mark.parametrize("name", ["a.npz", "a.csv.zip", "a.xlsx"])
def test_archives_are_refused_by_their_declared_size(tmp_path, name):
    with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("edges.npy", b"a,b\n1,2\n")
    declared(tmp_path / name, 3_000_000_000)
    with pytest.raises(InputError, match=r"a\.(npz|csv\.zip|xlsx): .* 3 GB"):
        read(Source(tmp_path / name))


def test_a_stream_ends_where_it_grows_too_large(tmp_path, monkeypatch):
    import gzip

    monkeypatch.setattr(slimg.io, "SMALL", 1 << 20)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"a,b\n" * 2_000_000))
    with pytest.raises(InputError, match=r"a\.csv\.gz: what is packed in it"):
        read(Source(tmp_path / "a.csv.gz"))


def test_an_array_that_declares_more_than_the_file_has(tmp_path):
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (4000000000, 1000), }".ljust(117) + "\n"
    (tmp_path / "a.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + bytes(80))
    with pytest.raises(InputError, match="4000000000 × 1000"):
        read(Source(tmp_path / "a.npy"))


@pytest.mark.parametrize(
    ("indptr", "indices"),
    [([0, 10**9, 2], [0, 1]), ([0, 2, 1], [0, 1]), ([0, 1, 2], [0, 10**9]), ([5, 1, 2], [0, 1]), ([0, 1, 2], [-1, 0])],
)
@pytest.mark.parametrize("format", ["csr", "csc"])
def test_wild_pointers_reach_no_kernel(tmp_path, indptr, indices, format):
    parts = {"data": np.ones(2), "indices": np.array(indices), "indptr": np.array(indptr), "shape": np.array([2, 2])}
    np.savez(tmp_path / "a.npz", **parts, format=np.array(format.encode()))
    with pytest.raises(InputError, match="its sparse matrix"):
        read(Source(tmp_path / "a.npz"))


def test_lines_columns_and_depth_have_limits(tmp_path):
    (tmp_path / "line.csv").write_bytes(b"a,b\n" + b"1" * (3 * CHUNK))
    (tmp_path / "wide.csv").write_text("\n".join([",".join(f"c{k}" for k in range(30_000)), ",".join(["1"] * 30_000)]))
    (tmp_path / "deep.jsonl").write_text('{"id": 1, "a": ' + "[" * 200_000 + "]" * 200_000 + "}\n")
    (tmp_path / "deep.json").write_text("[" * 200_000)
    for name, told in (("line.csv", "line"), ("wide.csv", "30,000"), ("deep.jsonl", "deep"), ("deep.json", "deep")):
        with pytest.raises(InputError, match=rf"{name}: .*{told}"):
            read(Source(tmp_path / name))
    (tmp_path / "many.csv").write_text("\n".join([",".join(f"c{k}" for k in range(15_000)), ",".join(["1"] * 15_000)] * 2))
    assert read(Source(tmp_path / "many.csv", header=False)).frame.shape == (4, 15_000)


def test_attributes_of_xml_take_linear_time(tmp_path):
    """2,000 keys with defaults × 2,000 nodes took 20 s."""
    key = '<key id="k{0}" for="node" attr.name="a{0}" attr.type="int"><default>{0}</default></key>'
    keys = "".join(key.format(k) for k in range(2000))
    nodes = "".join(f'<node id="n{k}"><data key="k{k}">-7</data></node>' for k in range(2000))
    (tmp_path / "a.graphml").write_text(f"<graphml>{keys}<graph>{nodes}</graph></graphml>")
    begun = time.process_time()
    frame = read(Source(tmp_path / "a.graphml")).frame
    assert time.process_time() - begun < 8
    assert frame.shape == (2000, 2001) and frame["a5"].tolist()[4:7] == [5, -7, 5]


def test_a_view_of_duckdb_reads_no_other_file(tmp_path):
    (tmp_path / "secret.csv").write_text("id,x\n1,2\n")
    connection = duckdb.connect(str(tmp_path / "a.duckdb"))
    connection.execute(f"CREATE VIEW v AS SELECT * FROM read_csv('{tmp_path}/secret.csv')")
    connection.close()
    with pytest.raises(InputError, match=r"a\.duckdb"):
        read(Source(tmp_path / "a.duckdb"))


def test_a_signal_that_ends_duckdb_is_a_damaged_file(tmp_path):
    """Some mutated files did so, with the checksums of their blocks."""
    duckdb.connect(str(tmp_path / "a.duckdb")).close()
    child = databases._DuckdbProcess(tmp_path / "a.duckdb")
    child.process.send_signal(signal.SIGSEGV)
    with pytest.raises(InputError, match="SIGSEGV"):
        child.select("SELECT 1")
    assert child.process.returncode == -signal.SIGSEGV


def test_text_that_is_no_text(tmp_path):
    """Parquet and DuckDB hold any bytes as text; arrow's layout would carry them to the first kernel that decodes them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    bad = pa.Array.from_buffers(pa.string(), 2, [*pa.array(["ab", "cd"]).buffers()[:2], pa.py_buffer(b"a\xffcd")])
    pq.write_table(pa.table({"id": bad}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"a\.parquet: .*UTF8"):
        read(Source(tmp_path / "a.parquet"))


def test_a_page_that_declares_more_than_there_is_memory(tmp_path, monkeypatch):
    import pyarrow as pa
    import pyarrow.parquet as pq

    def read_nothing(self):
        raise pa.ArrowMemoryError("malloc of size 2147483648 failed")

    pq.write_table(pa.table({"id": ["a"]}), tmp_path / "a.parquet")
    monkeypatch.setattr(pq.ParquetFile, "read", read_nothing)
    with pytest.raises(InputError, match=r"a\.parquet: the table would take"):
        read(Source(tmp_path / "a.parquet"))


def test_a_list_of_numbers_beyond_a_float(tmp_path):
    rows = [{"id": 1, "v": [1, 10**400], "team": "a"}, {"id": 2, "v": [2, 3.5], "team": "b"}]
    (tmp_path / "a.json").write_text(json.dumps(rows))
    with pytest.raises(InputError, match=r"'v' .*1e308"):
        slimg.read(nodes=tmp_path / "a.json", label="team")


@pytest.mark.parametrize("name", ["a.db", "a.duckdb"])
def test_databases_are_opened_for_reading_alone(tmp_path, name):
    connection = (sqlite3 if name == "a.db" else duckdb).connect(str(tmp_path / name))
    connection.execute("CREATE TABLE t (id INTEGER)")
    connection.execute("INSERT INTO t VALUES (7)")
    connection.commit()
    connection.close()
    before = (tmp_path / name).read_bytes()
    for query in ("DELETE FROM t", "DROP TABLE t", "CREATE TABLE u (id INTEGER)"):
        with pytest.raises(InputError, match=r"read-only|readonly"), databases.opened(Source(tmp_path / name)) as database:
            database.select(query)
    if name == "a.duckdb":
        for query in ("SELECT * FROM read_csv('/etc/passwd')", "COPY t TO '/tmp/t.csv'", "SET enable_external_access=true"):
            with pytest.raises(InputError), databases.opened(Source(tmp_path / name)) as database:
                database.select(query)
    assert (tmp_path / name).read_bytes() == before


def test_features_of_an_archive_have_rows_and_columns(tmp_path):
    np.savez(tmp_path / "a.npz", edges=np.array([[0, 1], [1, 2]]), features=np.ones(3), labels=np.arange(3))
    with pytest.raises(InputError, match=r"a\.npz: .*\(3,\)"):
        read(Source(tmp_path / "a.npz"))


def is_open(process, path):
    """Whether a process or a child of it holds a file open."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    with suppress(FileNotFoundError):  # a child has ended
        held = [each for pid in (process, *children) for each in Path(f"/proc/{pid}/fd").iterdir()]
        return any(os.path.realpath(each) == str(path) for each in held)
    return False


@pytest.mark.parametrize("name", ["a.db", "a.duckdb"])
def test_an_endless_view_can_be_interrupted(tmp_path, name):
    if name == "a.db":
        connection = sqlite3.connect(tmp_path / name)
        query = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) AS c FROM t"
    else:
        connection = duckdb.connect(str(tmp_path / name))
        query = "SELECT count(*) AS c FROM range(1000000000) a, range(1000000000) b WHERE a.range + b.range < 7"
    connection.execute(f"CREATE VIEW v AS {query}")
    connection.commit()
    connection.close()
    process = Forked("fit", "--nodes", f"{name}:v", "--label", "c", cwd=tmp_path, stderr=tmp_path / "told.txt")
    while not is_open(process.pid, tmp_path / name):
        assert process.poll() is None
        time.sleep(0.02)
    time.sleep(1)  # the query begins
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130 and (tmp_path / "told.txt").read_text() == "slimg: interrupted\n"


def test_ids_that_a_spreadsheet_would_run_keep_their_value(tmp_path):
    import pandas as pd

    ids = ["=1+1", "+a", "-b", "@c", "plain"]
    table = pd.DataFrame({"id": ids, "note": ids})
    found = read(Source(write_table(table, tmp_path / "a.csv", keep=["id"]))).frame
    assert found["id"].tolist() == ids and found["note"].tolist()[0] == "'=1+1"


def test_messages_are_one_short_sentence(tmp_path):
    rng = random.Random(0)
    for name in ("a.parquet", "a.npz", "a.graphml", "a.jsonl", "a.csv.gz", "a.mtx", "a.db", "a.xlsx"):
        (tmp_path / name).write_bytes(rng.randbytes(300) + json.dumps({"x": "[" * 5000}).encode())
        with pytest.raises(InputError, match=name) as told:
            read(Source(tmp_path / name))
        assert "\n" not in str(told.value) and len(str(told.value)) < 500 + len(str(tmp_path))
