"""Where files are looked for, and how they are checked."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from slimg.lab.datasets import Dataset, RemoteFile
from slimg.lab.datasets import loader as files

TWO = Dataset("two", "Two", "actor", (RemoteFile("raw/a.csv"), RemoteFile("b.csv", optional=True)), "", "")


@pytest.fixture
def homes(tmp_path, monkeypatch):
    monkeypatch.setenv("SLIMG_DATA", str(tmp_path / "first"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    return tmp_path / "first", tmp_path / "xdg" / "slimg" / "datasets"


def put(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")
    return path


def test_the_named_folder_comes_first_then_the_cache(homes):
    named, user = homes
    assert files.data_folders() == [named, user] and files.data_folders("here") == [Path("here")]
    assert files.find_files(TWO) is None
    second = put(user / "two" / "raw" / "a.csv")
    assert files.find_files(TWO) == {"raw/a.csv": second}
    first = put(named / "two" / "raw" / "a.csv")
    assert files.find_files(TWO) == {"raw/a.csv": first}


def test_members_may_lie_flat_and_options_may_be_absent(homes):
    named, _ = homes
    flat = put(named / "two" / "a.csv")
    assert files.find_files(TWO) == {"raw/a.csv": flat}
    extra = put(named / "two" / "b.csv")
    assert files.find_files(TWO) == {"raw/a.csv": flat, "b.csv": extra}
    nested = put(named / "two" / "raw" / "a.csv")
    files.record_sum(named / "two", "raw/a.csv", "1" * 64)
    assert files.recorded_sum(flat, "raw/a.csv") == files.recorded_sum(nested, "raw/a.csv") == "1" * 64


def test_without_variables_the_cache_is_below_home(monkeypatch):
    for name in ("SLIMG_DATA", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(files.sys, "platform", "linux")
    assert files.data_folders() == [Path.home() / ".cache" / "slimg" / "datasets"]
    monkeypatch.setattr(files.sys, "platform", "darwin")
    assert files.user_cache() == Path.home() / "Library" / "Caches" / "slimg" / "datasets"


ARRAYS = {"a": np.arange(3, dtype=np.int32), "b": np.ones((2, 2), np.float32)}


def test_sha256_against_hashlib(tmp_path):
    data = np.random.default_rng(0).bytes(3 << 20)
    (tmp_path / "f").write_bytes(data)
    assert files.sha256(tmp_path / "f") == hashlib.sha256(data).hexdigest()


def test_contents_do_not_depend_on_packing_but_on_every_value():
    digest = files.contents_digest(ARRAYS)
    wider = {"b": np.asfortranarray(ARRAYS["b"]).astype(np.float64), "a": ARRAYS["a"].astype(">i8")}
    assert files.contents_digest(wider) == digest
    for change in ({"a": np.array([0, 1, 3])}, {"b": np.ones((4, 1))}, {"c": np.zeros(1)}):
        assert files.contents_digest(ARRAYS | change) != digest


def test_faults(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"hello")
    right = hashlib.sha256(b"hello").hexdigest()
    assert files.fault(path, RemoteFile("f", sha256=right, size=5)) is None
    assert files.fault(path, RemoteFile("f")) is None
    assert files.fault(path, RemoteFile("f"), recorded=right) is None
    assert files.fault(path, RemoteFile("f"), recorded="0" * 64).startswith("has SHA-256 2cf24dba5fb0…")
    assert files.fault(path, RemoteFile("f", size=9)) == "has 5 of 9 bytes"
    path.write_bytes(b"")
    assert files.fault(path, RemoteFile("f")) == "is empty"


def test_sums_are_those_of_sha256sum(tmp_path):
    assert files.recorded_sums(tmp_path) == {}
    files.record_sum(tmp_path, "b name.bin", "1" * 64)
    files.record_sum(tmp_path, "a.bin", "2" * 64)
    assert (tmp_path / "SHA256SUMS").read_text() == f"{'2' * 64}  a.bin\n{'1' * 64}  b name.bin\n"
    assert files.recorded_sums(tmp_path) == {"a.bin": "2" * 64, "b name.bin": "1" * 64}
