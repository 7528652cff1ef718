"""Row matrices in files, and the journal by which a killed run continues.

A row matrix (n × k float32) is stored in *panels* of w columns, one after the other, each row-major:

    columns [j·w, j·w + w)  at byte  4·n·j·w

so that both a run of rows (one read per panel) and a slice of columns (one panel) are contiguous. An .npy file is one panel
behind a header.

An algorithm over an engine is a fixed sequence of operations, determined by its inputs. So each operation has a number, and
the journal has one line for each finished one: its kind, a digest of its inputs, and the file of its result. A run that
starts in a folder with a journal takes the recorded results as long as there are any, and computes from there on: the bits
are those of a run that was not killed.

    journal.jsonl       a line is written after the file of the result is complete
    12-0.rows, 13.npy   results: row matrices, and arrays (sums, Gram matrices)

Files of unreferenced row matrices are removed when the next operation is finished: then no line of the journal needs them.
All files are removed at the end, unless the run ended by an error or was interrupted.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from socket import gethostname
from typing import Any

import numpy as np

from slimg import __version__
from slimg.engine.base import READ_ENTRIES, Array, FileArray, read_into, runs
from slimg.errors import InputError
from slimg.system import PROC, require_room

DIGEST_BYTES = 1 << 24
"""Bytes digested at a time."""
NAME = "slimg-work"


@dataclass(eq=False)
class FileRowMatrix:
    """A dense row matrix in a file, in panels of ``panel`` columns.

    ``key`` identifies it within its run; ``released`` is called with its path when it is no longer referenced. A file with a
    ``stamp`` must not change.
    """

    path: Path
    shape: tuple[int, int]
    panel: int
    offset: int = 0
    key: str = ""
    released: Callable[[Path], None] | None = None
    stamp: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        self.panel = max(1, min(self.panel, self.shape[1]))

    def __del__(self) -> None:
        if self.released is not None:
            self.released(self.path)

    def read(self, start: int, stop: int, first: int = 0, last: int | None = None, out: Array | None = None) -> Array:
        """Rows [start, stop) and columns [first, last) as an array."""
        last = self.shape[1] if last is None else last
        if out is None:
            out = np.empty((stop - start, last - first), np.float32)
        for left, right, offset in self._panels(first, last):
            whole = left >= first and right <= last and right - left == out.shape[1] and out.flags.c_contiguous
            panel = out if whole else np.empty((stop - start, right - left), np.float32)
            read_into(panel, self.path, offset + 4 * start * (right - left), self.stamp)
            if not whole:
                a, b = max(left, first), min(right, last)
                out[:, a - first : b - first] = panel[:, a - left : b - left]
        return out

    def write(self, start: int, rows: Array, first: int = 0) -> None:
        """Rows from ``start`` on, of whole panels from column ``first`` on."""
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            for left, right, offset in self._panels(first, first + rows.shape[1]):
                part = np.ascontiguousarray(rows[:, left - first : right - first], np.float32)
                view, done = part.reshape(-1).view(np.uint8).data, 0
                while done < len(view):
                    done += os.pwrite(descriptor, view[done:], offset + 4 * start * (right - left) + done)
        finally:
            os.close(descriptor)

    def __getitem__(self, rows: slice) -> Array:
        """Rows [start, stop)."""
        return self.read(rows.start, rows.stop)

    def __setitem__(self, rows: slice, values: Array) -> None:
        """Write rows from ``start`` on."""
        self.write(rows.start, values)

    def _panels(self, first: int, last: int) -> list[tuple[int, int, int]]:
        """(first column, column after the last, byte) of the panels that hold columns [first, last)."""
        n, k = self.shape
        starts = range(first - first % self.panel, last, self.panel)
        return [(left, min(left + self.panel, k), self.offset + 4 * n * left) for left in starts]


class Digest:
    """A running digest of arrays, numbers and strings."""

    def __init__(self, *parts: Any):
        self._hash = hashlib.blake2b(digest_size=16)
        for part in parts:
            self.add(part)

    def add(self, part: Any) -> None:
        """Add an array, another digest, or anything whose repr is its value."""
        if isinstance(part, np.ndarray):
            self._hash.update(f"{part.dtype}{part.shape}".encode())
            flat = np.ascontiguousarray(part).reshape(-1).view(np.uint8)
            for start in range(0, len(flat), DIGEST_BYTES):
                self._hash.update(flat[start : start + DIGEST_BYTES].data)
        else:
            self._hash.update((str(part) if isinstance(part, Digest) else repr(part)).encode())

    def __str__(self) -> str:
        return self._hash.hexdigest()


def content(source: FileArray | Array, size: int) -> str:
    """A digest of the first ``size`` entries."""
    digest = Digest(size)
    for start, stop in runs(size, READ_ENTRIES):
        digest.add(source[start:stop])
    return str(digest)


class Workdir:
    """A folder of work files: journaled in a given folder, temporary and without a journal otherwise."""

    journaled: bool
    keep: bool
    path: Path

    def __init__(self, folder: str | os.PathLike[str] | None = None):
        self.journaled = folder is not None
        self._pinned: set[Path] = set()
        self._dropped: deque[Path] = deque()
        self._records: dict[str, dict[str, Any]] = {}
        self._journal: int | None = None
        self.keep = False
        if folder is None:
            self.path = temporary_folder("work")
            return
        self.path = Path(folder) / NAME
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"the work folder {folder} cannot be made ({error.strerror}): choose another") from None
        self._open_journal()

    def recorded(self, step: str, what: str, digest: str) -> dict[str, Any] | None:
        """The record of a finished operation, or None; raises an `InputError` if it belongs to another run."""
        record = self._records.get(step)
        if record is not None and (record["what"], record["digest"]) != (what, digest):
            raise InputError(
                f"the work folder {self.path} belongs to another graph or other settings (step {step} was"
                f" {record['what']}, now it is {what}): remove it or choose another folder"
            )
        return record

    def record(self, step: str, what: str, digest: str, **result: Any) -> None:
        """Record a finished operation whose file is complete, then remove the files of dropped row matrices."""
        if self._journal is not None:
            line = json.dumps({"step": step, "what": what, "digest": digest, **result}) + "\n"
            os.write(self._journal, line.encode())
        while self._dropped and not self.keep:
            with suppress(IndexError):  # another thread was quicker
                self._dropped.popleft().unlink(missing_ok=True)

    def drop(self, path: Path) -> None:
        """Mark the file of an unreferenced row matrix for removal."""
        if path not in self._pinned:
            self._dropped.append(path)  # without a lock: the collector may call this at any moment

    def pin(self, path: Path) -> None:
        """Keep a row matrix to the end: its rows were read, so a run that continues will read them again."""
        if self.journaled:
            self._pinned.add(path)

    def close(self) -> None:
        """Remove all files, unless the run is to be continued."""
        if self._journal is not None:
            os.close(self._journal)
            self._journal = None
        if not self.keep:
            shutil.rmtree(self.path, ignore_errors=True)

    def _open_journal(self) -> None:
        import fcntl  # not on every system: see MappedEngine

        path = self.path / "journal.jsonl"
        self._journal = descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.keep = True
            raise InputError(f"the work folder {self.path} is in use by another run: choose another folder") from None
        whole, _, _ = path.read_text().rpartition("\n")
        os.truncate(path, len(whole.encode()) + 1 if whole else 0)  # a line that was cut off by the kill
        lines = [json.loads(line) for line in whole.splitlines()]
        if not lines:
            os.write(descriptor, (json.dumps({"slimg": __version__}) + "\n").encode())
        elif lines[0].get("slimg") != __version__:
            raise InputError(
                f"the work folder {self.path} was begun by slimg {lines[0].get('slimg')}, this is {__version__}:"
                " remove it or choose another folder"
            )
        self._records = {line["step"]: line for line in lines[1:]}
        files = {record.get("file") for record in self._records.values()}
        for path in self.path.iterdir():
            if path.name not in files and path.name != "journal.jsonl":
                path.unlink()


def temporary_folder(kind: str, parent: str | os.PathLike[str] | None = None) -> Path:
    """Make a folder whose name has this machine and process; those that killed processes of this machine left are removed."""
    place, prefix = Path(parent or tempfile.gettempdir()).absolute(), f"slimg-{kind}-{gethostname()}-"
    for each in place.glob(f"{prefix}*") if (PROC / "self").exists() else ():
        process = each.name.removeprefix(prefix).split("-")[0]
        if process.isdigit() and not (PROC / process).exists():
            shutil.rmtree(each, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-", dir=place))


class Steps:
    """Operations of an engine as steps of a run: numbered in their order, looked up in the journal, computed and recorded.

    ``panel(rows)`` is the width of the panels of a new row matrix.
    """

    work: Workdir

    def __init__(self, work: Workdir, panel: Callable[[int], int]):
        self.work, self._panel = work, panel
        self._numbers = count(1)

    def row_matrices(
        self, what: str, inputs: list[Any], results: int, compute: Callable[[Callable[..., Any]], list[FileRowMatrix]]
    ) -> list[FileRowMatrix]:
        """A step whose results are row matrices: compute(new), where new(shape, panel=None) makes ``results`` of them."""
        names = [f"{step}-{which}" for step in [next(self._numbers)] for which in range(results)]
        digest = str(Digest(*inputs))
        records = [record for name in names if (record := self.work.recorded(name, what, digest))]
        if len(records) == results:
            return [self._file(each["step"], tuple(each["shape"]), each["panel"]) for each in records]

        def new(shape: tuple[int, int], panel: int | None = None) -> list[FileRowMatrix]:
            require_room(self.work.path, 4 * shape[0] * shape[1] * results, what)
            return [self._file(name, shape, panel or self._panel(shape[0])) for name in names]

        with self._running():
            outs = compute(new)
            for name, out in zip(names, outs, strict=False):
                self.work.record(name, what, digest, file=out.path.name, shape=list(out.shape), panel=out.panel)
        return outs

    def array(self, what: str, inputs: list[Any], compute: Callable[[], Array]) -> Array:
        """A step whose result is a small array."""
        step, digest = str(next(self._numbers)), str(Digest(*inputs))
        record = self.work.recorded(step, what, digest)
        if record:
            return np.load(self.work.path / record["file"])
        with self._running():
            result = compute()
            if self.work.journaled:
                np.save(self.work.path / f"{step}.npy", result)
            self.work.record(step, what, digest, file=f"{step}.npy")
            return result

    @contextmanager
    def _running(self) -> Iterator[None]:
        """Keep the files after an error, so that the run can continue."""
        try:
            yield
        except BaseException:
            self.work.keep = self.work.journaled
            raise

    def _file(self, name: str, shape: tuple[int, ...], panel: int) -> FileRowMatrix:
        path = self.work.path / f"{name}.rows"
        return FileRowMatrix(path, (shape[0], shape[1]), panel, key=name, released=self.work.drop)


def parts_of(fn: Any) -> list[Any]:
    """What identifies a function of rows: its name, and the arrays, numbers and functions it closes over."""
    parts: list[Any] = [getattr(fn, "__qualname__", type(fn).__name__)]
    for cell in getattr(fn, "__closure__", None) or ():
        for value in cell.cell_contents if isinstance(cell.cell_contents, list) else [cell.cell_contents]:
            if isinstance(value, (np.ndarray, int, float, str)):
                parts.append(value)
            elif callable(value):
                parts += parts_of(value)
    return parts
