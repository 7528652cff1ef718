"""The files of a run, and the journal by which a killed run continues.

An algorithm over an engine is a fixed sequence of operations, determined by its inputs. So each operation has a number
(inside concurrent tasks: number of the call, of the task, and within it), and the journal has one line for each finished
one: its kind, a digest of its inputs, and the file of its result. A run that starts in a folder with a journal takes the
recorded results as long as there are any, and computes from there on: the bits are those of a run that was not killed.

    journal.jsonl       a line is written after the file of the result is complete
    12-0.rows, 13.npy   results: row matrices, and arrays (sums, Gram matrices)

Files of unreferenced row matrices are removed when the next operation is finished: then no line of the journal needs them.
All files are removed at the end, unless the run ended by an error or was interrupted.
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

from slimg import __version__
from slimg.engine.base import Array
from slimg.engine.files import Digest, FileRowMatrix
from slimg.errors import InputError
from slimg.system import require_room

NAME = "slimg-work"


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
            self.path = Path(tempfile.mkdtemp(prefix=f"{NAME}-"))
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


class Steps:
    """Operations of an engine as steps of a run: numbered, looked up in the journal, computed and recorded.

    ``panel(rows)`` is the width of the panels of a new row matrix.
    """

    work: Workdir

    def __init__(self, work: Workdir, panel: Callable[[int], int]):
        self.work, self._panel = work, panel
        self._numbers = _Numbers()

    def row_matrices(
        self, what: str, inputs: list[Any], count: int, compute: Callable[[Callable[..., Any]], list[FileRowMatrix]]
    ) -> list[FileRowMatrix]:
        """A step whose results are row matrices: compute(new), where new(shape, panel=None) makes ``count`` of them."""
        names = [f"{step}-{which}" for step in [self._numbers.next()] for which in range(count)]
        digest = str(Digest(*inputs))
        records = [record for name in names if (record := self.work.recorded(name, what, digest))]
        if len(records) == count:
            return [self._file(each["step"], tuple(each["shape"]), each["panel"]) for each in records]

        def new(shape: tuple[int, int], panel: int | None = None) -> list[FileRowMatrix]:
            require_room(self.work.path, 4 * shape[0] * shape[1] * count, what)
            return [self._file(name, shape, panel or self._panel(shape[0]), writable=True) for name in names]

        with self._running():
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
        with self._running():
            result = compute()
            if self.work.journaled:
                np.save(self.work.path / f"{step}.npy", result)
            self.work.record(step, what, digest, file=f"{step}.npy")
            return result

    def tasks(self, tasks: tuple[Callable[[], Any], ...]) -> list[Callable[[], Any]]:
        """Tasks that may run at the same time: their steps are numbered by task, so that timing has no influence."""
        step = self._numbers.next()
        return [self._numbers.inside(f"{step}.{which}.", task) for which, task in enumerate(tasks)]

    @contextmanager
    def _running(self) -> Iterator[None]:
        """Keep the files after an error, so that the run can continue."""
        try:
            yield
        except BaseException:
            self.work.keep = self.work.journaled
            raise

    def _file(self, name: str, shape: tuple[int, ...], panel: int, writable: bool = False) -> FileRowMatrix:
        path = self.work.path / f"{name}.rows"
        return FileRowMatrix(path, (shape[0], shape[1]), panel, writable=writable, released=self.work.drop, key=name)


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
    """What identifies a function of rows: its name, and the arrays, numbers and functions it closes over."""
    parts: list[Any] = [getattr(fn, "__qualname__", type(fn).__name__)]
    for cell in getattr(fn, "__closure__", None) or ():
        for value in cell.cell_contents if isinstance(cell.cell_contents, list) else [cell.cell_contents]:
            if isinstance(value, (np.ndarray, int, float, str)):
                parts.append(value)
            elif callable(value):
                parts += parts_of(value)
    return parts
