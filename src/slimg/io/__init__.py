"""Files in and out: tables, graphs and matrices are read, tables and texts are written.

Public are the names in ``__all__``, and `build` and `open_graph` of `slimg.io.disk` for graphs larger than memory;
everything else here is internal.

Source        a file to read, and what the user says about it
Reading       what it holds
read          reads a file in the format of its ending
Options       which files and columns make a graph
Inputs        the graph, with its node table and the plan of its features
read_inputs   reads files into a graph

A file to read, what was read from it, and which reader it needs: its ending says so.

Source   where: path, table within it, and what the user says about it (separator, encoding, header)
Reading  what: a frame of edges, a frame of nodes, a feature matrix (each may be absent), and notes on what was guessed
read     calls the reader of the format; every error names the file

Tables and texts are written whole or not at all, and are safe to open in a spreadsheet: a text that a spreadsheet would run
as a formula (it begins with = + - @, a tab or a return) gets a leading quote; text that is a number, such as -3.5, stays,
and so do ids.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from slimg.errors import InputError, is_exhausted, without_password
from slimg.system import atomic_write

if TYPE_CHECKING:
    import pandas as pd

    from slimg.io.inputs import Inputs, Options, read_inputs
else:
    from slimg._lazy import lazy_names

    __getattr__, __dir__ = lazy_names(__name__, dict.fromkeys(("Inputs", "Options", "read_inputs"), "slimg.io.inputs"))

__all__ = ["Inputs", "Options", "Reading", "Source", "read", "read_inputs"]

PACKINGS = (".gz", ".zst", ".zip")
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
WRITTEN = {
    **dict.fromkeys((".csv", ".txt", ".dat", ""), ".csv"),
    **dict.fromkeys((".tsv", ".tab"), ".tsv"),
    ".xlsx": ".xlsx",
    **dict.fromkeys((".jsonl", ".ndjson"), ".jsonl"),
    **dict.fromkeys((".parquet", ".pq"), ".parquet"),
}
"""Ending → ending of the format that such a file is written in."""
DATABASES = (".db", ".sqlite", ".sqlite3", ".duckdb", ".ddb")
_IN_FILE = re.compile(rf"(.*?(?:{'|'.join(map(re.escape, (*DATABASES, '.xlsx')))})):(.+)", re.IGNORECASE | re.DOTALL)
_ON_SERVER = re.compile(r"(postgres(?:ql)?://[^/?]*(?:/[^:]*)?)(?::(.+))?", re.DOTALL)
READERS: dict[str, tuple[str, str]] = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt", ".edges", ".edgelist", ".dat"), ("text", "read_separated")),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), ("text", "read_json_lines")),
    **dict.fromkeys((".parquet", ".pq"), ("binary", "read_parquet")),
    ".xlsx": ("binary", "read_excel"),
    ".npz": ("binary", "read_npz"),
    ".npy": ("binary", "read_npy"),
    ".mtx": ("binary", "read_matrix_market"),
    ".graphml": ("xml_graphs", "read_graphml"),
    ".gexf": ("xml_graphs", "read_gexf"),
    **dict.fromkeys(DATABASES, ("databases", "read_database")),
}
"""Ending → module of this folder, and the function that reads such a file."""


@dataclass(frozen=True)
class Source:
    """An input file, and what the user says about it.

    Parameters
    ----------
    path : Path
        Where the file is.
    table : str, default=None
        Table of a database, which may be left out if it has one, or sheet of a workbook, by default the first.
    separator, encoding : str, default=None
        Of a text file; guessed by default.
    header : bool, default=None
        Whether the first line of a text file holds the names of the columns; guessed by default.
    name : str, default=None
        What the user calls it, if there are several files of its kind.
    data : DataFrame or bytes, default=None
        A table in memory, or the content of a file, which is read instead of a file; ``path`` is then its name in messages.
    url : str, default=None
        Address of a PostgreSQL database, which is read instead of a file; ``path`` is then the address without a password.

    Examples
    --------
    >>> source = Source.parse("shop.db:follows")
    >>> source.suffix, source.table
    ('.db', 'follows')
    >>> Source.parse("pays=2024.csv.gz").short_name, Source.parse("likes.csv.gz").short_name
    ('pays', 'likes')
    """

    path: Path
    table: str | None = None
    separator: str | None = None
    encoding: str | None = None
    header: bool | None = None
    name: str | None = None
    data: Any = field(default=None, compare=False)
    url: str | None = field(default=None, repr=False)

    @classmethod
    def parse(
        cls, given: str, separator: str | None = None, encoding: str | None = None, header: bool | None = None
    ) -> Source:
        """Make a source from a path as it is given on the command line.

        Parameters
        ----------
        given : str
            ``follows.csv``, ``shop.db:follows`` for a table of a database or a sheet of a workbook, or ``NAME=follows.csv``;
            ``postgresql://host/shop:follows``; a query instead of a table, as ``shop.db:SELECT who, whom FROM follows``.
        separator, encoding : str, default=None
            As in `Source`.
        header : bool, default=None
            As in `Source`.

        Returns
        -------
        Source
        """
        own, equals, rest = given.partition("=")
        own_name = None
        if equals and own.strip() and "/" not in own and ":" not in own and not Path(given).exists():
            own_name, given = own.strip(), rest
        server, file = _ON_SERVER.fullmatch(given), _IN_FILE.fullmatch(given)
        if server:
            return cls(Path(without_password(server[1])), server[2], name=own_name, url=server[1])
        if file and not Path(given).exists():
            return cls(Path(file[1]), file[2], separator, encoding, header, own_name)
        return cls(Path(given), None, separator, encoding, header, own_name)

    @property
    def database(self) -> str:
        """The file's name, or the address without a password."""
        return self.path.name if self.url is None else without_password(self.url)

    @property
    def short_name(self) -> str:
        """Its name, else that of its table ("query" if it is one), else the file's name without its endings."""
        table = "query" if self.table and " " in self.table.strip() and self.suffix != ".xlsx" else self.table
        return self.name or table or self.path.name[: -len("".join(self.path.suffixes)) or None]

    @property
    def suffix(self) -> str:
        """The ending that names the format: ``.csv`` for ``a.csv`` and for ``a.csv.gz``."""
        if self.is_stdin or isinstance(self.data, bytes):
            return ".csv"
        if self.url is not None:
            return ""
        if self.path.is_dir() and any(self.path.glob("*.parquet")):
            return ".parquet"
        endings = [ending.lower() for ending in self.path.suffixes]
        if len(endings) > 1 and endings[-1] in PACKINGS:
            endings.pop()
        return endings[-1] if endings else ""

    @property
    def is_stdin(self) -> bool:
        """Whether what is read is the standard input, as a CSV file."""
        return str(self.path) == "-" and self.data is None

    @property
    def files(self) -> list[Path]:
        """The files that a folder of Parquet or a pattern such as ``edges/*.csv`` stands for; else the file itself."""
        import glob

        if self.data is not None or self.is_stdin:
            return [self.path]
        if self.path.is_dir() and self.suffix == ".parquet":
            return sorted(self.path.glob("*.parquet"))
        is_pattern = glob.has_magic(str(self.path)) and not self.path.exists()
        return [Path(name) for name in sorted(glob.glob(str(self.path)))] if is_pattern else [self.path]

    @property
    def packing(self) -> str:
        """``.gz``, ``.zst`` or ``.zip`` if the file is packed, else an empty string."""
        ending = self.path.suffix.lower()
        return ending if ending in PACKINGS else ""

    def __str__(self) -> str:
        place = str(self.path) if self.url is None else self.database
        return f"{place}:{self.table}" if self.table else place


