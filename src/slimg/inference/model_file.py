"""A model as one file: a zip of .npy arrays and a header in JSON, which `numpy.load` reads as it reads any .npz.

    NAME.npy …      arrays, stored as they are, without pickled objects
    header.json     {"format": "slimg-model", "version": 2, "sha256": {member: digest}, …}
    zip comment     sha256 of all bytes before the comment: no byte of the file can change unnoticed

Files are written next to their place and moved there when they are whole. Equal models give equal bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from slimg.atomic import atomic_write
from slimg.engine.base import Array
from slimg.errors import InputError

FORMAT, VERSION = "slimg-model", 2
HEADER = "header.json"
DIGEST_SIZE = 64
"""Characters of a SHA-256, the length of the comment."""
CHUNK = 1 << 20
EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The time that zip members are given: the same for equal models."""


def write_model(path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, Array]) -> Path:
    """Write the whole file or none of it.

    Returns
    -------
    Path
    """
    with atomic_write(path, binary=True) as file:
        _write(file, header, arrays)
    return Path(path)


def read_model(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and arrays of a file that is whole and of this version; else the reason why not."""
    source = Path(path)
    try:
        with open(source, "rb") as file:
            _check_bytes(file, source)
            with zipfile.ZipFile(file) as archive:
                header = json.loads(archive.read(HEADER))
                _check_header(header, source)
                return header, {name: _array(archive, name, header, source) for name in header["sha256"]}
    except OSError as error:
        raise InputError(f"the model file {source} cannot be read: {error.strerror or error}") from None
    except (zipfile.BadZipFile, KeyError, ValueError, EOFError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{source} is not a whole slimg model file ({error}): save the model again") from None


def _write(file: Any, header: dict[str, Any], arrays: dict[str, Array]) -> None:
    members = {name: _npy(array) for name, array in arrays.items()}
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}
    full = {"format": FORMAT, "version": VERSION, **header, "sha256": digests}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(HEADER, EARLIEST), json.dumps(full, indent=1, ensure_ascii=False).encode())
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", EARLIEST), content)
        archive.comment = b"0" * DIGEST_SIZE
    end = file.seek(0, os.SEEK_END) - DIGEST_SIZE
    digest = _digest(file, end)
    file.seek(end)
    file.write(digest.encode())


def _npy(array: Array) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.asarray(array, order="C"), allow_pickle=False)
    return buffer.getvalue()


def _check_bytes(file: Any, source: Path) -> None:
    end = file.seek(0, os.SEEK_END) - DIGEST_SIZE
    if end <= 0:
        raise InputError(f"{source} is not a slimg model file: it has only {end + DIGEST_SIZE} bytes")
    file.seek(0)
    if file.read(2) != b"PK":
        raise InputError(f"{source} is not a slimg model file: it is no zip archive")
    file.seek(end)
    stated = file.read(DIGEST_SIZE)
    if _digest(file, end).encode() != stated:
        raise InputError(
            f"{source} is damaged or was cut short: its contents do not match the checksum at its end; copy or save it again"
        )
    file.seek(0)


def _check_header(header: dict[str, Any], source: Path) -> None:
    if header.get("format") != FORMAT:
        raise InputError(f"{source} is not a slimg model file: its header says {header.get('format')!r}")
    if header.get("version") != VERSION:
        raise InputError(
            f"{source} has version {header.get('version')} of the model format (written by slimg {header.get('slimg')});"
            f" this slimg reads version {VERSION}: install that slimg or save the model again"
        )


def _array(archive: zipfile.ZipFile, name: str, header: dict[str, Any], source: Path) -> Array:
    content = archive.read(f"{name}.npy")
    if hashlib.sha256(content).hexdigest() != header["sha256"][name]:
        raise InputError(f"{source} is damaged: the array {name!r} does not match its checksum; save the model again")
    return np.load(io.BytesIO(content), allow_pickle=False)


def _digest(file: Any, end: int) -> str:
    """SHA-256 of the bytes before ``end``."""
    file.seek(0)
    found, left = hashlib.sha256(), end
    while left:
        block = file.read(min(CHUNK, left))
        if not block:
            break
        found.update(block)
        left -= len(block)
    return found.hexdigest()
