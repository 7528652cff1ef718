"""Whether a file is the publisher's: by size, by SHA-256, or by a digest of the arrays it holds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from slimg.errors import InputError
from slimg.lab.datasets.dataset import Dataset, RemoteFile
from slimg.lab.datasets.npz import load_npz
from slimg.lab.datasets.readers.amazon import KEYS

SUMS = "SHA256SUMS"
QUICK = 64 << 20  # files up to this size are hashed at every load, larger ones when they are fetched


def sha256(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def contents_digest(arrays: Mapping[str, np.ndarray]) -> str:
    """SHA-256 of named arrays (names, shapes, values as int64 or float32), whatever the file that packed them."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        kind = "<i8" if array.dtype.kind in "iub" else "<f4"
        digest.update(f"{name} {kind} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array, dtype=kind).tobytes())
    return digest.hexdigest()


def fault(path: Path, file: RemoteFile, table: Iterable[Dataset], recorded: str | None = None) -> str | None:
    """What is wrong with a file, as the end of a sentence; None if nothing is.

    ``recorded`` is the checksum noted when the file was first downloaded; it stands in where the table has none.
    """
    size = path.stat().st_size
    if size == 0:
        return "is empty"
    if file.contents is not None:
        return _fault_of_contents(path, file, table)
    expected = file.sha256 or recorded
    if file.size is not None and size < file.size:
        return f"has {size:,} of {file.size:,} bytes"
    if expected is None or (file.sha256 is None and size > QUICK):
        return None
    found = sha256(path)
    if found == expected:
        return None
    return _stranger(found, table, "sha256") or f"has SHA-256 {found[:12]}… instead of {expected[:12]}…"


def recorded_sums(folder: Path) -> dict[str, str]:
    """Checksums noted in a folder at first download, by file name."""
    path = folder / SUMS
    lines = path.read_text().splitlines() if path.is_file() else []
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def record_sum(folder: Path, name: str, digest: str) -> None:
    """Note a checksum, in the format of `sha256sum`."""
    sums = recorded_sums(folder) | {name: digest}
    (folder / SUMS).write_text("".join(f"{value}  {key}\n" for key, value in sorted(sums.items())))


def _fault_of_contents(path: Path, file: RemoteFile, table: Iterable[Dataset]) -> str | None:
    try:
        found = contents_digest(load_npz(path, (*KEYS, "labels")))
    except InputError:
        return _stranger(sha256(path), table, "sha256") or "is damaged, or not the npz it should be"
    if found == file.contents:
        return None
    return _stranger(found, table, "contents") or f"has contents {found[:12]}… instead of {str(file.contents)[:12]}…"


def _stranger(found: str, table: Iterable[Dataset], attribute: str) -> str | None:
    """Whose file this is, if it is another entry's."""
    for dataset in table:
        for file in (*dataset.files, *([dataset.archive] if dataset.archive else [])):
            if getattr(file, attribute) == found:
                return f"is {file.name} of the dataset {dataset.name}"
    return None
