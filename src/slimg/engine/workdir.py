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

import hashlib
import json
import os
import shutil
import tempfile
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from slimg.engine.base import Array
from slimg.errors import InputError
from slimg.version import __version__

NAME = "slimg-work"
CHUNK = 1 << 24


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


class Digest:
    """A running digest of arrays, numbers and texts."""

    def __init__(self, *parts: Any):
        self._hash = hashlib.blake2b(digest_size=16)
        for part in parts:
            self.add(part)

    def add(self, part: Any) -> None:
        """Take in one more: an array, another digest, or anything with a repr of its own value."""
        if isinstance(part, np.ndarray):
            self._hash.update(f"{part.dtype}{part.shape}".encode())
            flat = np.ascontiguousarray(part).reshape(-1).view(np.uint8)
            for start in range(0, len(flat), CHUNK):
                self._hash.update(flat[start : start + CHUNK].data)
        else:
            self._hash.update((str(part) if isinstance(part, Digest) else repr(part)).encode())

    def __str__(self) -> str:
        return self._hash.hexdigest()


def save_array(path: Path, array: Array) -> None:
    """An .npy file under a name without the suffix rule of numpy."""
    with open(path, "wb") as file:
        np.save(file, array)
