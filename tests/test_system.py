"""Sizes as text and as bytes, and what the system has of them."""

import mmap
import resource

import numpy as np
import pytest

from slimg import system
from slimg.errors import InputError
from slimg.system import as_bytes, available_memory, map_npy, release_pages, require_room, resident, show_bytes


@pytest.mark.parametrize(
    ("text", "size"),
    [("4GB", 4 * 10**9), ("512 MiB", 512 << 20), ("1.5kb", 1500), (" 2tb ", 2 * 10**12), (7, 7), (np.int64(8), 8), ("9", 9)],
)
def test_sizes_are_read(text, size):
    assert as_bytes(text) == size


@pytest.mark.parametrize("text", ["", "GB", "4 XB", "-1GB", "1e9", 0, -5, 1.5, True, None])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(InputError, match='budget must be a size such as "4GB"'):
        as_bytes(text, "budget")


def test_sizes_are_shown():
    assert [show_bytes(each) for each in (1_234, 5 * 10**6, 1.26e9, 3e12)] == ["1.23 kB", "5 MB", "1.26 GB", "3 TB"]


def test_memory_is_read_from_the_system(tmp_path, monkeypatch):
    (tmp_path / "meminfo").write_text("MemTotal: 100 kB\nMemAvailable:   12 kB\n")
    monkeypatch.setattr(system, "PROC", tmp_path)
    assert available_memory() == 12 * 1024
    monkeypatch.setattr(system, "PROC", tmp_path / "absent")
    assert available_memory() > 1 << 20


@pytest.mark.parametrize("version", [1, 2])
def test_memory_is_what_the_nearest_limit_leaves(tmp_path, monkeypatch, version):
    names = ("memory.limit_in_bytes", "memory.usage_in_bytes") if version == 1 else ("memory.max", "memory.current")
    root = tmp_path / "memory" if version == 1 else tmp_path
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "cgroup").write_text("3:cpu:/own\n4:memory:/outer/own\n" if version == 1 else "0::/outer/own\n")
    (tmp_path / "meminfo").write_text("MemAvailable: 9000 kB\n")
    for path, most, used, files in (("outer/own", "max", 7, 0), ("outer", "5000000", 2_000_000, 400_000), ("", "8000000", 0, 0)):
        (root / path).mkdir(parents=True, exist_ok=True)
        stat = f"inactive_file {files}\nanon 5\n"
        for name, text in zip((*names, "memory.stat"), (most, str(used), stat), strict=True):
            (root / path / name).write_text(text)
    monkeypatch.setattr(system, "PROC", tmp_path)
    monkeypatch.setattr(system, "GROUPS", tmp_path)
    assert available_memory() == 3_400_000
    (tmp_path / "self" / "statm").write_text("2 1 0")
    limit = 2 * resource.getpagesize() + 1234
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (limit, limit))
    assert available_memory() == 1234


def test_resident_memory_follows_what_is_held():
    before = resident()
    held = np.frombuffer(mmap.mmap(-1, 1 << 27), np.uint8)  # new pages: an array may take those that the allocator kept
    held[:] = 1
    assert resident() - before > 0.9 * held.nbytes


def test_a_disk_without_room_is_named(tmp_path):
    require_room(tmp_path, 1000, "this")
    with pytest.raises(InputError, match=r"this needs 1e\+06 TB of disk in .* free: free some or choose another folder"):
        require_room(tmp_path, 10**18, "this")


def test_cores_are_those_that_this_process_may_use(monkeypatch):
    monkeypatch.setattr(system.os, "sched_getaffinity", lambda _: {1, 3, 5}, raising=False)
    assert system.cores() == 3
    monkeypatch.delattr(system.os, "sched_getaffinity")
    monkeypatch.setattr(system.os, "cpu_count", lambda: None)
    assert system.cores() == 1


def test_pages_of_a_mapped_file_are_released_and_read_again(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(1 << 23))
    array = map_npy(tmp_path / "x.npy")
    total, before = array.sum(), resident()
    release_pages(array[10:])
    assert before - resident() > 50 << 20
    assert array.sum() == total
    release_pages(np.arange(3))
    release_pages(None)
