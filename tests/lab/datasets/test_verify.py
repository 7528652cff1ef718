"""Checksums and what they tell."""

import hashlib

import numpy as np

from slimg.lab.datasets import RemoteFile, verify

ARRAYS = {"a": np.arange(3, dtype=np.int32), "b": np.ones((2, 2), np.float32)}


def test_sha256_against_hashlib(tmp_path):
    data = np.random.default_rng(0).bytes(3 << 20)
    (tmp_path / "f").write_bytes(data)
    assert verify.sha256(tmp_path / "f") == hashlib.sha256(data).hexdigest()


def test_contents_do_not_depend_on_packing_but_on_every_value():
    digest = verify.contents_digest(ARRAYS)
    wider = {"b": np.asfortranarray(ARRAYS["b"]).astype(np.float64), "a": ARRAYS["a"].astype(">i8")}
    assert verify.contents_digest(wider) == digest
    for change in ({"a": np.array([0, 1, 3])}, {"b": np.ones((4, 1))}, {"c": np.zeros(1)}):
        assert verify.contents_digest(ARRAYS | change) != digest


def test_faults(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"hello")
    right = hashlib.sha256(b"hello").hexdigest()
    assert verify.fault(path, RemoteFile("f", sha256=right, size=5), ()) is None
    assert verify.fault(path, RemoteFile("f"), ()) is None
    assert verify.fault(path, RemoteFile("f"), (), recorded=right) is None
    assert verify.fault(path, RemoteFile("f"), (), recorded="0" * 64).startswith("has SHA-256 2cf24dba5fb0…")
    assert verify.fault(path, RemoteFile("f", size=9), ()) == "has 5 of 9 bytes"
    path.write_bytes(b"")
    assert verify.fault(path, RemoteFile("f"), ()) == "is empty"


def test_sums_are_those_of_sha256sum(tmp_path):
    assert verify.recorded_sums(tmp_path) == {}
    verify.record_sum(tmp_path, "b name.bin", "1" * 64)
    verify.record_sum(tmp_path, "a.bin", "2" * 64)
    assert (tmp_path / "SHA256SUMS").read_text() == f"{'2' * 64}  a.bin\n{'1' * 64}  b name.bin\n"
    assert verify.recorded_sums(tmp_path) == {"a.bin": "2" * 64, "b name.bin": "1" * 64}
