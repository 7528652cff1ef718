"""Cells and their records on disk: an append-only file of JSON lines.

A cell is one model on one split of one graph. What it is (graph, split, model with its settings, seed) decides its key, the
SHA-256 of this as canonical JSON. How a table names it does not: SlimG is the same cell in all tables.

    {"format": "slimg-bench", "version": 1}          the first line
    {"key": …, "status": "ok" | "failed" | "oom", "accuracy": …, …}     one line per cell, flushed to the disk

A process that is killed leaves at most one line without its end: it is noted, left out, and cut off before the
next line is written. One process writes at a time. Of two records of a cell (it was run again) the later one counts.

The environment in which a cell was run: versions, commit, processor, memory.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import distributions, version
from pathlib import Path
from typing import Any, BinaryIO

from slimg.errors import InputError
from slimg.system import cores, lock

FORMAT, VERSION = "slimg-bench", 1
HEADER: dict[str, Any] = {"format": FORMAT, "version": VERSION}
STATUSES = ("ok", "failed", "oom")
Record = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """What is run once: one model on one split of one graph.

    Attributes
    ----------
    data : dict
        The graph, see `slimg.lab.bench.recipe`: {"name": "cora"}, {"case": "semantic-uniform", "n": 6000}, …
    split : tuple of three float
        Shares of train, validation and test.
    model : dict
        {"kind": "sgc", setting: value, …}, see `slimg.lab.bench.models`.
    seed : int
        Of the split and of the model.
    """

    data: dict[str, Any]
    split: tuple[float, float, float]
    model: dict[str, Any]
    seed: int

    @cached_property
    def key(self) -> str:
        """Sixteen hexadecimal digits that name the cell."""
        return hashlib.sha256(canonical(self.identity()).encode()).hexdigest()[:16]

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the model, without its kind."""
        return {key: value for key, value in self.model.items() if key != "kind"}

    def identity(self) -> dict[str, Any]:
        """Return what is recorded, and what the key is made from.

        Returns
        -------
        dict
        """
        return {"data": self.data, "split": list(self.split), "model": self.model, "seed": self.seed}

    @classmethod
    def of(cls, identity: dict[str, Any]) -> Cell:
        """Make the cell of a recorded identity.

        Returns
        -------
        Cell
        """
        return cls(identity["data"], tuple(identity["split"]), identity["model"], identity["seed"])


def canonical(value: Any) -> str:
    """Write JSON with sorted keys and no spaces: equal values give equal text.

    Returns
    -------
    str
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


class Store:
    """The records of a file; a file that does not exist is an empty store.

    Parameters
    ----------
    path : path-like
        The file.

    Attributes
    ----------
    records : dict
        Key → record, in the order of the first writing.
    notes : tuple of str
        What was found wrong and repaired, one sentence each.

    Examples
    --------
    >>> from slimg.lab.bench import Store
    >>> Store("records.jsonl").records
    {}
    """

    path: Path

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self.notes: tuple[str, ...] = ()
        self.records: dict[str, Record] = {}
        self._whole = 0
        self._file: BinaryIO | None = None
        if self.path.exists():
            self._read()

    @contextmanager
    def writing(self) -> Iterator[Store]:
        """Lock the file for writing: what others wrote is read, an incomplete last line is cut off.

        Yields
        ------
        Store
            The store itself.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "ab") as file:
            if not lock(file.fileno()):
                raise InputError(f"{self.path} is being written by another run: wait, or use another folder")
            self._read()
            file.truncate(self._whole)
            self._file = file
            try:
                if self._whole == 0:
                    self._write(HEADER)
                yield self
            finally:
                self._file = None

    def append(self, record: Record) -> None:
        """Write one record, which is on the disk when this returns; only inside `writing`.

        Parameters
        ----------
        record : dict
            With ``key`` and ``status``.
        """
        self._write(record)
        self.records[record["key"]] = record

    def _write(self, line: Record) -> None:
        if self._file is None:
            raise RuntimeError("append is for `with store.writing()`")
        self._file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def _read(self) -> None:
        content = self.path.read_bytes()
        self._whole = content.rfind(b"\n") + 1
        if torn := content[self._whole :]:
            self.notes = (f"{self.path} ends in a line that was cut off ({len(torn)} bytes): its cell will be run again.",)
        lines = content[: self._whole].splitlines()
        if lines:
            self._check_header(lines[0])
        elif torn and not json.dumps(HEADER).encode().startswith(torn):
            self._check_header(torn)
        self.records = {}
        for number, line in enumerate(lines[1:], start=2):
            record = self._parsed(line, number)
            self.records[record["key"]] = record

    def _check_header(self, line: bytes) -> None:
        try:
            found = json.loads(line)
        except ValueError:
            found = None
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise InputError(f"{self.path} is no store of slimg bench: its first line is not {json.dumps(HEADER)}")
        if found.get("version") != VERSION:
            raise InputError(
                f"{self.path} was written in version {found.get('version')!r} of the format and this slimg reads version"
                f" {VERSION}: use another folder, or the slimg that wrote it"
            )

    def _parsed(self, line: bytes, number: int) -> Record:
        try:
            record = json.loads(line)
            if record["status"] in STATUSES and isinstance(record["key"], str):
                return record
        except (ValueError, KeyError, TypeError):
            pass
        raise InputError(f"{self.path}, line {number} is not a record: remove the line, its cell will be run again")


PACKAGES = ("slimg", "numpy", "scipy", "scikit-learn", "numba", "torch", "torch-geometric")
_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@cache
def environment() -> dict[str, Any]:
    """Describe the environment, as every record has it; packages that are not installed are left out.

    Returns
    -------
    dict
    """
    return {
        "commit": _commit(),
        "cpu": _cpu(),
        "cores": cores(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in PACKAGES if any(distributions(name=name))},
    }


def reset_peak() -> None:
    """Reset the peak of resident memory, where the system can."""
    try:
        _RESET.write_text("5")
    except OSError:
        return  # the peak of the whole process is an upper bound


def peak_memory() -> int:
    """Largest resident size of this process since `reset_peak`.

    Returns
    -------
    int
        Bytes.
    """
    if _STATUS.exists():
        lines = _STATUS.read_text().splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _commit() -> str | None:
    """The commit of the checkout that slimg is imported from, with "+" when files differ from it; None if installed."""
    here = Path(__file__).resolve().parent
    shown = _git(here, "rev-parse", "--short", "HEAD")
    if not shown or not _git(here, "ls-files", "__init__.py"):
        return None
    return shown + ("+" if _git(here, "status", "--porcelain", "--untracked-files=no", "--", "..") else "")


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    for line in info.read_text().splitlines() if info.exists() else ():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()
