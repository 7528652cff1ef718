"""A file to read, and what was read from it.

Source   where: path, table within it, and what the user says about it (separator, encoding, header)
Reading  what: a frame of edges, a frame of nodes, a feature matrix (each may be absent), and notes on what was guessed
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slimg.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

DATABASES = (".db", ".sqlite", ".sqlite3", ".duckdb", ".ddb")


@dataclass(frozen=True)
class Source:
    """One input file; ``table`` names a table of a database."""

    path: Path
    table: str | None = None
    separator: str | None = None
    encoding: str | None = None
    header: bool | None = None

    @classmethod
    def parse(cls, given: str, **options: Any) -> Source:
        """``follows.csv``, or ``shop.db:follows`` for a table of a database."""
        name, colon, table = given.rpartition(":")
        if colon and Path(name).suffix.lower() in DATABASES and not Path(given).exists():
            return cls(Path(name), table, **options)
        return cls(Path(given), **options)

    @property
    def suffix(self) -> str:
        """The ending that names the format: ``.csv`` for ``a.csv`` and for ``a.csv.gz``."""
        endings = [ending.lower() for ending in self.path.suffixes]
        if len(endings) > 1 and endings[-1] == ".gz":
            endings.pop()
        return endings[-1] if endings else ""

    @property
    def compressed(self) -> bool:
        return self.path.suffix.lower() == ".gz"

    def __str__(self) -> str:
        return f"{self.path}:{self.table}" if self.table else str(self.path)


@dataclass(frozen=True, eq=False)
class Reading:
    """What a file held: edges, nodes (or a table that may be either), features as a matrix."""

    frame: pd.DataFrame | None = None
    edges: pd.DataFrame | None = None
    matrix: Any = None
    notes: tuple[str, ...] = ()
    separator: str | None = None
    directed: bool | None = None


@contextmanager
def unchanged(source: Source) -> Iterator[None]:
    """Refuse what is no readable, non-empty file, and a file that was written to while it was read."""
    before = _state(source)
    try:
        yield
    except PermissionError:
        raise InputError(f"{source.path} may not be read: ask its owner, or copy it to where you may") from None
    if _state(source) != before:
        raise InputError(f"{source.path} changed while it was read: wait until it is written, then call again")


def named(source: Source, build: Callable[..., Any], *arguments: Any) -> Any:
    """Call, and put the file's name before what went wrong."""
    try:
        return build(*arguments)
    except InputError as error:
        raise InputError(f"{source}: {error}") from error


def _state(source: Source) -> tuple[int, int]:
    path = source.path
    try:
        state = os.stat(path)
    except FileNotFoundError:
        raise InputError(f"{path} does not exist: {_advice(path)}") from None
    except (PermissionError, NotADirectoryError):
        raise InputError(f"{path} cannot be reached: check the path and who may read it") from None
    if path.is_dir():
        raise InputError(f"{path} is a directory: name one of the files in it")
    if not path.is_file():
        raise InputError(f"{path} is neither a file nor a directory: copy its content to a file first")
    if state.st_size == 0:
        raise InputError(f"{path} is empty: it needs at least one row")
    return state.st_size, state.st_mtime_ns


def _advice(path: Path) -> str:
    """Files of a similar name, if the folder is there."""
    import difflib

    folder = path.parent
    if not folder.is_dir():
        return f"there is no folder {folder}"
    near = difflib.get_close_matches(path.name, os.listdir(folder), n=3)
    return f"did you mean {' or '.join(near)}?" if near else "check its name"
