"""Whole datasets from a local server: files, archives, checksums that become known."""

import hashlib
import io
import zipfile
from dataclasses import replace

import pytest
from faulty_server import FaultyServer

from slimg.lab import datasets
from slimg.lab.datasets import DownloadError, fetcher, loader, verify
from slimg.lab.datasets.fetcher import fetch_dataset
from slimg.lab.datasets.table import TABLE

QUICK = {"pause": 0.01}


def zipped(members):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return packed.getvalue()


@pytest.fixture
def served(data_dir):
    """A server with Actor's own files, and the table's entry pointing at it."""
    folder = data_dir / "actor"
    if not folder.is_dir():
        pytest.skip(f"no folder actor in {data_dir}")
    with FaultyServer({path.name: path.read_bytes() for path in folder.iterdir()}) as server:
        actor = TABLE["actor"]
        files = tuple(replace(file, address=f"{server.address}/{file.name}") for file in actor.files)
        yield server, replace(actor, files=files)


def test_fetched_files_load_and_are_not_fetched_twice(served, tmp_path, monkeypatch):
    server, actor = served
    monkeypatch.setitem(TABLE, "actor", actor)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("SLIMG_DATA", raising=False)
    server.faults["out1_graph_edges.txt"] = [("cut", 1000)]
    got = datasets.fetch("actor", **QUICK)
    assert got.folder == tmp_path / "slimg" / "datasets" / "actor" and got.notes == ()
    assert datasets.load("actor").edges == 26659
    requests = len(server.requests)
    assert datasets.fetch("actor").notes == (f"actor was already in {got.folder}.",)
    assert len(server.requests) == requests
    (got.folder / "out1_graph_edges.txt").write_bytes(b"damaged")
    datasets.fetch("actor", **QUICK)
    assert [name for name, _ in server.requests[requests:]] == ["out1_graph_edges.txt"]
    assert datasets.load("actor").edges == 26659


def test_a_file_of_another_dataset_from_the_server(served, tmp_path):
    server, actor = served
    swapped = server.files["out1_graph_edges.txt"]
    server.files["out1_node_feature_label.txt"] = swapped
    with pytest.raises(DownloadError, match=r"is out1_graph_edges\.txt of the dataset actor: it is kept aside as"):
        fetch_dataset(actor, tmp_path, **QUICK)
    assert (tmp_path / "actor" / "out1_node_feature_label.txt.damaged").read_bytes() == swapped


def test_progress_is_shown_when_asked(served, tmp_path, capsys):
    fetch_dataset(served[1], tmp_path, progress=True, **QUICK)
    assert "out1_graph_edges.txt" in capsys.readouterr().err


MEMBERS = {"arxiv/README": b"hello", "arxiv/raw/edge.csv.gz": b"edges", "arxiv/split/time/test.csv.gz": b"rows"}
REST = ("node-feat", "node-label", "num-node-list")


@pytest.fixture
def archived():
    """A server with an archive in OGB's layout."""
    members = MEMBERS | {f"arxiv/raw/{name}.csv.gz": name.encode() for name in REST}
    with FaultyServer({"arxiv.zip": zipped(members)}) as server:
        entry = TABLE["ogbn-arxiv"]
        yield server, replace(entry, archive=replace(entry.archive, address=f"{server.address}/arxiv.zip"))


def test_an_unknown_checksum_is_recorded_and_told(archived, tmp_path):
    server, arxiv = archived
    got = fetch_dataset(arxiv, tmp_path, **QUICK)
    digest = hashlib.sha256(server.files["arxiv.zip"]).hexdigest()
    folder = tmp_path / "ogbn-arxiv"
    assert got.notes == (
        f"The SHA-256 of arxiv.zip was not known: it is {digest}, now recorded in {folder / 'SHA256SUMS'}.",
    )
    assert (folder / "raw" / "edge.csv.gz").read_bytes() == b"edges"
    assert (folder / "split" / "time" / "test.csv.gz").read_bytes() == b"rows"
    assert not (folder / "arxiv.zip").exists() and not (folder / "README").exists()
    sums = verify.recorded_sums(folder)
    assert sums["arxiv.zip"] == digest and sums["raw/edge.csv.gz"] == hashlib.sha256(b"edges").hexdigest()
    assert "already" in fetch_dataset(arxiv, tmp_path).notes[0]


def test_a_recorded_checksum_binds_the_next_download_and_load(archived, tmp_path, monkeypatch):
    server, arxiv = archived
    fetch_dataset(arxiv, tmp_path, **QUICK)
    (tmp_path / "ogbn-arxiv" / "raw" / "edge.csv.gz").write_bytes(b"hacked")
    monkeypatch.setitem(loader.TABLE, "ogbn-arxiv", arxiv)
    with pytest.raises(Exception, match=r"edge\.csv\.gz has SHA-256"):
        datasets.load("ogbn-arxiv", tmp_path)
    server.files["arxiv.zip"] = zipped(MEMBERS)
    with pytest.raises(DownloadError, match=r"arxiv\.zip has SHA-256|what came from .* has SHA-256"):
        fetch_dataset(arxiv, tmp_path, **QUICK)


def test_an_archive_without_a_file_or_damaged_is_kept_aside(archived, tmp_path):
    server, arxiv = archived
    good = server.files["arxiv.zip"]
    server.files["arxiv.zip"] = zipped(MEMBERS)
    with pytest.raises(DownloadError, match=r"lacks raw/node-feat\.csv\.gz: it is kept aside as .*arxiv\.zip\.damaged"):
        fetch_dataset(arxiv, tmp_path / "one", **QUICK)
    spoiled = bytearray(good)
    where = good.index(b"arxiv/raw/edge.csv.gz") + len(b"arxiv/raw/edge.csv.gz")
    spoiled[where] ^= 0xFF
    for k, data in enumerate((good[: len(good) // 2], bytes(spoiled))):
        server.files["arxiv.zip"] = data
        with pytest.raises(DownloadError, match=r"arxiv\.zip is damaged"):
            fetch_dataset(arxiv, tmp_path / f"two{k}", **QUICK)
        assert (tmp_path / f"two{k}" / "ogbn-arxiv" / "arxiv.zip.damaged").read_bytes() == data


def test_nothing_outside_the_folder_is_written(archived, tmp_path):
    server, arxiv = archived
    members = {f"../../x/raw/{name}.csv.gz": b"x" for name in ("edge", *REST)}
    server.files["arxiv.zip"] = zipped(members)
    fetch_dataset(arxiv, tmp_path / "root", **QUICK)
    assert [path.name for path in tmp_path.iterdir()] == ["root"]
    assert (tmp_path / "root" / "ogbn-arxiv" / "raw" / "edge.csv.gz").read_bytes() == b"x"


def test_filtered_graphs_fetch_the_files_of_their_source(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(fetcher, "download", lambda file, folder, **_: asked.append((file.name, folder)) or folder)
    datasets.fetch("chameleon-filtered", tmp_path)
    assert asked == [("chameleon.npz", tmp_path / "chameleon")]
