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

Before every reader stand guards: damaged files end in an `InputError`, and sizes that a file declares are checked first.

guard         whatever a library raises becomes one sentence
check_size    bytes that a file declares, against the bytes it has and the memory that is free
unpack        a stream to bytes, which ends where it grows too large
BoundedFile   a file whose reader cannot ask for more than it has
"""

from __future__ import annotations

import io
import os
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from slimg.errors import InputError, SlimgError, TooLarge, is_exhausted, near, without_password
from slimg.system import atomic_write, available_memory, show_bytes

if TYPE_CHECKING:
    import pandas as pd

    from slimg.io.inputs import Inputs, Options, read_inputs
else:
    from slimg._lazy import lazy_names

    __getattr__, __dir__ = lazy_names(__name__, dict.fromkeys(("Inputs", "Options", "read_inputs"), "slimg.io.inputs"))

__all__ = ["Inputs", "Options", "Reading", "Source", "read", "read_inputs"]

PACKINGS = (".gz", ".zst", ".zip")
DATABASES = (".db", ".sqlite", ".sqlite3", ".duckdb", ".ddb")
_IN_FILE = re.compile(rf"(.*?(?:{'|'.join(map(re.escape, (*DATABASES, '.xlsx')))})):(.+)", re.IGNORECASE | re.DOTALL)
_REMOTE = re.compile(r"(?!file:)[a-z][a-z0-9+.-]*://.+", re.DOTALL)
_ON_SERVER = re.compile(r"(postgres(?:ql)?://[^/?]*(?:/[^:]*)?)(?::(.+))?", re.DOTALL)
TEXT = (".csv", ".tsv", ".tab", ".txt", ".edges", ".edgelist", ".dat")
READERS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(TEXT, ("text", "read_separated")),
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
CHUNK = 1 << 24
"""Bytes read at a time; also the longest line of a table."""
SMALL, RATIO = 1 << 28, 500
"""A file that declares more than 256 MB, and 500 times its own size, is taken for one made to exhaust memory."""
MOST_COLUMNS, SHEET_ROWS = 20_000, 1 << 20
INTERRUPTS = ("query interrupted", "interrupt error", "canceling statement due to user request")
"""What DuckDB and PostgreSQL say of a query that Ctrl-C ended."""


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
        Address of a PostgreSQL database, or of files elsewhere (``s3://…``), which is read instead of a file; ``path`` is then
        the address without a password.

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
        given = given.removeprefix("file://")
        server, file = _ON_SERVER.fullmatch(given), _IN_FILE.fullmatch(given)
        if server:
            return cls(Path(without_password(server[1])), server[2], name=own_name, url=server[1])
        if _REMOTE.fullmatch(given):
            place, table = (file[1], file[2]) if file else (given, None)
            return cls(Path(without_password(place)), table, separator, encoding, header, own_name, url=place)
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
        if self.is_server:
            return ""
        if self.path.is_dir() and any(self.path.glob("*.parquet")):
            return ".parquet"
        endings = [ending.lower() for ending in self.path.suffixes]
        if len(endings) > 1 and endings[-1] in PACKINGS:
            endings.pop()
        return endings[-1] if endings else ""

    @property
    def is_server(self) -> bool:
        """Whether it is a PostgreSQL database."""
        return bool(self.url and _ON_SERVER.fullmatch(self.url))

    @property
    def is_remote(self) -> bool:
        """Whether it is a file elsewhere, which is fetched first (`slimg.io.remote`)."""
        return self.url is not None and not self.is_server

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
    if source.is_remote:
        from slimg.io.inputs import Options as Wanted

        with Wanted(nodes=(source,)).local() as options:
            return read(options.nodes[0])
    if source.is_server:
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
    folder = path.parent
    return near(path.name, os.listdir(folder), "check its name") if folder.is_dir() else f"there is no folder {folder}"


def _reader(source: Source) -> Callable[[Source], Reading]:
    if source.suffix not in READERS:
        ending = f"the ending {source.suffix!r} of {source.path}" if source.suffix else f"{source.path} without an ending"
        packed = f"text may be packed: {' '.join(PACKINGS)}"
        raise InputError(f"{ending} names no format slimg reads: use one of {' '.join(READERS)} ({packed})")
    module, function = READERS[source.suffix]
    return getattr(import_module(f"slimg.io.{module}"), function)


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
    """Whether an interrupt stands behind an error: databases, and numpy while it is imported, turn one into their own."""
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
        raise InputError(f"{names} would be written over: choose another name with --out, or allow it with --force")
