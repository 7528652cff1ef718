"""What stands before every reader: damaged files end in an `InputError`, and sizes that a file declares are checked first.

    guard         whatever a library raises becomes one sentence
    check_size    bytes that a file declares, against the bytes it has and the memory that is free
    unpack        a stream to bytes, which ends where it grows too large
    BoundedFile   a file whose reader cannot ask for more than it has
    check_npy     the header of an array, before the array is made
    csr_of        CSR from its parts, whose pointers and indices are checked before a compiled kernel follows them
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

from slimg.errors import InputError, SlimgError, TooLarge, is_exhausted
from slimg.system import available_memory, show_bytes

CHUNK = 1 << 24
"""Bytes read at a time; also the longest line of a table."""
SMALL, RATIO = 1 << 28, 500
"""A file that declares more than 256 MB, and 500 times its own size, is taken for one made to exhaust memory."""
MOST_COLUMNS = 20_000
INTERRUPTS = ("query interrupted", "interrupt error", "canceling statement due to user request")
"""What DuckDB and PostgreSQL say of a query that Ctrl-C ended."""


@contextmanager
def guard(kind: str, advice: str = "write or copy it again") -> Iterator[None]:
    """Turn what a library raises on a damaged file into an `InputError`; interrupts and exhausted memory pass.

    Parameters
    ----------
    kind : str
        What it should be, such as ``"Parquet file"``.
    advice : str, default="write or copy it again"

    Raises
    ------
    InputError
    """
    try:
        yield
    except (SlimgError, PermissionError):
        raise
    except Exception as error:
        if is_interrupt(error):
            raise KeyboardInterrupt from error
        if is_exhausted(error):
            raise
        raise InputError(f"it is no {kind}, or damaged ({first_line(error)}): {advice}") from None


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, at most 150 characters that can be printed; its class if it has none."""
    text = " ".join((str(error).strip().splitlines() or [""])[0].split())[:150]
    return "".join(each if each.isprintable() else "�" for each in text) or type(error).__name__


def is_interrupt(error: BaseException | None) -> bool:
    """Whether an interrupt stands behind an error; databases have exceptions of their own for it."""
    while error is not None:
        text = str(error).lower()
        if isinstance(error, KeyboardInterrupt) or text.strip() == "interrupted" or any(sign in text for sign in INTERRUPTS):
            return True
        error = error.__cause__ or error.__context__
    return False


def check_size(declared: int, stored: int, what: str = "it") -> None:
    """Refuse what would not fit into memory, or is far larger than the file that declares it.

    Parameters
    ----------
    declared, stored : int
        Bytes that reading takes, and bytes of the file.
    what : str, default="it"
        Beginning of the sentence.

    Raises
    ------
    InputError
    """
    if declared < 0:
        raise InputError(f"{what} declares a negative size ({declared:,}), so the file is damaged: write it again")
    if declared > SMALL and declared > RATIO * stored:
        raise InputError(
            f"{what} would take {show_bytes(declared)} from {show_bytes(stored)} of file, which no table does:"
            " if it is right, unpack it first"
        )
    free = available_memory()
    if free is not None and declared > free:
        raise TooLarge(f"{what} takes {show_bytes(declared)}, but {show_bytes(free)} of memory are free: read a part of it")


def unpack(file: IO[bytes], stored: int, lines: bool = False) -> bytes:
    """Read a stream to its end, unless it grows too large; ``lines`` refuses lines that no table has.

    Returns
    -------
    bytes
    """
    whole, size, chunk = io.BytesIO(), 0, bytearray(min(CHUNK, 2 * stored + 4096))
    while count := file.readinto(chunk):  # type: ignore[attr-defined]  # read() of arrow keeps its memory when it fails
        size += count
        check_size(size, stored, "what is packed in it")
        if lines and count == CHUNK and b"\n" not in chunk and b"\r" not in chunk:
            raise InputError(f"a line is longer than {show_bytes(CHUNK)}: a table has one line per row")
        whole.write(memoryview(chunk)[:count])
    return whole.getvalue()


class BoundedFile(io.BufferedReader):
    """A file that takes no memory for bytes beyond its end, however many a damaged directory asks for."""

    def __init__(self, path: Path):
        super().__init__(io.FileIO(path))
        self.length: int = path.stat().st_size

    def read(self, size: int | None = -1, /) -> bytes:
        """Read at most ``size`` bytes."""
        return super().read(min(self.length, size) if size is not None else -1)


