"""A model as one file: a zip of .npy arrays and a header in JSON, which `numpy.load` reads as it reads any .npz.

    NAME.npy …      arrays, stored as they are, without pickled objects
    header.json     {"format": "slimg-model", "version": 4, "sha256": {member: digest}, …}
    zip comment     sha256 of all bytes before the comment: no byte of the file can change unnoticed

Files are written next to their place and moved there when they are whole. Equal models give equal bytes. Sizes that a file
declares are compared with its length before memory is taken.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from slimg.engine.base import Array
from slimg.errors import InputError
from slimg.inference.schema import check_rule, digest, text_keys
from slimg.system import atomic_write

FORMAT, VERSION = "slimg-model", 4
HEADER_FILE = "header.json"
DIGEST_SIZE = 64
"""Characters of a SHA-256, the length of the comment."""
ENCRYPTED = 1
"""Bit of a zip member's flags."""
CHUNK = 1 << 20
EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The time that zip members are given: the same for equal models."""


def write_model(path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, Array]) -> Path:
    """Write the whole file or none of it.

    Returns
    -------
    Path
    """
    members = {name: _npy(array) for name, array in arrays.items()}
    digests = {name: _sha256(*content) for name, content in members.items()}
    full = {"format": FORMAT, "version": VERSION, **header, "sha256": digests}
    with atomic_write(path, binary=True) as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr(zipfile.ZipInfo(HEADER_FILE, EARLIEST), json.dumps(full, indent=1, ensure_ascii=False).encode())
            for name, content in members.items():
                info = zipfile.ZipInfo(f"{name}.npy", EARLIEST)
                info.file_size = sum(map(len, content))
                with archive.open(info, "w") as member:
                    for part in content:
                        member.write(part)
            archive.comment = b"0" * DIGEST_SIZE
        end = file.seek(0, os.SEEK_END) - DIGEST_SIZE
        total = _digest(file, end)
        file.seek(end)
        file.write(total.encode())
    return Path(path)


def _sha256(header: bytes, content: memoryview) -> str:
    digest = hashlib.sha256(header)
    digest.update(content)
    return digest.hexdigest()


def read_model(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and arrays of a file that is whole and of this version; else the reason why not."""
    source = Path(path)
    try:
        with open(source, "rb") as file:
            _check_bytes(file, source)
            with zipfile.ZipFile(file) as archive:
                _check_members(archive, os.fstat(file.fileno()).st_size)
                header = json.loads(archive.read(HEADER_FILE), parse_constant=_no_constant)
                _check_header(header, source)
                _check_names(archive, header["sha256"])
                return header, {name: _array(archive, name, header, source) for name in header["sha256"]}
    except OSError as error:
        raise InputError(f"the model file {source} cannot be read: {error.strerror or error}") from None
    except InputError:
        raise
    except (zipfile.BadZipFile, KeyError, ValueError, EOFError, RecursionError, NotImplementedError, struct.error) as error:
        raise InputError(f"{source} is not a whole slimg model file ({error}): save the model again") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} in the header")


def _check_members(archive: zipfile.ZipFile, length: int) -> None:
    """Members are stored as they are, and together no longer than the file."""
    members = archive.infolist()
    if any(each.compress_type != zipfile.ZIP_STORED or each.file_size != each.compress_size for each in members):
        raise ValueError("a member is compressed")
    if any(each.flag_bits & ENCRYPTED for each in members):
        raise ValueError("a member is encrypted")
    if sum(each.file_size for each in members) > length:
        raise ValueError("its members are longer than the file")


def _check_names(archive: zipfile.ZipFile, digests: dict[str, str]) -> None:
    """The archive has the arrays that the header names, each once, and nothing else."""
    if sorted(archive.namelist()) != sorted([HEADER_FILE, *(f"{name}.npy" for name in digests)]):
        raise ValueError("its arrays are not those that the header names")


def _npy(array: Array) -> tuple[bytes, memoryview]:
    """The header and the bytes of an .npy file; the array itself is not copied."""
    array, header = np.asarray(array, order="C"), io.BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    return header.getvalue(), array.reshape(-1).view(np.uint8).data


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


def _check_header(header: Any, source: Path) -> None:
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise InputError(f"{source} is not a slimg model file: its header does not say {FORMAT!r}")
    version, written_by = header.get("version"), str(header.get("slimg"))[:20]
    if version != VERSION or type(version) is not int:
        raise InputError(
            f"{source} has version {str(version)[:20]} of the model format (written by slimg {written_by}); this slimg reads"
            f" version {VERSION}: fit the model again, or install the slimg that wrote it"
        )
    check_rule(header.get("sha256"), text_keys(digest), f"{source}: sha256 of the header")


def _array(archive: zipfile.ZipFile, name: str, header: dict[str, Any], source: Path) -> Array:
    """One array; its declared size is compared with its bytes before memory is taken."""
    content = archive.read(f"{name}.npy")
    if hashlib.sha256(content).hexdigest() != header["sha256"][name]:
        raise InputError(f"{source} is damaged: the array {name!r} does not match its checksum; save the model again")
    stream = io.BytesIO(content)
    try:
        if np.lib.format.read_magic(stream) != (1, 0):
            raise ValueError("another version of .npy")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    except Exception as error:  # its header is read as Python, which can fail in many ways
        raise ValueError(f"array {name!r}: {str(error)[:80]}") from None
    begin, size = stream.tell(), math.prod(shape) * dtype.itemsize
    plain = not fortran and dtype.kind in "biuf" and dtype.isnative and min(shape, default=0) >= 0
    if not plain or size != len(content) - begin:
        raise ValueError(f"array {name!r} of type {dtype} and shape {shape} is not its {len(content) - begin} bytes")
    return np.frombuffer(bytearray(content), dtype, math.prod(shape), begin).reshape(shape)


def _digest(file: Any, end: int) -> str:
    """SHA-256 of the bytes before ``end``."""
    file.seek(0)
    found = hashlib.sha256()
    for start in range(0, end, CHUNK):
        found.update(file.read(min(CHUNK, end - start)))
    return found.hexdigest()
