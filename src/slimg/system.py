"""Memory, disk and cores of the system, and files that are written whole or not at all.

Sizes are given as text or bytes; `available_memory`, `cores`, `resident` and `require_room` say what the system has.

Files and folders that appear whole or not at all: a draft beside the target takes its place when it is complete. Drafts
that a killed process left are removed by the next one that writes to the same place.
"""

from __future__ import annotations

import mmap
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

from slimg.errors import DiskFull, InputError, is_exhausted

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
         "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}  # fmt: skip
SPARE = 64 << 20
"""Bytes that are left free on a disk."""
PROC, GROUPS = Path("/proc"), Path("/sys/fs/cgroup")
DRAFT = r"\.{}\.[a-z0-9_]{{8}}\.part"
"""Pattern of the names of drafts, with the escaped name of their target."""


def as_bytes(size: Any, name: str = "memory") -> int:
    """Return a size in bytes.

    Parameters
    ----------
    size : str or int
        Such as ``"4GB"``, ``"512 MiB"``, or a whole number of bytes.
    name : str, default="memory"
        Name of the parameter, for error messages.

    Returns
    -------
    int

    Raises
    ------
    InputError
        If it is not a positive size.

    Examples
    --------
    >>> as_bytes("4GB"), as_bytes("1 KiB")
    (4000000000, 1024)
    """
    if isinstance(size, (int, np.integer)) and not isinstance(size, bool) and size > 0:
        return int(size)
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", size) if isinstance(size, str) else None
    if found and found[2].upper() in UNITS and float(found[1]) > 0:
        return int(float(found[1]) * UNITS[found[2].upper()])
    raise InputError(f'{name} must be a size such as "4GB" or "512MiB", or a number of bytes, not {size!r}')


def show_bytes(size: float) -> str:
    """Format a number of bytes with three digits and a unit.

    Returns
    -------
    str
        For example ``1.25 GB``.

    Examples
    --------
    >>> show_bytes(4_000_000_000)
    '4 GB'
    """
    for unit, value in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6)):
        if size >= value:
            return f"{size / value:.3g} {unit}"
    return f"{size / 10**3:.3g} kB"


