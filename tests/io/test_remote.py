"""Files elsewhere: fetched by fsspec, read as files are, and removed."""

import tempfile
from pathlib import Path

import fsspec
import numpy as np
import pandas as pd
import pytest

import slimg
from slimg.cli import main
from slimg.errors import InputError, without_password
from slimg.io import Source, read

N = 40
NODES = pd.DataFrame({"id": np.arange(N), "age": np.arange(N) * 0.5, "team": np.where(np.arange(N) % 2, "red", "blue")})
EDGES = pd.DataFrame({"source": np.arange(N), "target": (np.arange(N) + 2) % N})


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A bucket of fsspec's store in memory; the temporary folder is the test's own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    memory = fsspec.filesystem("memory")
    memory.makedirs("/bucket/edges", exist_ok=True)
    memory.pipe("/bucket/nodes.csv", NODES.to_csv(index=False).encode())
    for part in range(2):
        with memory.open(f"/bucket/edges/{part}.parquet", "wb") as file:
            EDGES[part::2].to_parquet(file)
    yield memory
    memory.rm("/bucket", recursive=True)


def test_files_patterns_and_folders_of_a_store_give_the_graph_of_files(store, tmp_path):
    expected = slimg.read(EDGES, NODES, label="team")
    for edges in ("memory://bucket/edges/*.parquet", "memory://bucket/edges"):
        graph = slimg.read(edges, "memory://bucket/nodes.csv", label="team")
        assert graph.edges == expected.edges and (graph.features != expected.features).nnz == 0
        assert (graph.codes == expected.codes).all()
    assert list((tmp_path / "tmp").iterdir()) == [], "copies are removed"
    assert len(read(Source.parse("memory://bucket/nodes.csv")).frame) == N


@pytest.mark.parametrize("engine", [[], ["--engine", "mapped", "--memory", "4GB"]])
def test_the_command_line_reads_a_store(store, tmp_path, engine):
    words = ["fit", "--edges", "memory://bucket/edges/*.parquet", "--nodes", "memory://bucket/nodes.csv", "--label", "team"]
    assert main([*words, "--out", "out", "--no-measure-fold-in" if not engine else "--json", *engine]) == 0
    assert len(pd.read_csv("out/predictions.csv")) == N and list((tmp_path / "tmp").iterdir()) == []


def test_an_address_of_a_file_is_its_path(tmp_path):
    NODES.to_csv(tmp_path / "nodes.csv", index=False)
    source = Source.parse(f"file://{tmp_path}/nodes.csv")
    assert source.path == tmp_path / "nodes.csv" and not source.is_remote


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("memory://bucket/none.csv", r"memory://bucket/none\.csv does not exist"),
        ("memory://bucket/none/*.csv", "does not exist"),
        ("memory://bucket/empty.csv", r"memory://bucket/empty\.csv is empty"),
        ("nosuch://ann:s3cret@host/a.csv", "nosuch://ann@host/a.csv: .*nosuch://.*postgresql://"),
        ("memory://bucket/bad.parquet", r"memory://bucket/bad\.parquet"),
    ],
)
def test_what_cannot_be_fetched_or_read_is_told_by_its_address(store, address, told):
    store.pipe("/bucket/empty.csv", b"")
    store.pipe("/bucket/bad.parquet", b"PAR1 nothing")
    with pytest.raises(InputError, match=told) as caught:
        slimg.read(EDGES, address, label="team")
    assert "s3cret" not in str(caught.value) and "slimg-" not in str(caught.value)


def test_no_password_of_an_address_is_shown_or_written(store, capsys):
    """The store takes what stands before @ for a part of the name, as a server takes it for a user."""
    store.pipe("/ann:s3cret@bucket/nodes.csv", NODES.to_csv(index=False).encode())
    address = "memory://ann:s3cret@bucket/nodes.csv"
    assert "s3cret" not in str(Source.parse(address)) + repr(Source.parse(address)) + without_password(address)
    EDGES.to_csv("edges.csv", index=False)
    words = ["fit", "--edges", "edges.csv", "--nodes", address, "--label", "team", "--out", "out", "--no-measure-fold-in"]
    assert main([*words, "--verbose"]) == 0
    assert "s3cret" not in capsys.readouterr().out
    assert [path.name for path in Path("out").iterdir() if b"s3cret" in path.read_bytes()] == []


def test_a_bucket_of_s3(store, monkeypatch):
    """Runs where moto and s3fs are installed; the server is of the test's own process."""
    moto = pytest.importorskip("moto.server")
    pytest.importorskip("s3fs")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    for name, value in (("ACCESS_KEY_ID", "key"), ("SECRET_ACCESS_KEY", "s3cret"), ("DEFAULT_REGION", "us-east-1")):
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://{}:{}".format(*server.get_host_and_port()))
    try:
        bucket = fsspec.filesystem("s3", skip_instance_cache=True)
        bucket.mkdir("bucket")
        for name, table in (("nodes", NODES), ("edges/0", EDGES)):
            bucket.pipe(f"bucket/{name}.csv", table.to_csv(index=False).encode())
        graph = slimg.read("s3://bucket/edges/*.csv", "s3://bucket/nodes.csv", label="team")
        assert graph.edges == slimg.read(EDGES, NODES, label="team").edges
        with pytest.raises(InputError, match=r"s3://bucket/none\.csv does not exist"):
            slimg.read("s3://bucket/none.csv", NODES)
    finally:
        server.stop()