@dataclass(frozen=True, eq=False)
class Reading:
    """What a file holds.

    Parameters
    ----------
    frame : DataFrame, default=None
        Nodes; or, if ``edges`` is None, a table that may be of edges or of nodes.
    edges : DataFrame, default=None
        Edges, if the file says which table holds them.
    matrix : array or sparse matrix, default=None
        Features.
    notes : tuple of str, default=()
        What was guessed.
    separator : str, default=None
        Of a text file.
    directed : bool, default=None
        Whether the file says that its edges are directed.
    streams : bool, default=False
        Whether `slimg.io.disk_tables` would read the same rows.

    Examples
    --------
    >>> import pandas as pd
    >>> from slimg.io import Reading
    >>> Reading(edges=pd.DataFrame({"source": ["a"], "target": ["b"]}), directed=True).directed
    True
    """

    frame: pd.DataFrame | None = None
    edges: pd.DataFrame | None = None
    matrix: Any = None
    notes: tuple[str, ...] = ()
    separator: str | None = None
    directed: bool | None = None
    streams: bool = False


def read(source: Source) -> Reading:
    """Read a file in the format of its ending.

    Parameters
    ----------
    source : Source
        The file.

    Returns
    -------
    Reading
        What the file holds.

    Raises
    ------
    InputError
        If the file cannot be read, or changes while it is read; the message names it.

    Examples
    --------
    >>> from pathlib import Path
    >>> from slimg.io import Source, read
    >>> _ = Path("pairs.csv").write_text("source,target\\na,b\\nb,c\\n")
    >>> read(Source(Path("pairs.csv"))).frame.columns.tolist()
    ['source', 'target']
    """
    if not isinstance(source, Source):
        raise InputError(f"read takes a Source, not {type(source).__name__}: make one with Source.parse(path)")
    if isinstance(source.data, bytes):
        return with_name(source, _guarded, source)
    if source.data is not None:
        return Reading(source.data)
    if source.is_stdin:
        return with_name("standard input", _guarded, source)
    if source.url is not None:
        from slimg.io.databases import read_database

        return with_name(source, read_database, source)
    files = source.files
    if not files:
        raise InputError(f"{source.path} matches no file: check the pattern, and quote it")
    if files != [source.path]:
        return _read_together(source, [read(replace(source, path=path)) for path in files])
    with unchanged(source):
        return with_name(source, _guarded, source)