def check_members(archive: zipfile.ZipFile, stored: int) -> None:
    """Refuse an archive by the sizes of its members, before any is read."""
    check_size(sum(item.file_size for item in archive.infolist()), stored, "what is packed in it")


def check_npy(file: IO[bytes], size: int, name: str) -> None:
    """Refuse an array whose header declares Python objects, or more bytes than follow it."""
    start = file.read(12)
    later = start[6:7] in (b"\x02", b"\x03")
    length = int.from_bytes(start[8 : 12 if later else 10], "little")
    if start[:6] != b"\x93NUMPY" or start[7:8] != b"\x00" or not (later or start[6] == 1) or length > min(size, 10_000):
        raise InputError(f"{name} is no numpy array of plain values, since it has no header of one: write it again")
    file.seek(8)
    read_header = np.lib.format.read_array_header_2_0 if later else np.lib.format.read_array_header_1_0
    shape, _, kind = read_header(file)  # type: ignore[arg-type]
    if kind.hasobject:
        raise InputError(f"{name} holds Python objects, not plain values: write it with a type of numbers or text")
    count = 1
    for length in shape:
        count *= length
    declared = count * kind.itemsize
    if min(shape, default=0) < 0 or declared > size or (kind.itemsize == 0 and count > size):
        shown = " × ".join(str(length)[:24] for length in shape)
        raise InputError(f"{name} declares {shown} values of {kind.itemsize} bytes, but has {size:,} bytes: write it again")


def load_npz(path: Path, names: list[str] | None = None) -> dict[str, np.ndarray]:
    """Read the arrays of an archive, or those that are named, each checked before it is made.

    Returns
    -------
    dict of str to array
    """
    with BoundedFile(path) as file, zipfile.ZipFile(file) as archive:
        check_members(archive, file.length)
        for item in archive.infolist():
            name = item.filename.removesuffix(".npy")
            if names is None or name in names:
                with archive.open(item) as member:
                    check_npy(member, item.file_size, name)
    with BoundedFile(path) as file, np.load(file, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in (arrays.files if names is None else names) if name in arrays.files}


def load_npy(path: Path) -> np.ndarray:
    """Read one array, whose header is checked first."""
    size = path.stat().st_size
    check_size(size, size)
    with path.open("rb") as file:
        check_npy(file, size, "the array")
    return np.load(path, allow_pickle=False)


def csr_of(data: Any, indices: Any, indptr: Any, shape: Any, *, columns: bool = False) -> sp.csr_array:
    """Make a CSR matrix of its parts (of CSC if ``columns``), after checks of every pointer and index.

    Returns
    -------
    csr_array

    Raises
    ------
    InputError
        If the parts do not fit together.
    """
    sizes = [int(size) for size in np.ravel(shape)]
    parts = [np.asarray(part) for part in (data, indices, indptr)]
    whole = all(part.dtype.kind in "iu" for part in parts[1:]) and all(part.ndim == 1 for part in parts)
    if len(sizes) != 2 or not whole or parts[0].dtype.kind not in "biuf":
        raise InputError("the parts of its sparse matrix are not numbers, indices, pointers and a shape of two numbers")
    major, minor = sizes[::-1] if columns else sizes
    data, indices, indptr = parts
    rising = len(indptr) == major + 1 and indptr[0] == 0 and bool(np.all(indptr[1:] >= indptr[:-1]))
    if not rising or indptr[-1] > min(len(indices), len(data)):
        raise InputError("the pointers of its sparse matrix do not rise from 0 to the number of its entries: write it again")
    used = indices[: int(indptr[-1])]
    if len(used) and (int(used.min()) < 0 or int(used.max()) >= minor):
        raise InputError(f"an index of its sparse matrix is not within 0 … {minor - 1}: write it again")
    check_size(8 * (minor if columns else 0), data.nbytes + indptr.nbytes, "its sparse matrix")
    pair = (major, minor)[:: -1 if columns else 1]
    return sp.csr_array((sp.csc_array if columns else sp.csr_array)((data[: len(used)], used, indptr), shape=pair))
