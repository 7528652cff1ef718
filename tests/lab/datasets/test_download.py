"""Downloads from a server that cuts, lies, stalls and refuses: single files, datasets, archives."""

import errno
import hashlib
import io
import os
import shutil
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from faulty_server import FaultyServer

from slimg.errors import DiskFull
from slimg.lab import datasets
from slimg.lab.datasets import Dataset, DownloadError, RemoteFile
from slimg.lab.datasets import download as module
from slimg.lab.datasets import loader as files
from slimg.lab.datasets.dataset import table
from slimg.lab.datasets.download import download, fetch

DATA = np.random.default_rng(0).bytes(300_000)
SHA = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def server():
    with FaultyServer({"big.bin": DATA}) as running:
        yield running


def remote(server, name="big.bin", **known):
    return RemoteFile(name, f"{server.address}/{name}", **known)


def get(file, folder, **options):
    return download(file, folder, pause=0.01, **options)


def leftovers(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_good_file_arrives_whole_and_alone(server, tmp_path):
    seen = []
    path = get(remote(server, size=len(DATA), sha256=SHA), tmp_path / "new", progress=lambda *at: seen.append(at))
    assert path.read_bytes() == DATA and leftovers(path.parent) == ["big.bin"]
    assert seen[-1] == (len(DATA), len(DATA)) and [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_cut_connections_are_gone_on_with(server, tmp_path):
    server.faults["big.bin"] = [("cut", 100_000), ("cut", 50_000), ("status", 503)]
    path = get(remote(server, sha256=SHA), tmp_path)
    assert path.read_bytes() == DATA and leftovers(tmp_path) == ["big.bin"]
    assert [requested for _, requested in server.requests] == [None, "bytes=100000-", "bytes=150000-", "bytes=150000-"]


def test_the_next_call_goes_on_where_the_last_gave_up(server, tmp_path):
    server.faults["big.bin"] = [("cut", 70_000), ("cut", 0)]
    with pytest.raises(DownloadError, match=r"in 2 tries: .*closed after 70,000 of 300,000.*70,000 bytes are kept in"):
        get(remote(server), tmp_path, retries=1)
    assert leftovers(tmp_path) == ["big.bin.part", "big.bin.part.tag"]
    assert get(remote(server), tmp_path).read_bytes() == DATA
    assert server.requests[-1][1] == "bytes=70000-"


def test_a_file_that_changed_meanwhile_is_sent_whole(server, tmp_path):
    server.faults["big.bin"] = [("cut", 70_000)]
    with pytest.raises(DownloadError):
        get(remote(server), tmp_path, retries=0)
    server.files["big.bin"] = other = DATA[::-1]
    assert get(remote(server), tmp_path).read_bytes() == other


def test_without_tag_or_checksum_two_versions_are_never_joined(server, tmp_path):
    server.tags = False
    server.faults["big.bin"] = [("cut", 70_000)]
    assert get(remote(server), tmp_path).read_bytes() == DATA
    assert [requested for _, requested in server.requests] == [None, None]


def test_a_server_without_ranges_starts_again(server, tmp_path):
    server.ranges = False
    server.faults["big.bin"] = [("cut", 70_000)]
    assert get(remote(server, sha256=SHA), tmp_path).read_bytes() == DATA


def test_a_part_that_is_too_long_starts_again(server, tmp_path):
    (tmp_path / "big.bin.part").write_bytes(DATA + b"more")
    assert get(remote(server, sha256=SHA), tmp_path).read_bytes() == DATA


def test_a_whole_part_is_only_checked(server, tmp_path):
    (tmp_path / "big.bin.part").write_bytes(DATA)
    assert get(remote(server, size=len(DATA), sha256=SHA), tmp_path).read_bytes() == DATA
    assert server.requests == []


def test_wrong_bytes_are_kept_aside_and_named(server, tmp_path):
    server.files["big.bin"] = wrong = bytes([DATA[0] ^ 1]) + DATA[1:]
    with pytest.raises(DownloadError, match=rf"instead of {SHA[:12]}….*kept as .*big\.bin\.damaged"):
        get(remote(server, size=len(DATA), sha256=SHA), tmp_path)
    assert leftovers(tmp_path) == ["big.bin.damaged"] and (tmp_path / "big.bin.damaged").read_bytes() == wrong


def test_truncated_at_the_publisher(server, tmp_path):
    server.files["big.bin"] = DATA[:1000]
    with pytest.raises(DownloadError, match=r"has 1,000 of 300,000 bytes: it is kept"):
        get(remote(server, size=len(DATA), sha256=SHA), tmp_path)
    server.files["big.bin"] = b""
    with pytest.raises(DownloadError, match="is empty"):
        get(remote(server), tmp_path)


def test_a_file_of_another_dataset_is_recognised(server, tmp_path, monkeypatch):
    mine = remote(server, sha256="0" * 64)
    theirs = Dataset("elsewhere", "Elsewhere", "actor", (RemoteFile("else.bin", sha256=SHA),), "", "")
    monkeypatch.setitem(table(), "elsewhere", theirs)
    with pytest.raises(DownloadError, match=r"is else\.bin of the dataset elsewhere"):
        get(mine, tmp_path)


def test_not_found_is_final(server, tmp_path):
    with pytest.raises(DownloadError, match=r"answered 404 Not Found: the publisher may have moved gone\.bin"):
        get(remote(server, "gone.bin"), tmp_path)
    assert len(server.requests) == 1 and leftovers(tmp_path) == []


def test_a_web_page_is_not_the_file(server, tmp_path):
    server.faults["big.bin"] = [("html",)]
    with pytest.raises(DownloadError, match="web page instead of big"):
        get(remote(server), tmp_path)
    assert leftovers(tmp_path) == []


def test_a_stalled_connection_counts_as_cut(server, tmp_path):
    server.faults["big.bin"] = [("stall", 5)]
    assert get(remote(server), tmp_path, timeout=0.2).read_bytes() == DATA


def test_no_network(tmp_path):
    with FaultyServer({}) as gone:
        address = gone.address
    with pytest.raises(DownloadError, match=r"no connection to 127\.0\.0\.1 .*check the network"):
        get(RemoteFile("x", f"{address}/x"), tmp_path, retries=1)


def test_a_disk_without_room_is_told_beforehand(server, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 9, 1))
    with pytest.raises(DiskFull, match=r"big\.bin needs .* of disk in .*, which has 0.001 kB free"):
        get(remote(server), tmp_path)


def test_a_disk_that_fills_up(server, tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(module.os, "fsync", full)
    with pytest.raises(DiskFull, match="is full: make room"):
        get(remote(server), tmp_path)
    monkeypatch.undo()
    assert get(remote(server, sha256=SHA), tmp_path).read_bytes() == DATA


def test_a_folder_that_cannot_be_made(server, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DownloadError, match=r"cannot create .*file"):
        get(remote(server), tmp_path / "file" / "below")


def test_a_kill_between_blocks_leaves_only_the_part(server, tmp_path):
    def stop(done, _):
        if done >= 128 * 1024:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        get(remote(server, sha256=SHA), tmp_path, progress=stop)
    assert leftovers(tmp_path) == ["big.bin.part", "big.bin.part.tag"]
    assert get(remote(server, sha256=SHA), tmp_path).read_bytes() == DATA
    assert server.requests[-1][1].startswith("bytes=")


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
        actor = table()["actor"]
        files = tuple(replace(file, address=f"{server.address}/{file.name}") for file in actor.files)
        yield server, replace(actor, files=files)


def test_fetched_files_load_and_are_not_fetched_twice(served, tmp_path, monkeypatch):
    server, actor = served
    monkeypatch.setitem(table(), "actor", actor)
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
    with pytest.raises(DownloadError, match=r"is out1_graph_edges\.txt of the dataset actor: it is kept as"):
        fetch(actor, tmp_path, **QUICK)
    assert (tmp_path / "actor" / "out1_node_feature_label.txt.damaged").read_bytes() == swapped


def test_progress_is_shown_when_asked(served, tmp_path, capsys):
    fetch(served[1], tmp_path, progress=True, **QUICK)
    assert "out1_graph_edges.txt" in capsys.readouterr().err


MEMBERS = {"arxiv/README": b"hello", "arxiv/raw/edge.csv.gz": b"edges", "arxiv/split/time/test.csv.gz": b"rows"}
REST = ("node-feat", "node-label", "num-node-list")


@pytest.fixture
def archived():
    """A server with an archive in OGB's layout."""
    members = MEMBERS | {f"arxiv/raw/{name}.csv.gz": name.encode() for name in REST}
    with FaultyServer({"arxiv.zip": zipped(members)}) as server:
        entry = table()["ogbn-arxiv"]
        yield server, replace(entry, archive=replace(entry.archive, address=f"{server.address}/arxiv.zip"))


def test_an_unknown_checksum_is_recorded_and_told(archived, tmp_path):
    server, arxiv = archived
    got = fetch(arxiv, tmp_path, **QUICK)
    digest = hashlib.sha256(server.files["arxiv.zip"]).hexdigest()
    folder = tmp_path / "ogbn-arxiv"
    assert got.notes == (
        f"The SHA-256 of arxiv.zip was not known: it is {digest}, now recorded in {folder / 'SHA256SUMS'}.",
    )
    assert (folder / "raw" / "edge.csv.gz").read_bytes() == b"edges"
    assert (folder / "split" / "time" / "test.csv.gz").read_bytes() == b"rows"
    assert not (folder / "arxiv.zip").exists() and not (folder / "README").exists()
    sums = files.recorded_sums(folder)
    assert sums["arxiv.zip"] == digest and sums["raw/edge.csv.gz"] == hashlib.sha256(b"edges").hexdigest()
    assert "already" in fetch(arxiv, tmp_path).notes[0]


def test_a_recorded_checksum_binds_the_next_download_and_load(archived, tmp_path, monkeypatch):
    server, arxiv = archived
    fetch(arxiv, tmp_path, **QUICK)
    (tmp_path / "ogbn-arxiv" / "raw" / "edge.csv.gz").write_bytes(b"hacked")
    monkeypatch.setitem(table(), "ogbn-arxiv", arxiv)
    with pytest.raises(Exception, match=r"edge\.csv\.gz has SHA-256"):
        datasets.load("ogbn-arxiv", tmp_path)
    server.files["arxiv.zip"] = zipped(MEMBERS)
    with pytest.raises(DownloadError, match=r"arxiv\.zip has SHA-256|what came from .* has SHA-256"):
        fetch(arxiv, tmp_path, **QUICK)


def test_an_archive_without_a_file_or_damaged_is_kept_aside(archived, tmp_path):
    server, arxiv = archived
    good = server.files["arxiv.zip"]
    server.files["arxiv.zip"] = zipped(MEMBERS)
    with pytest.raises(DownloadError, match=r"lacks raw/node-feat\.csv\.gz: it is kept as .*arxiv\.zip\.damaged"):
        fetch(arxiv, tmp_path / "one", **QUICK)
    spoiled = bytearray(good)
    where = good.index(b"arxiv/raw/edge.csv.gz") + len(b"arxiv/raw/edge.csv.gz")
    spoiled[where] ^= 0xFF
    for k, data in enumerate((good[: len(good) // 2], bytes(spoiled))):
        server.files["arxiv.zip"] = data
        with pytest.raises(DownloadError, match=r"arxiv\.zip is damaged"):
            fetch(arxiv, tmp_path / f"two{k}", **QUICK)
        assert (tmp_path / f"two{k}" / "ogbn-arxiv" / "arxiv.zip.damaged").read_bytes() == data


def test_nothing_outside_the_folder_is_written(archived, tmp_path):
    server, arxiv = archived
    members = {f"../../x/raw/{name}.csv.gz": b"x" for name in ("edge", *REST)}
    server.files["arxiv.zip"] = zipped(members)
    fetch(arxiv, tmp_path / "root", **QUICK)
    assert [path.name for path in tmp_path.iterdir()] == ["root"]
    assert (tmp_path / "root" / "ogbn-arxiv" / "raw" / "edge.csv.gz").read_bytes() == b"x"


def test_filtered_graphs_fetch_the_files_of_their_source(monkeypatch, tmp_path):
    requested = []
    monkeypatch.setattr(module, "download", lambda file, folder, *_, **__: requested.append((file.name, folder)) or folder)
    datasets.fetch("chameleon-filtered", tmp_path)
    assert requested == [("chameleon.npz", tmp_path / "chameleon")]
