"""The files of a dataset on this machine: where they are, and whether they are the publisher's.

They are looked for in the folder the user names, or in ``$SLIMG_DATA`` and then in the user's cache. A file is checked by
its size, its SHA-256, or a digest of the arrays it holds; where the table has no checksum, the one that was recorded at the
first download (``SHA256SUMS`` in the folder) takes its place.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from slimg.errors import InputError
from slimg.lab.datasets.dataset import Dataset, RemoteFile, table
from slimg.lab.datasets.readers import AMAZON_ARRAYS, load_npz
from slimg.system import atomic_write

VARIABLE = "SLIMG_DATA"
SUMS = "SHA256SUMS"
QUICK = 64 << 20
"""Files up to this size are hashed at every load, larger ones without a published checksum when they are fetched."""


# where they are -----------------------------------------------------------------------------------------------------


def user_cache() -> Path:
    """Return the folder for downloads: ``$XDG_CACHE_HOME/slimg/datasets``, or the system's usual place."""
    if sys.platform == "win32":
        home = Path(os.environ.get("LOCALAPPDATA", Path.home()))
    else:
        home = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    return Path(os.environ.get("XDG_CACHE_HOME") or home) / "slimg" / "datasets"


def data_folders(root: str | Path | None = None) -> list[Path]:
    """Return the folders to look in, first to last; only ``root`` if it is given."""
    if root is not None:
        return [Path(root)]
    named = os.environ.get(VARIABLE)
    return [*([Path(named)] if named else []), user_cache()]


def present(dataset: Dataset, folder: Path) -> dict[str, Path]:
    """Return those files of a dataset that are in its folder, by name; members of an archive may lie flat."""
    found = {}
    for file in dataset.files:
        places = (folder / file.name, folder / Path(file.name).name)
        if path := next((path for path in places if path.is_file()), None):
            found[file.name] = path
    return found


def missing(dataset: Dataset, found: Mapping[str, Path]) -> list[str]:
    """Return the names of files that are needed and not there."""
    return [file.name for file in dataset.files if not file.optional and file.name not in found]


def find(dataset: Dataset, root: str | Path | None = None) -> dict[str, Path] | None:
    """Return all files of a dataset from the first folder that has them, or None."""
    places = (present(dataset, folder / dataset.folder) for folder in data_folders(root))
    return next((found for found in places if not missing(dataset, found)), None)


def require_files(dataset: Dataset, root: str | Path | None = None) -> dict[str, Path]:
    """Return all files of a dataset; an InputError says where they were looked for and how to get them."""
    found = find(dataset, root)
    if found is not None:
        return found
    folders = [folder / dataset.folder for folder in data_folders(root)]
    get = f"get it with `slimg datasets get {dataset.folder}`"
    for folder in folders:
        if partial := present(dataset, folder):
            raise InputError(f"{dataset.name} is incomplete: {folder} lacks {', '.join(missing(dataset, partial))}; {get}")
    raise InputError(
        f"{dataset.name} is not in {' or '.join(map(str, folders))}: {get}"
        f" or datasets.fetch({dataset.folder!r}), or set {VARIABLE} to the folder that holds {dataset.folder}/"
    )


# whether they are the publisher's -----------------------------------------------------------------------------------


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def contents_digest(arrays: Mapping[str, np.ndarray]) -> str:
    """Return the SHA-256 of named arrays (names, shapes, values as int64 or float32), however they were packed."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        kind = "<i8" if array.dtype.kind in "iub" else "<f4"
        digest.update(f"{name} {kind} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array, dtype=kind).tobytes())
    return digest.hexdigest()


def fault(path: Path, file: RemoteFile, recorded: str | None = None) -> str | None:
    """Return what is wrong with a file as the end of a sentence, or None.

    Parameters
    ----------
    path : Path
        The file on this machine.
    file : RemoteFile
        What it should be.
    recorded : str or None, default=None
        SHA-256 recorded when it was first downloaded, used where the table has none.

    Returns
    -------
    str or None
    """
    size, expected = path.stat().st_size, file.contents or file.sha256 or recorded
    if size == 0:
        return "is empty"
    if file.size is not None and size < file.size and not file.contents:
        return f"has {size:,} of {file.size:,} bytes"
    if expected is None or (size > QUICK and not (file.contents or file.sha256)):
        return None
    try:
        found = contents_digest(load_npz(path, AMAZON_ARRAYS)) if file.contents else sha256(path)
    except InputError:
        return _other_dataset(sha256(path)) or "is damaged, or not the npz it should be"
    kind = "contents" if file.contents else "SHA-256"
    return None if found == expected else _other_dataset(found) or f"has {kind} {found[:12]}… instead of {expected[:12]}…"


def recorded_sum(path: Path, name: str) -> str | None:
    """Return the checksum recorded for the file ``name`` of a dataset that is at ``path``, if there is one."""
    depth = len(Path(name).parts)
    nested = path.parts[-depth:] == Path(name).parts
    return recorded_sums(path.parents[depth - 1] if nested else path.parent).get(name)


def recorded_sums(folder: Path) -> dict[str, str]:
    """Return the checksums recorded in a folder at first download, by file name."""
    path = folder / SUMS
    lines = path.read_text().splitlines() if path.is_file() else []
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def record_sum(folder: Path, name: str, digest: str) -> None:
    """Record a checksum, in the format of `sha256sum`."""
    sums = recorded_sums(folder) | {name: digest}
    with atomic_write(folder / SUMS) as out:
        out.write("".join(f"{value}  {key}\n" for key, value in sorted(sums.items())))


def _other_dataset(digest: str) -> str | None:
    """Which file of the table this is, as the end of a sentence."""
    for dataset in table().values():
        for file in (*dataset.files, *filter(None, [dataset.archive])):
            if digest in (file.sha256, file.contents):
                return f"is {file.name} of the dataset {dataset.name}"
    return None