def _guarded(source: Source) -> Reading:
    """What a file holds; whatever a library raises is an `InputError`."""
    from slimg.io.guards import guard

    reader = _reader(source)
    with guard(f"file that slimg can read as {source.suffix}"):
        return reader(source)


def _read_together(source: Source, parts: Sequence[Reading]) -> Reading:
    """The rows of several files of one kind."""
    import pandas as pd

    frames = [part.frame for part in parts if part.frame is not None]
    other = next((frame for frame in frames if list(frame.columns) != list(frames[0].columns)), None)
    if len(frames) < len(parts) or other is not None:
        columns = "" if other is None else f", not {list(frames[0].columns)} and {list(other.columns)}"
        raise InputError(f"{source.path}: all files need a table of the same columns{columns}")
    note = f"{source.path}: {len(parts):,} files, {sum(map(len, frames)):,} rows."
    return replace(parts[0], frame=pd.concat(frames, ignore_index=True), notes=(note,))


@contextmanager
def unchanged(source: Source) -> Iterator[None]:
    """Raise an error for what is no readable, non-empty file, and for a file that changes while it is read."""
    before = _state(source)
    try:
        yield
    except PermissionError:
        raise InputError(f"{source.path} may not be read: ask its owner, or copy it to where you may") from None
    if _state(source) != before:
        raise InputError(f"{source.path} changed while it was read: wait until it is written, then call again")


def with_name(source: object, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function; the message of its `InputError` gets the name of the file in front, and is made short."""
    try:
        return function(*arguments)
    except InputError as error:
        told = str(error) if len(str(error)) <= 700 else f"{str(error)[:400]} … {str(error)[-250:]}"  # names may be long
        raise type(error)(f"{source}: {told}") from error


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


def _reader(source: Source) -> Callable[[Source], Reading]:
    if source.suffix not in READERS:
        ending = f"the ending {source.suffix!r} of {source.path}" if source.suffix else f"{source.path} without an ending"
        packed = f"text may be packed: {' '.join(PACKINGS)}"
        raise InputError(f"{ending} names no format slimg reads: use one of {' '.join(READERS)} ({packed})")
    module, function = READERS[source.suffix]
    return getattr(import_module(f"slimg.io.{module}"), function)


def write_table(
    frame: pd.DataFrame | Iterable[pd.DataFrame], path: Path, *, separator: str = ",", keep: Sequence[str] = ()
) -> Path:
    """Write a table in the format of the path's ending; its folder is made if need be.

    Parameters
    ----------
    frame : DataFrame, or iterable of DataFrame
        The table, or runs of its rows with the same columns.
    path : Path
        A name that ends in .parquet, .jsonl, .tsv, .xlsx, or, for CSV, in .csv, .txt or nothing.
    separator : str, default=","
        Of a CSV file.
    keep : sequence of str, default=()
        Columns that are written as they are, though a spreadsheet may run what is in them: ids, by which tables are joined.

    Returns
    -------
    Path
        ``path``
    """
    ending = output_format(path)
    make_folder(path.parent)
    frames: Any = [frame] if hasattr(frame, "columns") else frame
    with atomic_write(path, binary=ending != ".jsonl") as file:
        if ending == ".jsonl":
            for each in frames:
                _write_lines(each, file)
        else:
            import_module("slimg.io.binary").WRITERS[ending](frames, file, separator, keep)
    return path


def output_format(path: Path) -> str:
    """Return the ending of the format that a table of this name is written in.

    Returns
    -------
    str

    Raises
    ------
    InputError
        If the name is that of a format slimg does not write.
    """
    ending = path.suffix.lower()
    if ending not in WRITTEN:
        raise InputError(f"{path}: tables are written as {' '.join(filter(None, WRITTEN))}, not as {ending}")
    return WRITTEN[ending]


def write_text(text: str, path: Path) -> Path:
    """Write a text file, whose folder is made if need be; return its path."""
    make_folder(path.parent)
    with atomic_write(path) as file:
        file.write(text)
    return path


def make_folder(folder: Path) -> Path:
    """Make a folder unless it is there, and return it; it is an error if it cannot be written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InputError(f"{folder} is a file, not a folder: choose another folder") from None
    except OSError as error:
        if is_exhausted(error):
            raise
        raise InputError(f"the folder {folder} cannot be made ({error.strerror}): choose another") from None
    if not os.access(folder, os.W_OK):
        raise InputError(f"{folder} may not be written to: choose another folder")
    return folder


def refuse_existing(paths: list[Path], force: bool) -> None:
    """Raise an error for files that exist already, unless ``force``."""
    there = [path for path in paths if path.exists()]
    if there and not force:
        names = ", ".join(str(path) for path in there)
        raise InputError(f"{names} would be written over: choose another folder with --out, or allow it with --force")


def _write_lines(frame: pd.DataFrame, file: IO[str]) -> None:
    plain = frame.astype(object).where(frame.notna(), None)
    for row in plain.to_dict("records"):
        file.write(json.dumps(row, ensure_ascii=False, default=_members) + "\n")


def _members(array: np.ndarray) -> list[Any]:
    return [None if member != member else member for member in array.tolist()]