def available_memory() -> int | None:
    """Return the bytes of memory that can be used without swapping; None where the system does not say.

    That is the least of what the machine has free, what the control groups (cgroups) of this process leave, and what its limit
    of address space does.

    Returns
    -------
    int or None
        Bytes.
    """
    rooms = [*_left_by_groups()]
    with suppress(OSError):
        lines = (PROC / "meminfo").read_text().splitlines()
        rooms += [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    with suppress(OSError, ValueError, AttributeError):  # all that there is, where the system says no more
        rooms.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    with suppress(ImportError, OSError, ValueError):  # Windows has no such limits
        import resource

        if (limit := resource.getrlimit(resource.RLIMIT_AS)[0]) >= 0:
            rooms.append(limit - int((PROC / "self" / "statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE"))
    return max(0, min(rooms)) if rooms else None


def _left_by_groups() -> Iterator[int]:
    """Bytes that each control group with a limit leaves; pages of files count as free."""
    with suppress(OSError, ValueError):
        for line in (PROC / "self" / "cgroup").read_text().splitlines():
            _, kinds, path = line.split(":", 2)
            if kinds and "memory" not in kinds.split(","):
                continue
            root = GROUPS / "memory" if kinds else GROUPS
            most, used = ("memory.limit_in_bytes", "memory.usage_in_bytes") if kinds else ("memory.max", "memory.current")
            place = root / path.strip("/")
            for folder in (place, *place.parents):
                if folder.is_relative_to(root):
                    with suppress(OSError, ValueError):  # "max" is no limit
                        stat = dict(each.split() for each in (folder / "memory.stat").read_text().splitlines())
                        files = int(stat.get("total_inactive_file", stat.get("inactive_file", 0)))
                        yield int((folder / most).read_text()) - int((folder / used).read_text()) + files


def cores() -> int:
    """Return the number of cores that this process may run on.

    Returns
    -------
    int
        At least 1.
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def resident(process: int | str = "self") -> int:
    """Return the bytes of memory a process holds now; where the system does not say, the peak of this one, or 0.

    Parameters
    ----------
    process : int or str, default="self"
        Its id.

    Returns
    -------
    int
        Bytes; 0 for another process that is gone.
    """
    with suppress(OSError, IndexError):
        return int((PROC / str(process) / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    with suppress(ImportError):
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 if process == "self" else 0
    return 0


def release_memory() -> None:
    """Give freed memory back to the system: that of arrow, and of the C library where it can."""
    import ctypes
    import sys

    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def map_npy(path: Path) -> np.ndarray:
    """Map an .npy file; `require_unchanged` can tell later whether it is still the same.

    Returns
    -------
    array
    """
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    array.stamp = stamp(path)
    return array


def stamp(file: Path | int) -> tuple[int, ...]:
    """Return what tells a file, given by its path or descriptor, from another one and from itself after a change."""
    found = os.stat(file)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def require_unchanged(array: Any) -> None:
    """Raise an error if the file that an array was mapped from by `map_npy` is another one now.

    Entries of a file that was cut off cannot be touched: the system would end the process with SIGBUS.
    """
    if (array := _mapped(array)) is not None:
        check_stamp(Path(array.filename), array.filename, array.stamp)


def _mapped(array: Any) -> Any:
    """The array of `map_npy` that this one is a part of, or None."""
    while array is not None and not hasattr(array, "stamp"):
        array = getattr(array, "base", None)
    return array


def release_pages(array: Any) -> None:
    """Take the pages of a file that was mapped by `map_npy` out of this process's memory, until they are touched again."""
    if (array := _mapped(array)) is not None and hasattr(mmap, "MADV_DONTNEED"):
        array._mmap.madvise(mmap.MADV_DONTNEED)


def check_stamp(file: Path | int, path: Any, before: tuple[int, ...]) -> None:
    """Raise an error if a file is not as it was."""
    try:
        same = stamp(file) == before
    except OSError:
        same = False
    if not same:
        raise InputError(f"{path} was changed or replaced while it was in use: open the graph again, and start anew")


def require_room(folder: Path, size: int, what: str) -> None:
    """Raise an error if the disk of a folder cannot hold ``size`` bytes."""
    free = shutil.disk_usage(folder).free
    if size + SPARE > free:
        raise DiskFull(
            f"{what} needs {show_bytes(size)} of disk in {folder}, which has {show_bytes(free)} free:"
            " free some or choose another folder"
        )


@contextmanager
def atomic_write(path: str | os.PathLike[str], *, binary: bool = False) -> Iterator[IO[Any]]:
    """Open a draft of a file for writing; it takes the place of ``path`` if the block ends without an error.

    Parameters
    ----------
    path : path-like
        The file to write. Its folder must exist.
    binary : bool, default=False
        Whether bytes are written; otherwise UTF-8 text without translation of line ends.

    Yields
    ------
    file
        The draft. Binary drafts can be read too.

    Raises
    ------
    InputError
        If ``path`` is a folder, or the folder of ``path`` does not exist or cannot be written to.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> target = Path(tempfile.mkdtemp(), "note.txt")
    >>> with atomic_write(target) as file:
    ...     _ = file.write("done")
    >>> target.read_text()
    'done'
    """
    target = Path(path)
    if target.is_dir():
        raise InputError(f"{target} is a folder, not a file: give the name of a file to write")
    remove_drafts(target, Path.is_file)
    try:
        handle, draft = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    except OSError as error:
        if is_exhausted(error):
            raise
        reason = error.strerror or error
        raise InputError(f"{target} cannot be written: {reason} ({target.parent}); choose another folder") from None
    try:
        with os.fdopen(handle, "w+b") if binary else os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            lock(file.fileno())
            yield file
        os.chmod(draft, 0o644)
        os.replace(draft, target)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


@contextmanager
def atomic_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Make a draft of a folder; it takes the place of ``path`` if the block ends without an error, and is removed if not.

    Parameters
    ----------
    path : path-like
        The folder to make. It must not exist; folders above it are made.

    Yields
    ------
    Path
        The draft, ``path`` with ``.part`` at its end; what an interrupted process left there is removed.

    Raises
    ------
    InputError
        If ``path`` exists or cannot be made.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> target = Path(tempfile.mkdtemp(), "notes")
    >>> with atomic_folder(target) as draft:
    ...     _ = (draft / "first.txt").write_text("done")
    >>> [file.name for file in target.iterdir()]
    ['first.txt']
    """
    target = Path(path)
    if target.exists():
        raise InputError(f"{target} exists already: choose another folder or remove it")
    draft = target.with_name(target.name + ".part")
    shutil.rmtree(draft, ignore_errors=True)
    try:
        try:
            draft.mkdir(parents=True)
        except OSError as error:
            raise InputError(f"the folder {target} cannot be made ({error.strerror}): choose another") from None
        yield draft
        draft.replace(target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def remove_drafts(target: Path, kind: Callable[[Path], bool]) -> None:
    """Remove drafts of ``target`` that no process is writing any more."""
    pattern = re.compile(DRAFT.format(re.escape(target.name)))
    with suppress(OSError):
        for each in [each for each in target.parent.iterdir() if pattern.fullmatch(each.name) and kind(each)]:
            if each.is_dir():
                shutil.rmtree(each, ignore_errors=True)
            elif abs(time.time() - each.stat().st_mtime) > 1:  # one that was made just now may not be locked yet
                with open(each, "rb") as file:
                    if lock(file.fileno()):
                        each.unlink()


def lock(handle: int) -> bool:
    """Lock an open file until it is closed or the process ends; False if another process has locked it."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        pass
    return True
