"""Downloads from a server that cuts, lies, stalls and refuses."""

import errno
import hashlib
import os
import shutil

import numpy as np
import pytest
from faulty_server import FaultyServer

from slimg.lab.datasets import Dataset, DownloadError, RemoteFile
from slimg.lab.datasets import download as module
from slimg.lab.datasets.download import download

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
    path = get(remote(server, size=len(DATA), sha256=SHA), tmp_path / "new", told=lambda *at: seen.append(at))
    assert path.read_bytes() == DATA and leftovers(path.parent) == ["big.bin"]
    assert seen[-1] == (len(DATA), len(DATA)) and [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_cut_connections_are_gone_on_with(server, tmp_path):
    server.faults["big.bin"] = [("cut", 100_000), ("cut", 50_000), ("status", 503)]
    path = get(remote(server, sha256=SHA), tmp_path)
    assert path.read_bytes() == DATA and leftovers(tmp_path) == ["big.bin"]
    assert [asked for _, asked in server.requests] == [None, "bytes=100000-", "bytes=150000-", "bytes=150000-"]


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
    assert [asked for _, asked in server.requests] == [None, None]


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
    with pytest.raises(DownloadError, match=rf"instead of {SHA[:12]}….*kept aside as .*big\.bin\.damaged"):
        get(remote(server, size=len(DATA), sha256=SHA), tmp_path)
    assert leftovers(tmp_path) == ["big.bin.damaged"] and (tmp_path / "big.bin.damaged").read_bytes() == wrong


def test_truncated_at_the_publisher(server, tmp_path):
    server.files["big.bin"] = DATA[:1000]
    with pytest.raises(DownloadError, match=r"has 1,000 of 300,000 bytes: it is kept aside"):
        get(remote(server, size=len(DATA), sha256=SHA), tmp_path)
    server.files["big.bin"] = b""
    with pytest.raises(DownloadError, match="is empty"):
        get(remote(server), tmp_path)


def test_a_file_of_another_dataset_is_recognised(server, tmp_path):
    mine = remote(server, sha256="0" * 64)
    theirs = Dataset("elsewhere", "Elsewhere", "actor", (RemoteFile("else.bin", sha256=SHA),), "", "")
    with pytest.raises(DownloadError, match=r"is else\.bin of the dataset elsewhere"):
        get(mine, tmp_path, table=[theirs])


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
    with pytest.raises(DownloadError, match=r"big\.bin needs 300,000 bytes, but the disk of .* has 1 free"):
        get(remote(server), tmp_path)


def test_a_disk_that_fills_up(server, tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(module.os, "fsync", full)
    with pytest.raises(DownloadError, match="is full: make room"):
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
        get(remote(server, sha256=SHA), tmp_path, told=stop)
    assert leftovers(tmp_path) == ["big.bin.part", "big.bin.part.tag"]
    assert get(remote(server, sha256=SHA), tmp_path).read_bytes() == DATA
    assert server.requests[-1][1].startswith("bytes=")
