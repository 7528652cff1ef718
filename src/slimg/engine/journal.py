"""The files of a run, and the journal by which a killed run goes on.

An algorithm over an engine is a fixed sequence of operations: its inputs decide it. So each operation has a number (inside
concurrent tasks: number of the call, of the task, and within it), and the journal has one line for each that is finished:
what it was, a digest of its inputs, and where its result is. A run that starts in a folder with a journal gets the recorded
results as long as there are any, and computes from there on: the bits are those of a run that was not killed.

    journal.jsonl     a line is written after the result's file is complete
    12.row matrix, 13.npy   results: row matrices, and arrays (sums, Gram matrices)

Files of row matrices that nobody holds any more are removed when the next operation is finished: then no line of the journal
needs them. All files are removed at the end, unless the run ended by an error or was interrupted.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from slimg.engine.base import Array
from slimg.engine.files import Digest, FileRowMatrix
from slimg.errors import InputError
from slimg.sizes import require_room
from slimg.version import __version__

NAME = "slimg-work"


class Workdir:
    """A folder of work files; with a folder of the user's it is journaled, without it is a temporary one."""

    def __init__(self, folder: str | os.PathLike[str] | None = None):
        self.journaled = folder is not None
        self._pinned: set[Path] = set()
        self._dropped: deque[Path] = deque()
        self._records: dict[str, dict[str, Any]] = {}
        self._journal: int | None = None
        self.keep = False
        if folder is None:
            self.path = Path(tempfile.mkdtemp(prefix=f"{NAME}-"))
            return
        self.path = Path(folder) / NAME
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"the work folder {folder} cannot be made ({error.strerror}): choose another") from None
        self._open_journal()

    def recorded(self, step: str, what: str, digest: str) -> dict[str, Any] | None:
        """The record of a finished operation; refuses one of another run."""
        record = self._records.get(step)
        if record is not None and (record["what"], record["digest"]) != (what, digest):
            raise InputError(
                f"the work folder {self.path} belongs to another graph or other settings (step {step} was"
                f" {record['what']}, now it is {what}): remove it or choose another folder"
            )
        return record

    def record(self, step: str, what: str, digest: str, **result: Any) -> None:
        """An operation is finished and its result's file is complete."""
        if self._journal is not None:
            line = json.dumps({"step": step, "what": what, "digest": digest, **result}) + "\n"
            os.write(self._journal, line.encode())
        while self._dropped and not self.keep:
            with suppress(IndexError):  # another thread was quicker
                self._dropped.popleft().unlink(missing_ok=True)

    def drop(self, path: Path) -> None:
        """Nobody holds this row matrix any more."""
        if path not in self._pinned:
            self._dropped.append(path)  # without a lock: the collector may call this at any moment

    def pin(self, path: Path) -> None:
        """Keep a row matrix to the end: its rows were read, so a run that goes on will read them again."""
        if self.journaled:
            self._pinned.add(path)

    def close(self) -> None:
        """Remove everything, unless the run is to be continued."""
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


class Steps:
    """The steps of one engine; ``panel(rows)`` is the width of the panels of a new row matrix."""

    def __init__(self, work: Workdir, panel: Callable[[int], int]):
        self.work, self._panel = work, panel
        self._numbers = _Numbers()

    def row_matrix(self, what: str, inputs: list[Any], shape: tuple[int, int], fill: Callable[[FileRowMatrix], None]) -> FileRowMatrix:
        """A step whose result is one row matrix of a known shape."""

        def compute(new: Callable[..., FileRowMatrix]) -> list[FileRowMatrix]:
            out = new(shape)
            fill(out)
            return [out]

        return self.row_matrices(what, inputs, 1, compute, 4 * shape[0] * shape[1])[0]

    def row_matrices(
        self,
        what: str,
        inputs: list[Any],
        count: int,
        compute: Callable[[Callable[..., FileRowMatrix]], list[FileRowMatrix]],
        size: int = 0,
    ) -> list[FileRowMatrix]:
        """A step whose results are row matrices: compute(new) with new(shape, panel=None) for each, in order."""
        names = [f"{step}-{which}" for step in [self._numbers.next()] for which in range(count)]
        digest = str(Digest(*inputs))
        records = [self.work.recorded(name, what, digest) for name in names]
        if all(records):
            return [self._reopened(name, record) for name, record in zip(names, records, strict=True) if record]
        free = iter(names)

        def new(shape: tuple[int, int], panel: int | None = None) -> FileRowMatrix:
            name = next(free)
            require_room(self.work.path, 4 * shape[0] * shape[1], what)
            place = self.work.path / f"{name}.tall"
            return FileRowMatrix(place, shape, panel or self._panel(shape[0]), writable=True, released=self._release, key=name)

        with self.running(size, what):
            outs = compute(new)
            for name, out in zip(names, outs, strict=False):
                self.work.record(name, what, digest, file=out.path.name, shape=list(out.shape), panel=out.panel)
        return outs

    def array(self, what: str, inputs: list[Any], compute: Callable[[], Array]) -> Array:
        """A step whose result is a small array."""
        step, digest = self._numbers.next(), str(Digest(*inputs))
        record = self.work.recorded(step, what, digest)
        if record:
            return np.load(self.work.path / record["file"])
        with self.running(0, what):
            result = compute()
            if self.work.journaled:
                save_array(self.work.path / f"{step}.npy", result)
            self.work.record(step, what, digest, file=f"{step}.npy")
            return result

    def tasks(self, tasks: tuple[Callable[[], Any], ...]) -> list[Callable[[], Any]]:
        """Tasks that may run at the same time: their steps are numbered by task, so that timing does not matter."""
        step = self._numbers.next()
        return [self._numbers.inside(f"{step}.{which}.", task) for which, task in enumerate(tasks)]

    @contextmanager
    def running(self, size: int, what: str) -> Iterator[None]:
        """Around the work of a step: room on the disk first, and after an error the files stay, to go on from."""
        try:
            require_room(self.work.path, size, what)
            yield
        except BaseException:
            self.work.keep = self.work.journaled
            raise

    def _reopened(self, name: str, record: dict[str, Any]) -> FileRowMatrix:
        rows, columns = record["shape"]
        place = self.work.path / record["file"]
        return FileRowMatrix(place, (rows, columns), record["panel"], released=self._release, key=name)

    def _release(self, path: Path) -> None:
        self.work.drop(path)


class _Numbers(threading.local):
    """Numbers of steps; those of a concurrent task begin with the task's own number."""

    prefix, count = "", 0

    def next(self) -> str:
        self.count += 1
        return f"{self.prefix}{self.count}"

    def inside(self, prefix: str, task: Callable[[], Any]) -> Callable[[], Any]:
        def run() -> Any:
            before = self.prefix, self.count
            self.prefix, self.count = prefix, 0
            try:
                return task()
            finally:
                self.prefix, self.count = before

        return run


def parts_of(fn: Any) -> list[Any]:
    """What a function of rows is known by: its name, and the arrays, numbers and functions it closes over."""
    parts: list[Any] = [getattr(fn, "__qualname__", type(fn).__name__)]
    for cell in getattr(fn, "__closure__", None) or ():
        for value in cell.cell_contents if isinstance(cell.cell_contents, list) else [cell.cell_contents]:
            if isinstance(value, (np.ndarray, int, float, str)):
                parts.append(value)
            elif callable(value):
                parts += parts_of(value)
    return parts


def save_array(path: Path, array: Array) -> None:
    """An .npy file under a name without the suffix rule of numpy."""
    with open(path, "wb") as file:
        np.save(file, array)
